/**
 * Formats of keys and records: that keys sort as values do, that what is stored is read back
 * as it was, and that stitched JSON is the JSON of the values. Holds invariants K2 and M1.
 */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import fc from 'fast-check';
import {ByteWriter} from '#server/base/byte-writer.ts';
import {compareBytes, readUtf8} from '#server/base/utf8.ts';
import {compareTotal, equalValues} from '#server/model/compare.ts';
import type {DataType} from '#server/model/data-type.ts';
import {jsonText} from '#server/model/json.ts';
import {Double, Rid, type Value} from '#server/model/value.ts';
import {anyNumber, anyValue} from '#server/testing/property/any-value.ts';
import {adjacencyKey, edgeTypeRange, outgoing, readAdjacencyKey} from './adjacency-key.ts';
import {indexEntry, indexKeyPrefix, valuesOfEntry} from './index-key.ts';
import {appendKeyPart, encodeKey} from './key-encoding.ts';
import {keyAfterPrefix} from './namespace.ts';
import {edgeFrom, findProperty, readSlot} from './record.ts';
import {encodeRecord} from './record-encoding.ts';
import {RecordJson} from './record-json.ts';
import type {RecordSchema} from './record.ts';
import {bucketRange, recordKey, ridOfRecordKey} from './record-key.ts';
import {StoredRecord} from './stored-record.ts';

const schema: RecordSchema = {
  typeName: id => `T${id}`,
  propertyName: id => `p${id}`,
  propertyId: name => Number(name.slice(1)),
};

const sign = (order: number): number => Math.sign(order) + 0;

test('keys sort as values do', () => {
  fc.assert(
    fc.property(fc.oneof(anyValue(), anyNumber()), fc.oneof(anyValue(), anyNumber()), (a, b) => {
      assert.equal(sign(compareBytes(encodeKey([a]), encodeKey([b]))), sign(compareTotal(a, b)));
    }),
    {numRuns: 6_000},
  );
});

test('whole numbers have the bytes of their doubles, sign bit set', () => {
  const whole = fc.oneof(fc.integer({min: 1, max: 2 ** 32 - 1}), fc.constantFrom(1, 2 ** 32 - 1));
  fc.assert(
    fc.property(whole, number => {
      const expected = Buffer.alloc(8);
      expected.writeDoubleBE(-number);
      assert.deepEqual(Buffer.from(encodeKey([number]).subarray(1, 9)), expected);
    }),
  );
});

test('composite keys sort part by part, and their first parts are a prefix', () => {
  const key = fc.tuple(anyValue(), anyValue());
  fc.assert(
    fc.property(key, key, (a, b) => {
      const order = compareTotal(a[0], b[0]) || compareTotal(a[1], b[1]);
      assert.equal(sign(compareBytes(encodeKey(a), encodeKey(b))), sign(order));
      const prefix = encodeKey([a[0]]);
      const within =
        compareBytes(encodeKey(b), prefix) >= 0 &&
        compareBytes(encodeKey(b), keyAfterPrefix(prefix)) < 0;
      assert.equal(within, equalValues(a[0], b[0]));
    }),
    {numRuns: 2_000},
  );
});

test('an index entry gives back the values that were indexed', () => {
  const declared = fc.constantFrom<DataType | undefined>(
    undefined,
    'DOUBLE',
    'LONG',
    'DECIMAL',
    'DATE',
  );
  fc.assert(
    fc.property(anyValue(), anyValue(), declared, fc.boolean(), (a, b, type, unique) => {
      const rid = new Rid(3, 77);
      const parts = [
        {sorted: a, original: a, declared: type},
        {sorted: b, original: b, declared: undefined},
      ];
      const entry = indexEntry({id: 9, unique}, parts, rid);
      const bytes = Uint8Array.from([...entry.key, ...entry.value]);
      const row = {bytes, keyStart: 0, keyEnd: entry.key.length, end: bytes.length};
      const values = valuesOfEntry({unique, declared: [type, undefined]}, row);
      assert.equal(jsonText(values), jsonText([a, b]));
    }),
    {numRuns: 2_000},
  );
});

test('a key is the same in whatever array it is made', () => {
  for (const text of ['\u0000\u0001', 'a\u0000b\u0000', '\u0000\u0000\u0000']) {
    const out = new ByteWriter(Buffer.alloc(256));
    appendKeyPart(out, text);
    assert.deepEqual(Buffer.from(out.view()), Buffer.from(encodeKey([text])));
  }
});

test('a record gives back what was stored, whole and property by property', () => {
  fc.assert(
    fc.property(fc.array(anyValue(), {maxLength: 8}), fc.boolean(), (values, edge) => {
      const from = new Rid(1, 2 ** 47);
      const to = new Rid(0xffffffff, 0);
      const header = {typeId: 7, schemaVersion: 3, recordVersion: 2};
      const bytes = encodeRecord(
        edge ? {...header, kind: 'edge', from, to} : {...header, kind: 'vertex'},
        values.map((value, at) => ({id: 70_000 - at * 300, value})),
      );
      // As in a scan: the record lies somewhere inside a larger buffer.
      const buffer = Buffer.concat([Buffer.alloc(5, 0xee), bytes, Buffer.alloc(9, 0xdd)]);
      for (const [at, value] of values.entries()) {
        const slot = findProperty(buffer, 5, 70_000 - at * 300);
        assert.deepEqual(readSlot(buffer, 5, bytes.length, slot), value);
      }
      assert.equal(findProperty(buffer, 5, 1), -1);
      if (edge) assert.deepEqual(edgeFrom(buffer, 5), from);
      const out = new ByteWriter();
      new RecordJson(schema).append(out, buffer, 5, bytes.length, new Rid(4, 5));
      const ends = edge ? ['"@in":"#4294967295:0"', '"@out":"#1:140737488355328"'] : [];
      const row = [
        '"@rid":"#4:5"',
        '"@type":"T7"',
        `"@cat":"${edge ? 'e' : 'v'}"`,
        ...ends,
        ...values.map((value, at) => `"p${70_000 - at * 300}":${jsonText(value)}`),
      ];
      assert.equal(readUtf8(out.bytes, 0, out.length), `{${row.join()}}`);
      const ids = [...values.map((_, at) => 70_000 - at * 300), 1];
      for (const [at, id] of ids.entries()) {
        const alone = new ByteWriter();
        new RecordJson(schema).appendProperty(alone, buffer, {offset: 5, length: bytes.length, id});
        assert.equal(readUtf8(alone.bytes, 0, alone.length), jsonText(values[at] ?? null));
      }
    }),
    {numRuns: 1_500},
  );
});

const tagged: readonly (readonly [Value, DataType, number])[] = [
  [5, 'BYTE', 0x10],
  [5, 'SHORT', 0x11],
  [5, 'INTEGER', 0x12],
  [5, 'LONG', 0x13],
  [new Double(5), 'FLOAT', 0x14],
  [new Double(5), 'DOUBLE', 0x15],
];
for (const [value, declared, tag] of tagged) {
  test(`a ${declared} keeps its own tag`, () => {
    const bytes = encodeRecord({kind: 'document', typeId: 1, schemaVersion: 1, recordVersion: 1}, [
      {id: 1, value, declared},
    ]);
    assert.equal(bytes[16 + 3], tag);
    assert.deepEqual(new StoredRecord(new Rid(1, 1), bytes, schema).get('p1'), value);
  });
}

test('a record of more than 64 KB has a wide table', () => {
  const long = 'ü'.repeat(50_000);
  const bytes = encodeRecord({kind: 'document', typeId: 1, schemaVersion: 1, recordVersion: 1}, [
    {id: 1, value: long},
    {id: 2, value: long},
    {id: 3, value: 7},
  ]);
  const record = new StoredRecord(new Rid(1, 1), bytes, schema);
  assert.equal(record.get('p2'), long);
  assert.equal(record.get('p3'), 7);
  assert.deepEqual(record.propertyNames(), ['p1', 'p2', 'p3']);
});

test('record keys of a bucket are one run in order of position', () => {
  const {start, end} = bucketRange(7);
  let before = start;
  for (const position of [0, 1, 255, 2 ** 32, 2 ** 48 - 1]) {
    const key = recordKey(new Rid(7, position));
    assert.ok(compareBytes(before, key) < 0 && compareBytes(key, end) < 0);
    assert.deepEqual(ridOfRecordKey(key, 0), new Rid(7, position));
    before = key;
  }
  assert.ok(compareBytes(recordKey(new Rid(8, 0)), end) >= 0);
});

test('an adjacency key is read as it was written and lies in its ranges', () => {
  const parts = {
    vertex: new Rid(1, 2),
    direction: outgoing,
    edgeTypeId: 9,
    other: new Rid(3, 4),
    edge: new Rid(5, -7),
  } as const;
  const key = adjacencyKey(parts);
  assert.deepEqual(readAdjacencyKey(key, 0, true), parts);
  const {start, end} = edgeTypeRange(parts.vertex, outgoing, 9);
  assert.ok(compareBytes(start, key) < 0 && compareBytes(key, end) < 0);
  assert.ok(compareBytes(key, indexKeyPrefix(1, [])) < 0);
});
