/** The automaton against comparing every term with the word. */
import assert from 'node:assert/strict';
import test from 'node:test';
import {compareText} from '#server/base/utf8.ts';
import {FuzzyWord} from './fuzzy-word.ts';
import {editsTest} from './term-patterns.ts';
import {randomNumbers} from '../vector/testing-vectors.ts';

/** What a search finds, and how many terms it looks at. */
function found(terms: readonly string[], word: string, editsMax: number) {
  const fuzzy = new FuzzyWord(word, editsMax);
  const within: [string, number][] = [];
  let [looks, at] = [0, 0];
  for (let from: string | undefined = ''; from !== undefined; from = fuzzy.next()) {
    while (at < terms.length && compareText(terms[at] ?? '', from) < 0) at++;
    const text = terms[at];
    if (text === undefined) break;
    looks++;
    const edits = fuzzy.edits(text);
    if (edits !== undefined) within.push([text, edits]);
  }
  return {within, looks};
}

function compared(terms: readonly string[], word: string, editsMax: number) {
  const edits = editsTest(word, editsMax);
  return terms.flatMap(term => {
    const count = edits(term);
    return count === undefined ? [] : [[term, count]];
  });
}

function randomWords(seed: number, alphabet: readonly string[], count: number): readonly string[] {
  const {share} = randomNumbers(seed);
  const words = Array.from({length: count}, () => {
    const length = 1 + Math.floor(share() * 7);
    return Array.from({length}, () => alphabet[Math.floor(share() * alphabet.length)]).join('');
  });
  return [...new Set(words)].sort(compareText);
}

for (const editsMax of [0, 1, 2]) {
  test(`within ${editsMax} edits it finds what comparing each term finds`, () => {
    // Characters beside each other, of all lengths, at the borders of surrogates and of Unicode.
    const alphabet = ['a', 'b', '\u0000', '\u0001', 'é', '\ud7ff', '\ue000', '𝄞', '\u{10ffff}'];
    for (let seed = 1; seed <= 6; seed++) {
      const size = seed % 2 === 0 ? 3 : alphabet.length;
      const terms = randomWords(seed, alphabet.slice(0, size), 400);
      for (const word of ['', ...randomWords(seed + 100, alphabet.slice(0, size), 25)]) {
        assert.deepEqual(found(terms, word, editsMax).within, compared(terms, word, editsMax));
      }
    }
  });
}

test('neighbours that change places are one edit', () => {
  const terms = ['ab', 'abcd', 'abdc', 'acbd', 'ba', 'bacd', 'badc'];
  assert.deepEqual(found(terms, 'abcd', 1).within, [
    ['abcd', 0],
    ['abdc', 1],
    ['acbd', 1],
    ['bacd', 1],
  ]);
});

test('it passes over terms that cannot be within', () => {
  const letters = 'abcdefghijklmnopqrstuvwxyz'.split('');
  const terms = randomWords(7, letters, 20_000);
  assert.ok(terms.length > 10_000);
  const one = found(terms, 'search', 1);
  assert.deepEqual(one.within, compared(terms, 'search', 1));
  assert.ok(one.looks < terms.length / 50, `${one.looks} looks`);
  const two = found(terms, 'search', 2);
  assert.ok(two.looks < terms.length / 3, `${two.looks} looks`);
});

test('a long word costs no more than the terms that are looked at', () => {
  const word = 'ab'.repeat(50_000);
  const fuzzy = new FuzzyWord(word, 2);
  assert.equal(fuzzy.edits('ab'.repeat(100)), undefined);
  assert.equal(fuzzy.edits(word), 0);
  assert.equal(fuzzy.edits(`${word}x`), 1);
  assert.ok((fuzzy.next()?.length ?? 0) > word.length);
});
