/**
 * When refusals that come late are told: each after its delay, those of one asker one behind the
 * other with some time between them, and all of them one behind the other.
 *
 * Who is refused asks again as soon as he is told, with as many connections as he likes. So one
 * who asks much is told seldom: what his refusals take of the thread that everybody's requests need
 * depends neither on how many connections he has nor on how fast they are. And refusals that end
 * together would take that thread in one piece. Nothing waits but the timers.
 */
import type {Clock, Timers} from '#server/platform/clock.ts';

/** How often refusals are told. */
export interface Pace {
  /** The time between two refusals, whoever asked. */
  readonly gapMs: number;
  /** The time between two refusals of one asker. */
  readonly gapOfAskerMs: number;
  /** They are told more often where more than so many wait, since clients give up some time. */
  readonly waitMsMax: number;
}

export interface LateTurnsOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly pace: Pace;
}

export class LateTurns {
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #pace: Pace;
  /** When the last refusal of each asker is told, as long as that lies ahead. */
  readonly #lastOf = new Map<string, number>();
  /** When the last one is told, whoever asked. */
  #last = Number.NEGATIVE_INFINITY;
  /** Ends the wait of each that waits. */
  readonly #ends = new Set<() => void>();
  #isOver = false;

  constructor({clock, timers, pace}: LateTurnsOptions) {
    this.#clock = clock;
    this.#timers = timers;
    this.#pace = pace;
  }

  /**
   * Resolves after the delay, when it is the caller's turn.
   *
   * @param asker - Who is refused, by address or name; empty: nobody whose questions are counted.
   * @param gone - Aborted when nobody waits for the refusal any more: then it takes no turn.
   */
  async after(delayMs: number, asker = '', gone?: AbortSignal): Promise<void> {
    const begun = this.#clock.monotonic();
    const at = Math.max(begun + delayMs, this.#turnOf(asker, begun));
    if (asker !== '') this.#lastOf.set(asker, at);
    if (!(await this.#wait(at - begun, gone))) return;
    const now = this.#clock.monotonic();
    this.#last = this.#turn(now, this.#last + this.#pace.gapMs);
    if (this.#last > now) await this.#wait(this.#last - now, gone);
  }

  /** Tells all that wait, and from now on each at once: a stop waits for none of them. */
  end(): void {
    this.#isOver = true;
    for (const end of this.#ends) end();
  }

  /** When his other refusals are told. */
  #turnOf(asker: string, now: number): number {
    const last = this.#lastOf.get(asker) ?? Number.NEGATIVE_INFINITY;
    // Whose entry is set again is behind all others, so the first ones are mostly over first.
    this.#lastOf.delete(asker);
    for (const [other, at] of this.#lastOf) {
      if (at > now) break;
      this.#lastOf.delete(other);
    }
    return this.#turn(now, last + this.#pace.gapOfAskerMs);
  }

  /** The time `behind` others, if that is neither over nor too far. */
  #turn(now: number, behind: number): number {
    return Math.max(now, Math.min(behind, now + this.#pace.waitMsMax));
  }

  /** False: it was ended before its time. */
  #wait(ms: number, gone: AbortSignal | undefined): Promise<boolean> {
    if (this.#isOver || gone?.aborted === true) return Promise.resolve(false);
    return new Promise(resolve => {
      const finish = (isDue: boolean): void => {
        this.#ends.delete(end);
        gone?.removeEventListener('abort', end);
        resolve(isDue);
      };
      const cancel = this.#timers.after(ms, () => finish(true));
      const end = (): void => {
        cancel();
        finish(false);
      };
      this.#ends.add(end);
      gone?.addEventListener('abort', end);
    });
  }
}
