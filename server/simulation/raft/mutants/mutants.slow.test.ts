/** The tests or ten worlds notice five of the mutants; `make mutants` tries all by both. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {failsTests, failsWorlds} from './mutant-trial.ts';
import {mutants} from './mutants.ts';

const slice = [
  ['figure 8: an entry of an old term is committed by counting', failsTests],
  ['two votes a term: two leaders', failsWorlds],
  ['entries are acknowledged before they are durable', failsWorlds],
  ['a leader that was replaced serves old data', failsTests],
  ['two changes at once: majorities that do not meet', failsTests],
] as const;

for (const [because, fails] of slice) {
  test(`noticed: ${because}`, async () => {
    const mutant = mutants.findIndex(one => one.because === because);
    assert.ok(await fails({mutant, worlds: 10}));
  });
}
