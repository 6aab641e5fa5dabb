/** Escapes of JSON against the platform's own reader, and bodies that are made to cost much. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import fc from 'fast-check';
import {Refusal} from '#server/base/errors.ts';
import {JsonParser, parseJson, parseJsonText} from './json-parser.ts';

const piece = fc.constantFrom(
  '\\n',
  '\\"',
  '\\\\',
  '\\/',
  '\\u00e9',
  '\\uD83D',
  '\\ude00',
  '\\uD83D\\uDE00',
  'a',
  '€',
  '😀',
  '\\u0000',
  '\\ud83d\\n',
  '\\u12',
  '\\x',
  '\\',
);

test('escapes read as JSON.parse reads them, lone surrogates replaced', () => {
  fc.assert(
    fc.property(fc.array(piece, {maxLength: 12}), pieces => {
      const source = `"${pieces.join('')}"`;
      let expected: string | undefined;
      try {
        expected = (JSON.parse(source) as string).toWellFormed();
      } catch {
        assert.throws(() => parseJsonText(source), Refusal);
        return;
      }
      assert.equal(parseJsonText(source), expected);
    }),
    {numRuns: 2_000},
  );
});

test('what is built to be slow is read or refused at once', () => {
  const cases: readonly (readonly [string, RegExp | undefined])[] = [
    [`"${'\\n'.repeat(5_000_000)}"`, undefined],
    [`1.${'0'.repeat(10_000_000)}`, /more than 1000 digits/],
    [`[${'1'.repeat(10_000_000)}]`, /more than 1000 digits/],
    [`"${'x'.repeat(10_000_000)}\u00ff"`, /not UTF-8 at byte 10000001$/],
  ];
  for (const [text, refusal] of cases) {
    const bytes = Buffer.from(text, 'latin1');
    const {user} = process.cpuUsage();
    if (refusal === undefined) parseJson(bytes);
    else assert.throws(() => parseJson(bytes), refusal);
    const milliseconds = (process.cpuUsage().user - user) / 1_000;
    assert.ok(milliseconds < 1_000, `${milliseconds} ms for ${text.slice(0, 20)}`);
  }
});

test('more values than allowed are refused where the first of them begins', () => {
  const parser = new JsonParser(4, 3);
  assert.deepEqual(parser.parse(Buffer.from('[1, 2]')), [1, 2]);
  const read = (): unknown => parser.parse(Buffer.from('[1, 2, []]'));
  assert.throws(read, {code: 'limit.body', message: /more than 3 values at byte 7/});
});
