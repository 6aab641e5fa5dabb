/**
 * The disk as the log and the server store see it: synchronous, because each user owns a
 * thread for it, and explicit about durability.
 *
 * Contract: a write is durable after `sync()` of its file; a created, renamed or removed
 * name is durable after `syncDirectory()` of its parent. Anything else may be lost, torn
 * at 512-byte sectors, or land out of order in a power loss. Simulated twins crash at
 * every call. Paths are absolute, `/`-separated.
 */
export interface File {
  readonly path: string;
  /** Reads up to `target.length` bytes at `offset`; returns how many there were. */
  readAt(target: Uint8Array, offset: number): number;
  /** Writes all of `source` at `offset`, or throws. */
  writeAt(source: Uint8Array, offset: number): void;
  /** Makes the file's bytes and size durable (fdatasync). A failure is final: see F1. */
  sync(): void;
  /** Reserves and zero-fills up to `size` bytes so that later writes need no allocation. */
  preallocate(size: number): void;
  truncate(size: number): void;
  size(): number;
  close(): void;
}

export type OpenMode = 'read' | 'write' | 'create' | 'create-new';

export interface Disk {
  /** `write` needs an existing file, `create` makes or opens it, `create-new` refuses one. */
  open(path: string, mode: OpenMode): File;
  exists(path: string): boolean;
  /** Names in a directory, sorted; empty when the directory is absent. */
  list(directory: string): string[];
  rename(from: string, to: string): void;
  link(from: string, to: string): void;
  unlink(path: string): void;
  makeDirectory(path: string): void;
  /** Removes a tree; absent is fine. */
  removeTree(path: string): void;
  syncDirectory(path: string): void;
  /** Bytes that this process could still write on the filesystem that holds `path`. */
  freeBytes(path: string): number;
}

/** Whether an error of the system says that the disk is full. */
export function isOutOfRoom(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOSPC';
}
