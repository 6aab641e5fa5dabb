/** It answers what the reader does, whatever the order of the keys; in order, with few reads. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {createSeededRandom} from '#server/simulation/seeded-random.ts';
import {createMemoryStore} from '#server/storage/memory/memory-store.ts';
import type {Reader, StoreSnapshot} from '#server/storage/store.ts';
import {KeyGap} from './key-gap.ts';

const end = Buffer.from([0x41]);

function key(number: number): Buffer {
  const bytes = Buffer.alloc(5, 0x40);
  bytes.writeUInt32BE(number, 1);
  return bytes;
}

function counting(snapshot: StoreSnapshot): Reader & {reads: number; scans: number} {
  return {
    reads: 0,
    scans: 0,
    get(asked) {
      this.reads += 1;
      return snapshot.get(asked);
    },
    getMany: () => assert.fail('keys come one by one'),
    scan(ranges, options) {
      this.scans += 1;
      return snapshot.scan(ranges, options);
    },
  };
}

function snapshotOf(numbers: Iterable<number>): StoreSnapshot {
  const store = createMemoryStore();
  const batch = store.batch();
  for (const number of numbers) batch.put(key(number), Buffer.from(String(number)));
  batch.put(end, Buffer.from('behind the last key'));
  store.write(batch);
  return store.snapshot();
}

function ask(gap: KeyGap, number: number): string | undefined {
  const bytes = key(number);
  return gap.get(bytes.toString('latin1'), {key: bytes})?.toString();
}

test('keys in order where there are none are not read one by one', () => {
  const reader = counting(snapshotOf([5, 100_000]));
  const gap = new KeyGap(reader, () => end);
  for (let number = 1_000; number < 3_000; number += 1) assert.equal(ask(gap, number), undefined);
  assert.ok(reader.reads < 20, `${reader.reads} reads`);
  assert.equal(reader.scans, 1);
  assert.equal(ask(gap, 100_000), '100000', 'the key at the end of the gap is there');
  for (let number = 200_000; number < 202_000; number += 1)
    assert.equal(ask(gap, number), undefined);
  assert.equal(reader.scans, 2, 'behind the last key there is a gap as well');
});

test('scans that are of no use become rare', () => {
  const stored = Array.from({length: 20_000}, (_, at) => at * 2);
  const reader = counting(snapshotOf(stored));
  const gap = new KeyGap(reader, () => end);
  for (const number of stored) assert.equal(ask(gap, number + 1), undefined);
  assert.ok(reader.scans < 20, `${reader.scans} scans`);
});

test('any order: it answers what the reader does', () => {
  for (let seed = 1; seed <= 20; seed += 1) {
    const random = createSeededRandom(seed);
    const stored = new Set(Array.from({length: 40}, () => random.u32() % 2_000));
    const gap = new KeyGap(counting(snapshotOf(stored)), () => end);
    let number = 0;
    for (let step = 0; step < 3_000; step += 1) {
      number = random.u32() % 50 === 0 ? random.u32() % 2_000 : (number + 1) % 2_000;
      const expected = stored.has(number) ? String(number) : undefined;
      assert.equal(ask(gap, number), expected, `seed ${seed}, key ${number}`);
    }
  }
});
