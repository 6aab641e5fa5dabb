/**
 * Threads that deflate the pieces of one archive, as many as there is work for at once.
 *
 * The platform's own pool would do it too, but that is the pool of the whole process: its threads
 * stand beside those that serve clients and sync commits, while each of these has a niceness of its
 * own and gives way to them.
 */
import {Worker} from 'node:worker_threads';
import type {Piece} from '#server/backup/archive/deflated-pieces.ts';
import type {DeflatedPiece} from './archive-messages.ts';

/** Megabytes: what a thread makes is garbage at once, and to be found soon. */
const resourceLimits = {maxYoungGenerationSizeMb: 2};

export class DeflateThreads {
  readonly #idle: Worker[] = [];
  readonly #all = new Set<Worker>();
  readonly #busy = new Map<Worker, PromiseWithResolvers<Uint8Array>>();
  #cpuMs = 0;
  #isEnded = false;

  /** The processor time of all pieces that are deflated. */
  get cpuMs(): number {
    return this.#cpuMs;
  }

  /**
   * Deflates a piece; takes a thread that is idle, or one more.
   *
   * @throws {Error} when its thread ends before, by a fault of its own or by `end`.
   */
  async deflate(piece: Piece): Promise<Uint8Array> {
    if (this.#isEnded) throw ended();
    const worker = this.#idle.pop() ?? this.#start();
    const answer = Promise.withResolvers<Uint8Array>();
    this.#busy.set(worker, answer);
    worker.postMessage(piece);
    return await answer.promise;
  }

  /** Resolves when no thread is left; pieces under way are refused. */
  async end(): Promise<void> {
    this.#isEnded = true;
    await Promise.all([...this.#all].map(worker => worker.terminate()));
  }

  #start(): Worker {
    const worker = new Worker(new URL('./deflate-worker.ts', import.meta.url), {resourceLimits});
    this.#all.add(worker);
    worker.on('message', ({bytes, cpuMs}: DeflatedPiece) => {
      this.#cpuMs += cpuMs;
      this.#idle.push(worker);
      this.#settle(worker)?.resolve(bytes);
    });
    worker.on('error', error => this.#settle(worker)?.reject(error));
    worker.on('exit', () => {
      this.#all.delete(worker);
      const at = this.#idle.indexOf(worker);
      if (at >= 0) this.#idle.splice(at, 1);
      this.#settle(worker)?.reject(ended());
    });
    return worker;
  }

  #settle(worker: Worker): PromiseWithResolvers<Uint8Array> | undefined {
    const answer = this.#busy.get(worker);
    this.#busy.delete(worker);
    return answer;
  }
}

function ended(): Error {
  return new Error('a thread that deflates has ended');
}
