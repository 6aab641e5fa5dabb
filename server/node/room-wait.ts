/**
 * How the threads of the commit path wait for room on a full disk: they try again, several times a
 * second, while new commits are refused (transactions/disk-space.ts) and reads go on.
 */
const pollMs = 100;
/** So long commits hang at most: then what was given up is named, and a restart is due. */
const waitMsMax = 60_000;

export class RoomWait {
  readonly #never = new Int32Array(new SharedArrayBuffer(4));
  #triesLeft = waitMsMax / pollMs;

  /** Blocks this thread a moment; false when there is no hope left. */
  again(): boolean {
    if (this.#triesLeft-- <= 0) return false;
    Atomics.wait(this.#never, 0, 0, pollMs);
    return true;
  }
}
