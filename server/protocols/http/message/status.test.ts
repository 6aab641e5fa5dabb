/** Every refusal has its answer over HTTP, and no answer is without one. Holds invariant B1. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {isRefusalCode, Refusal, refusals} from '#server/base/errors.ts';
import {statusOf, statusRow} from './status.ts';

const codes = Object.keys(refusals).filter(isRefusalCode);

test('the table of statuses has the codes of the one table of refusals, and no others', () => {
  assert.ok(codes.length > 80);
  assert.deepEqual(Object.keys(statusOf).sort(), codes.sort());
});

for (const code of codes) {
  test(`${code} is answered with an error's status and a label`, () => {
    const {status, error} = statusRow(new Refusal(code, 'because'));
    assert.ok(status >= 400 && status < 600, String(status));
    assert.notEqual(error, '');
  });
}
