/**
 * Shows that the compiler, the linter, the formatter and the search for dead code object to what
 * they are there for: each rule we rely on has a fixture that breaks it.
 *
 * The fixtures of one gate are laid out together as a small project with our own configuration, and
 * the gate runs over it once; each fixture names the words with which the gate must mention it.
 * Holds invariant G2.
 */
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import {cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync} from 'node:fs';
import {rmSync, symlinkSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {after, test} from 'node:test';
import {gateNamed} from './gates.ts';

const root = join(import.meta.dirname, '../../..');
const fixturesFolder = join(import.meta.dirname, '../fixtures/gates');
const CONFIGURATION = [
  '.oxlintrc.json',
  'biome.json',
  'knip.json',
  'package.json',
  'server/base/host.d.ts',
  'tsconfig.json',
  'tsconfig.pure.json',
  '.gitignore',
];

interface Fixture {
  readonly name: string;
  readonly gate: string;
  /** What the gate must say about it. */
  readonly breaks: string;
  readonly files: readonly {readonly path: string; readonly text: string}[];
}

function readFixture(name: string): Fixture {
  const text = readFileSync(join(fixturesFolder, name), 'utf8');
  const field = (key: string): string => {
    const value = new RegExp(`^// ${key}: (.*)$`, 'm').exec(text)?.[1];
    assert.ok(value, `${name} has a line '// ${key}: ...'`);
    return value;
  };
  const files = text
    .split(/^\/\/ path: /m)
    .slice(1)
    .map(part => ({
      path: part.slice(0, part.indexOf('\n')).trim(),
      text: part.slice(part.indexOf('\n') + 1),
    }));
  return {name, gate: field('gate'), breaks: field('breaks'), files};
}

const folders: string[] = [];
after(() => {
  for (const folder of folders) rmSync(folder, {recursive: true, force: true});
});

/** A project of its own with our configuration and packages, and the given files. */
function project(files: Fixture['files']): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-gates-'));
  folders.push(folder);
  for (const file of CONFIGURATION) cpSync(join(root, file), join(folder, file));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  for (const {path, text} of files) {
    mkdirSync(dirname(join(folder, path)), {recursive: true});
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

function runGate(name: string, folder: string): {status: number | null; output: string} {
  const {program, args} = gateNamed(name, root);
  // The runtime of this process comes first, for the gates that are scripts.
  const env = {...process.env, PATH: `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}`};
  const {status, stdout, stderr} = spawnSync(program, args, {cwd: folder, env, encoding: 'utf8'});
  return {status, output: `${stdout}${stderr}`};
}

const clean = [
  {
    path: 'server/base/one.ts',
    text: '/** Nothing to object to. */\nexport function one(): number {\n  return 1;\n}\n',
  },
];

const fixtures = readdirSync(fixturesFolder).sort().map(readFixture);

for (const name of ['types', 'purity', 'lint', 'format']) {
  test(`${name} has no objection to a clean file`, () => {
    const {status, output} = runGate(name, project(clean));
    assert.equal(status, 0, output);
  });

  const own = fixtures.filter(({gate}) => gate === name);
  const {status, output} = runGate(name, project(own.flatMap(({files}) => files)));
  test(`${name} fails on its fixtures`, () => assert.notEqual(status, 0));

  for (const fixture of own) {
    const path = fixture.files[0]?.path ?? '';
    test(`${name} objects to ${path}: ${fixture.breaks}`, () => {
      const said = output.split('\n').filter(line => line.includes(path));
      assert.ok(
        said.some(line => line.includes(fixture.breaks)),
        `expected ${fixture.breaks}, but it said:\n${said.join('\n')}\n`,
      );
    });
  }
}

for (const {name, breaks, files} of fixtures.filter(({gate}) => gate === 'dead code')) {
  test(`dead code objects to ${name}: ${breaks}`, () => {
    const {status, output} = runGate('dead code', project(files));
    assert.notEqual(status, 0);
    assert.match(output, new RegExp(breaks));
  });
}
