/**
 * Asserts of a database in a test that CHECK DATABASE has nothing to say of it.
 *
 * What warnings tell of, such as links to records that were deleted, is no damage.
 */
import assert from 'node:assert/strict';
import {Budget} from '#server/execution/budget.ts';
import {pause} from '#server/execution/batch.ts';
import {checkDatabase} from '#server/integrity/check.ts';
import {CheckState} from '#server/integrity/check-state.ts';
import {isWarning} from '#server/integrity/finding.ts';
import type {RecordContext} from '#server/records/context.ts';
import type {ReadContext} from '#server/transactions/transaction-contract.ts';

const whole = {bucketIds: undefined, rids: undefined};
const noClock = {now: () => 0, monotonic: () => 0};

/**
 * @throws AssertionError naming what disagrees. `context` is the schema of the reader's snapshot.
 */
export function assertIntegrity(reader: ReadContext, context: RecordContext): void {
  const state = new CheckState(reader, context, whole, new Budget(noClock, {}));
  const findings = [...checkDatabase(state)]
    .filter(step => step !== pause)
    .filter(({kind}) => !isWarning(kind))
    .map(({kind, place, says}) => `${kind} ${place}: ${says}`);
  assert.deepEqual(findings, []);
}
