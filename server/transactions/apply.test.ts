/**
 * Apply is deterministic: the same entries give the same store in any division into batches, and
 * replay may start early.
 */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import fc from 'fast-check';
import type {LogRecord} from '#server/log/segment-reader.ts';
import {readAll} from '#server/simulation/ledger.ts';
import {createMemoryStore} from '#server/storage/memory/memory-store.ts';
import {InMemoryDisk} from '#server/storage/memory/shelf.ts';
import type {Store} from '#server/storage/store.ts';
import {Applier} from './apply.ts';
import {EntryEncoder, type EntryOperation} from './entry.ts';
import {counterKey, decodeCounter, decodePosition, positionKey} from './system-keys.ts';
import {testHead, testLogId, testPosition} from './testing-entries.ts';

const key = fc.nat(9).map(number => Buffer.from([0x20, number]));
const operation: fc.Arbitrary<EntryOperation> = fc.oneof(
  fc.tuple(key, fc.nat(99)).map(([name, value]) => ({
    kind: 'put' as const,
    key: name,
    value: Buffer.from(`${value}`),
  })),
  key.map(name => ({kind: 'delete' as const, key: name})),
  fc.tuple(key, key).map(([start, end]) => ({kind: 'delete-range' as const, start, end})),
);
const before = testPosition(10);

function records(entries: readonly (readonly EntryOperation[])[]): LogRecord[] {
  const encoder = new EntryEncoder();
  return entries.map((operations, number) => {
    const counters = [{kind: 'count' as const, bucketId: 3, value: number}];
    const payload = Buffer.from(
      encoder.encode({...testHead, kind: 'transaction', counters}, operations),
    );
    return {index: 11 + number, chain: number + 1, payload};
  });
}

function applier(store: Store, position = before): Applier {
  const made = new Applier(testLogId);
  made.attach(1, store, position);
  return made;
}

const everything = (store: Store) => readAll(store, Buffer.from([0]));

test('one batch, many batches and a replay from the middle give the same store', () => {
  fc.assert(
    fc.property(
      fc.array(fc.array(operation, {maxLength: 4}), {minLength: 1, maxLength: 12}),
      fc.nat(11),
      (entries, cut) => {
        const all = records(entries);
        const whole = createMemoryStore();
        applier(whole).apply(all);
        const single = createMemoryStore();
        const oneByOne = applier(single);
        for (const record of all) oneByOne.apply([record]);
        assert.deepEqual(everything(single), everything(whole));
        // A start whose store is ahead of where replay begins.
        const replayed = createMemoryStore();
        applier(replayed).apply(all.slice(0, cut));
        const stored = replayed.get(positionKey);
        const position = stored === undefined ? before : decodePosition(stored);
        applier(replayed, position).apply(all);
        assert.deepEqual(everything(replayed), everything(whole));
        const count = decodeCounter(whole.get(counterKey('count', 3)));
        assert.equal(count, entries.length - 1);
      },
    ),
    {numRuns: 200},
  );
});

test('an idle database holds no log back, an unsynced one does', () => {
  const store = createMemoryStore();
  const target = applier(store);
  assert.equal(target.durableFloor(500), 500);
  target.apply(records([[], []]));
  assert.equal(target.durableFloor(12), 10);
  target.makeDurable();
  assert.equal(target.durableFloor(12), 12);
});

test('a database is not copied before everything that it holds was applied again', () => {
  const shelf = new InMemoryDisk();
  const store = createMemoryStore({shelf, path: '/one'});
  const made = applier(store, testPosition(20));
  const copies = [{databaseId: 1, directory: '/copy'}];
  const early = made.copy(copies, 19);
  assert.equal(early.kind, 'failed');
  assert.match(early.kind === 'failed' ? early.reason : '', /entry 19 of 20/);
  assert.equal(shelf.exists('/copy'), false);
  assert.equal(made.copy(copies, 20).kind, 'copied');
});
