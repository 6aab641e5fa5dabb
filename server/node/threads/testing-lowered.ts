/**
 * A program of `priority.test.ts`: starts a thread of the priority in its first argument, or with
 * `hashes` those that hash five passwords, which find the addon at the path in its second one, and
 * says in lines what the kernel says of all threads, the first before those. It is killed: a thread
 * of the idle class may be in no state to end, and has nothing left to do once it has its priority.
 */
import {isMainThread, Worker, workerData} from 'node:worker_threads';
import {HashThreads} from '../passwords/hash-threads.ts';
import {lowerPriority, offerIdleClass, type Priority} from './priority.ts';
import {threadsOfProcess} from './testing-threads.ts';

const say = (): void => console.log(JSON.stringify([...threadsOfProcess()]));

if (isMainThread) {
  const [started, addon] = process.argv.slice(2);
  say();
  offerIdleClass(addon);
  if (started === 'hashes') hash();
  else void new Worker(new URL(import.meta.url), {workerData: started});
  setInterval(say, 20);
} else {
  lowerPriority(workerData as Priority);
  setInterval(() => {}, 60_000);
}

/** Four of them need no thread. */
function hash(): void {
  const threads = new HashThreads({after: () => () => {}, yield: () => Promise.resolve()});
  for (let at = 0; at < 5; at += 1) void threads.derive('secret', 'salt', 1_000);
}
