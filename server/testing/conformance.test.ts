/** The gate itself: what it lets pass and what it does not. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {judge, reportOf} from './conformance.ts';
import {isRenumbered, isStricter} from './conformance/http.ts';

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

test('a report counts every case and says of each that did not pass why', () => {
  const lines = ['answers: expected 1'];
  const known = {...outcome, differences: [{name: 'query.b', lines}]};
  const verdict = judge(known, {skipped: {'profiler.*': 'later'}, failing: {'query.b': 'known'}});
  assert.deepEqual(reportOf('http', {outcome: known, verdict, elapsedMs: 12}), {
    suite: 'http',
    cases: 4,
    passed: 2,
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
  [[['Ann', 'Bob']], false],
  [[['#R1', 7]], false],
] as const;

for (const [pairs, renumbered] of renumberings) {
  test(`${JSON.stringify(pairs)}: ${renumbered ? 'ids correspond' : 'a difference'}`, () => {
    const diffs = pairs.map(([expected, actual]) => ({path: '.body', expected, actual}));
    assert.equal(isRenumbered(diffs), renumbered);
  });
}
