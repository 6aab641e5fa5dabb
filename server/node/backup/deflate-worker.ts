/** A thread of `deflate-threads.ts`: deflates one piece after the other. */
import {parentPort} from 'node:worker_threads';
import {assert} from '#server/base/assert.ts';
import {deflatePiece, type Piece} from '#server/backup/archive/deflated-pieces.ts';
import {threadCpuMs} from '#server/platform/real/clock.ts';
import {lowerPriority} from '../threads/priority.ts';
import type {DeflatedPiece} from './archive-messages.ts';

const port = parentPort;
assert(port !== null, 'the thread that deflates is a thread');

lowerPriority('background');
let cpuMsBefore = 0;
port.on('message', (piece: Piece) => {
  const bytes = deflatePiece(piece);
  const cpuMs = threadCpuMs();
  port.postMessage({bytes, cpuMs: cpuMs - cpuMsBefore} satisfies DeflatedPiece, [bytes.buffer]);
  cpuMsBefore = cpuMs;
});
