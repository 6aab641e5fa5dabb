/**
 * Holds the real tree against the conventions and against the folder table of ARCHITECTURE.md, and
 * shows for each rule a fixture that breaks it.
 *
 * A fixture under fixtures/tidy/ says where each of its files pretends to lie and which rule must
 * object: `path: server/plan/clock.ts` and `breaks: purity`. Without `breaks`, no rule may.
 * Holds invariant G1.
 */
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {test} from 'node:test';
import {readFolderTable} from './folder-table.ts';
import {blankText, importedModules} from './source-text.ts';
import {
  applyExceptions,
  findViolations,
  printViolation,
  type SourceFile,
  type TidyRule,
} from './tidy.ts';
import {tidyExceptions} from './tidy-exceptions.ts';
import {findLongFunctions, sourceFiles, strayPaths} from './tree.ts';
import {findUnusedRows} from './unused-rows.ts';

const root = join(import.meta.dirname, '../../..');
const folders = readFolderTable(readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8'));

test('the tree keeps the conventions', () => {
  const files = sourceFiles(root);
  const violations = [
    ...findViolations({files, folders}),
    ...findUnusedRows(files),
    ...findLongFunctions(root, root),
  ];
  const left = applyExceptions(violations, tidyExceptions).map(printViolation);
  assert.equal(left.length, 0, `\n${left.join('\n')}\n${left.length} violations`);
});

interface Fixture {
  readonly name: string;
  readonly files: readonly SourceFile[];
  readonly breaks: string | undefined;
}

/** Splits a fixture into its files: each begins with a line `// path: ...`. */
function readFixture(name: string): Fixture {
  const text = readFileSync(join(import.meta.dirname, '../fixtures/tidy', name), 'utf8');
  const breaks = /^\/\/ breaks: ([a-z-]+)\n/m.exec(text)?.[1];
  const files = text
    .replace(/^\/\/ breaks: .*\n/m, '')
    .split(/^\/\/ path: /m)
    .slice(1)
    .map(part => {
      const end = part.indexOf('\n');
      return {path: part.slice(0, end).trim(), text: expanded(part.slice(end + 1))};
    });
  return {name, files, breaks};
}

/** `@repeat 801 text` stands for that many lines of it. */
function expanded(text: string): string {
  return text.replace(/^@repeat (\d+) (.*)$/gm, (_, count: string, line: string) =>
    Array.from({length: Number(count)}, () => line).join('\n'),
  );
}

const fixtures = readdirSync(join(import.meta.dirname, '../fixtures/tidy'))
  .sort()
  .map(readFixture);

for (const {name, files, breaks} of fixtures) {
  test(`fixture ${name} breaks ${breaks ?? 'nothing'}`, () => {
    const found = [...findViolations({files, folders}), ...findUnusedRows(files)];
    const rules = new Set(found.map(({rule}) => rule));
    assert.deepEqual([...rules].sort(), breaks === undefined ? [] : [breaks]);
  });
}

test('every rule has a fixture', () => {
  // These two have tests of their own below.
  const shown = new Set<string | undefined>(fixtures.map(({breaks}) => breaks));
  shown.add('unused-exception').add('function-length');
  const source = readFileSync(join(import.meta.dirname, 'tidy.ts'), 'utf8');
  const union = /export type TidyRule =([^;]*);/.exec(source)?.[1] ?? '';
  const rules = [...union.matchAll(/'([a-z-]+)'/g)].map(match => match[1] as TidyRule);
  assert.ok(rules.length > 10);
  assert.deepEqual(
    rules.filter(rule => !shown.has(rule)),
    [],
  );
});

test('a function of more than 70 lines is found', () => {
  const fixture = join(import.meta.dirname, '../fixtures/function-length/long-function.txt');
  const folder = mkdtempSync(join(tmpdir(), 'svc-tidy-'));
  try {
    writeFileSync(join(folder, 'long.ts'), expanded(readFileSync(fixture, 'utf8')));
    const found = findLongFunctions(root, folder);
    assert.deepEqual(
      found.map(({rule}) => rule),
      ['function-length'],
    );
  } finally {
    rmSync(folder, {recursive: true});
  }
});

test('an exception excuses its file alone, and one that excuses nothing is a violation', () => {
  const violation = {rule: 'file-length', path: 'server/a.ts', line: 1, message: 'long'} as const;
  const excuse = {rule: 'file-length', path: 'server/a.ts', reason: 'a table'} as const;
  assert.deepEqual(applyExceptions([violation], [excuse]), []);
  assert.deepEqual(
    applyExceptions([], [excuse]).map(({rule}) => rule),
    ['unused-exception'],
  );
});

test('the folder table must order folders so that no cycle can be written', () => {
  const table =
    '| folder | what | may import |\n|---|---|---|\n| `a/` | x | b |\n| `b/` | x | nothing |\n';
  assert.throws(() => readFolderTable(table), /stands above it/);
});

test('comments, strings, templates and expressions are told from code', () => {
  const text = [
    "const a = 'Date.now()'; // Date.now()",
    'const b = /[/]Date.now()/.test(`Date.now() ${Date.parse(`x}`)} Date.now()`);',
    'const c = 4 / 2; /* Date.now() */ const d = 6 / 3;',
  ].join('\n');
  const {codeOnly} = blankText(text);
  assert.equal(codeOnly.length, text.length);
  assert.deepEqual(codeOnly.match(/Date\.\w+/g), ['Date.parse']);
  assert.match(codeOnly, /const c = 4 \/ 2;\s+const d = 6 \/ 3;/);
});

test('imports are found in every form and nowhere else', () => {
  const text = [
    "import {a,\n  b} from './ab.ts';",
    "import type {C} from '#server/base/c.ts';",
    "export * from './d.ts';",
    "import './effect.ts';",
    "const e = await import('./e.ts');",
    "const no = \"import x from './no.ts'\"; // import y from './no.ts'",
  ].join('\n');
  const found = importedModules(blankText(text)).map(({specifier}) => specifier);
  assert.deepEqual(found, ['./ab.ts', '#server/base/c.ts', './d.ts', './e.ts', './effect.ts']);
});

const isClone = existsSync(join(root, '.git'));

test('nothing that is built, installed or left behind is committed', {skip: !isClone}, () => {
  const listed = execFileSync('git', ['ls-files'], {cwd: root, encoding: 'utf8'});
  const files = listed.trimEnd().split('\n');
  const made = files.filter(path => /^(?:\.svc|\.cache)\//.test(path));
  assert.deepEqual([...made, ...strayPaths(files)], []);
});

test('what lies where nothing belongs is found', () => {
  const paths = ['.ci/run', 'README.md', 'server/a.ts', 'dist/a.js', 'script.txt'];
  assert.deepEqual(strayPaths(paths), ['dist/a.js', 'script.txt']);
});
