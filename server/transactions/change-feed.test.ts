/**
 * What the feed tells is enough to keep a copy of the keys right for every store snapshot that is
 * not older than the copy, whatever is in flight when it is made.
 */
import assert from 'node:assert/strict';
import {after, test} from 'node:test';
import {adjacencyKey, outgoing, vertexOf} from '#server/layout/adjacency-key.ts';
import {bucketRange, recordKey, ridOfRecordKey} from '#server/layout/record-key.ts';
import {Rid} from '#server/model/value.ts';
import {openInlineEngine} from '#server/testing/worlds/inline-engine.ts';
import {PackedOperations} from './bulk-operations.ts';
import type {ChangeListener} from './change-feed.ts';

const world = await openInlineEngine({reportsLate: true});
after(() => world.close());
const database = await world.engine.createDatabase('feed');

const ridText = ({bucket, position}: Rid): string => `#${bucket}:${position}`;

interface Told extends ChangeListener {
  readonly all: string[];
  readonly indexes: number[];
}

function listener(): Told {
  const all: string[] = [];
  const indexes: number[] = [];
  const note = (text: string, index: number): void => {
    all.push(text);
    indexes.push(index);
  };
  return {
    all,
    indexes,
    recordChanged: (bytes, at, index) =>
      note(`record ${ridText(ridOfRecordKey(bytes, at))}`, index),
    edgeChanged: (bytes, at, index) => note(`edge at ${ridText(vertexOf(bytes, at))}`, index),
    rangeEmptied: (start, end, index) =>
      note(`emptied ${Buffer.from(start).toString('hex')} ${end.length}`, index),
  };
}

const nothing = Buffer.alloc(0);
const edgeKey = adjacencyKey({
  vertex: new Rid(1, 2 ** 33),
  direction: outgoing,
  edgeTypeId: 9,
  other: new Rid(2, 0),
  edge: new Rid(3, 4),
});

test('every way to write is told at the append, and nothing behind the end', async () => {
  const told = listener();
  const subscription = database.onChange(told);
  const transaction = database.begin('READ_COMMITTED');
  transaction.put(recordKey(new Rid(1, 2 ** 33)), nothing);
  transaction.delete(recordKey(new Rid(1, 7)));
  transaction.put(edgeKey, Uint8Array.of(0));
  transaction.put(Buffer.alloc(300, 0x40), nothing);
  const {start, end} = bucketRange(5);
  transaction.deleteRange(start, end);
  assert.deepEqual(told.all, [], 'nothing is told before it is appended');
  const committed = transaction.commit();
  const expected = [
    'emptied 2000000005 5',
    'record #1:8589934592',
    'record #1:7',
    'edge at #1:8589934592',
  ];
  assert.deepEqual(told.all, expected, 'told in the turn of the append');
  const outcome = await committed;
  assert(outcome.kind === 'committed');
  assert.deepEqual(new Set(told.indexes), new Set([outcome.index]));

  const packed = new PackedOperations(16);
  packed.put(recordKey(new Rid(4, 1)), Buffer.alloc(500));
  packed.put(edgeKey, Uint8Array.of(0));
  const bulk = database.submit({
    leadershipEpoch: 0,
    schemaVersion: database.schemaVersion,
    formatLevel: database.formatLevel,
    operations: [],
    packed,
    preconditions: [],
    buckets: [],
  });
  assert.deepEqual(told.all.slice(4), ['record #4:1', 'edge at #1:8589934592']);
  await bulk;
  subscription.end();
  const last = database.begin('READ_COMMITTED');
  last.put(recordKey(new Rid(1, 1)), nothing);
  await last.commit();
  assert.equal(told.all.length, 6);
});

test('a copy made while commits are in flight is right for every later snapshot', async () => {
  const bucket = 8;
  const commits: Promise<unknown>[] = [];
  const write = (position: number, value: number): void => {
    const transaction = database.begin('READ_COMMITTED');
    transaction.put(recordKey(new Rid(bucket, position)), Buffer.from([value]));
    commits.push(transaction.commit());
  };
  const read = (): {readonly index: number; readonly values: readonly number[]} => {
    const session = database.read();
    const values = Array.from({length: 16}, (_none, position) => {
      return session.get(recordKey(new Rid(bucket, position)))?.[0] ?? -1;
    });
    const index = session.snapshotIndex;
    session.close();
    return {index, values};
  };
  let compared = 0;
  for (let round = 0; round < 20; round++) {
    for (let position = 0; position < 4; position++) write((round + position) % 16, round);
    const changed = new Map<number, number>();
    const subscription = database.onChange({
      recordChanged: (bytes, at, index) => changed.set(ridOfRecordKey(bytes, at).position, index),
      rangeEmptied: () => {},
    });
    let base = read();
    for (let turn = 0; base.index < subscription.heardSince; turn++) {
      write(turn % 16, 50 + round);
      await new Promise(resolve => setImmediate(resolve));
      base = read();
    }
    for (let later = 0; later < 4; later++) {
      write((round * 5 + later) % 16, 100 + round);
      await new Promise(resolve => setImmediate(resolve));
      const snapshot = read();
      snapshot.values.forEach((value, position) => {
        if ((changed.get(position) ?? 0) > base.index) return;
        assert.equal(base.values[position], value, `round ${round}, position ${position}`);
        compared++;
      });
    }
    subscription.end();
  }
  await Promise.all(commits);
  assert.ok(compared > 100, `${compared} values were compared`);
});
