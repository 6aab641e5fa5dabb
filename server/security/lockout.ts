/**
 * The brake on guessing: five wrong passwords for a name within 30 s lock it for 30 s.
 *
 * Attempts under way count as wrong until they end, so guesses sent at once gain nothing. Names
 * are remembered whether or not such a user exists, up to a bound; the oldest is forgotten first.
 */
import type {Clock} from '#server/platform/clock.ts';

const failuresMax = 5;
const windowMs = 30_000;
const lockMs = 30_000;
const namesMax = 10_000;

interface Attempts {
  failures: number;
  underWay: number;
  windowEnds: number;
  lockedUntil: number;
}

export class Lockout {
  readonly #clock: Clock;
  readonly #byName = new Map<string, Attempts>();
  /** How many locks there have been. */
  lockCount = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether `name` must wait. Cost: one look-up. */
  isLocked(name: string): boolean {
    if (this.#byName.size === 0) return false;
    const attempts = this.#byName.get(name);
    return attempts !== undefined && attempts.lockedUntil > this.#clock.monotonic();
  }

  /** Begins an attempt; false when the name must wait. Each true is followed by one `end`. */
  begin(name: string): boolean {
    const now = this.#clock.monotonic();
    const attempts = this.#byName.get(name) ?? this.#remember(name);
    if (attempts.lockedUntil > now) return false;
    if (attempts.windowEnds <= now) attempts.failures = 0;
    if (attempts.failures + attempts.underWay >= failuresMax) return false;
    attempts.underWay++;
    return true;
  }

  /** Ends an attempt. `undecided`: it failed for another reason than the password. */
  end(name: string, outcome: 'right' | 'wrong' | 'undecided'): void {
    const attempts = this.#byName.get(name);
    if (attempts === undefined) return;
    attempts.underWay = Math.max(0, attempts.underWay - 1);
    if (outcome === 'right') attempts.failures = 0;
    if (outcome === 'wrong') this.#fail(attempts);
    const idle = attempts.underWay === 0 && attempts.failures === 0;
    if (idle && attempts.lockedUntil <= this.#clock.monotonic()) this.#byName.delete(name);
  }

  #fail(attempts: Attempts): void {
    const now = this.#clock.monotonic();
    if (attempts.failures === 0) attempts.windowEnds = now + windowMs;
    attempts.failures++;
    if (attempts.failures < failuresMax) return;
    attempts.failures = 0;
    attempts.lockedUntil = now + lockMs;
    this.lockCount++;
  }

  #remember(name: string): Attempts {
    const [oldest] = this.#byName.keys();
    if (this.#byName.size >= namesMax && oldest !== undefined) this.#byName.delete(oldest);
    const attempts = {failures: 0, underWay: 0, windowEnds: 0, lockedUntil: 0};
    this.#byName.set(name, attempts);
    return attempts;
  }
}
