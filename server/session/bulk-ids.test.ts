/**
 * Temporary ids against a map of texts, with tables so small that most of them are on disk.
 */
import assert from 'node:assert/strict';
import {mkdtempSync, readdirSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {Refusal} from '#server/base/errors.ts';
import {ridText} from '#server/model/rid.ts';
import {Rid} from '#server/model/value.ts';
import {createDisk} from '#server/platform/real/disk.ts';
import {BulkIds} from './bulk-ids.ts';
import {SpilledIds} from './bulk-ids-disk.ts';

const folder = mkdtempSync(join(tmpdir(), 'svc-bulk-ids-'));
after(() => rmSync(folder, {recursive: true}));

function newIds(memoryBytesMax: number, countMax = 1_000_000): BulkIds {
  const spill = new SpilledIds(createDisk(), join(folder, 'temporary'), 'ids');
  return new BulkIds({countMax, memoryBytesMax, spill, seed: 17});
}

function key(text: string): [Buffer, number, number] {
  const bytes = Buffer.from(`..${text}..`);
  return [bytes, 2, bytes.length - 2];
}

for (const memoryBytesMax of [1, 64 << 20]) {
  test(`every id leads to its last record, with ${memoryBytesMax} bytes of memory`, () => {
    const ids = newIds(memoryBytesMax);
    const expected = new Map<string, string>();
    for (let number = 0; number < 40_000; number++) {
      const text =
        number % 3 === 0 ? `a long name of vertex number ${number}` : `n${number % 30_000}`;
      const rid = new Rid(1 + (number % 5), number % 7 === 0 ? 2 ** 47 + number : number);
      ids.set(...key(text), rid);
      expected.set(text, ridText(rid));
    }
    for (const [text, rid] of expected) {
      const found = ids.get(...key(text));
      assert.equal(found === undefined ? undefined : ridText(found), rid, text);
    }
    for (const text of ['', 'n', 'n30001x', 'a long name of vertex number 1']) {
      assert.equal(ids.get(...key(text)), undefined, text);
    }
    ids.close();
  });
}

test('ids that get no more memory go to disk, and none is lost', () => {
  const spill = new SpilledIds(createDisk(), join(folder, 'temporary'), 'short');
  const asked: number[] = [];
  const mayTake = (bytes: number): boolean => asked.push(bytes) < 2;
  const ids = new BulkIds({countMax: 1e6, memoryBytesMax: 64 << 20, spill, mayTake, seed: 17});
  const count = 30_000;
  for (let number = 0; number < count; number++) ids.set(...key(`${number}`), new Rid(1, number));
  for (let number = 0; number < count; number++) {
    assert.deepEqual(ids.get(...key(`${number}`)), new Rid(1, number));
  }
  assert.ok(asked.length > 2);
  assert.deepEqual(asked.slice(1), asked.slice(1).fill(asked[0] === undefined ? 0 : asked[0] * 2));
  ids.close();
});

test('the empty id is an id', () => {
  const ids = newIds(1);
  ids.set(...key(''), new Rid(0, 0));
  assert.deepEqual(ids.get(...key('')), new Rid(0, 0));
  ids.close();
});

test('what was on disk is gone with the load', () => {
  const ids = newIds(1);
  for (let number = 0; number < 10_000; number++) ids.set(...key(`${number}`), new Rid(1, number));
  assert.deepEqual(readdirSync(join(folder, 'temporary')), []);
  ids.close();
});

test('more ids than the setting allows are refused by name', () => {
  const ids = newIds(1, 2);
  ids.set(...key('a'), new Rid(1, 1));
  ids.set(...key('a'), new Rid(1, 2));
  ids.checkRoom();
  ids.set(...key('b'), new Rid(1, 3));
  assert.throws(
    () => ids.checkRoom(),
    (error: unknown) => error instanceof Refusal && error.message.includes('svc.batch.idMapMax'),
  );
});
