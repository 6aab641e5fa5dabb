/**
 * A program of `priority.test.ts`: starts a thread of the priority in its first argument, which
 * finds the addon at the path in its second one, and says in lines what the kernel says of all
 * threads, the first before that one. It is killed: a thread of the idle class may be in no state
 * to end, and has nothing left to do once it has its priority.
 */
import {isMainThread, Worker, workerData} from 'node:worker_threads';
import {lowerPriority, offerIdleClass, type Priority} from './priority.ts';
import {threadsOfProcess} from './testing-threads.ts';

const say = (): void => console.log(JSON.stringify([...threadsOfProcess()]));

if (isMainThread) {
  const [priority, addon] = process.argv.slice(2);
  say();
  offerIdleClass(addon);
  void new Worker(new URL(import.meta.url), {workerData: priority});
  setInterval(say, 20);
} else {
  lowerPriority(workerData as Priority);
  setInterval(() => {}, 60_000);
}
