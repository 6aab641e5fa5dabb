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
}

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
  };
}

function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/'));
}
