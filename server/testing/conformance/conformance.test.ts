/** The gate itself: what it lets pass and what it does not. */
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {test} from 'node:test';
import {countLines, judge, reportOf} from './conformance.ts';
import {isRenumbered, isStricter, shapeOf} from './shape.ts';
import {isOrderOfTies, toleranceOf} from './sql-inventory.ts';

const outcome = {
  cases: ['query.a', 'query.b', 'profiler.c', 'tx.d'],
  differences: [
    {name: 'query.b', lines: []},
    {name: 'profiler.c', lines: []},
  ],
};

test('a failure that the baseline names is no new one, and skipped names are not judged', () => {
  const verdict = judge(outcome, {skipped: {'profiler.*': 'later'}, failing: {'query.b': 'known'}});
  assert.deepEqual(verdict, {
    passed: ['query.a', 'tx.d'],
    tolerated: [],
    failed: ['query.b'],
    skipped: ['profiler.c'],
    newFailures: [],
    staleEntries: [],
  });
});

test('a new failure and a stale entry are found', () => {
  const verdict = judge(outcome, {skipped: {'mcp.*': 'later'}, failing: {'query.a': 'was wrong'}});
  assert.deepEqual(verdict.newFailures, ['query.b', 'profiler.c']);
  assert.deepEqual(verdict.staleEntries, ['query.a', 'mcp.*']);
});

test('a tolerated difference is no pass and no failure, and the baseline has to know of it', () => {
  const differences = [{name: 'query.b', lines: [], tolerated: 'accepted' as const}];
  const known = {skipped: {}, failing: {}, tolerated: {accepted: 1, reordered: 2}};
  const verdict = judge({...outcome, differences}, known);
  assert.deepEqual(verdict.passed, ['query.a', 'profiler.c', 'tx.d']);
  assert.deepEqual(verdict.failed, []);
  assert.deepEqual(verdict.tolerated, [
    {kind: 'accepted', names: ['query.b'], known: 1},
    {kind: 'reordered', names: [], known: 2},
  ]);
  const report = reportOf('http', {outcome, verdict, elapsedMs: 1});
  assert.deepEqual(report.tolerated, {accepted: ['query.b'], reordered: []});
  assert.equal(report.cases, 4);
});

test('a reason holds for a difference without a shape, and an entry without one is found', () => {
  const differing = {chosen: {'query.b': 'words', 'query.a': 'words'}};
  const verdict = judge(outcome, {skipped: {}, failing: {'profiler.c': 'known'}, differing});
  assert.deepEqual(verdict.failed, ['profiler.c']);
  assert.deepEqual(verdict.newFailures, []);
  assert.deepEqual(verdict.tolerated, [{kind: 'chosen', names: ['query.b'], known: 2}]);
  assert.deepEqual(verdict.staleEntries, ['query.a']);
  assert.deepEqual(countLines(verdict), [
    '2 of 4 (50 %) equal',
    '1 of 4 (25 %) different by choice',
    '2 passed, 1 failed, 0 skipped',
  ]);
});

test('a shape is proven by the comparison: naming a case does not give it one', () => {
  const differences = [
    {name: 'query.b', lines: [], tolerated: 'further' as const},
    {name: 'profiler.c', lines: []},
  ];
  const named = {further: {'profiler.c': 'words'}, chosen: {'query.b': 'words'}};
  const verdict = judge({...outcome, differences}, {skipped: {}, failing: {}, differing: named});
  assert.deepEqual(verdict.newFailures, ['query.b', 'profiler.c']);
  assert.deepEqual(verdict.staleEntries, ['profiler.c', 'query.b']);
});

test('the manual says what the suite sql-inventory takes as documented', () => {
  const folder = import.meta.dirname;
  const text = readFileSync(join(folder, 'sql-inventory-baseline.json'), 'utf8');
  const {differing} = JSON.parse(text) as {
    readonly differing: {readonly documented: Record<string, string>};
  };
  const manual = readFileSync(join(folder, '../../../docs/sql.md'), 'utf8');
  for (const words of Object.values(differing.documented)) assert.ok(manual.includes(words), words);
});

const swapped = (at: string, expected: unknown, actual: unknown) => [
  {path: `.body${at}[0].name`, expected, actual},
  {path: `.body${at}[2].name`, expected: actual, actual: expected},
];
const exchanges = [
  // shape, differences
  ['worded', [{path: '.body.error', expected: 'a', actual: 'b'}]],
  [
    'further',
    [
      {path: '.body.error', expected: 'a', actual: 'b'},
      {path: '.body.x', actual: 1},
    ],
  ],
  ['further', [{path: '.headers.session-id', actual: '<present>'}]],
  ['reordered', swapped('.result', 'Ann', 'Bob')],
  ['reordered', [...swapped('.result[1].o', 'Ann', 'Bob'), ...swapped('.result[0].o', 1, 2)]],
  [undefined, swapped('.result', 'Ann', 'Bob').slice(1)],
  [undefined, [...swapped('.result', 'Ann', 'Bob'), {path: '.status', expected: 200, actual: 400}]],
  [undefined, [{path: '.body.x', expected: 1}]],
  [undefined, [{path: '.body.error', expected: 'a'}]],
  [undefined, [{path: '.body.exception', expected: 'A', actual: 'B'}]],
  [undefined, [{path: '.body.result.length', expected: 3, actual: 4}]],
] as const;

for (const [shape, diffs] of exchanges) {
  test(`${JSON.stringify(diffs)}: ${shape ?? 'no shape'}`, () => {
    assert.equal(shapeOf(diffs), shape);
  });
}

const ties = [
  // statement                         expected                        actual, equal
  [
    'SELECT a, b ORDER BY a',
    [
      {a: 1, b: 1},
      {a: 1, b: 2},
    ],
    [
      {a: 1, b: 2},
      {a: 1, b: 1},
    ],
    true,
  ],
  [
    'SELECT a, b ORDER BY a DESC, b',
    [
      {a: 1, b: 1},
      {a: 1, b: 2},
    ],
    [
      {a: 1, b: 2},
      {a: 1, b: 1},
    ],
    false,
  ],
  ['SELECT a ORDER BY a', [{a: 1}, {a: 2}], [{a: 2}, {a: 1}], false],
  ['SELECT a ORDER BY c', [{a: 1}, {a: 2}], [{a: 2}, {a: 1}], false],
  [
    'SELECT a ORDER BY a + 1',
    [
      {a: 1, b: 1},
      {a: 1, b: 2},
    ],
    [
      {a: 1, b: 2},
      {a: 1, b: 1},
    ],
    false,
  ],
] as const;

for (const [statement, expected, actual, equal] of ties) {
  test(`${statement}: ${JSON.stringify(actual)} is ${equal ? 'an order of ties' : 'wrong'}`, () => {
    assert.equal(isOrderOfTies(statement, expected, actual), equal);
  });
}

const refusal = (exception: string): unknown => ({error: 'Bad', exception});
const shapes = [
  // kind, statement, expected, actual, tolerated
  ['error-expected', 'SELECT 1 = 1', refusal('CommandSQLParsingException'), [{a: 1}], 'accepted'],
  ['error-expected', 'SELECT max(a)', refusal('IllegalArgumentException'), [{a: 1}], undefined],
  ['unexpected-error', 'SELECT 1', [{a: 1}], refusal('CommandSQLParsingException'), undefined],
  ['rows', 'SELECT a', [{a: ['#1:0', 'x']}], [{a: ['x', '#2:4']}], 'reordered'],
  ['rows', 'SELECT a', [{a: ['x', 'x']}], [{a: ['x']}], undefined],
  ['rows', 'SELECT a', [{a: 1}, {a: [2, 3]}], [{a: [3, 2]}, {a: 1}], 'reordered'],
  ['rows', 'SELECT a ORDER BY b', [{a: 1}, {a: [2, 3]}], [{a: [3, 2]}, {a: 1}], undefined],
] as const;

for (const [kind, statement, expected, actual, tolerated] of shapes) {
  const said = `${kind} of ${statement}: ${JSON.stringify(actual)}`;
  test(`${said} is ${tolerated ?? 'a failure'}`, () => {
    const finding = {n: 1, kind, statement, diffs: [], expected, actual};
    assert.equal(toleranceOf(finding), tolerated);
  });
}

test('a report counts every case and says of each that did not pass why', () => {
  const lines = ['answers: expected 1'];
  const known = {...outcome, differences: [{name: 'query.b', lines}]};
  const verdict = judge(known, {skipped: {'profiler.*': 'later'}, failing: {'query.b': 'known'}});
  assert.deepEqual(reportOf('http', {outcome: known, verdict, elapsedMs: 12}), {
    suite: 'http',
    cases: 4,
    passed: 2,
    tolerated: {},
    elapsedMs: 12,
    failed: [{name: 'query.b', lines}],
    skipped: ['profiler.c'],
  });
});

const statuses = [
  // expected, actual, other path that differs, equal
  [500, 400, '.body.error', true],
  [500, 404, undefined, true],
  [500, 400, '.body.exception', false],
  [500, 400, '.body.returned', false],
  [500, 503, undefined, false],
  [400, 404, undefined, false],
] as const;

for (const [expected, actual, other, equal] of statuses) {
  const verdict = equal ? 'equal' : 'different';
  test(`${actual} for ${expected}, ${other ?? 'nothing'} else: ${verdict}`, () => {
    const diffs = [{path: '.status', expected, actual}];
    assert.equal(isStricter(other === undefined ? diffs : [...diffs, {path: other}]), equal);
  });
}

const renumberings = [
  // expected, actual pairs                                    only renumbered
  [[['#R13', '#R12']], true],
  [[['Person[name]|[Ann]|#R2', 'Person[name]|[Ann]|#R4']], true],
  [[['Person[name]|[Ann]|#R2', 'Person[name]|[Bob]|#R4']], false],
  [
    [
      ['#R1', '#R2'],
      ['#R3', '#R2'],
    ],
    false,
  ],
  [
    [
      ['#R1', '#R2'],
      ['#R1', '#R3'],
    ],
    false,
  ],
  [[['#4:-1', '#2:-1']], true],
  [[['Ann', 'Bob']], false],
  [[['#R1', 7]], false],
] as const;

for (const [pairs, renumbered] of renumberings) {
  test(`${JSON.stringify(pairs)}: ${renumbered ? 'ids correspond' : 'a difference'}`, () => {
    const diffs = pairs.map(([expected, actual]) => ({path: '.body', expected, actual}));
    assert.equal(isRenumbered(diffs), renumbered);
  });
}
