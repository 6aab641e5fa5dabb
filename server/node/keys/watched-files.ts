/**
 * Files that are replaced while the server runs, as certificates are every few weeks: looked at
 * now and then by the time of their change, and read again when that differs.
 *
 * A file that cannot be used is reported, and what was read before stays in force.
 */
import {statSync} from 'node:fs';
import {Refusal} from '#server/base/errors.ts';
import type {Timers} from '#server/platform/clock.ts';
import type {Logger} from '#server/platform/logger.ts';

const lookMs = 60_000;
const othersMask = 0o077;

export interface WatchedFiles {
  readonly paths: readonly string[];
  /** What `stampOf` gave before they were read: a change since then is one, too. */
  readonly seen: string;
  readonly timers: Timers;
  readonly logger: Logger;
  /** What the lines in the log begin with. */
  readonly event: string;
  /** Takes the files over, or throws a Refusal that says what is wrong with them. */
  readonly reread: () => void;
}

/** Begins to look; the answered function ends it. The files have been read already. */
export function watchFiles({
  paths,
  seen: first,
  timers,
  logger,
  event,
  reread,
}: WatchedFiles): () => void {
  let seen = first;
  const look = (): void => {
    const now = stampOf(paths);
    if (now !== seen) {
      seen = now;
      try {
        reread();
        logger.log('info', `${event}.renewed`, {paths});
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        logger.log('error', `${event}.renewal-failed`, {reason: error.message});
      }
    }
    cancel = timers.after(lookMs, look);
  };
  let cancel = timers.after(lookMs, look);
  return () => cancel();
}

/** Whether somebody beside the owner may read or change it; a file that is not there: no. */
export function othersMayRead(path: string): boolean {
  const mode = statSync(path, {throwIfNoEntry: false})?.mode ?? 0;
  return (mode & othersMask) !== 0;
}

/** Stands for the files as they are now; another text is another state of them. */
export function stampOf(paths: readonly string[]): string {
  return paths.map(changedAt).join();
}

/** What is wrong with a file that cannot be looked at is said when it is read. */
function changedAt(path: string): string {
  try {
    return String(statSync(path).mtimeMs);
  } catch {
    return 'absent';
  }
}
