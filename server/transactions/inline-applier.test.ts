/**
 * Two appliers of one store that take turns leave what one alone leaves, and each knows where the
 * other stopped; what cannot be written at once is left to the other.
 */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import fc from 'fast-check';
import type {LogRecord} from '#server/log/segment-reader.ts';
import {readAll} from '#server/simulation/ledger.ts';
import {createMemoryStore} from '#server/storage/memory/memory-store.ts';
import {type Store, StoreFailure} from '#server/storage/store.ts';
import {Applier} from './apply.ts';
import {EntryEncoder} from './entry.ts';
import {type DatabasePosition, decodePosition, positionKey} from './system-keys.ts';
import {testHead, testLogId, testPosition} from './testing-entries.ts';
import {InlineApplier} from './inline-applier.ts';

const before = testPosition(10);

/** One entry each, behind index 10: it puts its number under one of ten keys, and counts. */
function records(count: number): LogRecord[] {
  const encoder = new EntryEncoder();
  return Array.from({length: count}, (_, number) => {
    const counters = [{kind: 'count' as const, bucketId: number % 3, value: number}];
    const head = {...testHead, newSchemaVersion: number % 7 === 6 ? number : undefined};
    const put = {
      kind: 'put' as const,
      key: Buffer.from([0x20, number % 10]),
      value: Buffer.from(`${number}`),
    };
    const payload = encoder.encode({...head, kind: 'transaction', counters}, [put]);
    return {index: 11 + number, chain: 1 + number, payload: Buffer.from(payload)};
  });
}

class Pair {
  readonly store: Store;
  readonly turns = new InlineApplier(testLogId);
  readonly other = new Applier(testLogId);

  constructor(store: Store) {
    this.store = store;
    this.turns.attach(1, store, before);
    this.other.attach(1, store, before);
  }

  /** Whether the first one wrote all of it. */
  applies(run: readonly LogRecord[]): boolean {
    this.turns.prepare(run);
    return this.turns.write();
  }

  give(run: readonly LogRecord[]): void {
    for (const [id, move] of this.turns.takeMoves()) this.other.follow(id, move);
    for (const record of run) this.turns.pass(record);
    assert.ok(this.other.apply(run));
  }

  get stored(): DatabasePosition | undefined {
    const bytes = this.store.get(positionKey);
    return bytes && decodePosition(bytes);
  }
}

const everything = (store: Store) => readAll(store, Buffer.from([0]));

test('any division between the two gives what one applier gives', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.boolean(), fc.integer({min: 1, max: 4}))), runs => {
      const all = records(runs.reduce((sum, [, length]) => sum + length, 0));
      const alone = createMemoryStore();
      const one = new Applier(testLogId);
      one.attach(1, alone, before);
      one.apply(all);
      const pair = new Pair(createMemoryStore());
      let at = 0;
      for (const [isTurn, length] of runs) {
        const run = all.slice(at, at + length);
        at += length;
        if (isTurn) assert.ok(pair.applies(run));
        else pair.give(run);
        assert.equal(pair.stored?.index, run.at(-1)?.index);
      }
      pair.give([]);
      assert.deepEqual(everything(pair.store), everything(alone));
      assert.deepEqual(pair.other.position(1), one.position(1));
      const last = all.at(-1)?.index ?? before.index;
      assert.equal(pair.other.durableFloor(last), one.durableFloor(last));
      assert.equal(pair.other.durableFloor(last), before.index, 'nothing of it is durable yet');
    }),
    {numRuns: 300},
  );
});

test('what stands in the way of a write is left to the other one', () => {
  const store = createMemoryStore();
  let obstacle: 'waits' | 'fails' | undefined;
  const writeAtOnce = store.writeAtOnce.bind(store);
  store.writeAtOnce = batch => {
    if (obstacle === 'fails') throw new StoreFailure('no-space', 'full');
    return obstacle === undefined && writeAtOnce(batch);
  };
  const pair = new Pair(store);
  const [first, second, third, fourth, ...rest] = records(6).map(record => [record]);
  assert.ok(first && second && third && fourth);
  assert.ok(pair.applies(first));
  for (const [kind, run] of [['waits', second] as const, ['fails', third] as const]) {
    obstacle = kind;
    const stored = everything(store);
    assert.equal(pair.applies(run), false);
    assert.deepEqual(everything(store), stored, 'nothing of it is there');
    obstacle = undefined;
    pair.give(run);
  }
  assert.ok(pair.applies(fourth), 'it goes on where the other one stopped');
  pair.give(rest.flat());
  assert.deepEqual(pair.stored, pair.other.position(1));
  assert.equal(pair.stored?.transactionCount, 6);
});

test('what a schema or the store asks for is not told before it is written', () => {
  const store = createMemoryStore();
  const pair = new Pair(store);
  const [plain, schema] = [records(1), records(7)];
  pair.turns.prepare(plain);
  assert.ok(pair.turns.mayAcknowledgeFirst());
  store.takesAtOnce = () => false;
  assert.equal(pair.turns.mayAcknowledgeFirst(), false);
  store.takesAtOnce = () => true;
  assert.equal(pair.stored, undefined, 'nothing is written before it is asked for');
  assert.ok(pair.turns.write());
  pair.turns.prepare(schema);
  assert.equal(pair.turns.mayAcknowledgeFirst(), false);
  assert.ok(pair.turns.write());
  pair.turns.prepare([]);
  assert.ok(pair.turns.mayAcknowledgeFirst(), 'nothing is left of what was ready before');
});

test('entries that are applied already are not its business', () => {
  const pair = new Pair(createMemoryStore());
  const [, , ...later] = records(4);
  assert.ok(pair.applies(later));
  const stored = everything(pair.store);
  assert.ok(pair.applies(records(4)), 'a replay passes over what is there');
  assert.deepEqual(everything(pair.store), stored);
  pair.turns.detach(1);
  assert.ok(pair.applies(records(9)), 'nor is a database that is not open');
  assert.deepEqual(everything(pair.store), stored);
});
