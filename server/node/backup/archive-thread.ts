/**
 * Makes and reads archives, each on a thread of its own that ends with it: reading, checksums and
 * encryption would take from the network thread what clients need of it.
 */
import {Worker} from 'node:worker_threads';
import {Refusal} from '#server/base/errors.ts';
import type {ArchiveManifest} from '#server/backup/archive-manifest.ts';
import type {ArchiveThread, Progress, ReadOrder} from '#server/backup/backups.ts';
import type {ArchiveOrder, ArchiveWritten} from '#server/backup/write-archive.ts';
import type {Timers} from '#server/platform/clock.ts';
import {type ArchiveNews, type ArchiveWork, receivedFailure} from './archive-messages.ts';
import {BusyShare} from './busy-share.ts';

export class WorkerArchiveThread implements ArchiveThread {
  readonly #timers: Pick<Timers, 'after'>;
  readonly #workers = new Set<Worker>();
  #isClosed = false;

  constructor(timers: Pick<Timers, 'after'>) {
    this.#timers = timers;
  }

  async write(order: ArchiveOrder, onProgress: Progress): Promise<ArchiveWritten> {
    const busyShare = new BusyShare(this.#timers);
    try {
      const work: ArchiveWork = {kind: 'write', order, busyShare: busyShare.memory};
      return (await this.#run(work, onProgress)) as ArchiveWritten;
    } finally {
      busyShare.end();
    }
  }

  async read(order: ReadOrder, onProgress: Progress): Promise<ArchiveManifest> {
    return (await this.#run({kind: 'read', order}, onProgress)) as ArchiveManifest;
  }

  /** Breaks off what is under way, which is refused with `server.stopping`. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#workers].map(worker => worker.terminate()));
  }

  async #run(work: ArchiveWork, onProgress: Progress): Promise<unknown> {
    const stopping = (): Refusal => new Refusal('server.stopping', 'the server is stopping');
    if (this.#isClosed) throw stopping();
    const worker = new Worker(new URL('./archive-worker.ts', import.meta.url), {
      workerData: work,
    });
    this.#workers.add(worker);
    try {
      return await new Promise<unknown>((resolve, reject) => {
        worker.on('message', (news: ArchiveNews) => {
          if (news.kind === 'progress') onProgress(news.done, news.total);
          else if (news.kind === 'done') resolve(news.value);
          else reject(receivedFailure(news.failure));
        });
        worker.on('error', reject);
        worker.on('exit', () => reject(stopping()));
      });
    } finally {
      await worker.terminate();
      this.#workers.delete(worker);
    }
  }
}
