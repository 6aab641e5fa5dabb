/** The formats of rows: what a person sees and what a program reads back. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import fc from 'fast-check';
import {csvOf, printRows, tableOf} from './table.ts';

test('a table aligns texts to the left and numbers to the right', () => {
  const rows = [
    {name: 'Ada', age: 36, city: 'London'},
    {name: '山田', age: 5},
  ];
  assert.equal(
    tableOf(rows, 80),
    ['name  age  city', '────  ───  ──────', 'Ada    36  London', '山田    5', ''].join('\n'),
  );
});

test('a stored escape sequence cannot drive the terminal', () => {
  const [, , line] = tableOf([{text: '\u001b[2Jgone\nnext'}], 80).split('\n');
  assert.equal(line, '\\x1b[2Jgone⏎next');
});

test('nor can it in JSON, which stays the same JSON', () => {
  const rows = [{text: 'a\u009b2Jb\u007f'}];
  const text = printRows(rows, 'ndjson', 80);
  assert.equal(text, '{"text":"a\\u009b2Jb\\u007f"}\n');
  assert.deepEqual(JSON.parse(text), rows[0]);
});

test('long cells are cut to the width of the terminal', () => {
  assert.match(tableOf([{text: 'x'.repeat(500)}], 40), /^x{39}…$/m);
});

test('only what does not fit is cut, and the lines fit', () => {
  const row = {name: 'n'.repeat(8), first: 'x'.repeat(90), second: 'y'.repeat(60), n: 12};
  const [head = '', rule = '', line] = tableOf([row], 80).split('\n');
  assert.equal(line, `${row.name}  ${'x'.repeat(31)}…  ${'y'.repeat(31)}…  12`);
  assert.ok(head.length <= 80 && rule.length === 80);
});

test('the name of a column cannot drive the terminal either', () => {
  assert.match(tableOf([{'a\u001b[2J': 1}], 80), /^a\\x1b\[2J\n/);
});

test('CSV quotes what must be quoted, and lists are JSON', () => {
  const rows = [{a: 'one, "two"', b: [1, 2], c: null}, {d: 'x\ny'}];
  assert.equal(csvOf(rows), 'a,b,c,d\r\n"one, ""two""","[1,2]",,\r\n,,,"x\ny"\r\n');
});

test('every CSV cell is read back by the rules of RFC 4180', () => {
  fc.assert(
    fc.property(fc.array(fc.string({unit: 'grapheme'}), {minLength: 1}), texts => {
      const rows = texts.map(text => ({cell: `${text}.`}));
      assert.deepEqual(csvCells(printRows(rows, 'csv', 80)), [
        'cell',
        ...rows.map(row => row.cell),
      ]);
    }),
  );
});

/** One-column CSV, by a reader of its own. */
function csvCells(text: string): string[] {
  const cells: string[] = [];
  const pattern = /(?:"((?:[^"]|"")*)"|([^"\r\n]*))\r\n/gy;
  for (const [, quoted, plain] of text.matchAll(pattern)) {
    cells.push(quoted === undefined ? (plain ?? '') : quoted.replaceAll('""', '"'));
  }
  return cells;
}
