/**
 * How fast an archive is made beside a server at work: what share of the processors it may take,
 * by how busy the thread that serves clients is.
 *
 * A low priority is not enough. Where processors are few, a thread that runs holds up the next
 * one that wakes there until its slice is over, so that work which only takes what is left costs
 * writers much of their rate. So an archive is made in bursts of some milliseconds with pauses
 * between them, and takes a certain share however busy the server is, since it has to end.
 * Source: docs/design/0041-pace-of-a-backup.md.
 */

/** The share that it always has. */
const shareLeast = 1 / 8;
/** The thread that serves clients counts as busy all the time from this share of its time on. */
const busyMost = 0.5;
/** How long it does not look whether the server is still busy. */
const pauseMsMax = 100;
/** Pieces are counted when they are done, several at once: so much of what was due is kept. */
const keptMsMax = 50;

export interface PaceMoment {
  /** Monotonic. */
  readonly ms: number;
  /** The processor time that the archive has taken until now, of all its threads. */
  readonly cpuMs: number;
  /** The share of its time in which the thread that serves clients is busy, from 0 to 1. */
  readonly busyShare: number;
}

export class Pace {
  readonly #processors: number;
  #last: Pick<PaceMoment, 'ms' | 'cpuMs'>;
  /** Processor time that it took before it was due; below 0: that is due and was not taken. */
  #aheadMs = 0;

  constructor(processors: number, start: Pick<PaceMoment, 'ms' | 'cpuMs'>) {
    this.#processors = processors;
    this.#last = start;
  }

  /** Returns how many milliseconds to pause before it is asked again; 0: go on. */
  pauseAt({ms, cpuMs, busyShare}: PaceMoment): number {
    const share = Math.max(shareLeast, 1 - busyShare / busyMost);
    const perMs = this.#processors * share;
    const taken = cpuMs - this.#last.cpuMs;
    const due = (ms - this.#last.ms) * perMs;
    this.#aheadMs = Math.max(-keptMsMax, this.#aheadMs + taken - due);
    this.#last = {ms, cpuMs};
    const pauseMs = this.#aheadMs / perMs;
    return pauseMs < 1 ? 0 : Math.min(pauseMs, pauseMsMax);
  }
}
