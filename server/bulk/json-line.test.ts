/**
 * The one-pass reader of lines against the general one: where it does not give up, both leave the
 * same record behind, and it never accepts a line that the general one refuses. Holds invariant U1.
 */
import {indexFamilies} from '#server/caches/index-families.ts';
import assert from 'node:assert/strict';
import {test} from 'node:test';
import fc from 'fast-check';
import {Refusal} from '#server/base/errors.ts';
import {Catalog} from '#server/catalog/catalog.ts';
import {createProperty} from '#server/catalog/change-property.ts';
import {createType} from '#server/catalog/change-type.ts';
import {NameDictionary} from '#server/catalog/names.ts';
import type {DataType} from '#server/model/data-type.ts';
import {BulkDraft, type TextRange} from './draft.ts';
import {JsonLineReader} from './json-line.ts';
import {CatalogSchema, RecordWorkspace} from '#server/records/context.ts';

const declared: readonly (readonly [string, DataType])[] = [
  ['text', 'STRING'],
  ['byte', 'BYTE'],
  ['short', 'SHORT'],
  ['integer', 'INTEGER'],
  ['long', 'LONG'],
  ['double', 'DOUBLE'],
  ['decimal', 'DECIMAL'],
  ['flag', 'BOOLEAN'],
  ['day', 'DATE'],
  ['list', 'LIST'],
];

function newDraft(): BulkDraft {
  const names = new NameDictionary();
  let catalog = new Catalog();
  catalog = createType(catalog, {name: 'Person', kind: 'vertex'}).catalog;
  catalog = createType(catalog, {name: 'Knows', kind: 'edge'}).catalog;
  for (const [name, type] of declared) {
    const nameId = names.idOf(name).id;
    catalog = createProperty(catalog, {typeName: 'Person', name, nameId, type}).catalog;
  }
  return new BulkDraft({
    catalog,
    names,
    schema: new CatalogSchema(catalog, names),
    defaults: () => null,
    recordBytesMax: 1 << 20,
    bucketTurns: new Map(),
    families: indexFamilies,
    workspace: new RecordWorkspace(catalog, indexFamilies),
  });
}

const textOf = (range: TextRange): string | undefined => (range.present ? range.text : undefined);

/** Everything that a reader leaves behind. */
function stateOf(draft: BulkDraft): unknown {
  const {builder, type, kind} = draft;
  const isEdge = kind === 'edge';
  const bytes = new Uint8Array(builder.size(isEdge, 1 << 20));
  builder.writeTo(bytes, 0, {kind: 'vertex', typeId: 1, schemaVersion: 1, recordVersion: 1});
  return {
    kind,
    type: type?.type.name,
    id: textOf(draft.id),
    from: textOf(draft.from),
    to: textOf(draft.to),
    bytes: Buffer.from(bytes).toString('hex'),
  };
}

type Reading = {readonly state: unknown} | {readonly refused: string} | 'gave up';

function reading(draft: BulkDraft, read: () => boolean): Reading {
  try {
    return read() ? {state: stateOf(draft)} : 'gave up';
  } catch (error) {
    if (error instanceof Refusal) return {refused: error.code};
    throw error;
  }
}

/** Compares both ways; whether the one-pass way gave an answer. */
function agree(draft: BulkDraft, reader: JsonLineReader, line: Buffer): boolean {
  const usual = reading(draft, () => reader.readUsual(line, 0, line.length));
  if (usual === 'gave up') return false;
  const general = reading(draft, () => {
    reader.readAny(line, 0, line.length, 1);
    return true;
  });
  assert.deepEqual(usual, general, line.toString());
  return true;
}

const json = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.oneof(
      fc.constantFrom('0', '5', '-17', '127', '128', '2147483647', '1.5', 'true', 'false', 'null'),
      fc.string().map(text => JSON.stringify(text)),
      fc.string({unit: 'binary'}).map(text => JSON.stringify(text)),
      fc.integer().map(String),
      fc.double({noNaN: true, noDefaultInfinity: true}).map(value => JSON.stringify(value)),
    ),
  },
  fc.constantFrom('-0', '-129', '32768', '2147483648', '9007199254740993', '99999999999999999999'),
  fc.constantFrom('5.0', '1e3', '-2.25E-2', '01', '"2024-02-29"', '"12"', '[1,"a",{"b":2.0}]'),
  fc.constantFrom('{}', '[]', '[', '{"a":[}', '"unclosed', 'nul', '"a\\nb"', '"\\ud800"', '-'),
  fc.json(),
);
const name = fc.oneof(
  fc.constantFrom('other', 'a', 'b', 'c', 'd', 'e', 'f', 'g'),
  fc.constantFrom(...declared.map(([each]) => each), 'other', 'überall', '__proto__', '@cat', ''),
  fc.string(),
);
const attribute = fc.oneof(
  fc.constantFrom('"@id":"a1"', '"@id":7', '"@id":null', '"@id":"ä"', '"@id":-1', '"@id":1.5'),
  fc.constantFrom('"@from":"#1:2"', '"@to":"x"', '"@from":0', '"@class":"Knows"', '"@type":"zzz"'),
);
const blank = fc.constantFrom('', '', '', ' ', '\t ');

const line = fc
  .record({
    head: fc.constantFrom(
      '"@type":"v","@class":"Person"',
      '"@type" : "vertex" , "@class" : "Person"',
      '"@class":"Knows","@type":"e"',
      '"@class":"Person"',
      '"@type":"edge","@class":"Nobody"',
    ),
    attributes: fc.array(attribute, {maxLength: 1}),
    fields: fc.array(fc.tuple(name, json, blank), {maxLength: 4}),
    tail: fc.constantFrom('', '', '', '', '', '', '', ' ', '}', ',', 'x'),
  })
  .map(({head, attributes, fields, tail}) => {
    const parts = fields.map(
      ([key, value, space]) => `${JSON.stringify(key)}${space}:${space}${value}`,
    );
    return `{${[head, ...attributes, ...parts].join(',')}}${tail}`;
  });

test('a line that the one-pass reader takes is the record that the general one makes', () => {
  const draft = newDraft();
  const reader = new JsonLineReader(draft);
  let taken = 0;
  let all = 0;
  fc.assert(
    fc.property(line, text => {
      all++;
      if (agree(draft, reader, Buffer.from(text))) taken++;
    }),
    {numRuns: 4_000},
  );
  assert.ok(taken > all / 10, `only ${taken} of ${all} lines were taken`);
});

test('damaged bytes are never taken for another record', () => {
  const draft = newDraft();
  const reader = new JsonLineReader(draft);
  const damage = fc.array(fc.tuple(fc.nat(), fc.nat({max: 255})), {minLength: 1, maxLength: 3});
  fc.assert(
    fc.property(line, damage, (text, changes) => {
      const bytes = Buffer.from(text);
      for (const [at, byte] of changes) bytes[at % bytes.length] = byte;
      agree(draft, reader, bytes);
    }),
    {numRuns: 4_000},
  );
});

test('the usual line is taken in one pass', () => {
  const draft = newDraft();
  const reader = new JsonLineReader(draft);
  const usual = [
    '{"@type":"v","@class":"Person","@id":"p1","text":"Ann","integer":41,"flag":true}',
    '{"@type":"vertex","@class":"Person","@id":17,"long":-9000000000,"double":2.5,"other":null}',
    '{"@type":"e","@class":"Knows","@from":"p1","@to":"#12:7","since":1999,"tags":["a","b"]}',
    '{ "@class" : "Person", "@type" : "v", "text" : "Zoë", "day" : "2024-02-29" } ',
  ];
  for (const text of usual) assert.ok(agree(draft, reader, Buffer.from(text)), text);
});
