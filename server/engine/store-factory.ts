/**
 * Where stores come from and how their directories are moved: RocksDB on a disk, or the memory
 * twin on its shelf. Renames and removals are durable on return.
 */
import type {Disk} from '#server/platform/disk.ts';
import type {Store, StoreOptions} from '#server/storage/store.ts';

export interface StoreFactory {
  open(path: string, options?: StoreOptions): Promise<Store>;
  exists(path: string): boolean;
  /** Names of directories in `directory`, sorted. */
  list(directory: string): string[];
  rename(from: string, to: string): void;
  /** Absent is fine. */
  remove(path: string): void;
  /** Whether the directory bears the mark of an install that was not finished. */
  isPending(path: string): boolean;
  /** Sets or takes away that mark; durable on return. The mark moves with its directory. */
  setPending(path: string, pending: boolean): void;
}

/** The mark is a file of this name, as the specification has it. */
export const pendingMark = '.snapshot-pending';

/** Stores in directories of a disk, opened by `open` (storage/rocksdb). */
export function createDiskStoreFactory(
  disk: Disk,
  open: (path: string, options?: StoreOptions) => Promise<Store>,
): StoreFactory {
  return {
    open,
    exists: path => disk.exists(path),
    list: directory => disk.list(directory),
    rename(from, to) {
      disk.rename(from, to);
      disk.syncDirectory(parentOf(to));
    },
    remove(path) {
      disk.removeTree(path);
      disk.syncDirectory(parentOf(path));
    },
    isPending: path => disk.exists(`${path}/${pendingMark}`),
    setPending(path, pending) {
      const mark = `${path}/${pendingMark}`;
      if (pending === disk.exists(mark)) return;
      if (pending) disk.open(mark, 'create').close();
      else disk.unlink(mark);
      disk.syncDirectory(path);
    },
  };
}

function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/'));
}
