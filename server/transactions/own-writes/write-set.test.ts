/**
 * The overlay answers like a plain map of everything: point reads, scans both ways, savepoints.
 * Holds invariant T4.
 */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import fc from 'fast-check';
import {createMemoryStore} from '#server/storage/memory/memory-store.ts';
import {createPackedRows, eachRow} from '#server/storage/packed-rows.ts';
import type {Scanner} from '#server/storage/store.ts';
import {keyText} from '../key-text.ts';
import {scanMerged} from './merged-scanner.ts';
import {WriteSet} from './write-set.ts';

const key = fc.uint8Array({minLength: 1, maxLength: 2, max: 6}).map(bytes => Buffer.from(bytes));
const operation = fc.oneof(
  {weight: 5, arbitrary: fc.record({kind: fc.constant('put' as const), key, value: fc.nat(99)})},
  {weight: 2, arbitrary: fc.record({kind: fc.constant('delete' as const), key})},
  {weight: 1, arbitrary: fc.record({kind: fc.constant('range' as const), key, end: key})},
  {weight: 1, arbitrary: fc.record({kind: fc.constant('save' as const)})},
  {weight: 1, arbitrary: fc.record({kind: fc.constant('undo' as const)})},
);
type Model = Map<string, string>;

function sorted(model: Model, start: Buffer, end: Buffer | undefined): [string, string][] {
  const from = keyText(start);
  const to = end === undefined ? undefined : keyText(end);
  return [...model]
    .filter(([name]) => name >= from && (to === undefined || name < to))
    .sort(([left], [right]) => (left < right ? -1 : 1));
}

function drain(scanner: Scanner, rowsBytes: number): [string, string][] {
  const rows = createPackedRows(rowsBytes);
  const found: [string, string][] = [];
  do {
    for (const row of eachRow(scanner.next(rows))) {
      found.push([row.key.toString('latin1'), row.value?.toString('latin1') ?? '']);
    }
  } while (!rows.done);
  scanner.close();
  return found;
}

test('scans and lookups equal a plain map, whatever was written, emptied and undone', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(key, fc.nat(99)), {maxLength: 30}),
      fc.array(operation, {maxLength: 40}),
      key,
      fc.option(key, {nil: undefined}),
      (stored, operations, start, end) => {
        const store = createMemoryStore();
        const model: Model = new Map();
        const batch = store.batch();
        for (const [name, value] of stored) {
          batch.put(name, Buffer.from(`${value}`));
          model.set(keyText(name), `${value}`);
        }
        store.write(batch);
        const writes = new WriteSet();
        const saved: {readonly savepoint: number; readonly model: Model}[] = [];
        let expected = model;
        for (const step of operations) {
          if (step.kind === 'put') {
            writes.put(keyText(step.key), Buffer.from(`${step.value}`));
            expected.set(keyText(step.key), `${step.value}`);
          } else if (step.kind === 'delete') {
            writes.put(keyText(step.key), undefined);
            expected.delete(keyText(step.key));
          } else if (step.kind === 'range') {
            writes.deleteRange(keyText(step.key), keyText(step.end));
            for (const [name] of sorted(expected, step.key, step.end)) expected.delete(name);
          } else if (step.kind === 'save') {
            saved.push({savepoint: writes.savepoint(), model: new Map(expected)});
          } else {
            const last = saved.pop();
            if (last === undefined) continue;
            writes.rollbackTo(last.savepoint);
            expected = last.model;
          }
        }
        const range = end === undefined ? {start} : {start, end};
        const forward = sorted(expected, start, end);
        assert.deepEqual(drain(scanMerged(store, writes, [range]), 64), forward);
        const backward = scanMerged(store, writes, [range], {reverse: true});
        assert.deepEqual(drain(backward, 64), forward.toReversed());
        const limited = scanMerged(store, writes, [range, range], {rowsMax: 2});
        assert.deepEqual(drain(limited, 256), [...forward, ...forward]);
        for (const [name] of model) {
          const own = writes.lookup(name);
          const shown =
            own === undefined ? model.get(name) : own === 'deleted' ? undefined : `${own}`;
          if (model === expected) assert.equal(shown, expected.get(name));
        }
        // What commit sends gives the same state.
        const commit = store.batch();
        for (const sent of writes.operations()) {
          if (sent.kind === 'put') commit.put(sent.key, sent.value);
          else if (sent.kind === 'delete') commit.delete(sent.key);
          else commit.deleteRange(sent.start, sent.end);
        }
        store.write(commit);
        const everything = store.scan([{start: Buffer.from([0])}]);
        assert.deepEqual(drain(everything, 256), sorted(expected, Buffer.from([0]), undefined));
      },
    ),
    {numRuns: 400},
  );
});
