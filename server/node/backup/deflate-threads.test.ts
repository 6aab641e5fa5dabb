/** Threads that deflate: pieces come back in their order, and each gives way to other threads. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {inflateRawSync} from 'node:zlib';
import {DeflatedPieces, pieceBytes, PieceMemory} from '#server/backup/archive/deflated-pieces.ts';
import {threadsOfProcess} from '../threads/testing-threads.ts';
import {DeflateThreads} from './deflate-threads.ts';

const threads = 2;

test('many pieces through little memory are one stream, on threads that give way', {
  skip: process.platform !== 'linux' && 'threads have no niceness of their own',
}, async () => {
  const own = new DeflateThreads();
  const written: Uint8Array[] = [];
  const memory = new PieceMemory(threads);
  const before = threadsOfProcess();
  try {
    const pieces = new DeflatedPieces(
      {level: 1, threads},
      piece => own.deflate(piece),
      async bytes => void written.push(bytes),
    );
    const expected: Buffer[] = [];
    for (let n = 0; n < 9; n += 1) {
      const bytes = memory.next().subarray(0, n === 8 ? 1_000 : pieceBytes);
      for (let at = 0; at < bytes.length; at += 4) bytes.writeUInt32LE((n * at) % 1_013, at);
      expected.push(Buffer.from(bytes));
      await pieces.add(bytes, n === 8);
    }
    const count = await pieces.finish();
    const stream = Buffer.concat(written);
    assert.equal(stream.length, count);
    assert.ok(inflateRawSync(stream).equals(Buffer.concat(expected)));
    const added = [...threadsOfProcess()].filter(([id]) => !before.has(id));
    const nice = added.filter(([, {niceness}]) => niceness === 10);
    assert.equal(nice.length, threads, JSON.stringify(added));
    assert.ok(own.cpuMs > 1, `${own.cpuMs} ms for nine pieces`);
  } finally {
    await own.end();
  }
});

const piece = {bytes: Buffer.from(new SharedArrayBuffer(8)), level: 1, isLast: true};

test('a piece that cannot be deflated is refused, the next one has another thread', async () => {
  const own = new DeflateThreads();
  try {
    await assert.rejects(own.deflate({...piece, level: 77}), /level/);
    const bytes = await own.deflate(piece);
    assert.deepEqual(inflateRawSync(bytes), Buffer.alloc(8));
  } finally {
    await own.end();
  }
});

test('a piece whose thread is ended is refused, and so is one behind the end', async () => {
  const own = new DeflateThreads();
  const large = {...piece, bytes: Buffer.from(new SharedArrayBuffer(64 << 20)), level: 9};
  const underWay = [own.deflate(large), own.deflate(large)];
  const refused = underWay.map(one => assert.rejects(one, /has ended/));
  await own.end();
  await Promise.all(refused);
  await assert.rejects(own.deflate(piece), /has ended/);
});
