/** Who waits for an entry is told what became of it, in order, and never more than is known. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import type {AppendResult} from './commit.ts';
import {PendingEntries} from './pending-entries.ts';

function told(isShared: boolean): AppendResult[] {
  const results: AppendResult[] = [];
  const pending = new PendingEntries(4, {isShared});
  for (const [index, databaseId] of [
    [5, 1],
    [6, 2],
    [7, 1],
  ] as const) {
    const resolve = (result: AppendResult): void => void results.push(result);
    pending.add({index, databaseId, bytes: 10, onApplied: undefined, resolve});
  }
  const fences = new Map([[1, {index: 7, reason: 'a page is damaged'}]]);
  assert.equal(pending.advance({appliedIndex: 7, failure: undefined, fences}), 30);
  return results;
}

test('what a fenced database could not apply is unknown on a server alone', () => {
  const detail = 'the database is fenced: a page is damaged';
  const before = [5, 6].map(index => ({kind: 'committed', index}));
  assert.deepEqual(told(false), [...before, {kind: 'unknown', detail}]);
  // The others have it.
  assert.deepEqual(told(true), [...before, {kind: 'unapplied', index: 7, detail}]);
});
