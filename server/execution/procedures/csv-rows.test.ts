/** CSV: what the format allows, cut anywhere, and what is none. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import fc from 'fast-check';
import {csvRows} from './csv-rows.ts';

function* portionsOf(text: string, size: number): Generator<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

function read(text: string, separator = ',', size = 3): [number, ...(string | null)[]][] {
  return [...csvRows(portionsOf(text, size), separator)].map(row => [row.line, ...row.fields]);
}

const cases: readonly (readonly [text: string, rows: ReturnType<typeof read>])[] = [
  ['', []],
  [
    'a,b\n1,2',
    [
      [1, 'a', 'b'],
      [2, '1', '2'],
    ],
  ],
  [
    'a,b\r\n1,2\r\n',
    [
      [1, 'a', 'b'],
      [2, '1', '2'],
    ],
  ],
  [
    'a\rb\r\rc',
    [
      [1, 'a'],
      [2, 'b'],
      [4, 'c'],
    ],
  ],
  ['\ufeffa,,"",d', [[1, 'a', null, '', 'd']]],
  [
    'a,\n,',
    [
      [1, 'a', null],
      [2, null, null],
    ],
  ],
  [
    '"a,""b""",c\n\nd',
    [
      [1, 'a,"b"', 'c'],
      [3, 'd'],
    ],
  ],
  [
    '"two\nlines",x\r\ny',
    [
      [1, 'two\nlines', 'x'],
      [3, 'y'],
    ],
  ],
  ['5" disk,é', [[1, '5" disk', 'é']]],
];

for (const [text, rows] of cases) {
  test(JSON.stringify(text), () => {
    for (const size of [1, 2, 3, 100]) assert.deepEqual(read(text, ',', size), rows);
  });
}

test('any rows that are written are read again, however the bytes are cut', () => {
  const field = fc.string({unit: fc.constantFrom('a', '"', ',', ';', '\n', '\r', ' ', 'é', '😀')});
  const rows = fc.array(fc.array(field, {minLength: 1, maxLength: 4}), {maxLength: 5});
  fc.assert(
    fc.property(
      rows,
      fc.integer({min: 1, max: 7}),
      fc.constantFrom(',', ';'),
      (table, size, by) => {
        const text = table
          .map(row => row.map(value => `"${value.replaceAll('"', '""')}"`).join(by))
          .join('\n');
        assert.deepEqual(
          read(text, by, size).map(([, ...fields]) => fields),
          table,
        );
      },
    ),
  );
});

test('what is no CSV is refused with its line', () => {
  assert.throws(() => read('a\n"b'), /line 2 of the CSV: a quote is never closed/);
  assert.throws(() => read('a\n"b"c'), /line 2 of the CSV: text behind a closing quote/);
  const latin1 = [Uint8Array.of(0x61, 0x0a, 0xe9, 0x0a)];
  assert.throws(() => [...csvRows(latin1, ',')], /of the CSV: what follows is not UTF-8/);
});
