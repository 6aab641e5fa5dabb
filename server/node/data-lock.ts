/**
 * One server on one volume: what a server writes into is locked by the kernel
 * before anything in them is opened, and before it listens or speaks to anybody.
 *
 * Kubernetes starts a second container on a volume while the first one still ends or stands still
 * (a pod that was deleted by force, a node that answers late); two servers would then append to
 * one log, or vote twice in one term.
 */
import {mkdirSync} from 'node:fs';
import {dirname, join, resolve} from 'node:path';
import {reasonOf, Refusal} from '#server/base/errors.ts';
import type {Settings} from '#server/base/setting-values.ts';
import {takeFileLock} from '#server/platform/real/file-lock.ts';
import {dataPathsIn, refuseLeftBehind} from './data-paths.ts';

/** Lies in the root; what an older release left there as `svc.lock` says nothing. */
export const lockFileName = '.server.lock';

/**
 * Takes what the settings name, all or nothing; the function gives it back (idempotent).
 *
 * @throws {Refusal} `start.refused`: another server works there, there are no locks there, or its
 *   databases lie elsewhere.
 */
export function lockData(settings: Settings): () => void {
  const paths = dataPathsIn(settings);
  refuseLeftBehind(paths);
  const {rootPath, databaseDirectory, configDirectory} = paths;
  const files = [rootPath, databaseDirectory, configDirectory]
    .filter(path => path === rootPath || !isWithin(path, rootPath))
    .map(path => join(path, lockFileName));
  const raftStorage = settings.get('svc.ha.raftStorageDirectory');
  // Several servers may keep their logs side by side there, each under its name.
  const logLock = `.raft-storage-${settings.get('svc.server.name')}.lock`;
  if (raftStorage !== '') files.push(join(resolve(raftStorage), logLock));
  const held: (() => void)[] = [];
  const release = (): void => {
    for (const giveBack of held.splice(0)) giveBack();
  };
  try {
    for (const path of new Set(files)) held.push(lock(path));
    return release;
  } catch (error) {
    release();
    throw error;
  }
}

/** The lock of the root covers what lies in it. */
function isWithin(path: string, rootPath: string): boolean {
  return path.startsWith(rootPath.endsWith('/') ? rootPath : `${rootPath}/`);
}

function lock(path: string): () => void {
  const directory = dirname(path);
  let taken: (() => void) | undefined;
  try {
    mkdirSync(directory, {recursive: true});
    taken = takeFileLock(path);
  } catch (error) {
    const reason = reasonOf(error);
    throw new Refusal(
      'start.refused',
      `${path} cannot be locked: ${reason} (it has to be an empty file that this user may write)`,
    );
  }
  if (taken !== undefined) return taken;
  throw new Refusal(
    'start.refused',
    `another server works on ${directory} already, perhaps in another container that has not ` +
      'ended yet: nothing was opened here; stop that one, or choose another directory',
  );
}
