/**
 * The threads that long reads take: started when one is needed and none is free, ended when they
 * were idle for a while, because each holds a heap of its own.
 *
 * A thread serves one order at a time, so whatever becomes of it (it runs out of memory, it is
 * ended because it does not notice that it should stop) meets one statement.
 */
import {Worker} from 'node:worker_threads';
import type {ProcessMemory} from '#server/base/memory-defaults.ts';
import {MB} from '#server/base/setting-row.ts';
import {assert} from '#server/base/assert.ts';
import type {MemoryLedger} from '#server/execution/budget.ts';
import type {Timers} from '#server/platform/clock.ts';
import type {
  PlanThread,
  PlanThreads,
  PlanTaskEvent,
  PlanTask,
} from '#server/session/threads/plan-task.ts';

import {rowEncodings} from './row-encodings.ts';

export interface ScanThreadStart {
  readonly ledger: MemoryLedger;
}

export interface ScanThreadsOptions {
  readonly threadsMax: number;
  readonly timers: Timers;
  /** Heap of one thread; default: that of the process. */
  readonly heapMegabytesMax?: number | undefined;
}

const idleMs = 10_000;

export class ScanThreads implements PlanThreads {
  readonly pages: Int32Array;
  readonly encodings: ReadonlySet<string> = new Set(rowEncodings.map(({name}) => name));
  readonly #options: ScanThreadsOptions;
  /** The threads, each at its word of `pages`, of which the first is the network thread's. */
  readonly #threads: (ScanThread | undefined)[];
  taken = 0;
  declined = 0;
  #listener: () => void = () => {};
  #isClosed = false;

  constructor(options: ScanThreadsOptions) {
    const words = 1 + options.threadsMax;
    this.#options = options;
    this.pages = new Int32Array(new SharedArrayBuffer(words * Int32Array.BYTES_PER_ELEMENT));
    this.#threads = new Array<ScanThread | undefined>(words);
  }

  /** Threads that have an order. */
  get busy(): number {
    return this.#threads.filter(thread => thread?.isIdle === false).length;
  }

  onRelease(listener: () => void): void {
    this.#listener = listener;
  }

  take(): PlanThread | undefined {
    const thread = this.#free();
    if (thread === undefined) this.declined += 1;
    else this.taken += 1;
    return thread;
  }

  #free(): PlanThread | undefined {
    if (this.#isClosed) return undefined;
    const idle = this.#threads.find(thread => thread?.isIdle === true);
    const ready = idle ?? this.#threads.find(thread => thread?.isReady === true);
    if (ready !== undefined) return ready;
    for (let word = 1; word < this.#threads.length; word += 1) {
      if (this.#threads[word] === undefined) return this.#start(word);
    }
    return undefined;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const threads = this.#threads.filter(thread => thread !== undefined);
    await Promise.all(threads.map(thread => thread.end()));
  }

  #start(word: number): ScanThread {
    const {timers, heapMegabytesMax} = this.#options;
    const ledger = {pages: this.pages, own: word};
    const thread = new ScanThread({ledger, timers, heapMegabytesMax}, () => {
      if (thread.isEnded) this.#threads[word] = undefined;
      this.#listener();
    });
    this.#threads[word] = thread;
    return thread;
  }
}

const scanHeapMegabytesMin = 48;
/** Part of what the process may use beside the heap of its main thread. */
const scanHeapPart = 1 / 4;

/**
 * What the heap of each scan thread may take; undefined where V8's own limit is less. A thread that
 * reaches it is ended, and its statement is refused; the others go on.
 */
export function scanHeapMegabytes(
  {heapBytesMax, processBytesMax}: ProcessMemory,
  threadsMax: number,
): number | undefined {
  const bytes = (scanHeapPart * Math.max(0, processBytesMax - heapBytesMax)) / threadsMax;
  if (bytes >= heapBytesMax) return undefined;
  return Math.max(scanHeapMegabytesMin, Math.floor(bytes / MB));
}

interface ScanThreadParts {
  readonly ledger: MemoryLedger;
  readonly timers: Timers;
  readonly heapMegabytesMax: number | undefined;
}

class ScanThread implements PlanThread {
  /** The thread is gone. */
  isEnded = false;
  #isEnding = false;
  readonly #parts: ScanThreadParts;
  readonly #worker: Worker;
  readonly #onChange: () => void;
  /** The listeners of the task under way, and of the next one. */
  readonly #hears: ((news: PlanTaskEvent) => void)[] = [];
  /** The order under way is answered; the thread is about to let go. */
  #isAnswered = false;
  #cancelIdle: () => void = () => {};
  #loss: PlanTaskEvent & {readonly kind: 'lost'} = {
    kind: 'lost',
    reason: 'other',
    message: 'ended',
  };

  /** @param onChange - Called when it has become idle, and when it is gone. */
  constructor(parts: ScanThreadParts, onChange: () => void) {
    const {ledger, heapMegabytesMax} = parts;
    this.#parts = parts;
    this.#onChange = onChange;
    this.#worker = new Worker(new URL('./scan-worker.ts', import.meta.url), {
      workerData: {ledger} satisfies ScanThreadStart,
      resourceLimits:
        heapMegabytesMax === undefined ? {} : {maxOldGenerationSizeMb: heapMegabytesMax},
    });
    this.#worker.on('message', (news: PlanTaskEvent) => this.#told(news));
    this.#worker.on('error', (error: Error & {readonly code?: string}) => {
      const reason = error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'memory' : 'other';
      this.#loss = {kind: 'lost', reason, message: error.message};
    });
    this.#worker.on('exit', () => this.#gone());
  }

  /** Whether an order would be begun at once: who has an answer may ask the next thing before. */
  get isReady(): boolean {
    return this.isIdle || (this.#isAnswered && this.#hears.length === 1 && !this.#isEnding);
  }

  get isIdle(): boolean {
    return this.#hears.length === 0 && !this.#isEnding;
  }

  run(order: PlanTask, hear: (news: PlanTaskEvent) => void): void {
    assert(this.isReady, 'a thread has one order at a time');
    this.#cancelIdle();
    this.#worker.postMessage(order);
    this.#hears.push(hear);
  }

  async end(): Promise<void> {
    this.#isEnding = true;
    await this.#worker.terminate();
  }

  #told(news: PlanTaskEvent): void {
    const [hear] = this.#hears;
    if (news.kind === 'failed' || (news.kind === 'page' && news.isLast)) this.#isAnswered = true;
    if (news.kind === 'free') {
      this.#isAnswered = false;
      this.#hears.shift();
      if (this.isIdle) this.#cancelIdle = this.#parts.timers.after(idleMs, () => void this.end());
    }
    hear?.(news);
    if (news.kind === 'free') this.#onChange();
  }

  #gone(): void {
    this.isEnded = true;
    this.#isEnding = true;
    this.#cancelIdle();
    // What its statement kept is gone with it.
    const {pages, own} = this.#parts.ledger;
    Atomics.store(pages, own, 0);
    for (const hear of this.#hears.splice(0)) hear(this.#loss);
    this.#onChange();
  }
}
