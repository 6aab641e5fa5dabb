/** Scans that are under way at the same time do not see each other's rows, however each ends. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {createMemoryStore} from '#server/storage/memory/memory-store.ts';
import {InMemoryDisk} from '#server/storage/memory/shelf.ts';
import {RowWalker} from './row-walker.ts';

const keys = 400;
const value = Buffer.alloc(50);
const keyOf = (number: number): Buffer => Buffer.from(String(number).padStart(5, '0'));
const numberAt = ({bytes, keyStart, keyEnd}: RowWalker): number =>
  Number(bytes.toString('latin1', keyStart, keyEnd));

const store = createMemoryStore({shelf: new InMemoryDisk(), path: '/rows'});
const batch = store.batch();
for (let key = 0; key < keys; key += 1) batch.put(keyOf(key), value);
store.write(batch);

/** Walks over several buffers, the first of them small. */
function from(first: number): RowWalker {
  const sizes = {bufferBytes: 4 << 10, bufferBytesMax: 16 << 10};
  return new RowWalker(store, [{start: keyOf(first)}], sizes);
}

test('scans in scans, left early or walked to their ends, each give their own rows', () => {
  const outer = from(0);
  for (let row = 0; row < keys; row += 1) {
    assert.ok(outer.next());
    const early = from(row);
    assert.ok(early.next());
    early.close();
    const whole = from(keys - 3);
    while (whole.next());
    whole.close();
    assert.equal(numberAt(outer), row);
  }
  assert.ok(!outer.next());
});

test('a scan that is closed has no bytes and no rows, and stays closed', () => {
  const walker = from(0);
  assert.ok(walker.next());
  walker.close();
  walker.close();
  assert.equal(walker.bytes.length, 0);
  assert.ok(!walker.next());
});
