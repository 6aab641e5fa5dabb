/** Frames: whatever the pieces, whole frames come out, and nothing else does. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import fc from 'fast-check';
import {type FrameKind, FrameReader, FrameWriter, frameHeaderBytes} from './frame.ts';

const payloadBytesMax = 4_000;

function written(writer: FrameWriter, payload: Uint8Array, kind: FrameKind = 'message'): Buffer {
  return Buffer.concat(writer.frame(kind, [payload]));
}

/** What a reader makes of a stream that arrives in pieces. */
function readIn(pieces: readonly Buffer[], seed: number): readonly string[] {
  const reader = new FrameReader(payloadBytesMax);
  reader.trust(seed, payloadBytesMax);
  const found: string[] = [];
  for (const piece of pieces) {
    reader.feed(piece);
    for (let next = reader.next(); next !== undefined; next = reader.next()) {
      if ('fault' in next) return [...found, next.fault];
      found.push(`${next.kind} ${next.payload.toString('hex')}`);
    }
  }
  return found;
}

const payloads = fc.array(
  fc.oneof(fc.uint8Array({maxLength: 60}), fc.uint8Array({minLength: 2_000, maxLength: 2_100})),
  {maxLength: 6},
);
const seeds = fc.nat(2 ** 32 - 1);

test('frames survive any cut of the stream', () => {
  fc.assert(
    fc.property(payloads, seeds, fc.array(fc.nat(200), {maxLength: 20}), (sent, seed, cuts) => {
      const writer = new FrameWriter();
      writer.reseed(seed);
      const stream = Buffer.concat(sent.map(payload => written(writer, payload)));
      const places = [...new Set(cuts.filter(cut => cut < stream.length))].sort((a, b) => a - b);
      const pieces = [...places, stream.length].map((end, at) =>
        stream.subarray(at === 0 ? 0 : places[at - 1], end),
      );
      assert.deepEqual(
        readIn(pieces, seed),
        sent.map(payload => `message ${Buffer.from(payload).toString('hex')}`),
      );
    }),
  );
});

test('no flipped bit passes', () => {
  const writer = new FrameWriter();
  writer.reseed(7);
  const frame = written(writer, Buffer.from('an entry of the log'));
  const intact = readIn([frame], 7);
  for (let bit = 0; bit < frame.length * 8; bit++) {
    const flipped = Buffer.from(frame);
    flipped.writeUInt8(flipped.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
    // A length that grew waits for bytes that never come.
    const found = readIn([flipped], 7);
    assert.notDeepEqual(found, intact, `bit ${bit}`);
    assert.ok(found.length <= 1, `bit ${bit}`);
  }
});

test('a frame of another connection, or one that is repeated, is refused', () => {
  const writer = new FrameWriter();
  writer.reseed(7);
  const [first, second] = [Buffer.from('first'), Buffer.from('second')].map(payload =>
    written(writer, payload),
  );
  assert.ok(first !== undefined && second !== undefined);
  assert.deepEqual(readIn([first], 8), ['corrupt']);
  assert.deepEqual(readIn([second], 7), ['corrupt']);
  assert.equal(readIn([first, first], 7).at(-1), 'corrupt');
  assert.equal(readIn([first, second], 7).length, 2);
});

test('strangers, other versions, unknown kinds and giants are named', () => {
  const header = (change: (bytes: Buffer) => void): readonly string[] => {
    const bytes = Buffer.concat(new FrameWriter().frame('message', []));
    change(bytes);
    return readIn([bytes], 0);
  };
  assert.deepEqual(
    header(bytes => void bytes.write('GET ')),
    ['foreign'],
  );
  assert.deepEqual(
    header(bytes => void bytes.writeUInt8(2, 4)),
    ['version'],
  );
  assert.deepEqual(
    header(bytes => void bytes.writeUInt8(9, 5)),
    ['kind'],
  );
  assert.deepEqual(
    header(bytes => void bytes.writeUInt16LE(1, 6)),
    ['kind'],
  );
  assert.deepEqual(
    header(bytes => void bytes.writeUInt32LE(payloadBytesMax + 1, 8)),
    ['too-large'],
  );
});

test('a fault is the end of the stream', () => {
  const reader = new FrameReader(payloadBytesMax);
  reader.feed(Buffer.alloc(frameHeaderBytes));
  const fault = reader.next();
  reader.feed(written(new FrameWriter(), Buffer.from('x')));
  assert.equal(reader.next(), fault);
});
