/**
 * The threads that hash passwords: started when one is needed and none is free, ended when they
 * were idle for a while.
 *
 * A hash keeps a processor for tens of milliseconds and anybody may ask for one. On threads of
 * their own, in the kernel's idle class, hashes take neither a processor from requests nor a
 * thread of the pool from the disk. Where every processor is busy such a thread may stand still,
 * and cannot be helped without a privilege: an order that is late there is given to a thread of
 * another priority as well, and as long as a late one is not done, further ones go to that thread
 * alone (docs/design/0040-priorities-of-threads.md). A few that come alone, as at a start or when
 * a person logs in, run on the pool, since starting a thread costs as much as a hash, and memory
 * besides.
 */
import {Worker} from 'node:worker_threads';
import type {Timers} from '#server/platform/clock.ts';
import {type DeriveKey, derivePooled, keyBytes} from '#server/security/passwords.ts';
import type {Priority} from '../threads/priority.ts';

export interface HashOrder {
  readonly password: string;
  readonly salt: string;
  readonly rounds: number;
  readonly keyBytes: number;
}

const idleMs = 2_000;
/** How long an order may take in the idle class, until it is given to another thread too. */
const lateMs = 250;
/** Hashes at once that need no thread, and how long it takes until there is room for another. */
const pooledMax = 4;
const pooledEveryMs = 1_000;
/** A thread has no data of its own. */
const heapMegabytesMax = 16;

interface Given {
  readonly order: HashOrder;
  readonly key: PromiseWithResolvers<Buffer>;
  isLate: boolean;
}

interface Thread {
  readonly worker: Worker;
  readonly priority: Priority;
  given: Given | undefined;
  cancelIdle: () => void;
}

export class HashThreads {
  readonly #timers: Timers;
  readonly #willing: Priority;
  readonly #all = new Set<Thread>();
  #pooled = 0;

  /** @param willing - Of the threads that hash what is not late. */
  constructor(timers: Timers, willing: Priority = 'idle') {
    this.#timers = timers;
    this.#willing = willing;
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
    const order = {password, salt, rounds, keyBytes};
    const given: Given = {order, key: Promise.withResolvers<Buffer>(), isLate: false};
    if ([...this.#all].some(thread => thread.given?.isLate === true)) {
      this.#give(given, 'background');
      return await given.key.promise;
    }
    this.#give(given, this.#willing);
    const cancel = this.#timers.after(lateMs, () => {
      given.isLate = true;
      this.#give(given, 'background');
    });
    return await given.key.promise.finally(cancel);
  };

  #give(given: Given, priority: Priority): void {
    const free = [...this.#all].find(
      thread => thread.priority === priority && thread.given === undefined,
    );
    const thread = free ?? this.#start(priority);
    thread.cancelIdle();
    thread.given = given;
    // Nobody ends the process while somebody waits.
    thread.worker.ref();
    thread.worker.postMessage(given.order);
  }

  #start(priority: Priority): Thread {
    const worker = new Worker(new URL('./hash-worker.ts', import.meta.url), {
      resourceLimits: {maxOldGenerationSizeMb: heapMegabytesMax},
      workerData: priority,
    });
    const thread: Thread = {worker, priority, given: undefined, cancelIdle: () => {}};
    this.#all.add(thread);
    worker.on('message', (key: Uint8Array) => this.#answered(thread, Buffer.from(key)));
    worker.on('error', error => this.#ended(thread, error));
    worker.on('exit', () => this.#ended(thread, new Error('a thread for passwords has ended')));
    return thread;
  }

  #answered(thread: Thread, key: Buffer): void {
    const {given, worker} = thread;
    thread.given = undefined;
    worker.unref();
    thread.cancelIdle = this.#timers.after(idleMs, () => {
      this.#forget(thread);
      void worker.terminate();
    });
    // Of two threads with one order the second answers nobody.
    given?.key.resolve(key);
  }

  #ended(thread: Thread, error: Error): void {
    this.#forget(thread);
    thread.given?.key.reject(error);
    thread.given = undefined;
  }

  #forget(thread: Thread): void {
    thread.cancelIdle();
    this.#all.delete(thread);
  }
}
