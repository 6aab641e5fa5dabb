/** Marks stand around what was found, whatever part of the text is shown. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import fc from 'fast-check';
import {analyzerOf} from './analyzer.ts';
import {markedPlaces, markedText} from './highlight.ts';

const words = fc.array(
  fc.constantFrom('sun', 'moon', 'sea', 'a', 'Ö', '\u{1f31e}', 'x'.repeat(30)),
  {
    minLength: 1,
    maxLength: 60,
  },
);

test('a part of a text is a piece of it, as long as asked for, with marks in it', () => {
  fc.assert(
    fc.property(words, fc.integer({min: 1, max: 80}), (list, length) => {
      const text = list.join(' ');
      const places = markedPlaces(text, analyzerOf('standard'), term => term === 'sea');
      assert.equal(places.length, list.filter(word => word === 'sea').length);
      const shown = markedText(text, places, {before: '<', after: '>', length});
      const plain = shown
        .replaceAll(/[<>]/gu, '')
        .replace(/^\.\.\./u, '')
        .replace(/\.\.\.$/u, '');
      assert.ok(text.includes(plain), shown);
      assert.ok(plain.isWellFormed(), shown);
      assert.ok(plain.length <= Math.max(length, 3), `${plain.length} units, not ${length}`);
      if (places.length > 0) assert.match(shown, /<sea>/u);
      const whole = markedText(text, places, {before: '<', after: '>', length: undefined});
      assert.equal(whole, list.map(word => (word === 'sea' ? '<sea>' : word)).join(' '));
    }),
  );
});
