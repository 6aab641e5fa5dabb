/**
 * The schema as a value: look-ups over inheritance, what changes refuse, and that the stored
 * form gives back the same schema. Holds invariant C1.
 */
import {declaredFamilies} from './index-families.ts';
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {Refusal, type RefusalCode} from '#server/base/errors.ts';
import {utf8Bytes} from '#server/base/utf8.ts';
import {Catalog} from './catalog.ts';
import type {SchemaChange} from './change.ts';
import {createBucket, dropBucket} from './change-bucket.ts';
import {createIndex, dropIndex, markIndexReady, parseIndexKind} from './change-index.ts';
import {alterProperty, createProperty, dropProperty} from './change-property.ts';
import {createFunction, createTrigger} from './change-routine.ts';
import {addSuperType, createType, dropType, renameType, setAliases} from './change-type.ts';
import {CatalogEncoder, decodeCatalog} from './encode.ts';
import {NameDictionary} from './names.ts';

const names = new NameDictionary();

function build(...steps: readonly ((catalog: Catalog) => SchemaChange)[]): Catalog {
  return steps.reduce((catalog, step) => step(catalog).catalog, new Catalog());
}

const property =
  (typeName: string, name: string, type: 'STRING' | 'INTEGER' | 'LIST' = 'STRING') =>
  (catalog: Catalog) =>
    createProperty(catalog, {typeName, name, nameId: names.idOf(name).id, type});
const index =
  (typeName: string, name: string, unique = false) =>
  (catalog: Catalog) =>
    createIndex(catalog, {
      typeName,
      properties: [{name, ignoreCase: false}],
      kind: 'ordered',
      unique,
    });

const own = (name: string) => (catalog: Catalog) =>
  createFunction(catalog, {name, language: 'sql', parameters: ['a'], code: 'SELECT :a'});
const trigger = (name: string, typeName: string) => (catalog: Catalog) =>
  createTrigger(catalog, {
    name,
    typeName,
    when: 'before',
    event: 'create',
    language: 'sql',
    code: 'SELECT 1',
  });

const people = [
  (c: Catalog) => createType(c, {name: 'Person', kind: 'vertex'}),
  property('Person', 'name'),
  index('Person', 'name', true),
  (c: Catalog) =>
    createType(c, {name: 'Worker', kind: 'vertex', superTypes: ['Person'], bucketCount: 2}),
  property('Worker', 'job'),
  index('Worker', 'job'),
  (c: Catalog) => createType(c, {name: 'Knows', kind: 'edge', unique: true}),
];

test('a subtype has what its supertype declares, and its own', () => {
  const catalog = build(...people);
  const worker = catalog.requireType('Worker');
  assert.deepEqual([...worker.properties.keys()], ['name', 'job']);
  assert.deepEqual(
    worker.indexes.map(i => i.name),
    ['Person[name]', 'Worker[job]'],
  );
  const person = catalog.requireType('Person');
  assert.deepEqual(person.familyBucketIds, [1, 2, 3]);
  assert.deepEqual(
    person.family.map(t => t.name),
    ['Person', 'Worker'],
  );
  assert.deepEqual(
    catalog.buckets.map(b => b.name),
    ['Person_0', 'Worker_0', 'Worker_1', 'Knows_0'],
  );
  assert.equal(catalog.typeOfBucket(2)?.name, 'Worker');
  assert.equal(catalog.version, people.length);
});

test('the stored form gives back the same schema', () => {
  const catalog = build(
    ...people,
    c => alterProperty(c, 'Person', 'name', {mandatory: true, min: 2, defaultText: "'x'"}),
    c => setAliases(c, 'Person', ['Human']),
    own('lib.one'),
    trigger('t', 'Person'),
  );
  const again = decodeCatalog(new CatalogEncoder().encode(catalog), declaredFamilies);
  assert.deepEqual(again.data, catalog.data);
  assert.equal(again.requireType('Human').name, 'Person');
});

test('a schema whose records may be compressed has a format of its own, and keeps it', () => {
  const formatOf = (catalog: Catalog): unknown =>
    JSON.parse(Buffer.from(new CatalogEncoder().encode(catalog)).toString())['format'];
  const requested = {typeName: 'Person', name: 'text', nameId: 90, type: 'STRING'} as const;
  const plain = build(...people, c => createProperty(c, requested));
  const compressed = build(...people, c =>
    createProperty(c, {...requested, attributes: {external: true, compression: 'auto'}}),
  );
  const {properties} = decodeCatalog(
    new CatalogEncoder().encode(compressed),
    declaredFamilies,
  ).requireType('Worker');
  assert.equal(properties.get('text')?.external, true);
  assert.equal(properties.get('text')?.compression, 'auto');
  assert.deepEqual([formatOf(plain), formatOf(compressed)], [2, 3]);
  const back = alterProperty(compressed, 'Person', 'text', {external: false, compression: 'none'});
  assert.deepEqual(back.catalog.requireType('Worker').compressedProperties, []);
  assert.equal(formatOf(back.catalog), 3, 'its records may be compressed still');
});

test('a schema stored before there were functions and triggers is read', () => {
  const {functions: _, triggers: __, ...before} = build(...people).data;
  const bytes = utf8Bytes(JSON.stringify({format: 1, data: {...before, settings: {}}}));
  const read = decodeCatalog(bytes, declaredFamilies);
  assert.deepEqual([read.functions, read.triggers], [[], []]);
  assert.equal(read.requireType('Worker').triggers.length, 0);
  const unknown = utf8Bytes(JSON.stringify({format: 5, data: {}}));
  assert.throws(() => decodeCatalog(unknown, declaredFamilies), /unknown format/);
});

test('a trigger is one of the subtypes too, and goes with its type', () => {
  const catalog = build(...people, trigger('t', 'Person'), trigger('u', 'Worker'));
  const of = (type: string, c: Catalog): unknown => c.requireType(type).triggers.map(t => t.name);
  assert.deepEqual([of('Worker', catalog), of('Person', catalog)], [['t', 'u'], ['t']]);
  const left = dropType(catalog, 'Person', {hasRecords: false}).catalog;
  assert.deepEqual(of('Worker', left), ['u']);
});

test('functions and triggers are bounded in number', () => {
  const many = <T>(one: T): T[] => Array.from({length: 1_000}, () => one);
  const {data} = build(...people, own('lib.one'), trigger('t', 'Person'));
  const full = new Catalog({
    ...data,
    functions: data.functions.flatMap(many),
    triggers: data.triggers.flatMap(many),
  });
  assert.throws(() => own('lib.two')(full), /at most 1000 functions/);
  assert.throws(() => trigger('u', 'Person')(full), /at most 1000 triggers/);
});

test('renaming a type keeps what refers to it', () => {
  const catalog = build(...people, c => renameType(c, 'Person', 'Human'));
  assert.equal(catalog.requireType('Worker').superTypes[0]?.name, 'Human');
  assert.equal(catalog.type('Person'), undefined);
});

test('an index is built, then ready', () => {
  const made = index('Worker', 'name')(build(...people));
  assert.deepEqual(
    made.indexesToBuild.map(i => [i.name, i.state]),
    [['Worker[name]', 'building']],
  );
  const ready = markIndexReady(made.catalog, made.indexesToBuild[0]?.id ?? 0).catalog;
  assert.equal(ready.requireIndex('Worker[name]').state, 'ready');
});

test('a type that joins another is indexed by it: the index is built anew', () => {
  const catalog = build(...people, c => createType(c, {name: 'Guest', kind: 'vertex'}));
  const joined = addSuperType(catalog, 'Guest', 'Person');
  assert.deepEqual(
    joined.indexesToBuild.map(i => i.name),
    ['Person[name]'],
  );
  assert.equal(joined.indexIdsDropped.length, 1);
});

test('dropping a supertype leaves its subtypes as roots', () => {
  const dropped = dropType(build(...people), 'Person', {hasRecords: true});
  assert.deepEqual(dropped.bucketIdsDropped, [1]);
  assert.deepEqual(dropped.catalog.requireType('Worker').superTypes, []);
  assert.equal(dropped.catalog.index('Person[name]'), undefined);
});

const refused: readonly (readonly [string, RefusalCode, RegExp, (c: Catalog) => unknown])[] = [
  ['a type twice', 'schema.exists', /exists/, c => createType(c, {name: 'Person', kind: 'vertex'})],
  [
    'an unknown supertype',
    'schema.unknown-type',
    /did you mean 'Person'/,
    c => createType(c, {name: 'X', kind: 'vertex', superTypes: ['Persn']}),
  ],
  [
    'a vertex below an edge',
    'schema.conflict',
    /cannot extend/,
    c => createType(c, {name: 'X', kind: 'vertex', superTypes: ['Knows']}),
  ],
  ['a cycle', 'schema.conflict', /below itself/, c => addSuperType(c, 'Person', 'Worker')],
  ['an inherited property again', 'schema.exists', /exists/, property('Worker', 'name')],
  ['a property of a subtype again', 'schema.exists', /exists/, property('Person', 'job')],
  ['a used bucket dropped', 'schema.conflict', /used by type/, c => dropBucket(c, 'Person_0')],
  ['a bucket twice', 'schema.exists', /exists/, c => createBucket(c, 'Person_0')],
  ['an index twice', 'schema.exists', /exists/, index('Person', 'name')],
  ['an index on nothing', 'schema.unknown-property', /did you mean 'name'/, index('Person', 'nam')],
  [
    'an indexed property dropped',
    'schema.conflict',
    /index/,
    c => dropProperty(c, 'Person', 'name'),
  ],
  ['an unknown index', 'schema.unknown-index', /not found/, c => dropIndex(c, 'nope')],
  [
    'a kind of a later model',
    'not-available',
    /GEOSPATIAL/,
    () => parseIndexKind('geospatial', declaredFamilies),
  ],
  [
    'light documents',
    'schema.conflict',
    /edge/,
    c => createType(c, {name: 'X', kind: 'document', lightweight: true}),
  ],
  ['a hostile name', 'argument', /name/, c => createType(c, {name: 'a\u0000b', kind: 'document'})],
  [
    'a broken regexp',
    'argument',
    /has a \( without its \)/,
    c => alterProperty(c, 'Person', 'name', {regexp: '('}),
  ],
];

for (const [what, code, text, attempt] of refused) {
  test(`refused: ${what}`, () => {
    const catalog = build(...people);
    assert.throws(
      () => attempt(catalog),
      error => error instanceof Refusal && error.code === code && text.test(error.message),
    );
  });
}
