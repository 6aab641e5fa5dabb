/** The refusal table is well formed, and a Refusal carries what protocols need from it. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {AssertionFailure, assert as check, unreachable} from './assert.ts';
import {isRefusalCode, Refusal, type RefusalCode, refusals} from './errors.ts';

test('every code is a kebab word behind an optional area', () => {
  for (const code of Object.keys(refusals)) {
    assert.match(code, /^([a-z]+\.)?[a-z]+(-[a-z]+)*$/);
  }
});

test('every row says one sentence without an end and names an exception class', () => {
  for (const [code, row] of Object.entries(refusals)) {
    assert.match(row.exception, /^[A-Z][A-Za-z]+Exception$/, code);
    assert.match(row.says, /^(?:[a-z]|JSON|SQL)[^.]*$/, code);
  }
});

test('only an unknown outcome is retryable under an idempotency key alone', () => {
  const codes = (Object.keys(refusals) as RefusalCode[]).filter(
    code => refusals[code].retry === 'only-if-idempotent',
  );
  assert.deepEqual(codes, ['commit.unknown']);
});

test('a refusal carries code, place, detail, cause and what the table says', () => {
  const cause = new Error('below');
  const refusal = new Refusal('commit.conflict', 'record #1:2 was changed', {
    detail: {record: '#1:2'},
    place: {line: 3, column: 9},
    cause,
  });
  assert.equal(refusal.retry, 'retryable');
  assert.equal(refusal.exception, 'ConcurrentModificationException');
  assert.deepEqual(refusal.detail, {record: '#1:2'});
  assert.deepEqual(refusal.place, {line: 3, column: 9});
  assert.equal(refusal.cause, cause);
  assert.equal(refusal.message, 'record #1:2 was changed');
});

test('codes from the wire are checked against the table alone', () => {
  assert.equal(isRefusalCode('sql.syntax'), true);
  assert.equal(isRefusalCode('toString'), false);
});

test('a broken invariant throws an AssertionFailure with its message', () => {
  assert.throws(() => check(false, 'rows are sorted'), {
    name: 'AssertionFailure',
    message: 'rows are sorted',
  });
  assert.throws(() => unreachable({kind: 'vote'} as never), AssertionFailure);
});
