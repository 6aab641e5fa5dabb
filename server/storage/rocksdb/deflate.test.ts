/** What the native store deflates, zlib inflates to the same bytes, pieces one behind the other. */
import assert from 'node:assert/strict';
import {randomBytes} from 'node:crypto';
import {readFileSync} from 'node:fs';
import {test} from 'node:test';
import {deflateRawSync, inflateRawSync} from 'node:zlib';
import fc from 'fast-check';
import {fastDeflater} from './open.ts';

const deflater = fastDeflater('native');
assert.ok(deflater !== undefined);
const deflate = deflater;

async function throughPieces(bytes: Uint8Array, pieceBytes: number): Promise<Buffer> {
  const pieces: Promise<Buffer>[] = [];
  for (let at = 0; at === 0 || at < bytes.length; at += pieceBytes) {
    const isLast = at + pieceBytes >= bytes.length;
    pieces.push(deflate(bytes.subarray(at, at + pieceBytes), isLast));
  }
  return Buffer.concat(await Promise.all(pieces));
}

async function check(bytes: Uint8Array, pieceBytes: number): Promise<Buffer> {
  const deflated = await throughPieces(bytes, pieceBytes);
  assert.ok(Buffer.from(bytes).equals(inflateRawSync(deflated)), `${bytes.length} bytes`);
  return deflated;
}

/** Words of a few letters, long runs, bytes by chance, and what repeats far away. */
const stretch = fc.oneof(
  fc.uint8Array({maxLength: 400}),
  fc
    .array(fc.constantFrom(97, 98, 99, 32), {maxLength: 400})
    .map(values => Uint8Array.from(values)),
  fc.tuple(fc.nat(255), fc.nat(70_000)).map(([byte, length]) => new Uint8Array(length).fill(byte)),
  fc.nat(40_000).map(length => Uint8Array.from({length}, (_, at) => (at * at) >> 7)),
);

test('bytes of every kind come back', async () => {
  const cases = fc.tuple(fc.array(stretch, {maxLength: 8}), fc.integer({min: 1, max: 100_000}));
  await fc.assert(
    fc.asyncProperty(cases, async ([parts, pieceBytes]) => {
      const bytes = Buffer.concat(parts);
      await check(bytes, Math.max(pieceBytes, Math.ceil(bytes.length / 200)));
    }),
    {numRuns: 300, seed: 52},
  );
});

test('the edges: nothing, one byte, the longest match, the farthest distance', async () => {
  for (const length of [0, 1, 3, 4, 7, 8, 9, 257, 258, 259, 516, 65_535, 65_536]) {
    await check(new Uint8Array(length).fill(7), 1 << 20);
    await check(randomBytes(length), 1 << 20);
  }
  for (const distance of [1, 2, 256, 257, 32_767, 32_768, 32_769, 40_000]) {
    const once = randomBytes(distance);
    await check(Buffer.concat([once, once, once.subarray(0, 300)]), 1 << 20);
  }
});

test('frequencies that grow like Fibonacci’s have codes short enough', async () => {
  const parts: Buffer[] = [];
  for (let byte = 0, [a, b] = [1, 1]; byte < 24; byte += 1, [a, b] = [b, a + b]) {
    parts.push(Buffer.alloc(a, byte));
  }
  const bytes = Buffer.concat(parts);
  // Mixed, so that they are literals and no runs.
  const mixed = Buffer.from(bytes.map((_, at) => bytes[(at * 46_337) % bytes.length] ?? 0));
  await check(mixed, 1 << 20);
});

test('a program is about as small as by zlib, and chance is not made larger', async () => {
  const program = readFileSync(process.execPath).subarray(0, 8 << 20);
  const deflated = await check(program, 1 << 20);
  assert.ok(deflated.length < 1.05 * deflateRawSync(program, {level: 1}).length);
  const chance = await check(randomBytes(1 << 20), 1 << 20);
  assert.ok(chance.length < (1 << 20) * 1.001);
});
