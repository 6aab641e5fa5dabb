/** Tests are remembered as long as all that they depended on is as it was, wherever it lies. */
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {cpSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {after, test} from 'node:test';
import {eventually} from '../time/eventually.ts';
import {everything, variableNames, walkedEnd, wholeTree} from './inputs.ts';
import {Passes, passesPath} from './passes.ts';

const base = mkdtempSync(join(tmpdir(), 'svc-passes-'));
after(() => rmSync(base, {recursive: true, force: true}));

/** Writes a file; what is remembered from now on begins later. */
async function written(path: string, text: string): Promise<void> {
  mkdirSync(dirname(path), {recursive: true});
  writeFileSync(path, text);
  await eventually('a later moment', () => Date.now() > statSync(path).ctimeMs + 1);
}

/** Remembers tests that depended on these inputs. */
function remember(root: string, inputs: Readonly<Record<string, readonly string[]>>): void {
  const passes = new Passes(root);
  for (const [name, noted] of Object.entries(inputs)) passes.add(name, 1, noted);
  passes.write();
}

/** Finds those of these tests that would pass again. */
function found(root: string, ...names: readonly string[]): readonly string[] {
  const passes = new Passes(root);
  return names.filter(name => passes.find(name) !== undefined);
}

test('what is remembered holds in a copy, but for neighbours that are missing', async () => {
  const [here, there] = [join(base, 'here/own'), join(base, 'there/own')];
  for (const root of [here, there]) await written(join(root, 'a.txt'), 'a');
  await written(join(here, '../beside.txt'), 'beside');
  remember(here, {
    inside: [join(here, 'a.txt')],
    beside: [join(here, 'a.txt'), join(here, '../beside.txt')],
    unknown: [everything],
  });
  assert.deepEqual(found(here, 'inside', 'beside', 'unknown'), ['inside', 'beside']);
  mkdirSync(join(there, dirname(passesPath)), {recursive: true});
  cpSync(join(here, passesPath), join(there, passesPath));
  assert.deepEqual(found(there, 'inside', 'beside', 'unknown'), ['inside']);
  await written(join(there, 'a.txt'), 'b');
  assert.deepEqual(found(there, 'inside'), []);
  const counts = ['inside', 'beside', 'unknown'].map(name => new Passes(there).inputsOf(name));
  assert.deepEqual(counts, [1, 2, 0], 'how much each has read, whatever has changed');
});

test('a walk depends on every file that git does not pass over', async () => {
  const root = join(base, 'walked');
  await written(join(root, '.gitignore'), '.cache\n*.log\n');
  await written(join(root, 'a.txt'), 'a');
  remember(root, {walks: [wholeTree]});
  assert.deepEqual(found(root, 'walks'), [], 'nobody tells which files there are');
  execFileSync('git', ['init', '--quiet'], {cwd: root});
  remember(root, {walks: [wholeTree]});
  await written(join(root, 'a.log'), 'passed over');
  assert.deepEqual(found(root, 'walks'), ['walks']);
  await written(join(root, 'b.txt'), 'b');
  assert.deepEqual(found(root, 'walks'), []);
});

test('who asks which variables there are depends on their names', async () => {
  const root = join(base, 'named');
  await written(join(root, 'a.txt'), 'a');
  remember(root, {names: [variableNames]});
  assert.deepEqual(found(root, 'names'), ['names']);
  process.env['SVC_ONE_MORE'] = '';
  try {
    assert.deepEqual(found(root, 'names'), []);
  } finally {
    delete process.env['SVC_ONE_MORE'];
  }
});

test('a walk elsewhere depends on what lies there', async () => {
  const [root, beside] = [join(base, 'walker/own'), join(base, 'walker/beside')];
  await written(join(root, 'a.txt'), 'a');
  await written(join(beside, 'in/b.txt'), 'b');
  remember(root, {walks: [beside + walkedEnd]});
  assert.deepEqual(found(root, 'walks'), ['walks']);
  await written(join(beside, 'in/b.txt'), 'more');
  assert.deepEqual(found(root, 'walks'), []);
  remember(root, {walks: [beside + walkedEnd]});
  await written(join(beside, 'in/c.txt'), 'c');
  assert.deepEqual(found(root, 'walks'), []);
});
