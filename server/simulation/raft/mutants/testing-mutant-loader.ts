/** Loaded before a trial: puts the mutant whose number is in the environment into the core. */
import {registerHooks} from 'node:module';
import {assert} from '#server/base/assert.ts';
import {mutants} from './mutants.ts';

const mutant = mutants[Number(process.env['MUTANT'])];
assert(mutant !== undefined, 'MUTANT is a number of the list');

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    if (!url.endsWith(`/server/raft/${mutant.file}`) || loaded.source === undefined) return loaded;
    const text = Buffer.from(loaded.source as Uint8Array).toString();
    assert(text.includes(mutant.text), 'the text of a mutant occurs in its file');
    return {...loaded, source: text.replace(mutant.text, () => mutant.replacement)};
  },
});
