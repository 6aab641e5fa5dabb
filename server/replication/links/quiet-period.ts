/**
 * Says whether something is worth saying again: a peer that is turned away dials on for hours, and
 * a line a second would hide what else the log has to tell.
 */
import type {Clock} from '#server/platform/clock.ts';

/** Whoever floods us with ever new texts makes them be said again, and no more. */
const rememberedMax = 1_000;

export class QuietPeriod {
  readonly #clock: Clock;
  readonly #periodMs: number;
  readonly #textsMax: number;
  readonly #saidAt = new Map<string, number>();
  #begunAt = Number.NEGATIVE_INFINITY;
  #said = 0;

  /** @param textsMax - Most texts in a period, where others choose their words. */
  constructor(clock: Clock, periodMs: number, textsMax = Number.POSITIVE_INFINITY) {
    this.#clock = clock;
    this.#periodMs = periodMs;
    this.#textsMax = textsMax;
  }

  /** True once in each period, for each text. */
  mayTell(text: string): boolean {
    const now = this.#clock.monotonic();
    const at = this.#saidAt.get(text);
    if (at !== undefined && now - at < this.#periodMs) return false;
    if (now - this.#begunAt >= this.#periodMs) {
      this.#begunAt = now;
      this.#said = 0;
    }
    if (this.#said >= this.#textsMax) return false;
    this.#said += 1;
    if (this.#saidAt.size >= rememberedMax) this.#saidAt.clear();
    this.#saidAt.set(text, now);
    return true;
  }
}
