/** Frames come out whole and in order, however the network cuts them. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {type Frame, frame, FrameReader} from './leader-call.ts';

const sent: readonly Frame[] = [
  {kind: 'head', bytes: Buffer.from('{}')},
  {kind: 'rows', bytes: Buffer.alloc(200_000, 7)},
  {kind: 'rows', bytes: Buffer.alloc(0)},
  {kind: 'rows', bytes: Buffer.from('one')},
  {kind: 'end', bytes: Buffer.from('{"index":1}')},
];
const bytes = Buffer.concat(sent.map(one => frame(one.kind, one.bytes)));

for (const pieceBytes of [1, 4, 5, 6, 7, 4_096, 65_536, 200_010, bytes.length]) {
  test(`in pieces of ${pieceBytes} bytes`, () => {
    const reader = new FrameReader();
    const read: Frame[] = [];
    for (let at = 0; at < bytes.length; at += pieceBytes) {
      reader.add(bytes.subarray(at, at + pieceBytes));
      for (let one = reader.next(); one !== undefined; one = reader.next()) read.push(one);
    }
    assert.deepEqual(read, sent);
    assert.equal(reader.next(), undefined);
  });
}

test('what is no frame is told', () => {
  const reader = new FrameReader();
  reader.add(Buffer.from('HTTP/1.1 200 OK'));
  assert.throws(() => reader.next(), /no answer/);
});
