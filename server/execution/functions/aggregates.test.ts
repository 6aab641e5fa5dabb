/** Aggregates over rows as a table, and statistics against naive computations. */
import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import {jsonText} from '#server/model/json.ts';
import {makeDouble, numberOf, isNumberValue} from '#server/model/number.ts';
import {Decimal, type Value} from '#server/model/value.ts';
import {World} from '#server/testing/worlds/hand-built-plan.ts';
import {createFunctionRegistry} from '../standard-functions.ts';

const functions = createFunctionRegistry();
const world = new World();

/** The aggregate over rows of one argument, or of several in a list of their own. */
function over(name: string, rows: readonly (readonly Value[])[]): Value {
  const machine = functions.aggregate(name);
  assert.ok(machine, name);
  const context = world.context();
  let state = machine.init();
  for (const row of rows) state = machine.step(state, row, context);
  return machine.finish(state, context);
}

const column = (...values: Value[]): Value[][] => values.map(value => [value]);

test('aggregates over rows', () => {
  const cases: readonly (readonly [string, readonly (readonly Value[])[], string])[] = [
    ['count', column(1, null, 2), '2'],
    ['sum', column(1, null, 2), '3'],
    ['sum', column(1, makeDouble(2)), '3.0'],
    ['sum', column(1, new Decimal(25n, 1)), '3.5'],
    ['sum', column([1, 2], 3), '6'],
    ['sum', [], 'null'],
    ['avg', column(1, 2), '1.5'],
    ['avg', column(1, 3), '2.0'],
    ['avg', column(null), 'null'],
    ['min', column(3, null, 1), '1'],
    ['max', column('a', 'b'), '"b"'],
    ['max', column([4, 9], 7), '9'],
    ['max', [], 'null'],
    ['first', column(null, 2), 'null'],
    ['last', column(1, 2), '2'],
    ['first', [], 'null'],
    ['list', column(1, [2, 3], null), '[1,2,3]'],
    ['set', column(1, makeDouble(1), 2), '[1,2]'],
    ['distinct', column('a', 'b', 'a'), '["a","b"]'],
    [
      'map',
      [
        ['a', 1],
        ['b', 2],
      ],
      '{"a":1,"b":2}',
    ],
    ['map', column(new Map([['a', 1]]), new Map([['a', 2]])), '{"a":2}'],
    ['unionAll', column([1], [1, 2]), '[1,1,2]'],
    ['intersect', column([1, 2], [2, 3]), '[2]'],
    ['difference', column([1, 2], [2]), '[1]'],
    ['bool_and', column(true, null, false), 'false'],
    ['bool_or', column(false, true), 'true'],
    ['bool_or', [], 'null'],
    [
      'concat',
      [
        ['a', '-'],
        ['b', '-'],
        [null, '-'],
      ],
      '"a-b"',
    ],
    ['concat', column(1, 2), '"12"'],
    ['median', column(5, 1, 3), '3.0'],
    ['median', column(1, 2), '1.5'],
    ['median', [], 'null'],
    ['mode', column(1, 2, 2, 1, 3), '[1,2]'],
    [
      'percentile',
      [
        [1, 0.5],
        [3, 0.5],
      ],
      '2.0',
    ],
    [
      'percentile',
      [
        [1, 0, 1],
        [3, 0, 1],
      ],
      '[1.0,3.0]',
    ],
    ['stddev', column(1), 'null'],
    ['variance', column(1, 3), '2.0'],
    ['variancep', column(1, 3), '1.0'],
  ];
  for (const [name, rows, expected] of cases) {
    assert.equal(jsonText(over(name, rows)), expected, `${name} of ${jsonText(rows as Value)}`);
  }
});

test('what is no number, boolean or share is refused', () => {
  assert.throws(() => over('sum', column('x')), /sum needs numbers, not the text x/);
  assert.throws(() => over('bool_and', column(1)), /a boolean is needed/);
  assert.throws(() => over('percentile', [[1, 2]]), /a share between 0 and 1/);
  assert.throws(() => over('sum', column(2n ** 62n, 2n ** 62n)), /64 bits/);
});

test('statistics agree with their definitions', () => {
  const numbers = fc.array(fc.integer({min: -1000, max: 1000}), {minLength: 2, maxLength: 40});
  fc.assert(
    fc.property(numbers, values => {
      const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
      const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
      const of = (name: string): number => {
        const found = over(name, column(...values));
        return isNumberValue(found) ? numberOf(found) : Number.NaN;
      };
      const near = (left: number, right: number) =>
        assert.ok(Math.abs(left - right) <= 1e-9 * Math.max(1, Math.abs(right)));
      near(of('avg'), mean);
      near(of('variance'), squares / (values.length - 1));
      near(of('variancep'), squares / values.length);
      near(of('stddevp'), Math.sqrt(squares / values.length));
      const middle = of('median');
      const below = values.filter(value => value < middle).length;
      const above = values.filter(value => value > middle).length;
      assert.ok(Math.max(below, above) <= values.length / 2);
    }),
    {numRuns: 200},
  );
});
