/**
 * The parser by scripts (`testdata/parse*.txt`), by round trips, and by hostile texts.
 */

import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {test} from 'node:test';
import {Refusal} from '#server/base/errors.ts';
import {testScript} from '#server/testing/script.ts';
import {SqlGenerator} from '#server/testing/property/sql-generator.ts';
import {withoutPlaces} from '#server/testing/property/sql-round-trip.ts';
import {defaultLimits} from '../limits.ts';
import type {Script, Statement} from './ast-statement.ts';
import {keywordHashCount, keywords} from './keyword.ts';
import {tokenize} from './lexer.ts';
import {parseScript, parseStatement} from './parser.ts';
import {printScript, printStatement} from '#server/testing/property/print-sql.ts';

function scriptText(text: string): string {
  try {
    return printScript(parseScript(text));
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return `${error.code}: ${error.message}`;
  }
}

for (const file of ['parse.txt', 'parse-superset.txt', 'parse-errors.txt']) {
  testScript(new URL(`testdata/${file}`, import.meta.url), ({input}) => scriptText(input));
}

function assertRoundTrip(tree: Statement | Script, text: string, again: Statement | Script): void {
  assert.deepEqual(withoutPlaces(again), withoutPlaces(tree), text);
}

test('every statement of the kitchen sink reads back from its own print', () => {
  const text = readFileSync(new URL('testdata/kitchen-sink.sql', import.meta.url), 'utf8');
  const {statements} = parseScript(text);
  assert(statements.length > 150);
  for (const statement of statements) {
    const printed = printStatement(statement);
    assertRoundTrip(statement, printed, parseStatement(printed));
  }
});

test('generated statements read back from their own print', () => {
  const generator = new SqlGenerator(20_261_120);
  for (let i = 0; i < 5_000; i++) {
    const text = generator.statement();
    const tree = parseStatement(text);
    const printed = printStatement(tree);
    assertRoundTrip(tree, `${text}\n${printed}`, parseStatement(printed));
  }
});

test('mutated statements are read or refused with a place', () => {
  const generator = new SqlGenerator(7);
  for (let i = 0; i < 15_000; i++) {
    const text = generator.mutated();
    try {
      parseScript(text);
    } catch (error) {
      assert(error instanceof Refusal, text);
      assert.equal(error.code, 'sql.syntax', text);
      assert(error.place !== undefined && error.place.line > 0 && error.place.column > 0, text);
    }
  }
});

const size = 250_000;
const hostile: readonly (readonly [string, string])[] = [
  ['parentheses', `SELECT ${'('.repeat(1_000_000)}`],
  ['nested parentheses', `SELECT ${'('.repeat(size)}`],
  ['brackets', `SELECT ${'['.repeat(size)}`],
  ['maps', `SELECT ${"{'a':".repeat(size / 5)}`],
  ['signs', `SELECT ${'- '.repeat(size / 2)}`],
  ['negations', `SELECT ${'NOT '.repeat(size / 4)}`],
  ['sub-queries', `SELECT ${'(SELECT '.repeat(size / 8)}`],
  ['calls', `SELECT ${'f('.repeat(size / 2)}`],
  ['selectors', `SELECT a${'[= b'.repeat(size / 4)}`],
  ['a chain of operators', `SELECT 1${'+1'.repeat(size / 2 - 10)}`],
  ['a chain of comparisons', `SELECT 1${'<1'.repeat(size / 2 - 10)}`],
  ['a chain of fields', `SELECT a${'.b'.repeat(size / 2 - 10)}`],
  ['a chain of hops', `MATCH {}${'.out()'.repeat(size / 6 - 10)} RETURN 1`],
  ['blocks', 'IF (a) {'.repeat(size / 8)],
  ['explanations', 'EXPLAIN '.repeat(size / 8)],
  ['cases', `SELECT ${'CASE '.repeat(size / 5 - 10)}`],
  ['digits', `SELECT ${'9'.repeat(size)}`],
];

for (const [what, text] of hostile) {
  test(`${what} without end are refused with a place`, () => {
    assert.throws(
      () => parseScript(text),
      (error: unknown) => error instanceof Refusal && error.place !== undefined,
    );
  });
}

test('depth is counted in levels: 390 parentheses are read, 400 and more are not', () => {
  const nested = (levels: number): string => `SELECT ${'('.repeat(levels)}1${')'.repeat(levels)}`;
  assert.equal(printStatement(parseStatement(nested(390))), 'SELECT 1');
  assert.throws(
    () => parseStatement(nested(400)),
    /line 1, column 40\d: .* deeper than 400 levels/,
  );
});

test('no setting allows a depth that the stack does not hold', () => {
  const limits = {...defaultLimits, depthMax: 1_000_000, textLengthMax: 10_000_000};
  for (const part of ['(SELECT ', 'f(', '(', 'CASE WHEN ', '[', 'NOT ']) {
    const text = `SELECT ${part.repeat(100_000)}`;
    assert.throws(() => parseStatement(text, limits), /deeper than 500 levels/);
  }
});

test('lists of what is made ready at once have a bound', () => {
  const many = (count: number, item: (n: number) => string): string =>
    Array.from({length: count}, (_, n) => item(n)).join(', ');
  for (const text of [
    (count: number) => `SELECT ${many(count, n => `a${n}`)} FROM T`,
    (count: number) => `SELECT FROM T ORDER BY ${many(count, n => `a${n} DESC`)}`,
    (count: number) => `SELECT count(*) FROM T GROUP BY ${many(count, n => `a${n}`)}`,
    (count: number) => `SELECT FROM T LET ${many(count, n => `$a${n} = ${n}`)}`,
    (count: number) => `UPDATE T SET ${many(count, n => `a${n} = ${n}`)}`,
    (count: number) => `INSERT INTO T (${many(count, n => `a${n}`)}) VALUES (1)`,
    (count: number) => `INSERT INTO T SET ${many(count, n => `a${n} = ${n}`)}`,
  ]) {
    parseStatement(text(4_096));
    assert.throws(
      () => parseStatement(text(4_097)),
      /line 1, column \d+: more than 4096 .*'svc\.parser\.columnsMax'/,
    );
  }
});

test('ten thousand alternatives are no depth', () => {
  const text = `SELECT FROM T WHERE a = 1${' OR a = 1'.repeat(10_000)}`;
  assert.equal(printStatement(parseStatement(text)), text);
});

test('no two keywords share a hash', () => {
  assert.equal(keywordHashCount, keywords.length);
});

test('offsets of tokens cover the text in order', () => {
  const {count, starts, ends} = tokenize("SELECT 'a' /* x */ , b.c[0..5] -- end\nFROM T");
  for (let i = 1; i < count; i++) assert((starts[i] ?? 0) >= (ends[i - 1] ?? 0));
});
