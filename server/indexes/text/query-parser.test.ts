/** What is refused of queries, with words that say why; and that nothing takes long. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import fc from 'fast-check';
import {Refusal} from '#server/base/errors.ts';
import {analyzerOf} from './analyzer.ts';
import {parseQuery, type QuerySyntax} from './query-parser.ts';
import {editsTest, wildcardTest} from './term-patterns.ts';

const syntax: QuerySyntax = {
  fields: [
    {name: 'title', analyzer: analyzerOf('standard'), boost: 1},
    {name: 'body', analyzer: analyzerOf('english'), boost: 1},
  ],
  defaultOperator: 'OR',
  allowLeadingWildcard: false,
  positions: false,
};

const refused = [
  ['', /names nothing to look for/],
  ['AND OR', /names nothing to look for/],
  ['+ -', /names nothing to look for/],
  ['a AND', /ends behind an operator/],
  ['(a', /a \( is not closed/],
  ['a)', /a \) closes nothing/],
  ['()', /names nothing/],
  ['a ()', /a group is empty/],
  ['"a', /quote at 1 is not closed/],
  ['*ale', /not allowed as first character in WildcardQuery/],
  ['?ale', /not allowed as first character in WildcardQuery/],
  ['titles:a', /no field 'titles' \(did you mean 'title'\?\); its fields: title, body/],
  ['a^', /'\^' is followed by no number/],
  ['a AND AND b', /'AND' is followed by nothing/],
  ['a\\', /backslash at the end/],
  ['[a b]', /is not \[a TO b\]/],
  [`${'a'.repeat(100_000)}~`, /at most 255 characters, not 100000/],
  [`${'a*'.repeat(500)}`, /at most 255 characters/],
  ['a '.repeat(2_000), /more than 1024 clauses/],
  ['('.repeat(100) + 'a' + ')'.repeat(100), /more than 64 deep/],
  ['a '.repeat(10_000_000), /20000000 characters, more than 1048576/],
] as const;

for (const [text, says] of refused) {
  test(`refused: ${text.slice(0, 30)} (${text.length}), ${says.source}`, () => {
    assert.throws(
      () => parseQuery(text, syntax),
      (error: unknown) =>
        error instanceof Refusal &&
        error.code === 'search.syntax' &&
        says.test(error.message) &&
        error.message.length < 500,
    );
  });
}

const marks = 'a b " + - ( ) [ ] { } : ^ ~ * ? \\ ! & |'.split(' ');

test('any text is read or refused, and nothing else', () => {
  const pieces = fc.constantFrom(...marks, 'AND', 'title:', ' TO ', '~2', '^3');
  const property = fc.property(fc.array(pieces, {maxLength: 30}), list => {
    try {
      parseQuery(list.join(''), syntax);
    } catch (error) {
      assert.ok(error instanceof Refusal, String(error));
    }
  });
  fc.assert(property, {numRuns: 3_000});
});

test('a wildcard passes what the regular expression of it passes', () => {
  const letters = fc.constantFrom('a', 'b', '*', '?');
  const pattern = fc.array(letters, {maxLength: 8}).map(list => list.join(''));
  const term = fc.array(fc.constantFrom('a', 'b'), {maxLength: 10}).map(list => list.join(''));
  const property = fc.property(pattern, term, (one, other) => {
    const regular = new RegExp(`^${one.replaceAll('*', '.*').replaceAll('?', '.')}$`, 'u');
    assert.equal(wildcardTest(one)(other), regular.test(other), `${one} on ${other}`);
  });
  fc.assert(property, {numRuns: 2_000});
});

test('edits are counted as the whole table counts them', () => {
  const word = fc.array(fc.constantFrom('a', 'b', 'c'), {maxLength: 7}).map(list => list.join(''));
  const property = fc.property(word, word, fc.integer({min: 0, max: 2}), (one, other, max) => {
    const edits = wholeTable(one, other);
    assert.equal(editsTest(one, max)(other), edits <= max ? edits : undefined, `${one} ${other}`);
  });
  fc.assert(property, {numRuns: 3_000});
});

function wholeTable(from: string, to: string): number {
  const rows = [Array.from({length: to.length + 1}, (_cell, at) => at)];
  for (let i = 1; i <= from.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const above = rows[i - 1] ?? [];
      const isSame = from[i - 1] === to[j - 1];
      let edits = Math.min((above[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1);
      edits = Math.min(edits, (above[j - 1] ?? 0) + (isSame ? 0 : 1));
      if (i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1]) {
        edits = Math.min(edits, (rows[i - 2]?.[j - 2] ?? 0) + 1);
      }
      row.push(edits);
    }
    rows.push(row);
  }
  return rows.at(-1)?.at(-1) ?? 0;
}
