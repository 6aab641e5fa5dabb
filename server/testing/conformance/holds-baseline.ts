/** What the tests of recorded suites assert; a suite is a file of its own, as it takes its time. */
import assert from 'node:assert/strict';
import {existsSync} from 'node:fs';
import {join} from 'node:path';
import {test} from 'node:test';
import {countLines, runSuite, sharedFolder} from './conformance.ts';

const absent = existsSync(join(sharedFolder(), 'conformance'))
  ? false
  : 'the suites are not here: set SVC_SHARED';

/** Tests that a suite is at its recorded level: nothing new fails, and no entry is stale. */
export function holdsBaseline(suite: string): void {
  test(`suite ${suite} holds its baseline`, {skip: absent, timeout: 300_000}, async t => {
    const {verdict} = await runSuite(suite, undefined, {isWhole: false});
    for (const line of countLines(verdict)) t.diagnostic(line);
    assert.deepEqual(verdict.newFailures, [], `look closer with: make conformance SUITE=${suite}`);
    assert.deepEqual(verdict.staleEntries, []);
    for (const {kind, names, known} of verdict.tolerated) {
      assert.equal(names.length, known, `${kind}: ${names.join(', ')}`);
    }
  });
}
