/** The thread of `archive-thread.ts`: makes or reads one archive, and ends. */
import {availableParallelism} from 'node:os';
import {setTimeout as pause} from 'node:timers/promises';
import {parentPort, workerData} from 'node:worker_threads';
import {assert} from '#server/base/assert.ts';
import type {Progress} from '#server/backup/backups.ts';
import {Pace, type PaceMoment} from '#server/backup/pace.ts';
import {readArchive} from '#server/backup/read-archive.ts';
import {type ArchiveWritten, writeArchive} from '#server/backup/write-archive.ts';
import {threadCpuMs} from '#server/platform/real/clock.ts';
import {type ArchiveNews, type ArchiveWork, sentFailure} from './archive-messages.ts';
import {toldBusyShare} from './busy-share.ts';
import {DeflateThreads} from './deflate-threads.ts';
import {lowerPriority} from '../threads/priority.ts';

const port = parentPort;
assert(port !== null, 'the thread of an archive is a thread');

/** The time between two messages about how far it is. */
const tellMs = 200;

function say(news: ArchiveNews): void {
  port?.postMessage(news);
}

function progressTeller(): Progress {
  let toldAt = 0;
  return (done, total) => {
    const now = performance.now();
    if (now - toldAt < tellMs) return;
    toldAt = now;
    say({kind: 'progress', done, total});
  };
}

async function carriedOut(work: ArchiveWork): Promise<unknown> {
  const onProgress = progressTeller();
  if (work.kind === 'write') {
    return await written(work, onProgress);
  }
  const {path, bytesMax, ...rest} = work.order;
  const obstacle = (bytes: number): string | undefined =>
    bytes > bytesMax ? `the archive needs ${bytes} bytes, and ${bytesMax} are free` : undefined;
  return await readArchive(path, {...rest, obstacle, onProgress});
}

async function written(
  {order, busyShare}: ArchiveWork & {readonly kind: 'write'},
  onProgress: Progress,
): Promise<ArchiveWritten> {
  const threads = new DeflateThreads();
  const now = (): PaceMoment => ({
    ms: performance.now(),
    cpuMs: threads.cpuMs + threadCpuMs(),
    busyShare: toldBusyShare(busyShare),
  });
  const pace = new Pace(availableParallelism(), now());
  try {
    return await writeArchive(order, {
      onProgress,
      monotonic: () => performance.now(),
      pause: ms => pause(ms),
      giveWay: async () => {
        for (let ms = pace.pauseAt(now()); ms > 0; ms = pace.pauseAt(now())) await pause(ms);
      },
      deflate: piece => threads.deflate(piece),
    });
  } finally {
    await threads.end();
  }
}

lowerPriority('background');
carriedOut(workerData as ArchiveWork).then(
  value => say({kind: 'done', value}),
  (error: unknown) => say({kind: 'failed', failure: sentFailure(error)}),
);
