/**
 * The thread of `hash-threads.ts`: derives one key after the other. It loads nothing of the server,
 * since it starts for a login and takes memory for as long as it is there.
 */
import {pbkdf2Sync} from 'node:crypto';
import {setPriority} from 'node:os';
import {parentPort} from 'node:worker_threads';
import type {HashOrder} from './hash-threads.ts';

/**
 * The niceness of work that anybody can cause who reaches a port: beside requests it gets a tenth
 * of a processor, and an idle processor whole.
 */
const niceness = 10;

const port = parentPort;
if (port !== null) {
  // On Linux this is the priority of the calling thread alone.
  if (process.platform === 'linux') setPriority(niceness);
  port.on('message', ({password, salt, rounds, keyBytes}: HashOrder) => {
    port.postMessage(pbkdf2Sync(password, salt, rounds, keyBytes, 'sha256'));
  });
}
