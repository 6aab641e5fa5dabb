/**
 * Whether the network thread writes an entry itself, which it does for one that comes alone: a
 * hand-over to the log thread and back costs more then than the write.
 *
 * An fsync here blocks the event loop. At most half of the time may go to fsyncs: each one earns
 * the other clients a pause of equal length, and while the unpaid rest exceeds `owedMsMax` the next
 * entry goes to the log thread. Example: after an fsync of 0.3 ms the network thread does no fsync
 * for 0.3 ms. After two slow fsyncs in a row the pause is `restsSlow` times as long, so a slow disk
 * blocks nobody for long, and one that hangs blocks the loop once.
 * Source: docs/design/0029-single-entries-on-the-network-thread.md.
 */
import type {Clock} from '#server/platform/clock.ts';
import {LogTailBorrower, type LogTailBorrowerOptions} from './log-tail-lease.ts';

/** Larger entries go to the log thread: copying them here would hold up other requests. */
const entryBytesMax = 16 << 10;
const slowMs = 2;
/** The pause after two slow fsyncs in a row, in multiples of the last one. */
const restsSlow = 50;
/** While more than this is owed, the next entry goes to the log thread. */
const owedMsMax = 1;
/** The owner is asked to look at how full the segment is after this many bytes. */
const lookBytes = 64 << 10;

/**
 * What became of an entry: durable, left to the log thread, or, with the reason, nobody knows, and
 * the log takes nothing more.
 */
export type Appended = 'written' | 'left' | {readonly failed: string};

export class InlineLogWriter {
  readonly #tail: LogTailBorrower;
  readonly #clock: Clock;
  /** The pause after a usual fsync, in multiples of it. */
  readonly #restsUsual: number;
  #endedMs = Number.NEGATIVE_INFINITY;
  /** The debt at `#owedAt`. */
  #owedMs = 0;
  #wasSlow = false;
  #bytes = 0;

  /** @param owes - False where the caller knows that a usual sync keeps nobody waiting. */
  constructor(options: LogTailBorrowerOptions, clock: Clock, {owes = true} = {}) {
    this.#tail = new LogTailBorrower(options);
    this.#clock = clock;
    this.#restsUsual = owes ? 1 : 0;
  }

  /** False when the log thread had better write an entry of so many bytes. */
  admits(bytes: number): boolean {
    return bytes <= entryBytesMax && this.#owedAt(this.#clock.monotonic()) <= owedMsMax;
  }

  /** Appends an admitted entry; `isIdle` is as for `LogTailBorrower.append`. */
  append(entry: Uint8Array, isIdle: () => boolean): Appended {
    const began = this.#clock.monotonic();
    const owedMs = this.#owedAt(began);
    try {
      if (!this.#tail.append(entry, isIdle)) return 'left';
    } catch (error) {
      // Errors of the system have a code; anything else is a bug and passes through.
      if (!(error instanceof Error && 'code' in error)) throw error;
      return {failed: `the log cannot write any more: ${error.message}`};
    }
    const ended = this.#clock.monotonic();
    const tookMs = ended - began;
    const isSlow = tookMs > slowMs;
    this.#endedMs = ended;
    this.#owedMs = owedMs + tookMs * (isSlow && this.#wasSlow ? restsSlow : this.#restsUsual);
    this.#wasSlow = isSlow;
    this.#bytes += entry.length;
    return 'written';
  }

  /** The value that the log holds behind the entry that was appended last (segment-format.ts). */
  get chain(): number {
    return this.#tail.chain;
  }

  /** True once whenever the log thread has something to look at. */
  takeLook(): boolean {
    if (this.#bytes < lookBytes) return false;
    this.#bytes = 0;
    return true;
  }

  close(): void {
    this.#tail.close();
  }

  #owedAt(now: number): number {
    return Math.max(0, this.#owedMs - (now - this.#endedMs));
  }
}
