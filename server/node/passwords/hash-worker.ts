/**
 * A thread of `hash-threads.ts`: derives one key after the other. It loads nothing of the server,
 * since it starts for a login and takes memory for as long as it is there.
 */
import {pbkdf2Sync} from 'node:crypto';
import {parentPort, workerData} from 'node:worker_threads';
import {lowerPriority, type Priority} from '../threads/priority.ts';
import type {HashOrder} from './hash-threads.ts';

const port = parentPort;
if (port !== null) {
  // The first key loads what makes keys, which would take seconds behind busy processors.
  pbkdf2Sync('', '', 1, 1, 'sha256');
  lowerPriority(workerData as Priority);
  port.on('message', ({password, salt, rounds, keyBytes}: HashOrder) => {
    port.postMessage(pbkdf2Sync(password, salt, rounds, keyBytes, 'sha256'));
  });
}
