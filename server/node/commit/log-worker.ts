/**
 * The log thread: appends what waits in the ring as one batch, syncs, and tells it.
 *
 * Nothing else happens here, so that no commit waits behind anything but other commits: batches
 * are whatever queued during the last fdatasync. The next segment is zero-filled in small steps, in
 * quiet moments or as fast as the active one fills up. A failed write or sync ends appending for
 * good (F3). While it waits, the network thread has the end of the log (log/log-tail-lease.ts).
 */
import {parentPort, workerData} from 'node:worker_threads';
import {assert} from '#server/base/assert.ts';
import type {LogWorkerStart} from './commit-messages.ts';
import {word} from './commit-ring.ts';
import {LogThread} from './log-thread.ts';

assert(parentPort !== null, 'this is a thread');
const start = workerData as LogWorkerStart;
const control = new Int32Array(start.ring.control);
const thread = new LogThread(parentPort, start);
while (!thread.isClosed) {
  const seen = Atomics.load(control, word.logSignal);
  if (thread.work() || thread.isClosed) continue;
  const {patienceMs} = thread;
  thread.lend();
  const woken = Atomics.wait(control, word.logSignal, seen, patienceMs);
  thread.takeBack();
  if (woken === 'timed-out') thread.tidy();
}
