/** An operator that only one language asks for says why it is there. */
import assert from 'node:assert/strict';
import {readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {test} from 'node:test';

const server = join(import.meta.dirname, '../..');

function sourcesIn(folder: string): ReadonlyMap<string, string> {
  const names = readdirSync(join(server, folder), {encoding: 'utf8', recursive: true}).filter(
    name => name.endsWith('.ts') && !name.endsWith('.test.ts'),
  );
  return new Map(names.map(name => [name, readFileSync(join(server, folder, name), 'utf8')]));
}

const textOf = (...folders: readonly string[]): string =>
  folders.flatMap(folder => [...sourcesIn(folder).values()]).join('\n');

const languages = ['sql', 'cypher'].map(name => textOf(`languages/${name}`));
/** What is put in whatever the language. */
const everywhere = textOf('optimizer', 'plan');

const prepared = [...sourcesIn('execution/operators')].filter(([, text]) =>
  /export function prepare/.test(text),
);
const operators = prepared.flatMap(([file, text]) =>
  [...text.matchAll(/type \w+ = PlanNode & \{\s*readonly kind: ([^}]+)\}/g)].flatMap(([, kinds]) =>
    [...(kinds ?? '').matchAll(/'([a-z-]+)'/g)].map(([, kind]) => ({file, kind, text})),
  ),
);

test('every operator is found by what its node is', () => assert.ok(operators.length >= 30));

for (const {file, kind, text} of operators) {
  // Made, and not declared.
  const made = new RegExp(`(?<!readonly )kind: '${kind}'`);
  const makes = (source: string): boolean => made.test(source);
  const asking = languages.filter(makes).length;
  if (asking !== 1 || makes(everywhere)) continue;
  test(`${kind} is one language's, and ${file} says so`, () => {
    assert.match(text, /\b(SQL|Cypher)\b/);
  });
}
