/** JSON against the platform's own reader: escapes, pieces, and what is made to cost much. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import fc from 'fast-check';
import {Refusal} from '#server/base/errors.ts';
import type {Value} from '../value.ts';
import {JsonParser, parseJson, parseJsonText} from '../json-parser.ts';
import {PiecewiseParser} from '../json-pieces.ts';

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

/** The document as it is read in pieces, and how many these were. */
function inPieces(
  bytes: Uint8Array,
  size?: {readonly values: number; readonly bytes: number},
): {readonly value: Value; readonly pieces: number} {
  const reading = new PiecewiseParser().pieces(bytes, size);
  for (let pieces = 1; ; pieces += 1) {
    const step = reading.next();
    if (step.done === true) return {value: step.value, pieces};
  }
}

test('a document in pieces of any size is the document, or refused like it', () => {
  const texts = fc
    .array(piece, {maxLength: 40})
    .map(pieces => `{"k${pieces.length}": ["${pieces.join('')}", {}, []], "t": 1.5}`);
  const documents = fc.oneof(texts, fc.json({depthSize: 'medium'}));
  const sizes = fc.record({
    values: fc.integer({min: 1, max: 5}),
    bytes: fc.integer({min: 1, max: 40}),
  });
  fc.assert(
    fc.property(documents, sizes, (text, size) => {
      const bytes = Buffer.from(text);
      let whole: Value;
      try {
        whole = parseJson(bytes);
      } catch {
        assert.throws(() => inPieces(bytes, size), Refusal);
        return;
      }
      assert.deepEqual(inPieces(bytes, size).value, whole);
    }),
    {numRuns: 3_000},
  );
});

test('what large documents hold is read a millisecond at a time', () => {
  const numbers = `[${'1234567,'.repeat(500_000)}0]`;
  const maps = `[${'{"a":1},'.repeat(100_000)}{}]`;
  const keys = `{${Array.from({length: 200_000}, (_, at) => `"k${at}":${at}`).join()}}`;
  const [plain, escaped, long] = ['x', '\\u00e9', '€'].map(unit => `"${unit.repeat(4_000_000)}"`);
  for (const text of [numbers, maps, keys, plain, escaped, long]) {
    const bytes = Buffer.from(text ?? '');
    const {pieces, value} = inPieces(bytes);
    assert.ok(pieces >= bytes.length / (260 << 10), `${pieces} pieces`);
    if (typeof value === 'string') assert.equal(value.length, 4_000_000);
  }
});
