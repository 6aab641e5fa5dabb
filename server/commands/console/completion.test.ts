/** What is offered at a place of a statement. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {complete, type KnownNames} from './completion.ts';

const types = [
  {name: 'Named', parents: [], properties: ['name']},
  {name: 'Person', parents: ['Named'], properties: ['nationality', 'age']},
  {name: 'Pet', parents: [], properties: ['nick']},
  {name: 'odd name', parents: [], properties: []},
];

const sql: KnownNames = {
  language: 'sql',
  words: {
    languages: ['sql'],
    keywords: ['SELECT', 'SET', 'FROM', 'NOT', 'NEAR', 'VALUES', 'VERTEX'],
    beginnings: ['CREATE EDGE', 'CREATE VERTEX', 'CREATE VERTEX TYPE', 'SELECT', 'SET GLOBAL'],
    functions: [
      {name: 'abs', kind: 'function'},
      {name: 'text.indexOf', kind: 'function'},
      {name: 'text.trim', kind: 'function'},
      {name: 'normalize', kind: 'method'},
      {name: 'max', kind: 'aggregate'},
      {name: 'schema:types', kind: 'table'},
    ],
  },
  types,
  functions: ['tax.vat'],
  seen: ['nerve'],
};

const cypher: KnownNames = {
  language: 'cypher',
  words: {
    languages: ['cypher'],
    keywords: ['MATCH', 'CALL', 'DETACH'],
    beginnings: [],
    functions: [
      {name: 'date', kind: 'function'},
      {name: 'date.truncate', kind: 'function'},
      {name: 'db.labels', kind: 'procedure'},
    ],
  },
  types,
  functions: [],
  seen: [],
};

const cases: readonly (readonly [KnownNames, string, readonly string[]])[] = [
  // before the cursor                         offered
  [sql, 'SE', ['SELECT', 'SET']],
  [sql, 'sel', ['select']],
  // Words that a statement begins with, one after another.
  [sql, '', ['CREATE', 'SELECT', 'SET']],
  [sql, 'CREATE ', ['EDGE', 'VERTEX']],
  [sql, 'create v', ['vertex']],
  [sql, 'CREATE\n  VERTEX T', ['TYPE']],
  [sql, 'CREATE VERTEX P', ['Person', 'Pet']],
  [sql, 'INSERT INTO P', ['Person', 'Pet']],
  [sql, 'SELECT a', ['abs(', 'age']],
  [sql, 'SELECT m', ['max(']],
  [sql, 'SELECT t', ['tax.', 'text.']],
  [sql, 'SELECT tax.', ['tax.vat(']],
  [sql, 'SELECT text.', ['text.indexOf(', 'text.trim(']],
  [sql, 'SELECT TEXT.i', ['text.indexOf(']],
  [sql, 'SELECT FROM P', ['Person', 'Pet']],
  [sql, 'SELECT FROM pe', ['Person', 'Pet']],
  [sql, 'SELECT FROM od', ['`odd name`']],
  [sql, 'SELECT FROM sch', ['schema:types']],
  [sql, 'SELECT FROM schema:t', ['schema:types']],
  [sql, 'SELECT\n  FROM\n  Per', ['Person']],
  [sql, 'CREATE INDEX ON Person', ['Person']],
  [sql, 'ALTER PROPERTY Person.n', ['Person.name', 'Person.nationality']],
  [sql, 'MATCH {type: Pe', ['Person', 'Pet']],
  // Properties of the types that are named, inherited ones too; and what rows have shown.
  [sql, 'SELECT FROM Person WHERE n', ['Named', 'name', 'nationality', 'near', 'nerve', 'not']],
  [sql, "SELECT out('Pe", ['Person', 'Pet']],
  [sql, 'SELECT FROM Pet WHERE ni', ['nick']],
  [sql, 'SELECT FROM Person WHERE friend.n', ['name', 'nationality', 'nerve', 'normalize(']],
  [sql, 'SELECT ', []],
  [sql, 'SELECT zz', []],
  [cypher, 'MATCH (n:Pe', ['Person', 'Pet']],
  [cypher, 'MATCH (n:Person|Pe', ['Person', 'Pet']],
  [cypher, 'MATCH (n:Person {age: Pe', ['Person', 'Pet']],
  [cypher, 'MATCH (n:Person {age: ', []],
  [cypher, 'MATCH (n:Person) RETURN n.na', ['name', 'nationality']],
  [cypher, 'CALL d', ['date(', 'date.', 'db.', 'detach']],
  [cypher, 'CALL db.', ['db.labels(']],
  [cypher, 'RETURN date.t', ['date.truncate(']],
  [cypher, 'RETURN d', ['date(', 'date.', 'detach']],
];

for (const [known, text, expected] of cases) {
  const offers = expected.join(' ') || 'nothing';
  test(`${known.language}: ${JSON.stringify(text)} offers ${offers}`, () => {
    assert.deepEqual(complete(text, known).candidates, expected);
  });
}

test('without a server nothing is offered, and nothing breaks', () => {
  const known = {language: 'sql', words: undefined, types: [], functions: [], seen: []};
  assert.deepEqual(complete('SELECT FROM a', known).candidates, []);
});
