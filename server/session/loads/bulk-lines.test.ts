/**
 * Lines are the same however the bytes are cut into pieces.
 */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import fc from 'fast-check';
import {LineSplitter} from './bulk-lines.ts';

function linesOf(pieces: readonly Buffer[], lineBytesMax = 1_000): string[] {
  const splitter = new LineSplitter(lineBytesMax);
  const lines: string[] = [];
  const drain = (): void => {
    while (splitter.next())
      lines.push(splitter.bytes.toString('latin1', splitter.start, splitter.stop));
  };
  for (const piece of pieces) {
    splitter.add(piece);
    drain();
  }
  splitter.end();
  drain();
  return lines;
}

const cases = [
  ['a\nb\n', ['a', 'b']],
  ['a\nb', ['a', 'b']],
  ['a\r\nb\r\n', ['a', 'b']],
  ['a\rb\r', ['a', 'b']],
  ['\n\na\n\n', ['', '', 'a', '']],
  ['\r\r\n\n', ['', '', '']],
  ['', []],
] as const;
for (const [text, expected] of cases) {
  test(`${JSON.stringify(text)} has ${expected.length} lines`, () => {
    assert.deepEqual(linesOf([Buffer.from(text)]), expected);
  });
}

test('pieces of any size give the same lines', () => {
  const text = fc
    .array(fc.constantFrom('a', 'bc', '\n', '\r', '\r\n', '{"k":1}'), {maxLength: 40})
    .map(parts => parts.join(''));
  fc.assert(
    fc.property(text, fc.array(fc.nat({max: 50})), (whole, cuts) => {
      const bytes = Buffer.from(whole);
      const places = [0, ...cuts.map(cut => Math.min(cut, bytes.length)), bytes.length];
      places.sort((left, right) => left - right);
      const pieces = places.slice(1).map((place, at) => bytes.subarray(places[at], place));
      const expected = whole.split(/\r\n|\r|\n/);
      if (expected.at(-1) === '') expected.pop();
      assert.deepEqual(linesOf(pieces), expected);
    }),
  );
});

test('a line without an end is refused before it fills memory', () => {
  const piece = Buffer.alloc(600, 'x');
  assert.throws(() => linesOf([piece, piece]), /more than 1000 bytes/);
});
