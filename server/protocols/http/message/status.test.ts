/** Every refusal has its answer over HTTP, and no answer is without one. Holds invariant B1. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {type Category, isRefusalCode, Refusal, refusals} from '#server/base/errors.ts';
import {statusOf, statusRow} from './status.ts';

const codes = Object.keys(refusals).filter(isRefusalCode);

test('the table of statuses has the codes of the one table of refusals, and no others', () => {
  assert.ok(codes.length > 80);
  assert.deepEqual(Object.keys(statusOf).sort(), codes.sort());
});

/** The statuses by which HTTP tells each kind of reason. */
const statusesOf: Readonly<Record<Category, readonly number[]>> = {
  invalid: [400],
  'not-found': [404],
  exists: [409],
  unauthenticated: [401, 403, 429],
  denied: [403],
  conflict: [503],
  limit: [400, 413],
  unavailable: [503],
  ended: [409, 503],
  unknown: [503],
  done: [409],
  unsupported: [501],
  damaged: [503],
};

/** The codes that HTTP tells in another way than others of their kind, as it is specified. */
const ownStatuses = [
  'backup.running (unavailable) 409',
  'batch.truncated (invalid) 408',
  'changes.lost (ended) 410',
  'cluster.membership (invalid) 409',
  'cluster.not-leader (unavailable) 409',
  'request.in-flight (unavailable) 409',
  'start.refused (unavailable) 500',
  'token.transport (denied) 412',
  'user.invalid (invalid) 403',
  'user.missing (not-found) 400',
];

test('a kind of reason has its own statuses, and says whether to send again', () => {
  const others: string[] = [];
  for (const code of codes) {
    const {category, retry} = refusals[code];
    const {status, retryAfter} = statusRow(new Refusal(code, 'because'));
    if (!statusesOf[category].includes(status)) others.push(`${code} (${category}) ${status}`);
    if (category === 'unavailable' && status === 503) assert.ok(retryAfter !== undefined, code);
    assert.equal(category === 'unknown', retry === 'only-if-idempotent', code);
    if (category === 'conflict') assert.equal(retry, 'retryable', code);
    if (category === 'invalid' || category === 'not-found') assert.equal(retry, 'never', code);
  }
  assert.deepEqual(others.sort(), ownStatuses);
});

for (const code of codes) {
  test(`${code} is answered with an error's status and a label`, () => {
    const {status, error} = statusRow(new Refusal(code, 'because'));
    assert.ok(status >= 400 && status < 600, String(status));
    assert.notEqual(error, '');
  });
}
