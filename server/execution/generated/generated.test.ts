/** Generated code answers and refuses what closures do, at the same place. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import fc from 'fast-check';
import {Refusal} from '#server/base/errors.ts';
import {Batch} from '../batch.ts';
import {RowCursor} from '../closure.ts';
import {ExpressionCompiler} from '../expressions/compile.ts';
import {createFunctionRegistry} from '../standard-functions.ts';
import {groupKey} from '#server/model/compare.ts';
import {jsonText} from '#server/model/json.ts';
import {makeDouble} from '#server/model/number.ts';
import {Decimal, type Value} from '#server/model/value.ts';
import type {Expression} from '#server/plan/expression.ts';
import {binaryOperators} from '../expressions/operators.ts';
import {call, literal, property, slot, World} from '#server/testing/worlds/hand-built-plan.ts';
import {HotCompiler} from './hot-closure.ts';

const functions = createFunctionRegistry();
const closures = new ExpressionCompiler({
  functions,
  prepare: () => {
    throw new Error('there is no plan in these expressions');
  },
});
const generated = new HotCompiler(closures, functions, 0);
const world = new World();

/** Both ways of an expression over one row. */
function bothWays(expression: Expression, row: readonly Value[]): readonly [string, string] {
  const context = world.context();
  const cursor = new RowCursor(
    context,
    new Batch(
      row.map(value => [value]),
      1,
    ),
  );
  const told = (answer: () => Value): string => {
    try {
      const value = answer();
      return `${typeof value} ${String(groupKey(value))}`;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return `${error.code} ${error.place?.column}: ${error.message}`;
    }
  };
  const value = (compiler: typeof closures | HotCompiler): string =>
    `${told(() => compiler.expression(expression)(cursor))}; ` +
    told(() => compiler.condition(expression)(cursor));
  return [value(closures), value(generated)];
}

const small = fc.integer({min: -3, max: 3});
const values: fc.Arbitrary<Value> = fc.oneof(
  {weight: 4, arbitrary: small},
  fc.constantFrom<Value>(null, true, false, 'a', 'b', '1', ''),
  fc.constantFrom<Value>(0.5, -1.5, Number.NaN, Number.POSITIVE_INFINITY, makeDouble(2)),
  fc.constantFrom<Value>(2 ** 31 - 1, -(2 ** 31), 2 ** 53 - 1, 2n ** 62n, -(2n ** 63n)),
  fc.constantFrom<Value>(new Decimal(150n, 2), [1, 2], [], new Map([['p', 1]])),
);
const record = fc
  .dictionary(fc.constantFrom('p', 'q'), values)
  .map((entries): Value => new Map(Object.entries(entries)));

const names = Object.keys(binaryOperators);
let places = 0;
/** Calls with places of their own, so that a refusal says whose it is. */
function placed(name: string, args: readonly Expression[]): Expression {
  const made = call(name, ...args);
  places += 1;
  if (made.kind !== 'call' || places % 3 === 0) return made;
  return {...made, place: {line: 1, column: places}};
}

const {tree} = fc.letrec<{tree: Expression}>(tie => {
  const inner = tie('tree');
  const leaf = fc.oneof(
    values.map(literal),
    fc.constantFrom<Expression>(slot(0), slot(1), property(2, 'p'), property(2, 'q'), slot(7)),
    fc.constantFrom<Expression>({kind: 'parameter', name: 'x'}),
  );
  const two = fc.array(inner, {minLength: 2, maxLength: 3});
  return {
    tree: fc.oneof(
      {depthSize: 'medium', withCrossShrink: true},
      leaf,
      fc
        .tuple(fc.constantFrom(...names), inner, inner)
        .map(([name, left, right]) => placed(name, [left, right])),
      fc
        .tuple(fc.constantFrom('and' as const, 'or' as const), two)
        .map(([kind, terms]): Expression => {
          return {kind, terms};
        }),
      inner.map((of): Expression => ({kind: 'not', of})),
      inner.map((of): Expression => ({kind: 'is-null', of})),
      fc.tuple(inner, inner, inner).map(([when, then, otherwise]): Expression => {
        return {kind: 'case', branches: [{when, then}], otherwise};
      }),
      two.map(args => placed('coalesce', args)),
      fc.tuple(inner, inner).map(args => placed('op:between', [...args, literal(2)])),
    ),
  };
});

test('random expressions over values of all classes', () => {
  fc.assert(
    fc.property(tree, values, values, record, (expression, a, b, map) => {
      const [expected, found] = bothWays(expression, [a, b, map]);
      assert.equal(found, expected);
    }),
    {numRuns: 3_000},
  );
});

test('numbers at the border of what is computed in place', () => {
  const integers: readonly Value[] = [0, 1, -1, 2 ** 31 - 1, 2 ** 31, -(2 ** 31), 2n ** 62n];
  const doubles = [0.5, -0.5, 0, -0, 1e300, Number.MIN_VALUE, Number.NaN].map(makeDouble);
  const borders = [...integers, 2 ** 53 - 1, 1 - 2 ** 53, ...doubles];
  for (const name of names) {
    for (const a of borders) {
      for (const b of borders) {
        // As columns, and with a literal at the right.
        for (const right of [slot(1), literal(b)]) {
          const expression = call('op:nullSafeEqual', call(name, slot(0), right), literal(3));
          const value = call('op:coalesce', call(name, slot(0), right), slot(1));
          for (const each of [expression, value]) {
            const [expected, found] = bothWays(each, [a, b]);
            assert.equal(found, expected, `${jsonText(a)} ${name} ${jsonText(b)}`);
          }
        }
      }
    }
  }
});

test('no text of a statement becomes part of the code', () => {
  const hostile = "'); process.exit(1); ('`${1}";
  const expression = call(
    'op:concatenate',
    call('op:equal', property(0, hostile), literal(hostile)),
    call('op:equal', {kind: 'parameter', name: hostile}, literal(hostile)),
  );
  const row: Value = new Map([[hostile, hostile]]);
  const [expected, found] = bothWays(expression, [row]);
  assert.equal(found, expected);
});
