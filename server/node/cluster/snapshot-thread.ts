/**
 * A thread for what is done with whole files of snapshots: receiving them, and their checksums.
 * Either would take from the network thread what clients need of it.
 *
 * It is started by the first order and ended when none has come for a while.
 */
import {Worker} from 'node:worker_threads';
import {Corruption} from '#server/base/errors.ts';
import type {Timers} from '#server/platform/clock.ts';
import {PeerFailure} from '#server/replication/snapshot/peer-requests.ts';
import type {Engine} from '#server/storage/rocksdb/open.ts';
import type {Transferred, TransferOrder} from '#server/replication/snapshot/transfer.ts';

export type SnapshotWork =
  | {readonly kind: 'checksum'; readonly path: string; readonly bytes: number}
  | {readonly kind: 'transfer'; readonly order: TransferOrder};

export interface SnapshotThreadStart {
  readonly storeEngine: Engine;
}

export interface SnapshotThreadRequest {
  readonly number: number;
  readonly work: SnapshotWork;
}

export type SnapshotThreadAnswer =
  | {readonly number: number; readonly kind: 'done'; readonly value: unknown}
  | {
      readonly number: number;
      readonly kind: 'failed';
      readonly name: string;
      readonly message: string;
    };

const idleMs = 10_000;

export class SnapshotThread {
  readonly #timers: Timers;
  readonly #workerData: SnapshotThreadStart;
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  #worker: Worker | undefined;
  #cancelIdle: () => void = () => {};
  #asked = 0;

  /** @param storeEngine - Whose checksums are the fastest here. */
  constructor(timers: Timers, storeEngine: Engine) {
    this.#timers = timers;
    this.#workerData = {storeEngine};
  }

  /** `checksumOfFile`. @throws {Error} as the file system says it. */
  async checksum(path: string, bytes: number): Promise<number> {
    return (await this.#ask({kind: 'checksum', path, bytes})) as number;
  }

  /** `transferFiles`; the thread is ended with it when the signal says so. */
  async transfer(order: TransferOrder, signal?: AbortSignal): Promise<Transferred> {
    signal?.throwIfAborted();
    const abort = (): void => void this.close();
    signal?.addEventListener('abort', abort);
    try {
      return (await this.#ask({kind: 'transfer', order})) as Transferred;
    } finally {
      signal?.removeEventListener('abort', abort);
    }
  }

  /** Breaks off what is under way. The next order starts another thread. */
  async close(): Promise<void> {
    const worker = this.#worker;
    this.#lose(worker, new PeerFailure('the thread was ended'));
    await worker?.terminate();
  }

  #ask(work: SnapshotWork): Promise<unknown> {
    this.#cancelIdle();
    this.#worker ??= this.#start();
    const number = ++this.#asked;
    const answer = Promise.withResolvers<unknown>();
    this.#waiting.set(number, answer);
    this.#worker.postMessage({number, work} satisfies SnapshotThreadRequest);
    return answer.promise;
  }

  #start(): Worker {
    const worker = new Worker(new URL('./snapshot-worker.ts', import.meta.url), {
      workerData: this.#workerData,
    });
    worker.on('message', (answer: SnapshotThreadAnswer) => this.#hear(answer));
    worker.on('error', error => this.#lose(worker, error));
    worker.on('exit', () => this.#lose(worker, new Error('the thread of snapshots has ended')));
    return worker;
  }

  #hear(answer: SnapshotThreadAnswer): void {
    const asked = this.#waiting.get(answer.number);
    this.#waiting.delete(answer.number);
    if (this.#waiting.size === 0) {
      this.#cancelIdle = this.#timers.after(idleMs, () => void this.close());
    }
    if (answer.kind === 'done') asked?.resolve(answer.value);
    else asked?.reject(rebuilt(answer));
  }

  #lose(worker: Worker | undefined, reason: Error): void {
    if (worker === undefined || this.#worker !== worker) return;
    this.#worker = undefined;
    this.#cancelIdle();
    for (const {reject} of this.#waiting.values()) reject(reason);
    this.#waiting.clear();
  }
}

/** Classes do not cross threads: those that decide what happens next are made anew. */
function rebuilt({name, message}: {readonly name: string; readonly message: string}): Error {
  if (name === 'PeerFailure') return new PeerFailure(message);
  if (name === 'Corruption') return new Corruption(message);
  return new Error(message);
}
