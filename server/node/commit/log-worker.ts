/** The log thread as a worker: of a server alone, or of a member of a cluster. */
import {parentPort, workerData} from 'node:worker_threads';
import {assert} from '#server/base/assert.ts';
import {LogSyncs} from '#server/log/counted-disk.ts';
import {createClock} from '#server/platform/real/clock.ts';
import {createDisk} from '#server/platform/real/disk.ts';
import {MemberLogBody} from '../member-log/member-log-body.ts';
import type {LogWorkerStart} from './commit-messages.ts';
import {LocalLogBody} from './local-log-body.ts';
import {portOf, runBody} from './thread-channel.ts';

assert(parentPort !== null, 'this is a thread');
const start = workerData as LogWorkerStart;
const clock = createClock();
const disk = new LogSyncs(start.syncs).counting(createDisk(), clock);
const body =
  start.kind === 'local'
    ? new LocalLogBody(portOf(parentPort), start, disk)
    : new MemberLogBody(portOf(parentPort), start, {disk, clock});
await runBody(body, start.ring);
