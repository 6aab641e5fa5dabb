/**
 * Random histories of records: after every commit the store holds exactly what a plain map of
 * records says: each record, each index entry, both keys of each edge, each count, and nothing
 * else. Holds invariants K1 and X1.
 */
import assert from 'node:assert/strict';
import {after, test} from 'node:test';
import fc from 'fast-check';
import {Refusal} from '#server/base/errors.ts';
import {createIndex} from '#server/catalog/change-index.ts';
import {alterProperty, createProperty} from '#server/catalog/change-property.ts';
import {createType} from '#server/catalog/change-type.ts';
import {RowWalker} from '#server/indexes/row-walker.ts';
import {IndexSearch} from '#server/indexes/range.ts';
import {allExternals, readExternalKey} from '#server/layout/external-key.ts';
import {compressedValuesOf} from '#server/layout/compressed-value.ts';
import {isCompressed} from '#server/layout/record.ts';
import {recordKey} from '#server/layout/record-key.ts';
import {compareTotal, equalValues} from '#server/model/compare.ts';
import {jsonText} from '#server/model/json.ts';
import {ridText} from '#server/model/rid.ts';
import type {RecordValue, Rid, Value} from '#server/model/value.ts';
import type {Reader} from '#server/storage/store.ts';
import {
  type RecordDatabase,
  RecordWorld,
  type SchemaStep,
} from '#server/testing/worlds/record-world.ts';
import type {RecordWriter} from './records.ts';
import {edgesOf} from './read.ts';
import {BucketScan} from './testing-bucket-scan.ts';

const world = await RecordWorld.open();
after(() => world.close());
const keys: readonly Value[] = ['a', 'b', 'c', 'd'];
const numbers: readonly Value[] = [null, 1, 2, 2.5, [1, 2], 'x', 'long text '.repeat(60)];

interface Known {
  readonly properties: Map<string, Value>;
  readonly ends?: readonly [Rid, Rid];
}

const command = fc.record({
  what: fc.constantFrom(
    'vertex',
    'vertex',
    'edge',
    'edge',
    'light',
    'change',
    'delete',
    'commit',
    'rollback',
  ),
  key: fc.nat({max: keys.length - 1}),
  number: fc.nat({max: numbers.length - 1}),
  a: fc.nat({max: 9}),
  b: fc.nat({max: 9}),
});
type Command = typeof command extends fc.Arbitrary<infer T> ? T : never;

const compressed: readonly SchemaStep[] = [
  catalog => alterProperty(catalog, 'V', 'k', {external: true}),
  catalog => alterProperty(catalog, 'V', 'l', {external: true, compression: 'lz4'}),
  catalog => alterProperty(catalog, 'V', 'n', {compression: 'auto'}),
];

for (const [what, steps] of [
  ['the store holds what a map of records says', []],
  ['so it does where values are compressed', compressed],
] as const) {
  test(what, async () => {
    const commands = fc.array(command, {minLength: 20, maxLength: 50, size: 'max'});
    const history = fc.asyncProperty(commands, each => runHistory(each, steps));
    await fc.assert(history, {numRuns: 40});
  });
}

async function runHistory(
  commands: readonly Command[],
  steps: readonly SchemaStep[],
): Promise<void> {
  const database = await world.database([
    catalog => createType(catalog, {name: 'V', kind: 'vertex', bucketCount: 2}),
    (catalog, names) =>
      createProperty(catalog, {
        typeName: 'V',
        name: 'k',
        nameId: names.idOf('k').id,
        type: 'STRING',
      }),
    (catalog, names) =>
      createProperty(catalog, {typeName: 'V', name: 'l', nameId: names.idOf('l').id, type: 'LIST'}),
    (catalog, names) =>
      createProperty(catalog, {typeName: 'V', name: 'n', nameId: names.idOf('n').id, type: 'ANY'}),
    ...steps,
    catalog =>
      createIndex(catalog, {
        typeName: 'V',
        properties: [{name: 'k', ignoreCase: false}],
        kind: 'ordered',
        unique: true,
      }),
    catalog =>
      createIndex(catalog, {
        typeName: 'V',
        properties: [
          {name: 'l', by: 'item', ignoreCase: false},
          {name: 'k', ignoreCase: true},
        ],
        kind: 'ordered',
        unique: false,
      }),
    catalog => createType(catalog, {name: 'E', kind: 'edge'}),
    catalog => createType(catalog, {name: 'L', kind: 'edge', lightweight: true}),
  ]);
  let committed = new Map<string, {readonly rid: Rid; readonly known: Known}>();
  let open = new Map(committed);
  let {transaction, writer} = database.begin();
  for (const step of [
    ...commands,
    {...commands[0], what: 'commit', key: 0, number: 0, a: 0, b: 0},
  ]) {
    if (step.what === 'commit') {
      assert.equal((await transaction.commit()).kind, 'committed');
      writer.committed();
      committed = open;
      database.read(reader => check(database, reader, committed));
      assert.equal(database.count(), committed.size);
    }
    if (step.what === 'rollback') transaction.rollback();
    if (step.what === 'commit' || step.what === 'rollback') {
      ({transaction, writer} = database.begin());
      open = new Map(committed);
      continue;
    }
    const before = transaction.savepoint();
    try {
      apply(step as Command, open, writer);
    } catch (error) {
      if (!(error instanceof Refusal && error.code === 'commit.duplicate-key')) throw error;
      const holder = [...open.values()].find(
        other => other.known.properties.get('k') === keys[step.key],
      );
      assert.ok(holder !== undefined, 'a duplicate is refused only when there is one');
      transaction.rollbackTo(before);
    }
    check(database, transaction, open);
  }
  transaction.rollback();
}

type Records = Map<string, {readonly rid: Rid; readonly known: Known}>;

function apply(step: Command, open: Records, writer: RecordWriter): void {
  const properties = new Map<string, Value>([['k', keys[step.key] ?? null]]);
  const number = numbers[step.number] ?? null;
  if (Array.isArray(number)) properties.set('l', number);
  else properties.set('n', number);
  const vertices = [...open.values()].filter(other => other.known.ends === undefined);
  const [a, b] = [vertices[step.a % vertices.length], vertices[step.b % vertices.length]];
  const any = [...open.values()][step.a % Math.max(open.size, 1)];
  const keep = (record: RecordValue, known: Known) =>
    open.set(idOf(record.rid), {rid: record.rid, known});
  if (step.what === 'vertex') {
    keep(writer.createVertex({typeName: 'V', properties}), {properties});
  } else if (
    (step.what === 'edge' || step.what === 'light') &&
    a !== undefined &&
    b !== undefined
  ) {
    const light = step.what === 'light';
    const own = light ? new Map<string, Value>() : new Map([['n', number]]);
    const ends = [a.rid, b.rid] as const;
    const requested = {typeName: light ? 'L' : 'E', from: a.rid, to: b.rid, properties: own};
    keep(writer.createEdge(requested), {properties: own, ends});
  } else if (step.what === 'change' && a !== undefined) {
    writer.replace(a.rid, properties);
    open.set(idOf(a.rid), {rid: a.rid, known: {properties}});
  } else if (step.what === 'delete' && any !== undefined && any.rid.position >= 0) {
    assert.equal(writer.delete(any.rid), true);
    for (const [id, other] of open) {
      const touches = other.known.ends?.some(end => idOf(end) === idOf(any.rid)) === true;
      if (id === idOf(any.rid) || touches) open.delete(id);
    }
  }
}

function check(database: RecordDatabase, reader: Reader, records: Records): void {
  const {catalog, schema} = database.context;
  const stored = new BucketScan(
    reader,
    schema,
    catalog.buckets.map(bucket => bucket.id),
  ).next(9_999);
  const expected = [...records.values()].filter(record => record.rid.position >= 0);
  assert.deepEqual(
    (stored ?? []).map(record => `${ridText(record.rid)} ${jsonText(record.properties())}`).sort(),
    expected.map(({rid, known}) => `${ridText(rid)} ${jsonText(known.properties)}`).sort(),
  );
  checkBeside(reader, expected);
  checkEdges(reader, records);
  const vertices = expected.filter(({known}) => known.ends === undefined);
  const search = (name: string) => {
    const index = catalog.requireIndex(name);
    const family = catalog.families.of(index);
    const all = new IndexSearch(reader, index, catalog.requireType('V'), family).all();
    return all.nextEntries(9_999) ?? [];
  };
  assert.deepEqual(
    search('V[k]').map(entry => `${jsonText(entry.key)} ${ridText(entry.rid)}`),
    vertices
      .map(({rid, known}) => `${jsonText([known.properties.get('k') ?? null])} ${ridText(rid)}`)
      .sort(),
  );
  const composite = search('V[lbyitem,k]');
  const wanted = vertices.flatMap(({known}) => {
    const list = known.properties.get('l') as readonly Value[] | undefined;
    return (list ?? [null]).map(item => [item, known.properties.get('k') ?? null] as const);
  });
  wanted.sort(compareTotal);
  assert.equal(composite.length, wanted.length);
  assert.ok(composite.every((entry, at) => equalValues(entry.key, wanted[at] ?? null)));
}

/** Nothing lies beside records but what they say, and nothing of that is missing. */
function checkBeside(reader: Reader, records: readonly {readonly rid: Rid}[]): void {
  const said = records.flatMap(({rid}) => {
    const bytes = reader.get(recordKey(rid));
    assert.ok(bytes !== undefined);
    const compressed = isCompressed(bytes, 0) ? compressedValuesOf(bytes, 0, bytes.length) : [];
    const beside = compressed.filter(value => value.pack === undefined);
    return beside.map(value => `${ridText(rid)} ${value.property}`);
  });
  const walker = new RowWalker(reader, [allExternals], {keysOnly: true});
  const found: string[] = [];
  while (walker.next()) {
    const {rid, property} = readExternalKey(walker.bytes, walker.keyStart);
    found.push(`${ridText(rid)} ${property}`);
  }
  walker.close();
  assert.deepEqual(found.sort(), said.sort());
}

/** Both keys of every edge, asked of every vertex twice in one call. */
function checkEdges(reader: Reader, records: Records): void {
  const vertices = [...records.values()].filter(({known}) => known.ends === undefined);
  const asked = [...vertices, ...vertices].map(({rid}) => rid);
  const rows = edgesOf(reader, asked, 'both', undefined).next(9_999) ?? [];
  const found = rows.map(row =>
    [row.source, row.outgoing ? 'out' : 'in', idOf(row.other), idOf(row.edge)].join(' '),
  );
  const expected = asked.flatMap((vertex, source) =>
    [...records.values()].flatMap(({rid, known}) => {
      const [from, to] = known.ends ?? [];
      const lines: string[] = [];
      if (from === undefined || to === undefined) return lines;
      if (idOf(from) === idOf(vertex)) lines.push([source, 'out', idOf(to), idOf(rid)].join(' '));
      if (idOf(to) === idOf(vertex)) lines.push([source, 'in', idOf(from), idOf(rid)].join(' '));
      return lines;
    }),
  );
  assert.deepEqual(found.sort(), expected.sort());
}

/** Tells light edges apart, unlike the text of their ids. */
function idOf(rid: Rid): string {
  return `${rid.bucket}:${rid.position}`;
}
