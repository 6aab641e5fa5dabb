/** What is packed, cloned as a message is, and unpacked is what it was. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {
  DateTimeValue,
  DateValue,
  Decimal,
  Double,
  DurationValue,
  EmbeddedValue,
  PathValue,
  PointValue,
  Rid,
  TimeValue,
  type Value,
} from '#server/model/value.ts';
import {NaiveRecord} from '#server/testing/worlds/naive-graph.ts';
import {packPortable, unpackPortable} from './portable.ts';

const values: readonly Value[] = [
  null,
  true,
  7,
  2n ** 70n,
  'text',
  new Double(5),
  new Double(-0),
  Number.NaN,
  new Decimal(12345n, 2),
  new Rid(3, 2 ** 40),
  new DateValue(-5),
  new DateTimeValue(1, 2, 'nanosecond', {zone: {offsetSeconds: 3600, region: 'Europe/Paris'}}),
  new DateTimeValue(1, 2, 'second', {local: true}),
  new TimeValue(1, 2, undefined),
  new DurationValue(1, 2, 3, 4),
  new PointValue(4326, [1, 2]),
  new EmbeddedValue('Address', new Map<string, Value>([['number', new Double(1)]])),
  new PathValue([new Rid(1, 1), new Rid(2, 2), new Rid(1, 3)]),
  new Uint8Array([1, 2, 3]),
  new Float64Array([1, 0.5]),
  new BigInt64Array([1n, -1n]),
  [new Double(1), [new Rid(1, 2)]],
  new Map<string, Value>([
    ['#class', 'Rid'],
    ['list', [new Decimal(1n, 0)]],
  ]),
];

function travelled<T>(thing: T): T {
  const packed = packPortable(thing);
  assert.ok(packed);
  return unpackPortable(structuredClone(packed));
}

for (const value of values) {
  const name = typeof value === 'object' ? value?.constructor.name : typeof value;
  test(`a value of ${name ?? 'null'} arrives as it was`, () => {
    assert.deepStrictEqual(travelled(value), value);
  });
}

test('what occurs twice occurs twice again', () => {
  const shared = {kind: 'literal', value: new Rid(1, 2)};
  const {left, right} = travelled({left: shared, right: [shared]});
  assert.equal(left, right[0]);
  assert.deepStrictEqual(left, shared);
});

test('a text that is made when needed is made before it leaves', () => {
  const {written} = travelled({written: () => 'abs(n)'});
  assert.equal(written(), 'abs(n)');
});

test('bytes of a larger memory come alone', () => {
  const packed = packPortable(Buffer.alloc(1 << 20).subarray(10, 20));
  const bytes = packed?.packed as Uint8Array;
  assert.equal(bytes.buffer.byteLength, 10);
});

test('a record stays where its store is', () => {
  const record = new NaiveRecord(new Rid(1, 1), {name: 'T', kind: 'document'}, new Map());
  assert.equal(packPortable(new Map([['record', [record]]])), undefined);
});
