/**
 * How the threads of the commit path wait for room on a full disk: they try again, several times a
 * second, while new commits are refused (engine/disk-space.ts) and reads go on.
 */
import {LogFull} from '#server/log/segment-log.ts';

const pollMs = 100;
/** Commits wait at most this long; then the log fails and a restart is due. */
const waitMsMax = 60_000;

export class DiskSpaceBackoff {
  readonly #never = new Int32Array(new SharedArrayBuffer(4));
  #triesLeft = waitMsMax / pollMs;

  /** Blocks this thread a moment; false when there is no hope left. */
  again(): boolean {
    if (this.#triesLeft-- <= 0) return false;
    Atomics.wait(this.#never, 0, 0, pollMs);
    return true;
  }
}

/**
 * Repeats the work while the disk is full, for as long as may be hoped for. Throws LogFull when
 * there is no hope left, and what else the work throws.
 */
export function untilRoom(work: () => void): void {
  let wait: DiskSpaceBackoff | undefined;
  for (;;) {
    try {
      return work();
    } catch (error) {
      wait ??= new DiskSpaceBackoff();
      if (!(error instanceof LogFull && wait.again())) throw error;
    }
  }
}
