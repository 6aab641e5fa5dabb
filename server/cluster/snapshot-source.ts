/**
 * The snapshots of this server, as the protocol that gives them to other members sees them.
 *
 * Declared here because a protocol needs it, implemented in `replication/snapshot/`. Whoever
 * calls has shown the token of the cluster.
 */

/** A file of a snapshot, read in pieces. */
export interface SnapshotContent {
  readonly bytes: number;
  /** Covers the whole file; the first call reads it once. */
  checksum(): Promise<number>;
  /** Fills `target` from `offset` on; returns how many bytes there were. */
  read(target: Uint8Array, offset: number): Promise<number>;
  close(): Promise<void>;
}

export interface MemberSnapshotSource {
  /**
   * Holds a snapshot of at least the entry `atLeast` for a receiver; an earlier hold of the same
   * receiver ends. The hold ends by itself when nothing is read for a while.
   *
   * @throws {Refusal} `cluster.snapshot-busy` when as many are held as may be;
   *   `database.operation` when none can be made.
   */
  hold(receiver: string, atLeast: number): Promise<HeldSnapshot>;
  /** What is held; empty when there is no such hold. */
  databases(hold: string): readonly HeldDatabase[];
  /** Undefined when there is no such hold, or no such file in it. */
  open(hold: string, databaseId: number, file: string): Promise<SnapshotContent | undefined>;
  /** Ends a hold; one that is none is fine. */
  release(hold: string): void;
}

export interface HeldDatabase {
  readonly id: number;
  readonly name: string;
  readonly files: readonly {readonly name: string; readonly bytes: number}[];
}

export interface HeldSnapshot {
  readonly hold: string;
  /** JSON. */
  readonly manifest: string;
}
