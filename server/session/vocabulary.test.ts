/** What is offered for completion is what the parsers and binders take. */
import assert from 'node:assert/strict';
import {globSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {test} from 'node:test';
import {cypherFunction} from '#server/languages/cypher/functions.ts';
import {proceduresWith} from '#server/languages/cypher/procedures.ts';
import {functionSignature} from '#server/plan/function-table.ts';
import {languages} from './languages/front-ends.ts';
import {type Vocabulary, vocabularies} from './vocabulary.ts';

function vocabularyOf(language: string): Vocabulary {
  const found = vocabularies().find(one => one.languages.includes(language));
  assert.ok(found, language);
  return found;
}

test('every language of requests has its words, and no other has', () => {
  const named = vocabularies().flatMap(one => one.languages);
  assert.deepEqual([...named].sort(), [...languages].sort());
});

test('sql offers keywords and what may be called, sorted, without the dots of methods', () => {
  const {keywords, functions} = vocabularyOf('sql');
  assert.ok(keywords.includes('TRAVERSE'));
  const kinds = new Map(functions.map(({name, kind}) => [name, kind]));
  assert.equal(kinds.get('abs'), 'function');
  assert.equal(kinds.get('toUpperCase'), 'method');
  assert.equal(kinds.get('count'), 'aggregate');
  assert.equal(kinds.get('schema:types'), 'table');
  const names = functions.map(({name}) => name);
  assert.deepEqual(names, [...names].sort());
  for (const {name} of functions) {
    const row = functionSignature(name) ?? functionSignature(`.${name}`);
    assert.ok(row !== undefined && row.later === undefined, name);
  }
});

test('cypher offers its own names, spelt as they are written', () => {
  const {keywords, functions} = vocabularyOf('cypher');
  assert.ok(keywords.includes('UNWIND'));
  const kinds = new Map(functions.map(({name, kind}) => [name, kind]));
  assert.equal(kinds.get('toInteger'), 'function');
  assert.equal(kinds.get('collect'), 'aggregate');
  assert.equal(kinds.get('text.indexOf'), 'function');
  assert.equal(kinds.get('db.labels'), 'procedure');
  const procedures = proceduresWith([]);
  for (const {name, kind} of functions) {
    const isKnown =
      kind === 'procedure'
        ? procedures.has(name.toLowerCase())
        : cypherFunction(name) !== undefined;
    assert.ok(isKnown, name);
  }
});

for (const language of ['sql', 'cypher']) {
  test(`every keyword of ${language} is asked for by some rule of its grammar`, () => {
    const folder = join(import.meta.dirname, '../languages', language);
    const rules = globSync('*.ts', {cwd: folder})
      .filter(name => name !== 'keyword.ts' && !name.endsWith('.test.ts'))
      .map(name => readFileSync(join(folder, name), 'utf8'))
      .join('');
    const {keywords} = vocabularyOf(language);
    assert.ok(keywords.length > 100);
    assert.deepEqual(
      keywords.filter(word => !rules.includes(`'${word}'`)),
      [],
    );
  });
}
