/**
 * Whatever function, method or procedure a client of such databases may call and is not here, or
 * not with these arguments, the error names it: every word of the recorded lists, in SQL and in
 * Cypher.
 */
import assert from 'node:assert/strict';
import {existsSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {after, before, test} from 'node:test';
import {Refusal} from '#server/base/errors.ts';
import {ServiceWorld} from '../worlds/service-world.ts';
import {sharedFolder} from './conformance.ts';

const page = join(sharedFolder(), 'reference/grpc-mcp-query.md');
const skip = existsSync(page) ? false : 'the lists are not here: set SVC_SHARED';
const text = skip === false ? readFileSync(page, 'utf8') : '';

let world: ServiceWorld;
let database: Awaited<ReturnType<ServiceWorld['database']>>;
before(async () => {
  world = await ServiceWorld.open();
  database = await world.database([]);
});
after(() => world.close());

function section(from: string, to: string): string {
  return text.slice(text.indexOf(from), text.indexOf(to));
}

/** Names in families, as `coll.* (avg distinct ...)`, and names that are written out. */
function dottedNames(part: string): string[] {
  const families = [...part.matchAll(/(\w+)\.\* \(([^)]*)\)/g)].flatMap(([, family, words = '']) =>
    words.split(/\s+/).map(word => `${family}.${word}`),
  );
  const written = part.match(/\b(?:geo|ts|vector|fulltext|db|algo)\.[a-z]\w*(?:\.\w+)*/gi) ?? [];
  return [...families, ...written];
}

function plainWords(part: string): string[] {
  return part.match(/\b[a-z][A-Za-z_]+\b/g) ?? [];
}

/** Runs each statement; those that fail without a word of what was asked for. */
async function unnamed(
  names: readonly string[],
  statementOf: (name: string) => string,
  language: string,
): Promise<string[]> {
  const found: string[] = [];
  for (const name of new Set(names)) {
    try {
      await database.run(statementOf(name), {language});
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const told = error.message.toLowerCase();
      // Words of the grammar are no names of functions; an index 'x' is what is not there.
      const isNamed = told.includes(name.toLowerCase()) || told.includes("name 'x'");
      if (error.code.endsWith('.syntax') || isNamed) continue;
      found.push(`${statementOf(name)}: ${error.code}: ${error.message}`);
    }
  }
  return found;
}

test('every function of SQL is called, or named by what it is not', {skip}, async () => {
  const part = section('### 3.4 ', '### 3.5 ');
  const names = [...dottedNames(part), ...plainWords(part)];
  assert.ok(names.length > 300);
  assert.deepEqual(await unnamed(names, name => `SELECT ${name}() AS v`, 'sql'), []);
  assert.deepEqual(await unnamed(names, name => `SELECT ${name}('x', 1, 2) AS v`, 'sql'), []);
});

test('every method of SQL is called, or named by what it is not', {skip}, async () => {
  const [, methods = ''] = section('### 3.4 ', '### 3.5 ').split('Methods: ');
  const names = plainWords(methods.slice(0, methods.indexOf('\n')));
  assert.ok(names.length > 50);
  assert.deepEqual(await unnamed(names, name => `SELECT 'x'.${name}() AS v`, 'sql'), []);
});

test('every function of Cypher is called, or named by what it is not', {skip}, async () => {
  const part = section('| Functions | id elementId', '| Comprehensions |');
  const names = [...dottedNames(section('### 3.4 ', '### 3.5 ')), ...plainWords(part)];
  assert.ok(names.length > 200);
  assert.deepEqual(await unnamed(names, name => `RETURN ${name}() AS v`, 'opencypher'), []);
});

test('every procedure of Cypher is called, or named by what it is not', {skip}, async () => {
  const algorithms = plainWords(section('### 4.2 ', '### 4.3 ')).map(word => `algo.${word}`);
  const others = section('| Procedures |', '### 4.2 ').match(/\b[a-z]\w*(?:\.\w+)+/g) ?? [];
  const names = [...algorithms, ...others];
  assert.ok(names.length > 100);
  assert.deepEqual(await unnamed(names, name => `CALL ${name}()`, 'opencypher'), []);
});
