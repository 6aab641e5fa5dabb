/**
 * Generated values of every kind, dense where kinds meet: equal numbers in different
 * representations, texts that share prefixes, values beside the limits of 53 and 64 bits.
 */
import fc from 'fast-check';
import {makeDouble, normalInteger} from '#server/model/number.ts';
import {
  DateTimeValue,
  DateValue,
  Decimal,
  Double,
  DurationValue,
  EmbeddedValue,
  PointValue,
  Rid,
  TimeValue,
  type Value,
} from '#server/model/value.ts';

/** Any number: integers, doubles and decimals, many of them equal to one another. */
export function anyNumber(): fc.Arbitrary<Value> {
  const edges = [0n, 1n, -1n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 63n - 1n, -(2n ** 63n), 10n, 100n];
  const integer = fc.oneof(
    fc.constantFrom(...edges),
    fc.bigInt({min: -(2n ** 63n), max: 2n ** 63n - 1n}),
    fc.bigInt({min: -20n, max: 20n}),
  );
  return fc.oneof(
    integer.map(normalInteger),
    integer.map(value => new Double(Number(value))),
    fc.double().map(makeDouble),
    fc.constantFrom<Value>(Number.NaN, Infinity, -Infinity, new Double(-0), 0.5, -0.5, 1e-300, 0.1),
    fc.tuple(integer, fc.nat({max: 4})).map(([unscaled, scale]) => new Decimal(unscaled, scale)),
    fc
      .tuple(integer, fc.integer({min: 15, max: 30}))
      .map(([unscaled, scale]) => new Decimal(unscaled, scale)),
    fc.constantFrom<Value>(new Decimal(10n ** 40n, 0), new Decimal(5n, 1), new Decimal(1n, 1)),
  );
}

export function anyText(): fc.Arbitrary<string> {
  return fc.oneof(
    fc.string({maxLength: 6}),
    fc.constantFrom('', '\u0000', '\u0000\u0001', 'a', 'a\u0000', 'ab', '\uffff', '\u{1f600}', 'ß'),
    fc.string({maxLength: 4, unit: 'binary'}),
  );
}

export function anyScalar(): fc.Arbitrary<Value> {
  const seconds = fc.integer({min: -70_000_000_000, max: 200_000_000_000});
  const nanos = fc.oneof(fc.constant(0), fc.nat({max: 999_999_999}));
  return fc.oneof(
    fc.constantFrom<Value>(null, true, false),
    anyNumber(),
    anyNumber(),
    anyText(),
    fc.integer({min: -800_000, max: 2_900_000}).map(days => new DateValue(days)),
    fc.tuple(seconds, nanos).map(([at, n]) => new DateTimeValue(at, n, 'nanosecond')),
    fc
      .tuple(seconds, fc.boolean())
      .map(
        ([at, local]) =>
          new DateTimeValue(
            at,
            0,
            'second',
            local ? {local} : {zone: {offsetSeconds: 3600, region: 'Europe/Rome'}},
          ),
      ),
    fc
      .tuple(fc.nat({max: 86_399}), nanos, fc.constantFrom(undefined, 0, -3600))
      .map(([at, n, offset]) => new TimeValue(at, n, offset)),
    fc
      .tuple(
        fc.integer({min: -20, max: 20}),
        fc.integer({min: -40, max: 40}),
        fc.integer({min: -90_000, max: 90_000}),
        nanos,
      )
      .map(parts => new DurationValue(...parts)),
    fc
      .array(fc.double({noNaN: true}), {minLength: 2, maxLength: 3})
      .map(coordinates => new PointValue(4326, coordinates)),
    fc.uint8Array({maxLength: 5}).map(bytes => Uint8Array.from(bytes)),
    fc.tuple(fc.nat({max: 3}), fc.integer({min: -3, max: 3})).map(parts => new Rid(...parts)),
  );
}

/** Any value, lists and maps nested up to two deep. */
export function anyValue(): fc.Arbitrary<Value> {
  const scalar = anyScalar();
  const listOf = (element: fc.Arbitrary<Value>) => fc.array(element, {maxLength: 3});
  const mapOf = (element: fc.Arbitrary<Value>): fc.Arbitrary<Map<string, Value>> =>
    fc.array(fc.tuple(anyText(), element), {maxLength: 3}).map(entries => new Map(entries));
  const arrays = fc.oneof(
    fc.float32Array({maxLength: 3, noNaN: true}),
    fc.int16Array({maxLength: 3}),
    fc.int32Array({maxLength: 3}),
    fc.float64Array({maxLength: 3}),
    fc.bigInt64Array({maxLength: 3}),
  ) as fc.Arbitrary<Value>;
  const flat: fc.Arbitrary<Value> = fc.oneof(scalar, scalar, listOf(scalar), mapOf(scalar));
  return fc.oneof(
    {weight: 6, arbitrary: scalar},
    {weight: 1, arbitrary: listOf(flat)},
    {weight: 1, arbitrary: mapOf(flat)},
    {weight: 1, arbitrary: arrays},
    {
      weight: 1,
      arbitrary: fc
        .tuple(fc.constantFrom('', 'A'), mapOf(scalar))
        .map(([type, properties]) => new EmbeddedValue(type, properties)),
    },
  );
}
