/**
 * Threads that deflate the pieces of one archive, as many as there is work for at once.
 *
 * The platform's own pool would do it too, but that is the pool of the whole process: its threads
 * stand beside those that serve clients and sync commits, while each of these has a niceness of its
 * own and gives way to them.
 */
import {Worker} from 'node:worker_threads';
import type {Piece} from '#server/backup/archive/deflated-pieces.ts';

/** Megabytes: what a thread makes is garbage at once, and to be found soon. */
const resourceLimits = {maxYoungGenerationSizeMb: 2};

export class DeflateThreads {
  readonly #idle: Worker[] = [];
  readonly #all = new Set<Worker>();

  /** Deflates a piece; takes a thread that is idle, or one more. */
  async deflate(piece: Piece): Promise<Uint8Array> {
    const worker = this.#idle.pop() ?? this.#start();
    const answer = Promise.withResolvers<Uint8Array>();
    const onError = (error: unknown): void => answer.reject(error);
    worker.once('message', answer.resolve);
    worker.once('error', onError);
    worker.postMessage(piece);
    const bytes = await answer.promise;
    worker.off('error', onError);
    this.#idle.push(worker);
    return bytes;
  }

  async end(): Promise<void> {
    await Promise.all([...this.#all].map(worker => worker.terminate()));
  }

  #start(): Worker {
    const worker = new Worker(new URL('./deflate-worker.ts', import.meta.url), {resourceLimits});
    this.#all.add(worker);
    return worker;
  }
}
