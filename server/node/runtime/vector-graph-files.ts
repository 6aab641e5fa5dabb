/**
 * Graphs of dense vector indexes as files: `derived/<database>/<index>.graph`.
 *
 * They are no truth: what is lost, damaged or of another state is made again from the entries, and
 * every record in them is compared with its entry. So nothing is synced, and a failure to write is
 * logged and forgotten. Folders of databases that are gone are removed at the start, unless it is
 * not known which those are.
 */
import {join} from 'node:path';
import type {IndexFiles, IndexFolders} from '#server/caches/index-caches.ts';
import type {Disk} from '#server/platform/disk.ts';
import type {Logger} from '#server/platform/logger.ts';

/** Removes the folders of databases that are gone. */
export function createGraphFolders(
  disk: Disk,
  {rootPath, logger}: {readonly rootPath: string; readonly logger: Logger},
  databaseIds: readonly (number | undefined)[],
): IndexFolders {
  const folder = join(rootPath, 'derived');
  const known = new Set(databaseIds.map(String));
  for (const name of databaseIds.includes(undefined) ? [] : disk.list(folder)) {
    if (!known.has(name)) disk.removeTree(join(folder, name));
  }
  let damaged = 0;
  const refused = (path: string): void => {
    damaged++;
    logger.log('warn', 'the graph of an index is damaged, and is made again from its entries', {
      path,
    });
  };
  return {
    of: id => graphFiles(disk, join(folder, String(id)), {logger, refused}),
    get damaged() {
      return damaged;
    },
  };
}

function graphFiles(
  disk: Disk,
  directory: string,
  {logger, refused}: {readonly logger: Logger; readonly refused: (path: string) => void},
): IndexFiles {
  const pathOf = (indexId: number): string => join(directory, `${indexId}.graph`);
  const attempt = <T>(what: string, work: () => T): T | undefined => {
    try {
      return work();
    } catch (error) {
      logger.log('warn', `the graph of an index could not be ${what}`, {
        path: directory,
        error: String(error),
      });
      return undefined;
    }
  };
  const remove = (indexId: number): void => {
    attempt('removed', () => {
      if (disk.exists(pathOf(indexId))) disk.unlink(pathOf(indexId));
    });
  };
  return {
    read: indexId =>
      attempt('read', () => {
        const path = pathOf(indexId);
        if (!disk.exists(path)) return undefined;
        const file = disk.open(path, 'read');
        try {
          const bytes = new Uint8Array(file.size());
          return bytes.subarray(0, file.readAt(bytes, 0));
        } finally {
          file.close();
        }
      }),
    write: (indexId, bytes) =>
      attempt('written', () => {
        disk.makeDirectory(directory);
        const fresh = `${pathOf(indexId)}.new`;
        if (disk.exists(fresh)) disk.unlink(fresh);
        const file = disk.open(fresh, 'create-new');
        try {
          file.writeAt(bytes, 0);
        } finally {
          file.close();
        }
        disk.rename(fresh, pathOf(indexId));
      }),
    remove,
    refuse: indexId => {
      refused(pathOf(indexId));
      remove(indexId);
    },
  };
}
