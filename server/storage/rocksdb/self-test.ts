/**
 * A few milliseconds of use of the native store before data is entrusted to it: whatever the
 * machine or a wrong library would break, breaks here, in a directory that is thrown away.
 */
import {mkdirSync, rmSync} from 'node:fs';
import {join} from 'node:path';
import {assert} from '#server/base/assert.ts';
import {createPackedRows, eachRow, packKeys} from '../packed-rows.ts';
import type {Reader, Store} from '../store.ts';

const rowCount = 20;

/** Throws when the store that `open` makes under `dataRoot` answers anything but the truth. */
export function selfTest(dataRoot: string, open: (path: string) => Store): void {
  const path = join(dataRoot, `.store-self-test-${process.pid}`);
  rmSync(path, {recursive: true, force: true});
  mkdirSync(path, {recursive: true});
  try {
    const store = open(path);
    exercise(store);
    store.close();
  } finally {
    rmSync(path, {recursive: true, force: true});
  }
}

function exercise(store: Store): void {
  const batch = store.batch();
  for (let index = 0; index < rowCount; index++) batch.put(keyOf(index), valueOf(index));
  store.write(batch);
  const snapshot = store.snapshot();
  batch.clear();
  batch.deleteRange(keyOf(0), keyOf(rowCount / 2));
  batch.put(keyOf(rowCount), valueOf(rowCount));
  store.write(batch, {sync: true});

  checkRows(snapshot, range(0, rowCount));
  checkRows(store, range(rowCount / 2, rowCount + 1));
  const rows = createPackedRows(1024);
  const answered = snapshot.getMany(packKeys([keyOf(3), keyOf(rowCount)]), 2, rows);
  const values = [...eachRow(rows)].map(row => row.value?.toString('latin1'));
  assert(answered === 2 && values[0] === valueOf(3).toString('latin1'), 'getMany finds a value');
  assert(values[1] === undefined, 'getMany tells an absent key');
  snapshot.release();
}

function checkRows(reader: Reader, expected: readonly number[]): void {
  const rows = createPackedRows(4096);
  for (const reverse of [false, true]) {
    const scanner = reader.scan([{start: keyOf(0)}], {reverse});
    const found = [...eachRow(scanner.next(rows))].map(row => row.key.toString('latin1'));
    scanner.close();
    const keys = expected.map(index => keyOf(index).toString('latin1'));
    if (reverse) keys.reverse();
    assert(found.join() === keys.join() && rows.done, 'a scan finds the rows of its time');
  }
  for (let index = 0; index <= rowCount; index++) {
    const value = reader.get(keyOf(index));
    const present = expected.includes(index);
    assert(present ? value?.equals(valueOf(index)) === true : value === undefined, 'get is right');
  }
}

function keyOf(index: number): Buffer {
  return Buffer.from(`key${String(index).padStart(3, '0')}`);
}

function valueOf(index: number): Buffer {
  return Buffer.from(`value ${index}`);
}

function range(start: number, end: number): number[] {
  return Array.from({length: end - start}, (_, index) => start + index);
}
