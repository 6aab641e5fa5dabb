/** The apply thread (apply-body.ts) as a worker. */
import {parentPort, workerData} from 'node:worker_threads';
import {assert} from '#server/base/assert.ts';
import {attachStore} from '#server/storage/rocksdb/open.ts';
import {ApplyBody, type StoreAccess} from './apply-body.ts';
import type {RingMemory} from './commit-ring.ts';
import {portOf, runBody} from './thread-channel.ts';

assert(parentPort !== null, 'this is a thread');
const start = workerData as {readonly ring: RingMemory};
const access: StoreAccess = {
  open(lent) {
    assert(!('batch' in lent), 'a store as such does not reach another thread');
    return attachStore(lent);
  },
  close: store => store.close(),
};
await runBody(new ApplyBody(portOf(parentPort), start, access), start.ring);
