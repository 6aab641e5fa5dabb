/**
 * A lock on a file that the kernel holds for this process, and gives back when the process ends in
 * whatever way.
 *
 * A process id in a file means nothing to a process in another PID namespace: in containers every
 * server is process 1. The runtime has no call for locks, but the SQLite that it brings takes
 * them as record locks of POSIX (fcntl), which hold between containers of a machine, and between
 * machines on the network file systems that have locks at all. The file stays empty and is never
 * removed: who had it open would hold the lock of a file that nobody else sees.
 */
import {DatabaseSync} from 'node:sqlite';

/** SQLITE_BUSY. */
const isHeldElsewhere = 5;

/**
 * Undefined when another process, or this one, holds it; else the function that gives it back.
 * Returns at once in any case.
 *
 * @throws {Error} when the file cannot be made, or the file system has no locks.
 */
export function takeFileLock(path: string): (() => void) | undefined {
  const database = new DatabaseSync(path, {timeout: 0});
  try {
    database.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
    return () => database.close();
  } catch (error) {
    database.close();
    if ((error as {readonly errcode?: unknown}).errcode === isHeldElsewhere) return undefined;
    throw error;
  }
}
