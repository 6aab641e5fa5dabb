/** The thread of `hash-threads.ts`: derives one key after the other. */
import {pbkdf2Sync} from 'node:crypto';
import {setPriority} from 'node:os';
import {parentPort} from 'node:worker_threads';
import {keyBytes} from '#server/security/passwords.ts';
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
  port.on('message', ({password, salt, rounds}: HashOrder) => {
    port.postMessage(pbkdf2Sync(password, salt, rounds, keyBytes, 'sha256'));
  });
}
