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

/** Between two refusals of one asker: an answer takes less than a hundredth of it. */
const gapOfAskerMs = 100;
/** With more than so many waiting he is told more often, since clients give up at some point. */
const askerMsMax = 5_000;
/** Between two refusals, whoever asked. */
const gapMs = 5;

export class LateTurns {
  readonly #clock: Clock;
  readonly #timers: Timers;
  /** When the last refusal of each asker is told, as long as it waits. */
  readonly #lastOf = new Map<string, number>();
  /** When the next one may be told. */
  #free = Number.NEGATIVE_INFINITY;

  constructor({clock, timers}: {readonly clock: Clock; readonly timers: Timers}) {
    this.#clock = clock;
    this.#timers = timers;
  }

  /**
   * Resolves after the delay, when it is the caller's turn.
   *
   * @param asker - Who is refused, by address or name; empty: nobody whose questions are counted.
   */
  async after(delayMs: number, asker = ''): Promise<void> {
    await (asker === '' ? this.#wait(delayMs) : this.#behindOthersOf(asker, delayMs));
    const now = this.#clock.monotonic();
    const turn = Math.max(now, this.#free);
    this.#free = turn + gapMs;
    if (turn > now) await this.#wait(turn - now);
  }

  async #behindOthersOf(asker: string, delayMs: number): Promise<void> {
    const now = this.#clock.monotonic();
    const behind = (this.#lastOf.get(asker) ?? Number.NEGATIVE_INFINITY) + gapOfAskerMs;
    const at = Math.max(now + delayMs, Math.min(behind, now + askerMsMax));
    this.#lastOf.set(asker, at);
    await this.#wait(at - now);
    if (this.#lastOf.get(asker) === at) this.#lastOf.delete(asker);
  }

  #wait(ms: number): Promise<void> {
    return new Promise(resolve => void this.#timers.after(ms, resolve));
  }
}
