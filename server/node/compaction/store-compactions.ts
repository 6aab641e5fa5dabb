/**
 * Compacts stores on a thread that is started for it and ends with it: a call takes minutes, and
 * whoever makes it waits for all of it. One at a time: each takes a disk's whole attention.
 */
import {Worker} from 'node:worker_threads';
import type {CompactionOrder, CompactionThread} from '#server/engine/store-compaction.ts';
import {type PackedError, unpackError} from '#server/session/threads/thread-errors.ts';

/** What the thread says before it ends. */
export type CompactionNews =
  | {readonly kind: 'done'; readonly finished: boolean}
  | {readonly kind: 'failed'; readonly error: PackedError};

export class StoreCompactions implements CompactionThread {
  #last: Promise<unknown> = Promise.resolve();

  async compact(order: CompactionOrder): Promise<boolean> {
    const ended = this.#last.then(() => Atomics.load(order.stop, 0) === 0 && compacted(order));
    this.#last = ended.catch(() => undefined);
    return await ended;
  }

  async close(): Promise<void> {
    await this.#last;
  }
}

/** The store is let go of before it settles: the thread has ended. */
async function compacted(order: CompactionOrder): Promise<boolean> {
  const worker = new Worker(new URL('./compaction-worker.ts', import.meta.url), {
    workerData: order,
  });
  let news: CompactionNews | undefined;
  let failure: Error | undefined;
  worker.on('message', (message: CompactionNews) => {
    news = message;
  });
  worker.on('error', (error: Error) => {
    failure = error;
  });
  await new Promise<void>(resolve => worker.on('exit', () => resolve()));
  if (news?.kind === 'done') return news.finished;
  if (news?.kind === 'failed') throw unpackError(news.error);
  throw failure ?? new Error('the thread that compacts a store has ended before its work');
}
