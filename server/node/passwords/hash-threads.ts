/**
 * The threads that hash passwords: started when one is needed and none is free, ended when they
 * were idle for a while.
 *
 * A hash keeps a processor for tens of milliseconds and anybody may ask for one. On threads of
 * their own, which give way to all others, hashes take neither a processor from requests nor a
 * thread of the pool from the disk. A few that come alone, as at a start or when a person logs in,
 * run on the pool, since starting a thread costs as much as a hash, and memory besides.
 */
import {Worker} from 'node:worker_threads';
import type {Timers} from '#server/platform/clock.ts';
import {type DeriveKey, derivePooled, keyBytes} from '#server/security/passwords.ts';

export interface HashOrder {
  readonly password: string;
  readonly salt: string;
  readonly rounds: number;
  readonly keyBytes: number;
}

const idleMs = 2_000;
/** Hashes at once that need no thread, and how long it takes until there is room for another. */
const pooledMax = 4;
const pooledEveryMs = 1_000;
/** A thread has no data of its own. */
const heapMegabytesMax = 16;

interface Thread {
  readonly worker: Worker;
  order: PromiseWithResolvers<Buffer> | undefined;
  cancelIdle: () => void;
}

export class HashThreads {
  readonly #timers: Timers;
  readonly #idle: Thread[] = [];
  readonly #all = new Set<Thread>();
  #pooled = 0;

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  /** Threads that are there. */
  get size(): number {
    return this.#all.size;
  }

  /** One key, on a thread that has no other order: whoever asks bounds how many there are. */
  readonly derive: DeriveKey = async (password, salt, rounds) => {
    // While a thread is there, many come: the pool would hash for them beside requests.
    if (this.#all.size === 0 && this.#pooled < pooledMax) {
      this.#pooled += 1;
      this.#timers.after(pooledEveryMs * this.#pooled, () => (this.#pooled -= 1));
      return await derivePooled(password, salt, rounds);
    }
    const thread = this.#idle.pop() ?? this.#start();
    thread.cancelIdle();
    const order = Promise.withResolvers<Buffer>();
    thread.order = order;
    // Nobody ends the process while somebody waits.
    thread.worker.ref();
    thread.worker.postMessage({password, salt, rounds, keyBytes} satisfies HashOrder);
    return await order.promise;
  };

  #start(): Thread {
    const worker = new Worker(new URL('./hash-worker.ts', import.meta.url), {
      resourceLimits: {maxOldGenerationSizeMb: heapMegabytesMax},
    });
    const thread: Thread = {worker, order: undefined, cancelIdle: () => {}};
    this.#all.add(thread);
    worker.on('message', (key: Uint8Array) => this.#answered(thread, Buffer.from(key)));
    worker.on('error', error => this.#ended(thread, error));
    worker.on('exit', () => this.#ended(thread, new Error('a thread for passwords has ended')));
    return thread;
  }

  #answered(thread: Thread, key: Buffer): void {
    const {order, worker} = thread;
    thread.order = undefined;
    worker.unref();
    thread.cancelIdle = this.#timers.after(idleMs, () => {
      this.#forget(thread);
      void worker.terminate();
    });
    this.#idle.push(thread);
    order?.resolve(key);
  }

  #ended(thread: Thread, error: Error): void {
    this.#forget(thread);
    thread.order?.reject(error);
    thread.order = undefined;
  }

  #forget(thread: Thread): void {
    thread.cancelIdle();
    this.#all.delete(thread);
    const at = this.#idle.indexOf(thread);
    if (at >= 0) this.#idle.splice(at, 1);
  }
}
