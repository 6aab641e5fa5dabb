/** The gate itself: what it lets pass and what it does not. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {judge} from './conformance.ts';
import {isStricter} from './conformance-http.ts';

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
