/**
 * Whether the network thread writes an entry itself, which it does for one that comes alone: a
 * hand-over to the log thread and back costs more then than the write.
 *
 * While it syncs, nothing else is answered. So for every sync it owes the others as much time as
 * that took, unless there are no others, and is never far behind with that: over any while it syncs
 * for half of the time at most. Where two syncs in a row were slow, the log is left to its own
 * thread for longer: a disk that is slow by nature holds up nobody for long, one that hangs does so
 * once.
 * Source: docs/design/0029-single-entries-on-the-network-thread.md.
 */
import type {Clock} from '#server/platform/clock.ts';
import {LogTailBorrower, type LogTailBorrowerOptions} from './log-tail-lease.ts';

/** More is no small entry: copying it, and what others wait for meanwhile, counts. */
const entryBytesMax = 16 << 10;
const slowMs = 2;
/** How many times as long as a sync took is owed to others behind two slow ones. */
const restsSlow = 50;
/** With more owed no other one follows: of two in a row one may take longer than others. */
const owedMsMax = 1;
/** So often the owner is to look at how full the segment is. */
const lookBytes = 64 << 10;

/**
 * What became of an entry: durable, left to the log thread, or, with the reason, nobody knows, and
 * the log takes nothing more.
 */
export type Appended = 'written' | 'left' | {readonly failed: string};

export class InlineLogWriter {
  readonly #tail: LogTailBorrower;
  readonly #clock: Clock;
  /** How many times as long as a usual sync took is owed. */
  readonly #restsUsual: number;
  #endedMs = Number.NEGATIVE_INFINITY;
  /** As of then. */
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

  /** Of an entry that is admitted; `isIdle` as for `LogTailBorrower.append`. */
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
