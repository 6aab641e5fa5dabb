/** What the parser of Cypher refuses, where, and how it tells a pattern from a parenthesis. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {Refusal} from '#server/base/errors.ts';
import {parseCypher} from './parser.ts';

function refusalOf(text: string): Refusal {
  try {
    parseCypher(text);
  } catch (error) {
    assert.ok(error instanceof Refusal, String(error));
    return error;
  }
  assert.fail(`'${text}' was read`);
}

const refused: readonly (readonly [text: string, reason: string, line: number, column: number])[] =
  [
    ['MATCH (n RETURN n', 'UnexpectedSyntax', 1, 10],
    ['RETURN 9223372036854775808', 'IntegerOverflow', 1, 8],
    ['RETURN 1.0e999', 'FloatingPointOverflow', 1, 8],
    ['RETURN 12a', 'InvalidNumberLiteral', 1, 8],
    ["RETURN '\\u12'", 'InvalidUnicodeLiteral', 1, 9],
    ['RETURN 1 —2', 'InvalidUnicodeCharacter', 1, 10],
    ['RETURN 1 UNION RETURN 2 UNION ALL RETURN 3', 'InvalidClauseComposition', 1, 25],
    ['CREATE (a)\nMATCH (b) RETURN b', 'InvalidClauseComposition', 2, 1],
    ['MATCH (a)-[:R*-1]->(b) RETURN b', 'InvalidRelationshipPattern', 1, 15],
    ['RETURN [1, 2', 'UnexpectedSyntax', 1, 13],
    ['', 'UnexpectedSyntax', 1, 1],
  ];

for (const [text, reason, line, column] of refused) {
  test(`${JSON.stringify(text)} is refused with ${reason} where it goes wrong`, () => {
    const {code, place, detail} = refusalOf(text);
    assert.equal(code, 'cypher.syntax');
    assert.equal(detail?.['reason'], reason);
    assert.deepEqual(place, {line, column});
  });
}

test('a misspelt keyword is suggested', () => {
  assert.match(refusalOf('MATCH (n) RETRUN n').message, /did you mean RETURN\?/);
});

test('the least integer is a number of its own, its positive twin is none', () => {
  const statement = parseCypher('RETURN -9223372036854775808 AS n');
  assert.match(
    JSON.stringify(statement, (_, value: unknown) =>
      typeof value === 'bigint' ? String(value) : value,
    ),
    /"value":"-9223372036854775808"/,
  );
});

test('a parenthesis is a pattern only where a relationship follows', () => {
  const kindOf = (text: string): string => {
    const statement = parseCypher(`MATCH (a), (b) WHERE ${text} RETURN a`);
    assert.ok(statement.kind === 'query');
    const [match] = statement.query.parts[0]?.clauses ?? [];
    assert.ok(match?.kind === 'match');
    return match.where?.kind ?? '';
  };
  assert.equal(kindOf('(a)-->(b)'), 'pattern');
  assert.equal(kindOf('(a)<-[:R]-(b)'), 'pattern');
  assert.equal(kindOf('(a.x) < -1'), 'comparison');
  assert.equal(kindOf('(a.x)-[1][0] > 2'), 'comparison');
  assert.equal(kindOf('(true)'), 'literal');
});

test('lists of what is made ready at once have a bound', () => {
  const many = (count: number, item: (n: number) => string): string =>
    Array.from({length: count}, (_, n) => item(n)).join(', ');
  for (const text of [
    (count: number) => `RETURN ${many(count, n => `${n} AS c${n}`)}`,
    (count: number) => `MATCH (n) RETURN n ORDER BY ${many(count, n => `n.p${n}`)}`,
    (count: number) => `MATCH (n) SET ${many(count, n => `n.p${n} = ${n}`)}`,
    (count: number) => `MATCH (n) REMOVE ${many(count, n => `n.p${n}`)}`,
  ]) {
    parseCypher(text(4_096));
    assert.match(refusalOf(text(4_097)).message, /more than 4096 .*'svc\.parser\.columnsMax'/);
  }
});

test('nesting has a bound and no text costs more than linear time', () => {
  assert.match(refusalOf(`RETURN ${'('.repeat(5_000)}`).message, /nests deeper than 400 levels/);
  assert.match(refusalOf(`RETURN ${'1 + '.repeat(5_000)}1`).message, /nests deeper/);
  const wide = `RETURN [${'({a: 1}), '.repeat(10_000)}1]`;
  const started = process.cpuUsage();
  parseCypher(wide);
  const {user} = process.cpuUsage(started);
  assert.ok(user < 2_000_000, `${user} microseconds`);
});
