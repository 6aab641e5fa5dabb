/** The tests and ten worlds notice five of the mutants; `make mutants` tries them all. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {tryMutant} from './mutant-trial.ts';
import {mutants} from './mutants.ts';

const slice = [
  'figure 8: an entry of an old term is committed by counting',
  'two votes a term: two leaders',
  'entries are acknowledged before they are durable',
  'a leader that was replaced serves old data',
  'two changes at once: majorities that do not meet',
];

for (const because of slice) {
  test(`noticed: ${because}`, async () => {
    const mutant = mutants.findIndex(one => one.because === because);
    const {byTests, byWorlds} = await tryMutant({mutant, worlds: 10});
    assert.ok(byTests || byWorlds);
  });
}
