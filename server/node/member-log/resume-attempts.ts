/**
 * How long the log of a member tries to go on after its disk was full.
 *
 * As long as the disk is full, without end. An attempt that fails although there is room for two
 * segments has another reason, which more attempts do not mend: so many of them, and the log ends.
 */
import type {Clock} from '#server/platform/clock.ts';

/** The settings that bound the attempts. */
export interface ResumeRule {
  /** `svc.ha.ratisRestartMaxRetries`. */
  readonly retriesMax: number;
  /** `svc.ha.healthCheckInterval`: of attempts within so long one counts. */
  readonly everyMs: number;
}

export class ResumeAttempts {
  readonly #rule: ResumeRule;
  readonly #clock: Clock;
  /** When the next one counts; undefined: the log goes on. */
  #countsAt: number | undefined;
  #failed = 0;

  constructor(rule: ResumeRule, clock: Clock) {
    this.#rule = rule;
    this.#clock = clock;
  }

  /**
   * Takes a write that found no room, the first one or another attempt at it.
   *
   * @returns Why no more attempts are made; undefined: they are.
   */
  failed(hasRoom: () => boolean): string | undefined {
    const {retriesMax, everyMs} = this.#rule;
    const now = this.#clock.monotonic();
    const isFirst = this.#countsAt === undefined;
    if (!isFirst && now < (this.#countsAt ?? 0)) return undefined;
    this.#countsAt = now + everyMs;
    if (isFirst || !hasRoom()) return undefined;
    this.#failed += 1;
    if (this.#failed <= retriesMax) return undefined;
    return (
      `the disk of the log has room for two segments, and yet ${this.#failed} attempts to go on ` +
      'failed (svc.ha.ratisRestartMaxRetries)'
    );
  }

  /** The log goes on; the next time is another one. */
  succeeded(): void {
    this.#countsAt = undefined;
    this.#failed = 0;
  }
}
