/**
 * Values: that order, equality and hash key tell one story, that arithmetic is exact, and that
 * nothing is lost between JSON text and value.
 */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import fc from 'fast-check';
import {Refusal} from '#server/base/errors.ts';
import {anyValue} from '#server/testing/property/any-value.ts';
import {compareTotal, equalValues, groupKey} from './compare.ts';
import {convertValue, type DataType} from './data-type.ts';
import {JsonParser, parseJsonText} from './json-parser.ts';
import {jsonText} from './json.ts';
import {addNumbers, divideNumbers, makeDouble, multiplyNumbers, numberText} from './number.ts';
import {parseRid, ridText} from './rid.ts';
import {formatByPattern, parseByPattern} from './temporal-pattern.ts';
import {parseDateTime} from './temporal.ts';
import {Decimal, Double, EmbeddedValue, type Value} from './value.ts';

test('the order is total: antisymmetric, transitive, and equal values have one hash key', () => {
  fc.assert(
    fc.property(anyValue(), anyValue(), anyValue(), (a, b, c) => {
      assert.equal(Math.sign(compareTotal(a, b)), -Math.sign(compareTotal(b, a)) + 0);
      if (compareTotal(a, b) <= 0 && compareTotal(b, c) <= 0) assert.ok(compareTotal(a, c) <= 0);
      assert.equal(Object.is(groupKey(a), groupKey(b)), equalValues(a, b));
    }),
    {numRuns: 3_000},
  );
});

const equalNumbers: readonly Value[] = [1, new Double(1), new Decimal(100n, 2), new Decimal(1n, 0)];
test('1 = 1.0 = 1.00, and -0 = 0', () => {
  for (const value of equalNumbers) {
    assert.equal(compareTotal(1, value), 0);
    assert.equal(groupKey(value), groupKey(1));
  }
  assert.ok(equalValues(0, new Double(-0)));
  assert.ok(compareTotal(Number.NaN, Number.POSITIVE_INFINITY) > 0);
  assert.ok(compareTotal(9007199254740993n, new Double(9007199254740992)) > 0);
});

test('integer arithmetic is exact and refused beyond 64 bits', () => {
  assert.equal(addNumbers(Number.MAX_SAFE_INTEGER, 2), 9007199254740993n);
  assert.equal(multiplyNumbers(3_037_000_499, 3_037_000_499), 9223372030926249001n);
  assert.equal(divideNumbers(7, 2), 3.5);
  assert.equal(divideNumbers(8, 2), 4);
  const refusal = (error: unknown) => error instanceof Refusal && error.code === 'arithmetic';
  assert.throws(() => addNumbers(9223372036854775807n, 1), refusal);
  assert.throws(() => divideNumbers(1, 0), refusal);
  assert.equal(numberText(addNumbers(new Decimal(10n, 2), 0.2)), '0.30');
  assert.equal(numberText(divideNumbers(new Decimal(1n, 0), new Decimal(8n, 0))), '0.125');
});

const conversions: readonly (readonly [Value, DataType, string | undefined])[] = [
  ['7', 'INTEGER', '7'],
  [3.9, 'INTEGER', '3'],
  [300, 'BYTE', undefined],
  [2 ** 31, 'INTEGER', undefined],
  [9223372036854775807n, 'LONG', '9223372036854775807'],
  ['abc', 'INTEGER', undefined],
  [makeDouble(5), 'DOUBLE', '5.0'],
  [5, 'FLOAT', '5.0'],
  [1e300, 'FLOAT', undefined],
  ['1.50', 'DECIMAL', '1.50'],
  ['2024-02-29', 'DATE', '"2024-02-29"'],
  ['2024-02-30', 'DATE', undefined],
  ['garbage', 'DATETIME', undefined],
  [1_700_000_000_123, 'DATETIME', '"2023-11-14 22:13:20.123"'],
  ['2024-01-02T03:04:05.678+02:00', 'DATETIME', '"2024-01-02 01:04:05.678"'],
  ['2024-01-02 03:04:05.123456789', 'DATETIME_MICROS', '"2024-01-02 03:04:05.123456"'],
  ['#12:7', 'LINK', '"#12:7"'],
  ['12', 'LINK', undefined],
  [[1, 2.5], 'ARRAY_OF_FLOATS', '[1.0,2.5]'],
  [[1, 70_000], 'ARRAY_OF_SHORTS', undefined],
  ['AQID', 'BINARY', '"AQID"'],
  [null, 'LONG', 'null'],
  [new Map(), 'LIST', undefined],
];
for (const [value, type, expected] of conversions) {
  test(`${jsonText(value)} as ${type} is ${expected ?? 'refused'}`, () => {
    if (expected !== undefined) {
      assert.equal(jsonText(convertValue(value, {type}, 'T.p')), expected);
      return;
    }
    assert.throws(
      () => convertValue(value, {type}, 'T.p'),
      error =>
        error instanceof Refusal && error.code === 'value.type' && /T\.p/.test(error.message),
    );
  });
}

test('JSON text and value are inverses', () => {
  fc.assert(
    fc.property(fc.jsonValue(), json => {
      const text = JSON.stringify(json);
      assert.deepEqual(JSON.parse(jsonText(parseJsonText(text))), JSON.parse(text));
    }),
  );
  const exact = '[9007199254740993,5.0,5,-0.0,123456789012345678901234567890,1.5e-7,"\u{1f600}"]';
  assert.equal(jsonText(parseJsonText(exact)), exact);
  assert.equal(jsonText(parseJsonText('{"a":1,"b":2,"a":3}')), '{"a":3,"b":2}');
});

const badJson: readonly (readonly [string, number])[] = [
  ['', 0],
  ['{', 1],
  ['{"a"}', 4],
  ['[1,]', 3],
  ['01', 0],
  ['1.', 0],
  ['"a', 2],
  ['"a\u0001"', 2],
  ['tru', 0],
  ['1 2', 2],
  ['"\\x"', 1],
  ['{a:1}', 1],
  ['nan', 0],
  ['-', 0],
  ['[1 2]', 3],
];
for (const [text, position] of badJson) {
  test(`bad JSON is refused at its byte: ${JSON.stringify(text)}`, () => {
    assert.throws(
      () => parseJsonText(text),
      error =>
        error instanceof Refusal &&
        error.code === 'json.invalid' &&
        error.detail['position'] === position,
    );
  });
}

test('invalid UTF-8 and a million levels are refused, not survived by luck', () => {
  const bytes = Uint8Array.from([0x22, 0x61, 0xff, 0x22]);
  assert.throws(
    () => new JsonParser().parse(bytes),
    error => error instanceof Refusal && error.detail['position'] === 2,
  );
  assert.throws(
    () => parseJsonText('['.repeat(1_000_000)),
    error => error instanceof Refusal && error.code === 'limit.depth',
  );
});

test('long texts are read by the same rules, wherever in them something stands', () => {
  const positionOf = (bytes: Uint8Array, start: number): unknown => {
    try {
      return new JsonParser().parse(bytes, start);
    } catch (error) {
      assert.ok(error instanceof Refusal);
      return error.detail['position'];
    }
  };
  for (const length of [255, 256, 257, 260, 1_000]) {
    for (let start = 0; start < 4; start += 1) {
      for (const at of [0, 254, 255, 256, 257, 258, 259, 260, 261, length - 1]) {
        if (at >= length) continue;
        const withByte = (byte: number): Uint8Array => {
          const bytes = Buffer.alloc(start + length + 2, 'x');
          bytes[start] = 0x22;
          bytes[start + length + 1] = 0x22;
          bytes[start + 1 + at] = byte;
          return bytes;
        };
        const plain = 'x'.repeat(length);
        assert.equal(positionOf(withByte(0x78), start), plain);
        assert.equal(
          positionOf(withByte(0x7f), start),
          `${plain.slice(0, at)}\x7f${plain.slice(at + 1)}`,
        );
        assert.equal(positionOf(withByte(0x1f), start), 1 + at, 'a control character');
        assert.equal(positionOf(withByte(0xff), start), 1 + at, 'no UTF-8');
        if (at < length - 1) assert.equal(positionOf(withByte(0x22), start), 2 + at, 'a quote');
      }
      const whole = `${'é'.repeat(length)}\n"`;
      const written = Buffer.from(`${' '.repeat(start)}${JSON.stringify(whole)}`);
      assert.equal(new JsonParser().parse(written, start), whole);
      const open = Buffer.from(`${' '.repeat(start)}"${'x'.repeat(length)}`);
      assert.equal(positionOf(open, start), length + 1);
    }
  }
});

test('record ids read as they are written', () => {
  for (const text of ['#1:0', '#4294967295:281474976710655', '#3:-1']) {
    assert.equal(ridText(parseRid(text) ?? assert.fail(text)), text);
  }
  for (const text of ['#1', '#1:', '#a:1', '#4294967296:0', '#1:281474976710656', '1:2x', '']) {
    assert.equal(parseRid(text), undefined);
  }
});

test('dates by pattern', () => {
  const value = parseDateTime('2024-05-06 01:02:03.004', 'millisecond') ?? assert.fail();
  assert.equal(
    formatByPattern(value, "dd/MM/yy HH:mm:ss.SSS 'at' EEE MMM"),
    '06/05/24 01:02:03.004 at Mon May',
  );
  const read = parseByPattern('06/05/2024', 'dd/MM/yyyy') ?? assert.fail();
  assert.equal(jsonText(read), '"2024-05-06 00:00:00"');
  assert.equal(parseByPattern('30/02/2024', 'dd/MM/yyyy'), undefined);
  assert.equal(parseByPattern('06/05/2024x', 'dd/MM/yyyy'), undefined);
});

test('an embedded document prints its type first and its category last', () => {
  const properties = new Map([['k', 1]]);
  assert.equal(jsonText(new EmbeddedValue('S', properties)), '{"@type":"S","k":1,"@cat":"d"}');
  assert.equal(jsonText(new EmbeddedValue('S', new Map())), '{"@type":"S","@cat":"d"}');
  assert.equal(jsonText(new EmbeddedValue('', properties)), '{"k":1}');
});
