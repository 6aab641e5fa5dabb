/**
 * What one statement may spend: time, memory and rows; and when it must let others run.
 *
 * Operators and long-running functions report their work in units of about a microsecond
 * (`spend`). Every few hundred units the clock is read: past the deadline or when cancelled the
 * statement is refused, after 5 ms without a pause `spend` answers true and the operator passes
 * `pause` upwards. So a cancellation is noticed well within 50 ms of work anywhere.
 * Memory is an estimate of what operators keep (sorts, groups, joins), not of rows passing by.
 */
import {Refusal} from '#server/base/errors.ts';
import type {Clock} from '#server/platform/clock.ts';

export interface BudgetLimits {
  /** Milliseconds from the start; undefined: no deadline. */
  readonly timeoutMs?: number | undefined;
  readonly memoryBytesMax?: number | undefined;
}

/** Told from outside, read here; `AbortSignal` is one. */
export interface Cancellation {
  readonly aborted: boolean;
}

const unitsPerLook = 256;
export const sliceMs = 5;

export class Budget {
  readonly #clock: Clock;
  readonly #deadline: number;
  readonly #timeoutMs: number;
  readonly #memoryBytesMax: number;
  readonly #cancellation: Cancellation | undefined;
  #unitsLeft = unitsPerLook;
  #sliceEnd: number;
  #memoryBytes = 0;
  #memoryBytesPeak = 0;

  constructor(clock: Clock, limits: BudgetLimits, cancellation?: Cancellation) {
    const now = clock.monotonic();
    this.#clock = clock;
    this.#timeoutMs = limits.timeoutMs ?? Number.POSITIVE_INFINITY;
    this.#deadline = now + this.#timeoutMs;
    this.#memoryBytesMax = limits.memoryBytesMax ?? Number.POSITIVE_INFINITY;
    this.#cancellation = cancellation;
    this.#sliceEnd = now + sliceMs;
  }

  /**
   * Reports work; true when the slice is used up and the caller should pass `pause` on.
   *
   * @throws {Refusal} `query.timeout`, `query.terminated`.
   */
  spend(units: number): boolean {
    this.#unitsLeft -= units;
    return this.#unitsLeft <= 0 && this.look();
  }

  /** As `spend`, and reads the clock in any case. */
  look(): boolean {
    this.#unitsLeft = unitsPerLook;
    if (this.#cancellation?.aborted === true) {
      throw new Refusal('query.terminated', 'the statement was terminated');
    }
    const now = this.#clock.monotonic();
    if (now > this.#deadline) {
      throw new Refusal('query.timeout', `the statement ran longer than ${this.#timeoutMs} ms`, {
        detail: {timeoutMs: this.#timeoutMs},
      });
    }
    return now >= this.#sliceEnd;
  }

  /** Whether the next look would refuse. */
  get isOver(): boolean {
    return this.#cancellation?.aborted === true || this.#clock.monotonic() > this.#deadline;
  }

  /** Begins a new slice: others have had their turn. */
  resume(): void {
    this.#sliceEnd = this.#clock.monotonic() + sliceMs;
  }

  /**
   * Counts `bytes` as kept; give them back by `release`.
   *
   * @throws {Refusal} `query.memory`.
   */
  keep(bytes: number): void {
    this.#memoryBytes += bytes;
    if (this.#memoryBytes <= this.#memoryBytesPeak) return;
    this.#memoryBytesPeak = this.#memoryBytes;
    if (this.#memoryBytes > this.#memoryBytesMax) {
      throw new Refusal(
        'query.memory',
        `the statement keeps more than ${this.#memoryBytesMax} bytes in memory`,
        {detail: {memoryBytesMax: this.#memoryBytesMax}},
      );
    }
  }

  release(bytes: number): void {
    this.#memoryBytes -= bytes;
  }

  get memoryBytesPeak(): number {
    return this.#memoryBytesPeak;
  }
}
