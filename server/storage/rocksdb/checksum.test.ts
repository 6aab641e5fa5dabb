/** The checksum of the native store is that of zlib, byte for byte. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {crc32} from 'node:zlib';
import {SeededRandom} from '#server/testing/property/seeded-random.ts';
import {readMachine} from './machine.ts';
import {checksummer} from './open.ts';

/** Lengths below, at and above the 64 bytes compressed at once, and of a piece as files come. */
const lengths = [...Array.from({length: 300}, (_, length) => length), 1 << 20, (1 << 20) + 13];

for (const engine of ['native', 'fallback'] as const) {
  test(`of bytes of any length, behind others, with the ${engine} store`, () => {
    const sum = checksummer(engine);
    const random = new SeededRandom(7);
    for (const length of lengths) {
      const bytes = Buffer.from(Uint8Array.from({length}, () => random.below(256)));
      for (const before of [0, 1, 0x8000_0000, 0xffff_ffff]) {
        assert.equal(sum(bytes, before), crc32(bytes, before), `${length} behind ${before}`);
      }
      const at = random.below(length + 1);
      assert.equal(sum(bytes.subarray(at), sum(bytes.subarray(0, at), 0)), crc32(bytes));
    }
  });
}

test('where the processor can multiply without carries, it is not zlib’s', () => {
  const isFast = checksummer('native') !== crc32;
  const {architecture} = readMachine();
  assert.equal(isFast, architecture === 'x64', `on ${architecture}`);
});
