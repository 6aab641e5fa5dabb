/**
 * Records over the real engine: what is created, changed and deleted is found by id, by scan,
 * by index and by edge, inside the transaction and after its commit; rules of the schema hold;
 * transactions that contradict each other do not both commit.
 */
import {declaredFamilies} from '#server/catalog/index-families.ts';
import assert from 'node:assert/strict';
import {after, test} from 'node:test';
import {Refusal, type RefusalCode} from '#server/base/errors.ts';
import {createIndex} from '#server/catalog/change-index.ts';
import {createProperty, type PropertyAttributes} from '#server/catalog/change-property.ts';
import {createType, type NewType} from '#server/catalog/change-type.ts';
import type {IndexProperty} from '#server/catalog/definition.ts';
import {NameDictionary} from '#server/catalog/names.ts';
import {IndexSearch, type SearchBound} from '#server/indexes/range.ts';
import type {DataType} from '#server/model/data-type.ts';
import {jsonText} from '#server/model/json.ts';
import {ridText} from '#server/model/rid.ts';
import {Rid, type Value} from '#server/model/value.ts';
import type {Reader} from '#server/storage/store.ts';
import {RecordDatabase, RecordWorld, type SchemaStep} from '#server/testing/worlds/record-world.ts';
import {IndexBuild} from './build.ts';
import {edgesOf, loadMany, loadRecord} from './read.ts';
import {BucketScan} from './testing-bucket-scan.ts';
import {RecordWriter} from './records.ts';

const engine = await RecordWorld.open();

/** How many edges there are at a vertex. */
function degree(
  reader: Reader,
  vertex: Rid,
  ...edges: readonly ['out' | 'both', ReadonlySet<number> | undefined]
): number {
  return edgesOf(reader, [vertex], ...edges).next(1_000)?.length ?? 0;
}
after(() => engine.close());

class World extends RecordDatabase {
  search(reader: Reader, name: string): IndexSearch {
    const {catalog} = this.context;
    const index = catalog.requireIndex(name);
    const type = catalog.typeById(index.typeId) ?? assert.fail();
    return new IndexSearch(reader, index, type, declaredFamilies.of(index));
  }

  scan(reader: Reader, typeName: string): string[] {
    const {familyBucketIds} = this.context.catalog.requireType(typeName);
    const scan = new BucketScan(reader, this.context.schema, familyBucketIds);
    return (scan.next(10_000) ?? []).map(record => jsonText(record));
  }
}

const type =
  (requested: NewType): SchemaStep =>
  catalog =>
    createType(catalog, requested);
const property =
  (
    typeName: string,
    name: string,
    dataType: DataType,
    attributes: PropertyAttributes = {},
    ofType?: string,
  ): SchemaStep =>
  (catalog, names) =>
    createProperty(catalog, {
      typeName,
      name,
      nameId: names.idOf(name).id,
      type: dataType,
      attributes,
      ofType,
    });
const index =
  (
    typeName: string,
    properties: readonly (Partial<IndexProperty> & {name: string})[],
    options: {unique?: boolean; nullStrategy?: 'SKIP' | 'ERROR' | 'INDEX'} = {},
  ): SchemaStep =>
  catalog =>
    createIndex(catalog, {
      typeName,
      properties: properties.map(part => ({ignoreCase: false, ...part})),
      kind: 'ordered',
      unique: options.unique ?? false,
      nullStrategy: options.nullStrategy,
    });

async function world(...steps: readonly SchemaStep[]): Promise<World> {
  const {database, context} = await engine.database(steps);
  return new World(database, context);
}

const of = (entries: Record<string, Value>) => new Map(Object.entries(entries));
const refusal = (code: RefusalCode, text: RegExp) => (error: unknown) =>
  error instanceof Refusal &&
  error.code === code &&
  text.test(`${error.message} ${error.detail['args']}`);

const people = [
  type({name: 'Person', kind: 'vertex'}),
  property('Person', 'name', 'STRING'),
  property('Person', 'age', 'INTEGER'),
  property('Person', 'born', 'DATE'),
  index('Person', [{name: 'name'}], {unique: true}),
  index('Person', [{name: 'age'}]),
  type({name: 'Worker', kind: 'vertex', superTypes: ['Person']}),
  type({name: 'Knows', kind: 'edge'}),
  type({name: 'Likes', kind: 'edge', lightweight: true}),
  type({name: 'Once', kind: 'edge', lightweight: true, unique: true}),
  type({name: 'Way', kind: 'edge', unidirectional: true, unique: true}),
];

test('a record is found by id, scan and index, before and after its commit', async () => {
  const w = await world(...people);
  const {transaction, writer} = w.begin();
  const ann = writer.createVertex({
    typeName: 'Person',
    properties: of({name: 'ann', age: '30', x: [1, 2]}),
  });
  const row = '{"@rid":"#1:0","@type":"Person","name":"ann","age":30,"x":[1,2],"@cat":"v"}';
  const seen = (reader: Reader) => {
    assert.equal(jsonText(loadRecord(reader, w.context.schema, ann.rid) ?? null), row);
    assert.deepEqual(w.scan(reader, 'Person'), [row]);
    assert.deepEqual(w.search(reader, 'Person[name]').point(['ann']), [ann.rid]);
    assert.deepEqual(w.search(reader, 'Person[age]').point([30]), [ann.rid]);
  };
  seen(transaction);
  assert.equal(
    w.read(reader => loadRecord(reader, w.context.schema, ann.rid)),
    undefined,
  );
  assert.equal((await transaction.commit()).kind, 'committed');
  w.read(seen);
});

test('a change moves the index entries that differ, a delete removes them', async () => {
  const w = await world(...people);
  const rid = await w.write(
    writer => writer.createVertex({typeName: 'Worker', properties: of({name: 'bob', age: 41})}).rid,
  );
  await w.write(writer => writer.change(rid, {set: of({age: 42, job: 'cook'}), remove: []}));
  w.read(reader => {
    assert.deepEqual(w.search(reader, 'Person[age]').point([41]), []);
    assert.deepEqual(w.search(reader, 'Person[age]').point([42]), [rid]);
    const record = loadRecord(reader, w.context.schema, rid);
    assert.equal(record?.version, 2);
    assert.deepEqual(record?.propertyNames(), ['name', 'age', 'job']);
  });
  assert.equal(await w.write(writer => writer.delete(rid)), true);
  w.read(reader => {
    assert.deepEqual(w.scan(reader, 'Person'), []);
    for (const name of ['Person[age]', 'Person[name]']) {
      assert.equal(w.search(reader, name).all().nextRids(9), undefined);
    }
  });
  assert.equal(await w.write(writer => writer.delete(rid)), false);
  assert.equal(w.database.recordCount(rid.bucket), 0);
});

test('ranges: bounds, order, classes, equal first parts, covered keys', async () => {
  const w = await world(
    type({name: 'T', kind: 'document'}),
    property('T', 'a', 'STRING'),
    property('T', 'b', 'DECIMAL'),
    index('T', [{name: 'a'}, {name: 'b'}]),
    index('T', [{name: 'b'}], {nullStrategy: 'INDEX'}),
  );
  await w.write(writer => {
    for (const [a, b] of [
      ['x', '1.50'],
      ['x', 3],
      ['y', -2],
      ['x', 2],
      ['z', null],
    ] as const) {
      writer.createDocument({typeName: 'T', properties: of({a, b})});
    }
  });
  w.read(reader => {
    const both = w.search(reader, 'T[a,b]');
    const keys = (from: SearchBound | undefined, to: SearchBound | undefined, descending = false) =>
      jsonText(
        (both.range({from, to}, {descending}).nextEntries(99) ?? []).map(entry => entry.key),
      );
    const x = {values: ['x'], inclusive: true};
    assert.equal(keys(x, x), '[["x",1.50],["x",2],["x",3]]');
    assert.equal(keys(x, x, true), '[["x",3],["x",2],["x",1.50]]');
    assert.equal(keys({values: ['x', 1.5], inclusive: false}, x), '[["x",2],["x",3]]');
    assert.equal(keys(undefined, {values: ['x', 3], inclusive: false}), '[["x",1.50],["x",2]]');
    assert.equal(keys({values: ['y'], inclusive: true}, undefined), '[["y",-2],["z",null]]');
    const z = {values: ['z'], inclusive: true};
    assert.equal(keys(z, {values: ['z', 5], inclusive: true}), '[]');
    assert.equal(keys({values: ['x', 2], inclusive: true}, x), '[["x",2],["x",3]]');
    const b = w.search(reader, 'T[b]');
    const under = b.range({from: undefined, to: {values: [2], inclusive: true}}).nextEntries(99);
    assert.equal(jsonText((under ?? []).flatMap(entry => entry.key)), '[-2,1.50,2]');
    assert.equal(b.point([null]).length, 1);
    assert.equal(b.all().nextRids(99)?.length, 5);
  });
});

test('dates are searched by text, texts without case, items and keys one by one', async () => {
  const w = await world(
    type({name: 'T', kind: 'document'}),
    property('T', 'd', 'DATE'),
    property('T', 's', 'STRING'),
    property('T', 'l', 'LIST', {}, 'STRING'),
    property('T', 'm', 'MAP'),
    index('T', [{name: 'd'}]),
    index('T', [{name: 's', ignoreCase: true}], {unique: true}),
    index('T', [{name: 'l', by: 'item'}]),
    index('T', [{name: 'm', by: 'key'}]),
  );
  const rid = await w.write(
    writer =>
      writer.createDocument({
        typeName: 'T',
        properties: of({d: '2024-02-29', s: 'Straße', l: ['x', 'y', 'x'], m: new Map([['k', 1]])}),
      }).rid,
  );
  w.read(reader => {
    assert.deepEqual(w.search(reader, 'T[d]').point(['2024-02-29']), [rid]);
    assert.deepEqual(w.search(reader, 'T[s]').point(['STRAßE']), [rid]);
    assert.equal(
      jsonText(w.search(reader, 'T[s]').all().nextEntries(2)?.[0]?.key ?? null),
      '["Straße"]',
    );
    assert.deepEqual(w.search(reader, 'T[lbyitem]').all().nextRids(9), [rid]);
    assert.equal(w.search(reader, 'T[lbyitem]').all().nextEntries(9)?.length, 2);
    assert.deepEqual(w.search(reader, 'T[mbykey]').point(['k']), [rid]);
  });
  await assert.rejects(
    w.write(writer => writer.createDocument({typeName: 'T', properties: of({s: 'STRAßE'})})),
    refusal('commit.duplicate-key', /T\[s\]\|\[STRAßE\]\|#1:0/),
  );
});

test('edges are found from both ends; deleting a vertex deletes them', async () => {
  const w = await world(...people);
  const {ann, bob, edge} = await w.write(writer => {
    const make = (name: string) =>
      writer.createVertex({typeName: 'Person', properties: of({name})}).rid;
    const [ann, bob, cid] = [make('ann'), make('bob'), make('cid')];
    const ends = {from: ann, to: bob};
    const edge = writer.createEdge({typeName: 'Knows', ...ends, properties: of({since: 2001})});
    for (let twice = 0; twice < 2; twice++)
      writer.createEdge({typeName: 'Likes', ...ends, properties: of({})});
    writer.createEdge({typeName: 'Knows', from: ann, to: ann, properties: of({})});
    writer.createEdge({typeName: 'Way', from: ann, to: cid, properties: of({})});
    return {ann, bob, edge};
  });
  const {catalog, schema} = w.context;
  const knows = catalog.requireType('Knows').familyIds;
  w.read(reader => {
    assert.equal(
      jsonText(loadRecord(reader, schema, edge.rid) ?? null),
      '{"@rid":"#3:0","@type":"Knows","@in":"#1:1","@out":"#1:0","since":2001,"@cat":"e"}',
    );
    const hops = edgesOf(reader, [bob, ann], 'both', undefined).next(99) ?? [];
    assert.deepEqual(
      hops.map(hop => [
        hop.source,
        hop.outgoing,
        catalog.typeById(hop.typeId)?.name,
        ridText(hop.other),
        ridText(hop.edge),
      ]),
      [
        [0, false, 'Knows', '#1:0', '#3:0'],
        [0, false, 'Likes', '#1:0', '#4:-1'],
        [0, false, 'Likes', '#1:0', '#4:-1'],
        [1, true, 'Knows', '#1:0', '#3:1'],
        [1, true, 'Knows', '#1:1', '#3:0'],
        [1, true, 'Likes', '#1:1', '#4:-1'],
        [1, true, 'Likes', '#1:1', '#4:-1'],
        [1, true, 'Way', '#1:2', '#6:0'],
        [1, false, 'Knows', '#1:0', '#3:1'],
      ],
    );
    assert.equal(degree(reader, ann, 'out', knows), 2);
    assert.equal(degree(reader, new Rid(1, 2), 'both', undefined), 1, 'of a unidirectional type');
  });
  await w.write(writer => assert.equal(writer.delete(ann), true));
  w.read(reader => {
    assert.equal(degree(reader, bob, 'both', undefined), 0);
    assert.equal(degree(reader, ann, 'both', undefined), 0);
    assert.equal(degree(reader, new Rid(1, 2), 'both', undefined), 0);
    assert.deepEqual(w.scan(reader, 'Knows'), []);
  });
  for (const [bucket, count] of [
    [1, 2],
    [3, 0],
    [4, 0],
    [6, 0],
  ] as const) {
    assert.equal(w.database.recordCount(bucket), count);
  }
});

test('unique edges exist once from one vertex to another', async () => {
  const w = await world(...people);
  const [ann, bob] = (await w.write(writer =>
    ['a', 'b'].map(name => writer.createVertex({typeName: 'Person', properties: of({name})}).rid),
  )) as [Rid, Rid];
  for (const typeName of ['Once', 'Way']) {
    const make = (from: Rid, to: Rid) =>
      w.write(writer => writer.createEdge({typeName, from, to, properties: of({})}));
    await make(ann, bob);
    await make(bob, ann);
    await assert.rejects(make(ann, bob), refusal('commit.duplicate-key', /@out,@in/));
    const [first, second] = [w.begin(), w.begin()];
    for (const {writer} of [first, second]) {
      writer.createEdge({typeName, from: ann, to: ann, properties: of({})});
    }
    assert.equal((await first.transaction.commit()).kind, 'committed');
    assert.equal((await second.transaction.commit()).kind, 'conflict');
  }
});

const conflicts: readonly (readonly [
  string,
  (w: World, writer: RecordWriter, ann: Rid) => unknown,
  (w: World, writer: RecordWriter, ann: Rid) => unknown,
])[] = [
  [
    'two changes of one record',
    (_w, writer, ann) => writer.change(ann, {set: of({age: 1}), remove: []}),
    (_w, writer, ann) => writer.change(ann, {set: of({age: 2}), remove: []}),
  ],
  [
    'a change and a delete',
    (_w, writer, ann) => writer.delete(ann),
    (_w, writer, ann) => writer.change(ann, {set: of({age: 2}), remove: []}),
  ],
  [
    'a new edge and the delete of its end',
    (_w, writer, ann) => writer.delete(ann),
    (_w, writer, ann) =>
      writer.createEdge({typeName: 'Knows', from: ann, to: ann, properties: of({})}),
  ],
  [
    'the delete of a vertex and a new edge at it',
    (_w, writer, ann) =>
      writer.createEdge({typeName: 'Likes', from: ann, to: ann, properties: of({})}),
    (_w, writer, ann) => writer.delete(ann),
  ],
  [
    'two records with one unique key',
    (_w, writer) => writer.createVertex({typeName: 'Person', properties: of({name: 'eve'})}),
    (_w, writer) => writer.createVertex({typeName: 'Worker', properties: of({name: 'eve'})}),
  ],
];
for (const [what, first, second] of conflicts) {
  test(`only the first commits: ${what}`, async () => {
    const w = await world(...people);
    const ann = await w.write(
      writer => writer.createVertex({typeName: 'Person', properties: of({name: 'ann'})}).rid,
    );
    const [one, two] = [w.begin(), w.begin()];
    first(w, one.writer, ann);
    second(w, two.writer, ann);
    assert.equal((await one.transaction.commit()).kind, 'committed');
    const outcome = await two.transaction.commit();
    assert.equal(outcome.kind, 'conflict');
    const duplicate = outcome.kind === 'conflict' ? outcome.unique : undefined;
    assert.deepEqual(
      duplicate,
      what.includes('unique') ? {index: 'Person[name]', text: '[eve]'} : undefined,
    );
  });
}

const rules: readonly (readonly [
  DataType,
  PropertyAttributes,
  Value | undefined,
  RegExp | undefined,
])[] = [
  ['INTEGER', {mandatory: true}, undefined, /mandatory/],
  ['INTEGER', {mandatory: true}, null, undefined],
  ['INTEGER', {notNull: true}, null, /cannot be null/],
  ['INTEGER', {min: 1}, 0, /value 0 is less than 1/],
  ['INTEGER', {max: '10'}, 11, /value 11 is greater than/],
  ['STRING', {min: 2}, 'a', /size 1 is less than 2/],
  ['DATE', {min: '2024-01-01'}, '2023-12-31', /less than/],
  ['DATE', {min: '2024-01-01'}, '2024-01-01', undefined],
  ['STRING', {regexp: '[a-z]+'}, 'abC', /regular expression/],
  ['STRING', {regexp: '[a-z]+'}, 'abc', undefined],
];
for (const [dataType, attributes, value, text] of rules) {
  const name = `rule ${JSON.stringify(attributes)} and ${jsonText(value)}: ${text ?? 'passes'}`;
  test(name, async () => {
    const w = await world(
      type({name: 'T', kind: 'document'}),
      property('T', 'p', dataType, attributes),
    );
    const properties = value === undefined ? of({}) : of({p: value});
    const attempt = w.write(writer => writer.createDocument({typeName: 'T', properties}));
    await (text === undefined
      ? attempt
      : assert.rejects(attempt, refusal('value.validation', text)));
  });
}

test('defaults fill in, readonly values stay, null keys are refused if so asked', async () => {
  const w = await world(
    type({name: 'T', kind: 'document', bucketCount: 2}),
    property('T', 'd', 'LONG', {defaultText: '5'}),
    property('T', 'r', 'STRING', {readonly: true}),
    property('T', 'k', 'STRING'),
    index('T', [{name: 'k'}], {nullStrategy: 'ERROR'}),
  );
  const record = await w.write(writer =>
    writer.createDocument({typeName: 'T', properties: of({k: 'a', r: 'once'})}),
  );
  const second = await w.write(writer =>
    writer.createDocument({typeName: 'T', properties: of({k: 'b'})}),
  );
  assert.notEqual(second.rid.bucket, record.rid.bucket);
  assert.equal(record.get('d'), 5);
  assert.throws(
    () => w.begin().writer.change(record.rid, {set: of({r: 'twice'}), remove: []}),
    refusal('value.validation', /readonly/),
  );
  assert.throws(
    () => w.begin().writer.createDocument({typeName: 'T', properties: of({})}),
    refusal('value.validation', /null/),
  );
  const long = 'x'.repeat(2 << 20);
  assert.throws(
    () => w.begin().writer.createDocument({typeName: 'T', properties: of({k: long})}),
    refusal('limit.record', /svc.recordSizeMax/),
  );
});

test('many records are loaded in the order asked, with holes where there are none', async () => {
  const w = await world(type({name: 'T', kind: 'document'}));
  const rids = await w.write(writer =>
    Array.from(
      {length: 300},
      (_, n) =>
        writer.createDocument({typeName: 'T', properties: of({n, text: 'y'.repeat(n * 3)})}).rid,
    ),
  );
  const wanted = [...rids]
    .reverse()
    .flatMap(rid => [rid, new Rid(99, rid.position), new Rid(rid.bucket, -1)]);
  const found = w.read(reader => loadMany(reader, w.context.schema, wanted));
  assert.deepEqual(
    found.map(record => record?.get('n')),
    [...rids.keys()].reverse().flatMap(n => [n, undefined, undefined]),
  );
});

test('an index is built in chunks, and a chunk that met a write is made again', async () => {
  const before = [type({name: 'T', kind: 'document'}), property('T', 'n', 'INTEGER')];
  const w = await world(...before);
  const rids = await w.write(writer =>
    Array.from(
      {length: 50},
      (_, n) => writer.createDocument({typeName: 'T', properties: of({n})}).rid,
    ),
  );
  const declared = index('T', [{name: 'n'}], {unique: true})(
    w.context.catalog,
    new NameDictionary(),
  ).catalog;
  const context = {...w.context, catalog: declared};
  const build = new IndexBuild(context, declared.requireIndex('T[n]'));
  let disturbed = 0;
  while (!build.done) {
    const {transaction} = w.begin();
    build.fill(transaction, {recordsMax: 20, writeBytesMax: 1 << 20});
    if (disturbed++ === 1) {
      const other = w.database.begin('READ_COMMITTED');
      new RecordWriter(other, context).change(rids[25] as Rid, {set: of({n: 1_000}), remove: []});
      assert.equal((await other.commit()).kind, 'committed');
    }
    const outcome = await transaction.commit();
    if (outcome.kind === 'committed') build.advance();
    else assert.equal(disturbed, 2);
  }
  assert.equal(build.recordsDone, 50);
  w.read(reader => {
    const index = declared.requireIndex('T[n]');
    const type = declared.requireType('T');
    const search = new IndexSearch(reader, index, type, declaredFamilies.of(index));
    const keys = (search.all().nextEntries(99) ?? []).map(entry => entry.key[0]);
    assert.deepEqual(keys, [...Array.from({length: 50}, (_, n) => n).filter(n => n !== 25), 1_000]);
  });
  await w.write(writer => writer.createDocument({typeName: 'T', properties: of({n: 7})}));
  const again = new IndexBuild(context, declared.requireIndex('T[n]'));
  assert.throws(
    () => again.fill(w.begin().transaction, {recordsMax: 99, writeBytesMax: 1 << 20}),
    refusal('commit.duplicate-key', /T\[n\]\|\[7\]\|/),
  );
});

test('while a unique index is built, a record leaves the entry of its twin alone', async () => {
  const w = await world(type({name: 'T', kind: 'document'}), property('T', 'n', 'INTEGER'));
  const rids = await w.write(writer =>
    [1, 2, 3, 1].map(n => writer.createDocument({typeName: 'T', properties: of({n})}).rid),
  );
  const {catalog} = index('T', [{name: 'n'}], {unique: true})(
    w.context.catalog,
    new NameDictionary(),
  );
  const context = {...w.context, catalog};
  const build = new IndexBuild(context, catalog.requireIndex('T[n]'));
  const fill = async (recordsMax: number): Promise<string> => {
    const {transaction} = w.begin();
    build.fill(transaction, {recordsMax, writeBytesMax: 1 << 20});
    const {kind} = await transaction.commit();
    if (kind === 'committed') build.advance();
    return kind;
  };
  // One statement sees no entry of its record, and the build puts one before it commits.
  const early = w.begin(context);
  early.writer.delete(rids[1] as Rid);
  assert.equal(await fill(2), 'committed');
  assert.equal((await early.transaction.commit()).kind, 'conflict');
  const {transaction, writer} = w.begin(context);
  writer.delete(rids[3] as Rid);
  writer.delete(rids[1] as Rid);
  assert.equal((await transaction.commit()).kind, 'committed');
  while (!build.done) await fill(99);
  w.read(reader => {
    const index = catalog.requireIndex('T[n]');
    const type = catalog.requireType('T');
    const search = new IndexSearch(reader, index, type, declaredFamilies.of(index));
    const keys = (search.all().nextEntries(99) ?? []).map(entry => entry.key[0]);
    assert.deepEqual(keys, [1, 3]);
  });
});
