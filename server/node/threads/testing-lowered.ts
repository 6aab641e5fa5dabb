/** A thread of `priority.test.ts`: lowers its priority, says how far, and waits for a message. */
import {parentPort, workerData} from 'node:worker_threads';
import {lowerPriority, type Priority} from './priority.ts';

parentPort?.postMessage(lowerPriority(workerData as Priority));
parentPort?.once('message', () => {});
