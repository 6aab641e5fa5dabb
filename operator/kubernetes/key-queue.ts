/**
 * The queue of keys that workers reconcile, with the behaviour of client-go's work queue.
 *
 * Invariants: a key is in the queue once, however often it is added; a key is worked on by one
 * worker at a time, and added meanwhile it comes again afterwards; of several delays of one key the
 * shortest counts. Keys of high priority (what is unhealthy or was deleted) go first.
 */
import {retryDelayMs} from '#server/base/retry-delay.ts';
import type {Clock, Random, Timers} from '#server/platform/clock.ts';
import type {Key} from './api.ts';
import {TokenBucket} from './token-bucket.ts';

export interface KeyQueueOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Pick<Random, 'u32'>;
}

export type Priority = 'high' | 'low';

const delays = {firstMs: 5, mostMs: 300_000} as const;
const RATE = {perSecond: 10, burst: 100};

/** What metrics read; names as in client-go. */
export interface QueueFigures {
  readonly depth: number;
  readonly adds: number;
  readonly retries: number;
  readonly unfinished: number;
}

export class KeyQueue {
  readonly #options: KeyQueueOptions;
  readonly #bucket: TokenBucket;
  readonly #queue: Record<Priority, Key[]> = {high: [], low: []};
  /** Keys that are to be worked on: in the queue, or in work and to come again. */
  readonly #dirty = new Map<Key, Priority>();
  readonly #processing = new Set<Key>();
  readonly #failures = new Map<Key, number>();
  readonly #delayed = new Map<Key, {readonly at: number; readonly cancel: () => void}>();
  readonly #waiting: ((key: Key | undefined) => void)[] = [];
  #isShutDown = false;
  #adds = 0;
  #retries = 0;

  constructor(options: KeyQueueOptions) {
    this.#options = options;
    this.#bucket = new TokenBucket(options.clock, RATE);
  }

  get figures(): QueueFigures {
    const depth = this.#queue.high.length + this.#queue.low.length;
    const unfinished = this.#processing.size;
    return {depth, adds: this.#adds, retries: this.#retries, unfinished};
  }

  add(key: Key, priority: Priority = 'low'): void {
    if (this.#isShutDown) return;
    this.#adds++;
    const before = this.#dirty.get(key);
    if (before === 'high' || before === priority) return;
    this.#dirty.set(key, priority);
    if (this.#processing.has(key)) return;
    if (before !== undefined) this.#queue.low = this.#queue.low.filter(one => one !== key);
    this.#queue[priority].push(key);
    this.#handOut();
  }

  /** A later time than one that is set already changes nothing. */
  addAfter(key: Key, delayMs: number): void {
    if (this.#isShutDown) return;
    if (delayMs <= 0) return this.add(key);
    const at = this.#options.clock.monotonic() + delayMs;
    const before = this.#delayed.get(key);
    if (before !== undefined && before.at <= at) return;
    before?.cancel();
    const cancel = this.#options.timers.after(delayMs, () => {
      this.#delayed.delete(key);
      this.add(key);
    });
    this.#delayed.set(key, {at, cancel});
  }

  /** Adds a key that failed: later each time, and no faster than all keys together may. */
  addRateLimited(key: Key): void {
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    this.#retries++;
    const backoff = retryDelayMs(delays, failures);
    // A fifth more at most, as in client-go.
    const jitter = 1 + (this.#options.random.u32() / 2 ** 32) * 0.2;
    this.addAfter(key, Math.max(backoff * jitter, this.#bucket.take()));
  }

  /** It went well: the next failure is the first one. */
  forget(key: Key): void {
    this.#failures.delete(key);
  }

  /** The object is gone: nothing of it is kept. */
  drop(key: Key): void {
    this.#failures.delete(key);
    this.#delayed.get(key)?.cancel();
    this.#delayed.delete(key);
  }

  /** The next key, which is the caller's until `done`; undefined once the queue was shut down. */
  get(): Promise<Key | undefined> {
    const key = this.#take();
    if (key !== undefined || this.#isShutDown) return Promise.resolve(key);
    return new Promise(resolve => this.#waiting.push(resolve));
  }

  done(key: Key): void {
    this.#processing.delete(key);
    const priority = this.#dirty.get(key);
    if (priority === undefined || this.#isShutDown) return;
    this.#queue[priority].push(key);
    this.#handOut();
  }

  /** Nobody is handed a key any more; those in work stay with their workers. */
  shutDown(): void {
    this.#isShutDown = true;
    for (const {cancel} of this.#delayed.values()) cancel();
    this.#delayed.clear();
    for (const resolve of this.#waiting.splice(0)) resolve(undefined);
  }

  #take(): Key | undefined {
    if (this.#isShutDown) return undefined;
    const key = this.#queue.high.shift() ?? this.#queue.low.shift();
    if (key === undefined) return undefined;
    this.#dirty.delete(key);
    this.#processing.add(key);
    return key;
  }

  #handOut(): void {
    while (this.#waiting.length > 0) {
      const key = this.#take();
      if (key === undefined) return;
      this.#waiting.shift()?.(key);
    }
  }
}
