/**
 * The answer of a plan that runs on another thread, pulled as that of one that runs here.
 *
 * It holds pages that have come and nobody took, `pagesWaitingMax` at most. Whoever closes it early
 * tells the thread to stop and does not wait: a thread that is stuck in one call, and so does not
 * notice, is ended after a while, and nobody but this statement is met by that. The snapshot is
 * given back when the thread has let go of it, never before.
 */
import {bufferOf} from '#server/platform/buffer-of.ts';
import {Refusal} from '#server/base/errors.ts';
import type {Cancellation} from '#server/base/cancellation.ts';
import {type Pause, pause} from '#server/execution/batch.ts';
import type {PlanProfile} from '#server/execution/profile.ts';
import type {Timers} from '#server/platform/clock.ts';
import type {KeysRead} from '#server/caches/shared-adjacency.ts';
import type {PulledResult} from '../statements/stream-cursor.ts';
import {unpackError} from './thread-errors.ts';
import {
  controlWord,
  type PlanThread,
  type PlanTaskEvent,
  type PlanTask,
  type ThreadPage,
} from './plan-task.ts';

export interface ThreadResultParts {
  readonly thread: PlanThread;
  readonly order: PlanTask;
  readonly signal: Cancellation;
  readonly timers: Timers;
  /** Gets what the thread has measured. */
  readonly profile: PlanProfile | undefined;
  readonly onKeysRead: (reads: readonly KeysRead[]) => void;
  /** Called once, when the thread uses the snapshot no more. */
  readonly release: () => void;
}

/** The time between two looks at the signal, while nothing comes. */
const lookMs = 20;
/** How long a thread that was told to stop, or is past its time, may go on, in milliseconds. */
const stuckMs = 1_000;

export class ThreadResult implements PulledResult {
  returned = 0;
  truncated = false;
  limit = -1;
  readonly #parts: ThreadResultParts;
  readonly #pages: ThreadPage[] = [];
  /** The last page was taken. */
  #isWhole = false;
  #failure: Error | undefined;
  #isFree = false;
  #isClosed = false;
  #wake: () => void = () => {};
  #cancelEnd: () => void = () => {};

  constructor(parts: ThreadResultParts) {
    this.#parts = parts;
    parts.thread.run(parts.order, news => this.#hear(news));
  }

  pull(): Buffer | Pause | undefined {
    if (this.#isClosed || this.#isWhole) return undefined;
    if (this.#parts.signal.aborted) {
      throw new Refusal('query.terminated', 'the statement was terminated');
    }
    const page = this.#pages.shift();
    if (page !== undefined) return this.#take(page);
    if (this.#failure !== undefined) throw this.#failure;
    return pause;
  }

  #take({bytes, returned, truncated, isLast, measures}: ThreadPage): Buffer | undefined {
    const {order, profile} = this.#parts;
    this.returned = returned;
    this.truncated = truncated;
    this.#isWhole = isLast;
    if (measures !== undefined) profile?.adopt(measures);
    Atomics.add(order.control, controlWord.taken, 1);
    Atomics.notify(order.control, controlWord.taken);
    return bytes && bufferOf(bytes);
  }

  get isWhole(): boolean {
    return this.#isWhole;
  }

  /** Waits until something has come, or it is time to look at the signal. */
  async rest(): Promise<void> {
    if (this.#pages.length > 0 || this.#failure !== undefined) return;
    const {promise, resolve} = Promise.withResolvers<void>();
    this.#wake = resolve;
    const cancel = this.#parts.timers.after(lookMs, resolve);
    await promise;
    cancel();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (this.#isFree) return;
    const {control} = this.#parts.order;
    Atomics.store(control, controlWord.aborted, 1);
    Atomics.notify(control, controlWord.taken);
    this.#endAfter(stuckMs);
  }

  #hear(news: PlanTaskEvent): void {
    switch (news.kind) {
      case 'begun':
        this.limit = news.limit;
        this.#endAtDeadline(news.timeoutMs);
        return;
      case 'page':
        this.#pages.push(news);
        break;
      case 'failed':
        this.#failure ??= unpackError(news.error);
        break;
      case 'keys-read':
        return this.#parts.onKeysRead(news.reads);
      case 'free':
        this.#free();
        break;
      case 'lost':
        this.#failure ??= lost(news);
        this.#free();
        break;
      default:
        news satisfies never;
    }
    this.#wake();
  }

  #free(): void {
    this.#isFree = true;
    this.#cancelEnd();
    this.#parts.release();
  }

  /** Ends a call that looks at no clock when its time is over. */
  #endAtDeadline(timeoutMs: number): void {
    if (!Number.isFinite(timeoutMs)) return;
    this.#endAfter(
      timeoutMs + stuckMs,
      new Refusal('query.timeout', `the statement ran longer than ${timeoutMs} ms`, {
        detail: {timeoutMs},
      }),
    );
  }

  #endAfter(ms: number, failure?: Refusal): void {
    this.#cancelEnd();
    this.#cancelEnd = this.#parts.timers.after(ms, () => {
      this.#failure ??= failure;
      void this.#parts.thread.end();
    });
  }
}

function lost({reason, message}: PlanTaskEvent & {readonly kind: 'lost'}): Error {
  if (reason === 'other') return new Error(`the thread of the statement ended: ${message}`);
  return new Refusal(
    'query.memory-total',
    'the statement used up the memory of its thread; retry later, or with less at a time',
  );
}
