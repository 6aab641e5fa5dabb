/**
 * A thread that runs long reads, one after the other (session/threads/thread-run.ts).
 *
 * It uses the stores that are open in the process, each for one order only, and says that it is
 * free when it has let go. Threads with short requests go first.
 */
import {parentPort, workerData} from 'node:worker_threads';
import {createFunctionRegistry} from '#server/execution/standard-functions.ts';
import {createClock, createRandom, createTimers} from '#server/platform/real/clock.ts';
import {loadJavaScript} from '#server/platform/real/javascript.ts';
import {createMachine} from '#server/platform/real/machine.ts';
import type {PlanTaskEvent, PlanTask} from '#server/session/threads/plan-task.ts';
import {ThreadRunner} from '#server/session/threads/thread-run.ts';
import {attachStore} from '#server/storage/rocksdb/open.ts';
import type {StoreSnapshot} from '#server/storage/store.ts';
import {indexFamilies} from '#server/caches/index-families.ts';
import {rowEncodings} from './row-encodings.ts';
import type {ScanThreadStart} from './scan-threads.ts';
import {lowerPriority} from './threads/priority.ts';

const port = parentPort;
if (port !== null) {
  lowerPriority('statement');
  const runner = new ThreadRunner({
    clock: createClock(),
    random: createRandom(),
    timers: createTimers(),
    machine: createMachine(),
    functions: createFunctionRegistry(),
    families: indexFamilies,
    ledger: (workerData as ScanThreadStart).ledger,
    encodings: rowEncodings,
    loadJavaScript,
  });
  const tell = (news: PlanTaskEvent): void => {
    const isPage = news.kind === 'page' && news.bytes !== undefined;
    port.postMessage(news, isPage ? [news.bytes.buffer] : []);
  };
  let last = Promise.resolve();
  port.on('message', (order: PlanTask) => {
    last = last.then(() => run(runner, order, tell));
  });
}

async function run(
  runner: ThreadRunner,
  order: PlanTask,
  tell: (news: PlanTaskEvent) => void,
): Promise<void> {
  const {snapshot, schemaVersion} = order;
  const store = await attachStore(snapshot.store);
  try {
    const source = {
      schemaVersion,
      open: () => store.attachSnapshot(snapshot.handle),
      release: (held: StoreSnapshot) => held.release(),
    };
    await runner.run(order, source, tell);
  } finally {
    store.close();
  }
  tell({kind: 'free'});
}
