/** Operators of expressions as tables; facts of the dialect from oracle section 4. */
import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import {Refusal} from '#server/base/errors.ts';
import {jsonText} from '#server/model/json.ts';
import {makeDouble} from '#server/model/number.ts';
import {parseDateTime} from '#server/model/temporal.ts';
import {Decimal, DurationValue, Rid, type Value} from '#server/model/value.ts';
import {operators, strictOperators} from '#server/plan/functions/operators.ts';
import type {Expression} from '#server/plan/expression.ts';
import {call, literal, slot, World} from '#server/testing/worlds/hand-built-plan.ts';
import {binaryOperators, unaryOperators, variadicOperators} from './operators.ts';
import {regularExpressionTest} from '#server/model/regular-expression.ts';
import {ilikeTest, likeTest} from './text-pattern.ts';

const world = new World();

/** `variable` hides the right operand from the compiler's preparation of constants. */
function run(name: string, args: readonly Value[]): Value {
  const parameters = Object.fromEntries(args.map((arg, at) => [String(at), arg]));
  const constant = world.evaluate(call(name, ...args.map(literal)));
  const hidden = world.evaluate(
    call(name, ...args.map((_, at) => ({kind: 'parameter', name: String(at)}) as const)),
    {parameters},
  );
  assert.equal(jsonText(constant), jsonText(hidden), `${name} with constants and parameters`);
  return hidden;
}

const day = (text: string): Value => parseDateTime(text, 'millisecond') ?? null;
const map = (entries: Record<string, Value>): Value => new Map(Object.entries(entries));

const cases: readonly (readonly [string, readonly Value[], string])[] = [
  ['op:equal', [1, makeDouble(1)], 'true'],
  ['op:equal', [1, new Decimal(100n, 2)], 'true'],
  ['op:equal', ['1', 1], 'true'],
  ['op:equal', ['x', 1], 'false'],
  ['op:equal', [null, null], 'null'],
  ['op:equal', [new Rid(1, 0), '#1:0'], 'true'],
  [
    'op:equal',
    [
      [1, 2],
      [1, 2],
    ],
    'true',
  ],
  ['op:equal', [day('2024-01-02'), '2024-01-02'], 'true'],
  ['op:in', [1, [2, 1]], 'true'],
  ['op:in', [1, [2, null]], 'null'],
  ['op:in', [null, [1]], 'null'],
  ['op:in', [null, []], 'false'],
  ['op:in', [1, null], 'null'],
  ['op:in', [1, 1], 'true'],
  ['op:contains', [[1, null], null], 'true'],
  ['op:contains', [[1], null], 'false'],
  ['op:contains', [null, 1], 'false'],
  ['op:notEqual', [1, 2], 'true'],
  ['op:notEqual', [null, 2], 'null'],
  ['op:nullSafeEqual', [null, null], 'true'],
  ['op:nullSafeEqual', [null, 1], 'false'],
  ['op:less', ['a', 'b'], 'true'],
  ['op:less', [1, 'b'], 'null'],
  ['op:less', [1, '10'], 'true'],
  ['op:greaterOrEqual', [9007199254740993n, 9007199254740992], 'true'],
  ['op:greater', [day('2024-05-01'), '2024-01-01'], 'true'],
  ['op:between', [7, 7, 10], 'true'],
  ['op:between', [null, 7, 10], 'null'],
  ['op:in', [2, [1, 2, 3]], 'true'],
  ['op:in', [11, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, '11']], 'true'],
  ['op:in', [12, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, '11']], 'false'],
  ['op:in', [null, [null]], 'null'],
  ['op:contains', [['red', 'big'], 'red'], 'true'],
  ['op:contains', [map({a: 1}), 'a'], 'true'],
  [
    'op:containsAll',
    [
      ['red', 'big'],
      ['big', 'red'],
    ],
    'true',
  ],
  ['op:containsAny', [['red'], ['green', 'red']], 'true'],
  ['op:containsKey', [map({a: null}), 'a'], 'true'],
  ['op:containsValue', [map({a: 1}), makeDouble(1)], 'true'],
  ['op:containsText', ['hello world', 'lo w'], 'true'],
  ['op:like', ['abc', 'a%'], 'true'],
  ['op:like', [['x', 'abc'], 'a%'], 'true'],
  ['op:like', [null, 'a%'], 'null'],
  ['op:ilike', ['ABC', 'a?c'], 'true'],
  ['op:matches', ['a1', '[a-c][0-9]'], 'true'],
  ['op:matches', ['xa1', '[a-c][0-9]'], 'false'],
  ['op:add', [1, 2], '3'],
  ['op:add', [2147483647, 1], '2147483648'],
  ['op:add', [0.1, 0.2], '0.30000000000000004'],
  ['op:add', ['a', 1], '"a1"'],
  ['op:add', [1, 'a'], '"1a"'],
  ['op:add', [null, 1], 'null'],
  ['op:add', [[1], 2], '[1,2]'],
  ['op:subtract', [10, 3], '7'],
  ['op:subtract', [[1, 2, 1], [1]], '[2]'],
  ['op:multiply', [makeDouble(2), 3], '6.0'],
  ['op:divide', [1, 2], '0.5'],
  ['op:divide', [-7, 2], '-3.5'],
  ['op:divide', [6, 2], '3'],
  ['op:modulo', [-7, 3], '-1'],
  ['op:negate', [5], '-5'],
  ['op:bitAnd', [5, 3], '1'],
  ['op:bitOr', [5, 3], '7'],
  ['op:bitXor', [5, 3], '6'],
  ['op:shiftLeft', [1, 4], '16'],
  ['op:shiftRight', [-16, 2], '-4'],
  ['op:shiftRightUnsigned', [-1, 60], '15'],
  ['op:concatenate', ['a', 'b'], '["a","b"]'],
  ['op:concatenate', ['a', null], '["a"]'],
  ['op:concatenate', [[1, 2], [3]], '[1,2,3]'],
  ['op:coalesce', [null, 'd'], '"d"'],
  ['op:item', [[1, 2, 3], 0], '1'],
  ['op:item', [[1, 2, 3], -1], 'null'],
  ['op:item', [[1, 2, 3], 0, 2], '[1,3]'],
  ['op:item', [map({a: 1}), 'a'], '1'],
  ['op:slice', [[1, 2, 3], 0, 2], '[1,2]'],
  ['op:slice', ['hello', 1, null], '"ello"'],
  ['op:add', [day('2024-01-31'), new DurationValue(1, 0, 0, 0)], '"2024-02-29 00:00:00"'],
  ['op:subtract', [day('2024-03-01'), day('2024-02-29')], '"PT24H"'],
];

for (const [name, args, expected] of cases) {
  test(`${name}(${args.map(arg => jsonText(arg)).join(', ')}) is ${expected}`, () => {
    assert.equal(jsonText(run(name, args)), expected);
  });
}

test('every operator of the plan has one implementation, and no other is there', () => {
  const implemented = [unaryOperators, binaryOperators, variadicOperators].flatMap(Object.keys);
  const named = [...operators, ...strictOperators].map(operator => operator.name);
  assert.deepEqual(implemented.sort(), named.sort());
});

for (const [name, args] of [
  ['op:add', [9223372036854775807n, 1]],
  ['op:divide', [1, 0]],
  ['op:multiply', ['a', 2]],
  ['op:matches', ['a', '(']],
  ['op:matches', ['aa', '(a)\\1']],
] as const) {
  test(`${name}(${args.join(', ')}) is refused`, () => {
    assert.throws(() => run(name, args), Refusal);
  });
}

test('a refusal names the place of the call it comes from', () => {
  const place = {line: 3, column: 9};
  const inner = {...call('op:divide', literal(1), literal(0)), place};
  const outer = {...call('op:add', inner, literal(1)), place: {line: 1, column: 1}};
  assert.throws(
    () => world.evaluate(outer),
    (error: unknown) => error instanceof Refusal && error.place?.line === 3,
  );
});

test('doubling a value again and again is refused before memory ends', () => {
  const limits = {valueBytesMax: 1 << 20};
  for (const start of [[1], 'a']) {
    const grow = call('op:add', slot(1), slot(1));
    const reduce: Expression = {
      kind: 'reduce',
      list: literal(Array.from({length: 60}, (_, at) => at)),
      item: 0,
      accumulator: 1,
      initial: literal(start),
      step: grow,
    };
    assert.throws(
      () => world.evaluate(reduce, {limits}),
      (error: unknown) => error instanceof Refusal && error.code === 'query.memory',
    );
  }
});

test('LIKE agrees with a naive matcher on small alphabets', () => {
  const naive = (text: string, pattern: string): boolean => {
    if (pattern === '') return text === '';
    if (pattern[0] === '%') {
      return naive(text, pattern.slice(1)) || (text !== '' && naive(text.slice(1), pattern));
    }
    if (text === '') return false;
    return (pattern[0] === '?' || pattern[0] === text[0]) && naive(text.slice(1), pattern.slice(1));
  };
  const texts = fc.string({unit: fc.constantFrom('a', 'b'), maxLength: 8});
  const patterns = fc.string({unit: fc.constantFrom('a', 'b', '%', '?'), maxLength: 6});
  fc.assert(
    fc.property(texts, patterns, (text, pattern) => {
      assert.equal(likeTest(pattern)(text), naive(text, pattern));
    }),
    {numRuns: 2_000},
  );
});

test('LIKE takes escaped characters and whole characters, and never longer than it must', () => {
  assert.equal(likeTest('100\\%')('100%'), true);
  assert.equal(likeTest('100\\%')('100x'), false);
  assert.equal(likeTest('?')('😀'), true);
  assert.equal(ilikeTest('%ÄB%')('xäbx'), true);
  const long = 'a'.repeat(100_000);
  assert.equal(likeTest(`${'%a'.repeat(50)}%b`)(long), false);
});

test('regular expressions agree with the platform on random patterns and texts', () => {
  const atom = fc.constantFrom('a', 'b', '.', '[ab]', '[^a]', '\\w', 'é');
  const {pattern} = fc.letrec<{pattern: string; piece: string}>(tie => ({
    pattern: fc.array(tie('piece'), {maxLength: 3}).map(pieces => pieces.join('')),
    piece: fc.oneof(
      {maxDepth: 3},
      atom,
      fc
        .tuple(tie('pattern'), tie('pattern'), fc.constantFrom('', '*', '+', '?', '{1,2}', '*?'))
        .map(([left, right, sign]) => `(${left}|${right})${sign}`),
      fc.tuple(atom, fc.constantFrom('*', '+', '{2}')).map(([of, sign]) => of + sign),
    ),
  }));
  const texts = fc.string({unit: fc.constantFrom('a', 'b', 'é'), maxLength: 6});
  fc.assert(
    fc.property(pattern, texts, (source, text) => {
      const native = new RegExp(`^(?:${source})$`, 'u');
      assert.equal(regularExpressionTest(source)(text), native.test(text));
    }),
    {numRuns: 1_000},
  );
});

test('patterns that take for ever elsewhere end at once', () => {
  const text = `${'a'.repeat(20_000)}!`;
  for (const pattern of [
    '(a+)+',
    '(a|a)*',
    '(a|aa)+b',
    'a*a*a*a*a*b',
    '(.*)(.*)(.*)x',
    '(a*){30}b',
  ]) {
    assert.equal(regularExpressionTest(pattern)(text), false);
  }
  assert.equal(regularExpressionTest('([a-z]+\\.)+[a-z]{2,}')('db.example.org'), true);
  assert.equal(regularExpressionTest('(?i)(ab|c)+')('ABcAB'), true);
  assert.equal(regularExpressionTest('a-z\\-')('a-z-'), true);
  assert.throws(() => regularExpressionTest('((a{1,900}){1,900})'), Refusal);
  assert.throws(() => regularExpressionTest('(?=a)a*b*'), Refusal);
});
