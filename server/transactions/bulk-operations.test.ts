/**
 * Packed operations are those of any commit: to the log, and to whoever commits at the same time.
 */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {adjacencyKey, incoming, isAdjacencyKey, outgoing} from '#server/layout/adjacency-key.ts';
import {recordKey} from '#server/layout/record-key.ts';
import {Rid} from '#server/model/value.ts';
import {createSeededRandom} from '#server/simulation/seeded-random.ts';
import {PackedOperations} from './bulk-operations.ts';
import type {Operation, Precondition} from './commit.ts';
import {ConflictWindow} from './conflict-window.ts';
import {keyText} from './key-text.ts';
import {decodeEntry, eachOperation, EntryEncoder, type EntryHead} from './entry.ts';

const vertex = new Rid(1, 7);
const other = new Rid(2, 300);
const edge = new Rid(3, 2 ** 40);
const edgeKey = adjacencyKey({
  vertex,
  direction: outgoing,
  edgeTypeId: 9,
  other,
  edge,
});
const unique = Buffer.from('unique');

/** A small capacity, so that it has to grow. */
function packed(): PackedOperations {
  const operations = new PackedOperations(16);
  operations.put(recordKey(edge), Buffer.alloc(500, 1));
  operations.put(edgeKey, Uint8Array.of(0));
  operations.put(unique, Buffer.alloc(10));
  operations.uniqueKeys.add(keyText(unique));
  return operations;
}

test('the entry is the one of the same puts', () => {
  const puts: Operation[] = [
    {kind: 'put', key: recordKey(edge), value: Buffer.alloc(500, 1)},
    {kind: 'put', key: edgeKey, value: Uint8Array.of(0)},
    {kind: 'put', key: unique, value: Buffer.alloc(10)},
  ];
  const head: EntryHead = {
    kind: 'transaction',
    databaseId: 4,
    schemaVersion: 2,
    clock: 17,
    newSchemaVersion: undefined,
    requestId: undefined,
    counters: [{kind: 'position', bucketId: 3, value: 12}],
  };
  const expected = Buffer.from(new EntryEncoder().encode(head, puts));
  assert.deepEqual(Buffer.from(new EntryEncoder().encodePacked(head, packed())), expected);
});

const cases: readonly (readonly [string, Precondition, 'holds' | 'conflict'])[] = [
  ['a record that was written', {kind: 'unchanged', key: recordKey(edge), since: 4}, 'conflict'],
  ['a record that was not', {kind: 'unchanged', key: recordKey(other), since: 4}, 'holds'],
  ['what a newer snapshot shows', {kind: 'unchanged', key: recordKey(edge), since: 5}, 'holds'],
  [
    'a unique key',
    {kind: 'unchanged', key: unique, since: 4, unique: {index: 'i', text: 't'}},
    'conflict',
  ],
  ['a start that is deleted', {kind: 'unpinned', key: recordKey(vertex), since: 4}, 'conflict'],
  ['an end that is deleted', {kind: 'unpinned', key: recordKey(other), since: 4}, 'conflict'],
  ['another vertex', {kind: 'unpinned', key: recordKey(new Rid(1, 8)), since: 4}, 'holds'],
  [
    'a range with an edge in it',
    {kind: 'range-untouched', start: edgeKey.subarray(0, 20), end: Buffer.of(0x31), since: 4},
    'conflict',
  ],
];

for (const [because, precondition, expected] of cases) {
  test(`a bulk commit against ${because}: ${expected}`, () => {
    const window = new ConflictWindow(4, 1 << 20);
    window.record(5, {operations: [], packed: packed(), preconditions: []});
    assert.equal(window.check([precondition]).kind, expected);
  });
}

/** Keys and values in the order of an entry's bytes. */
function rowsOf(operations: PackedOperations): [string, string][] {
  const head: EntryHead = {
    kind: 'transaction',
    databaseId: 4,
    schemaVersion: 2,
    clock: 17,
    newSchemaVersion: undefined,
    requestId: undefined,
    counters: [],
  };
  const entry = decodeEntry(Buffer.from(new EntryEncoder().encodePacked(head, operations)));
  return [...eachOperation(entry)].map(operation => {
    if (operation.kind !== 'put') throw new Error(`${operation.kind} is no put`);
    return [keyText(operation.key), keyText(operation.value)];
  });
}

test('arranged, they are the same puts, those of one vertex together and in order', () => {
  for (const count of [0, 1, 2, 500]) {
    const random = createSeededRandom(count + 1);
    const any = (below: number): number => random.u32() % below;
    const operations = new PackedOperations(16);
    for (let made = 0; made < count; made += 1) {
      const [from, to] = [new Rid(1, any(90)), new Rid(1, any(90))];
      const rid = new Rid(3, made);
      operations.put(recordKey(rid), Buffer.alloc(any(80), made));
      const parts = {edgeTypeId: 9, edge: rid};
      for (const [vertex, direction, other] of [
        [from, outgoing, to],
        [to, incoming, from],
      ] as const) {
        operations.put(adjacencyKey({...parts, vertex, direction, other}), Uint8Array.of(0));
      }
      operations.put(Buffer.from(`key of an index ${any(10)}`), Buffer.from(String(made)));
    }
    const before = rowsOf(operations);
    operations.arrange();
    const after = rowsOf(operations);
    const sorted = (rows: [string, string][]) => rows.map(row => row.join(' ')).toSorted();
    assert.deepEqual(sorted(after), sorted(before), 'nothing is lost, nothing is new');
    assert.deepEqual(new Map(after), new Map(before), 'the last value of a key stays the last');
    const vertices = after
      .map(([text]) => Buffer.from(text, 'latin1'))
      .filter(key => isAdjacencyKey(key, 0))
      .map(key => key.toString('hex', 0, 11));
    assert.deepEqual(vertices, vertices.toSorted());
    const records = after.filter(([text]) => text.startsWith(' ')).map(([text]) => text);
    assert.deepEqual(records, records.toSorted());
  }
});
