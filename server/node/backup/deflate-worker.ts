/** A thread of `deflate-threads.ts`: deflates one piece after the other. */
import {setPriority} from 'node:os';
import {parentPort} from 'node:worker_threads';
import {assert} from '#server/base/assert.ts';
import {deflatePiece, type Piece} from '#server/backup/archive/deflated-pieces.ts';
import {archiveNiceness} from './archive-messages.ts';

const port = parentPort;
assert(port !== null, 'the thread that deflates is a thread');

setPriority(archiveNiceness);
port.on('message', (piece: Piece) => {
  const bytes = deflatePiece(piece);
  port.postMessage(bytes, [bytes.buffer]);
});
