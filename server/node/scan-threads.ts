/**
 * The threads that long reads take: started when one is needed and none is free, ended when they
 * were idle for a while, because each holds a heap of its own.
 *
 * A thread serves one order at a time, so whatever becomes of it (it runs out of memory, it is
 * ended because it does not notice that it should stop) meets one statement. There are as many as
 * statements may run at once, so that a long one need not run on the network thread, and users
 * share them as they share places: one is for root alone, and one for whoever has not all others.
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
    this.#threads = new Array<ScanThread | undefined>(words).fill(undefined);
  }

  /** Threads that have an order. */
  get busy(): number {
    return this.#threads.filter(thread => thread?.isIdle === false).length;
  }

  onRelease(listener: () => void): void {
    this.#listener = listener;
  }

  take(owner: string | undefined): PlanThread | undefined {
    const thread = this.#hasShare(owner) ? this.#free() : undefined;
    if (thread === undefined) this.declined += 1;
    else {
      this.taken += 1;
      thread.owner = owner;
    }
    return thread;
  }

  isOpenTo(owner: string | undefined): boolean {
    if (this.#isClosed || !this.#hasShare(owner)) return false;
    return this.#waiting !== undefined || this.#vacantWord > 0;
  }

  #hasShare(owner: string | undefined): boolean {
    if (owner === undefined) return true;
    const threadsMax = this.#threads.length - 1;
    let ofUsers = 0;
    let ofOwner = 0;
    for (const thread of this.#threads) {
      if (thread?.isIdle !== false || thread.owner === undefined) continue;
      ofUsers += 1;
      if (thread.owner === owner) ofOwner += 1;
    }
    return ofUsers < Math.max(1, threadsMax - 1) && ofOwner < Math.max(1, threadsMax - 2);
  }

  #free(): ScanThread | undefined {
    if (this.#isClosed) return undefined;
    const word = this.#vacantWord;
    return this.#waiting ?? (word > 0 ? this.#start(word) : undefined);
  }

  /** A thread that would begin an order at once. */
  get #waiting(): ScanThread | undefined {
    return this.#threads.find(each => each?.isIdle) ?? this.#threads.find(each => each?.isReady);
  }

  /** The word of a thread that is not started; -1: all are. */
  get #vacantWord(): number {
    return this.#threads.indexOf(undefined, 1);
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
/** There are fewer threads than statements that run at once where each would get less. */
const scanHeapMegabytesEnough = 128;
/** Where the old objects of a thread are bounded; V8 would take thrice the main thread's half. */
const scanNurseryMegabytes = 8;
/** Part of what the process may use beside the heap of its main thread. */
const scanHeapPart = 1 / 4;
/** The most that `svc.scanWorkers` takes. */
const threadsMaxMax = 64;

/**
 * How many scan threads there are where nobody says: one for each statement that runs at once,
 * 0 for as many as come, as far as there is memory for them.
 */
export function scanThreadsMax(
  memory: ProcessMemory,
  {processors, concurrentMax}: {readonly processors: number; readonly concurrentMax: number},
): number {
  const wished = concurrentMax > 0 ? concurrentMax : 2 * processors;
  const affordable = Math.floor(scanBytes(memory) / MB / scanHeapMegabytesEnough);
  return Math.max(1, processors - 1, Math.min(wished, affordable, threadsMaxMax));
}

/**
 * What the heap of each scan thread may take; undefined where V8's own limit is less. A thread that
 * reaches it is ended, and its statement is refused; the others go on.
 */
export function scanHeapMegabytes(memory: ProcessMemory, threadsMax: number): number | undefined {
  const bytes = scanBytes(memory) / threadsMax;
  if (bytes >= memory.heapBytesMax) return undefined;
  return Math.max(scanHeapMegabytesMin, Math.floor(bytes / MB));
}

/** What the heaps of all scan threads may take together. */
function scanBytes({heapBytesMax, processBytesMax}: ProcessMemory): number {
  return scanHeapPart * Math.max(0, processBytesMax - heapBytesMax);
}

interface ScanThreadParts {
  readonly ledger: MemoryLedger;
  readonly timers: Timers;
  readonly heapMegabytesMax: number | undefined;
}

class ScanThread implements PlanThread {
  /** The thread is gone. */
  isEnded = false;
  /** Whose statement took it last. */
  owner: string | undefined;
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
        heapMegabytesMax === undefined
          ? {}
          : {
              maxOldGenerationSizeMb: heapMegabytesMax,
              maxYoungGenerationSizeMb: scanNurseryMegabytes,
            },
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
