/** A scan that pauses: nobody is held while it passes over a long stretch of deleted rows. */
import assert from 'node:assert/strict';
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {closing} from '#server/testing/closing.ts';
import {createPackedRows, eachRow} from '../packed-rows.ts';
import type {Reader, ScanOptions} from '../store.ts';
import {openStore} from './open.ts';

const root = mkdtempSync(join(tmpdir(), 'svc-pauses-'));
after(() => rmSync(root, {recursive: true}));
const rows = 100_000;
const kept = [0, 1, 49_999, 50_000, rows - 1];

/** Its rows that are left, and how many portions had none. */
function scanned(reader: Reader, options: ScanOptions): {left: number[]; empty: number} {
  const ranges = [
    {start: keyOf(0), end: keyOf(30_000)},
    {start: keyOf(30_000), end: keyOf(rows)},
  ];
  const scanner = reader.scan(ranges, options);
  const into = createPackedRows(1 << 12);
  const left: number[] = [];
  let empty = 0;
  do {
    scanner.next(into);
    if (into.rowCount === 0 && !into.done) empty += 1;
    for (const {key} of eachRow(into)) left.push(key.readUInt32BE());
  } while (!into.done);
  assert.equal(scanner.rangeIndex, ranges.length);
  return {left, empty};
}

function keyOf(row: number): Buffer {
  const key = Buffer.alloc(4);
  key.writeUInt32BE(row);
  return key;
}

test('every row that is left is found, in portions that pass over thousands at most', async () => {
  const store = closing(await openStore(join(root, 'store'), {engine: 'native'}));
  const batch = store.batch();
  for (let row = 0; row < rows; row += 1) batch.put(keyOf(row), Buffer.alloc(8));
  store.write(batch);
  // For its sake neither rows nor what deletes them are forgotten.
  const snapshot = store.snapshot();
  batch.clear();
  for (let row = 0; row < rows; row += 1) if (!kept.includes(row)) batch.delete(keyOf(row));
  store.write(batch);
  for (const where of ['in memory', 'in files']) {
    if (where === 'in files') store.makeDurable();
    assert.deepEqual(scanned(store, {}), {left: kept, empty: 0}, where);
    const pausing = scanned(store, {pauses: true});
    assert.deepEqual(pausing.left, kept, where);
    assert.ok(pausing.empty >= 4, `${pausing.empty} portions without a row, ${where}`);
    const descending = scanned(store, {pauses: true, reverse: true});
    assert.deepEqual(new Set(descending.left), new Set(kept), where);
    assert.equal(scanned(snapshot, {pauses: true}).left.length, rows, where);
  }
  snapshot.release();
  store.close();
});
