/**
 * The brake on guessing: five wrong passwords for a name from one address within 30 s lock that
 * name there for 30 s.
 *
 * Other addresses go on, so nobody locks out whoever he guesses at. An attacker with many addresses
 * meets the bound of the name: fifty wrong ones in 30 s lock it for every address from which its
 * password was never right. Attempts under way count as wrong until they end, so guesses sent at
 * once gain nothing. Names are remembered whether or not such a user exists, up to a bound; the
 * oldest is forgotten first.
 */
import type {Clock} from '#server/platform/clock.ts';

const failuresMax = 5;
const failuresOfNameMax = 50;
const windowMs = 30_000;
const lockMs = 30_000;
const namesMax = 10_000;

interface Attempts {
  failures: number;
  underWay: number;
  windowEnds: number;
  lockedUntil: number;
}

/** Counts the wrong ones of each key, and locks it. */
class FailureCounts {
  readonly #clock: Clock;
  readonly #failuresMax: number;
  readonly #byKey = new Map<string, Attempts>();

  constructor(clock: Clock, failuresMax: number) {
    this.#clock = clock;
    this.#failuresMax = failuresMax;
  }

  isLocked(key: string): boolean {
    if (this.#byKey.size === 0) return false;
    const attempts = this.#byKey.get(key);
    return attempts !== undefined && attempts.lockedUntil > this.#clock.monotonic();
  }

  /** Whether an attempt may begin that could be the last wrong one. */
  mayBegin(key: string): boolean {
    const attempts = this.#byKey.get(key);
    if (attempts === undefined) return true;
    const now = this.#clock.monotonic();
    if (attempts.lockedUntil > now) return false;
    if (attempts.windowEnds <= now) attempts.failures = 0;
    return attempts.failures + attempts.underWay < this.#failuresMax;
  }

  begin(key: string): void {
    const attempts = this.#byKey.get(key) ?? this.#remember(key);
    attempts.underWay++;
  }

  end(key: string, outcome: AttemptOutcome): void {
    const attempts = this.#byKey.get(key);
    if (attempts === undefined) return;
    attempts.underWay = Math.max(0, attempts.underWay - 1);
    if (outcome === 'right') attempts.failures = 0;
    if (outcome === 'wrong') this.#fail(attempts);
    const idle = attempts.underWay === 0 && attempts.failures === 0;
    if (idle && attempts.lockedUntil <= this.#clock.monotonic()) this.#byKey.delete(key);
  }

  #fail(attempts: Attempts): void {
    const now = this.#clock.monotonic();
    if (attempts.failures === 0) attempts.windowEnds = now + windowMs;
    attempts.failures++;
    if (attempts.failures < this.#failuresMax) return;
    attempts.failures = 0;
    attempts.lockedUntil = now + lockMs;
  }

  #remember(key: string): Attempts {
    const [oldest] = this.#byKey.keys();
    if (this.#byKey.size >= namesMax && oldest !== undefined) this.#byKey.delete(oldest);
    const attempts = {failures: 0, underWay: 0, windowEnds: 0, lockedUntil: 0};
    this.#byKey.set(key, attempts);
    return attempts;
  }
}

export type AttemptOutcome = 'right' | 'wrong' | 'undecided';

export class Lockout {
  readonly #pairs: FailureCounts;
  readonly #names: FailureCounts;
  /** Pairs of names and addresses whose password was right; the oldest is forgotten first. */
  readonly #known = new Set<string>();
  readonly #knownNames = new Set<string>();
  readonly #knownSources = new Set<string>();

  constructor(clock: Clock) {
    this.#pairs = new FailureCounts(clock, failuresMax);
    this.#names = new FailureCounts(clock, failuresOfNameMax);
  }

  /** Whether `name` must wait when it comes from `source`. Cost: two look-ups. */
  isLocked(name: string, source: string): boolean {
    const pair = pairOf(name, source);
    return this.#pairs.isLocked(pair) || (this.#names.isLocked(name) && !this.#known.has(pair));
  }

  /** Whether a password was right before, for the name or from the address. */
  isKnown(name: string, source: string): boolean {
    return this.#knownNames.has(name) || this.#knownSources.has(source);
  }

  /** Begins an attempt; false when the name must wait. Each true is followed by one `end`. */
  begin(name: string, source: string): boolean {
    const pair = pairOf(name, source);
    if (!this.#pairs.mayBegin(pair)) return false;
    if (!this.#names.mayBegin(name) && !this.#known.has(pair)) return false;
    this.#pairs.begin(pair);
    this.#names.begin(name);
    return true;
  }

  /** Ends an attempt. `undecided`: it failed for another reason than the password. */
  end(name: string, source: string, outcome: AttemptOutcome): void {
    const pair = pairOf(name, source);
    this.#pairs.end(pair, outcome);
    // That somebody knows the password makes the guesses of others no better.
    this.#names.end(name, outcome === 'right' ? 'undecided' : outcome);
    if (outcome !== 'right') return;
    note(this.#known, pair);
    note(this.#knownNames, name);
    note(this.#knownSources, source);
  }
}

function pairOf(name: string, source: string): string {
  return `${source} ${name}`;
}

/** Adds it as the newest. */
function note(known: Set<string>, key: string): void {
  known.delete(key);
  const [oldest] = known;
  if (known.size >= namesMax && oldest !== undefined) known.delete(oldest);
  known.add(key);
}
