/**
 * What an installation brings: `bin/svc` starts the right thing from anywhere, and
 * `bin/prepare.mjs` builds the native store, the bundle and its compiled code where it can and
 * breaks nothing.
 *
 * Each case lays out a small project of its own with the real bin/ folder.
 */
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import {cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync} from 'node:fs';
import {statSync, symlinkSync, utimesSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {after, test} from 'node:test';

const root = join(import.meta.dirname, '../..');
const folders: string[] = [];
after(() => {
  for (const folder of folders) rmSync(folder, {recursive: true, force: true});
});

const MAIN = `
import {Worker} from 'node:worker_threads';
import {greeting} from '#server/base/greeting.ts';
console.log(greeting, process.argv.slice(2).join(' '));
console.log('from', new URL('../../package.json', import.meta.url).pathname);
if (process.argv.includes('worker')) new Worker(new URL('./echo-worker.ts', import.meta.url));
`;

/** A project with our bin/ and packages, and sources that say hello. */
function project(files: Readonly<Record<string, string>> = {}): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-installation-'));
  folders.push(folder);
  cpSync(join(root, 'bin'), join(folder, 'bin'), {recursive: true});
  cpSync(join(root, 'package.json'), join(folder, 'package.json'));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const sources = {
    'server/node/main.ts': MAIN,
    'server/node/echo-worker.ts': "console.log('worker', import.meta.url.endsWith('.mjs'));",
    'server/base/greeting.ts': "export const greeting: string = 'hello';",
    ...files,
  };
  for (const [path, text] of Object.entries(sources)) {
    mkdirSync(dirname(join(folder, path)), {recursive: true});
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

interface Finished {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function launch(
  program: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Finished {
  const env = {...process.env, ...environment};
  return spawnSync(program, args, {cwd: tmpdir(), env, encoding: 'utf8'});
}

function prepare(folder: string, environment: Readonly<Record<string, string>> = {}): Finished {
  return launch(process.execPath, [join(folder, 'bin/prepare.mjs'), '--strict'], environment);
}

test('svc runs from its sources, from any folder, through links, with its arguments', () => {
  const folder = project();
  const link = join(folder, 'link');
  symlinkSync(join(folder, 'bin/svc'), link);
  const {status, stdout, stderr} = launch(link, ['query', 'a b']);
  assert.equal(status, 0, stderr);
  assert.match(stdout, /^hello query a b\n/);
  assert.equal(stderr, '');
});

test('svc runs the bundle where it is newer than the sources, else the sources', () => {
  const folder = project();
  const svc = join(folder, 'bin/svc');
  assert.equal(prepare(folder).status, 0);
  const bundled = launch(svc, ['worker']).stdout;
  assert.match(bundled, /^hello worker\nfrom .*\/package\.json\nworker true\n$/);

  assert.match(launch(svc, ['worker'], {SVC_DEV: '1'}).stdout, /worker false/);
  writeFileSync(join(folder, 'server/base/greeting.ts'), "export const greeting = 'changed';");
  const later = new Date(Date.now() + 10_000);
  utimesSync(join(folder, 'server/base/greeting.ts'), later, later);
  assert.match(launch(svc, []).stdout, /^changed/);
});

test('a file named in a source is the same file when named in the bundle', () => {
  const folder = project();
  const svc = join(folder, 'bin/svc');
  const before = launch(svc, []).stdout;
  assert.equal(prepare(folder).status, 0);
  assert.equal(launch(svc, []).stdout, before);
});

test('svc without a runtime says in one sentence what to do', () => {
  const folder = project();
  rmSync(join(folder, 'node_modules'));
  const old = join(folder, 'old');
  mkdirSync(old);
  writeFileSync(join(old, 'node'), '#!/bin/sh\necho v20.1.0\n', {mode: 0o755});
  const {status, stderr} = launch(join(folder, 'bin/svc'), [], {PATH: `${old}:/usr/bin:/bin`});
  assert.equal(status, 1);
  assert.match(stderr, /^svc: no Node\.js from version 24 found: run 'npm ci' in .*\n$/);
});

test('svc takes a new enough node from the path when the pinned one is missing', () => {
  const folder = project();
  rmSync(join(folder, 'node_modules'));
  const PATH = `${dirname(process.execPath)}:/usr/bin:/bin`;
  assert.match(launch(join(folder, 'bin/svc'), [], {PATH}).stdout, /^hello/);
});

test('prepare does nothing where nothing changed, and keeps the bundle newer than sources', () => {
  const folder = project();
  assert.match(prepare(folder).stdout, /bundle: built dist\/main\.mjs, dist\/echo-worker\.mjs/);
  const bundle = join(folder, 'dist/main.mjs');
  utimesSync(bundle, 0, 0);
  assert.match(prepare(folder).stdout, /bundle: up to date/);
  assert.ok(statSync(bundle).mtimeMs > 1);
});

const CODE = `
import {getCompileCacheDir} from 'node:module';
console.log(getCompileCacheDir() ?? 'none');
if (process.argv[2] === 'start') {
  process.on('SIGTERM', () => process.exit(process.env['SVC_TEST_FAILS'] === undefined ? 0 : 3));
  console.log('server.ready', process.argv.slice(3).join(' '));
  setTimeout(() => {}, 60_000);
}
`;

test('a start of the bundle reads what the first one compiled, wherever it lies', () => {
  const folder = project({'server/node/main.ts': CODE});
  assert.match(launch(join(folder, 'bin/svc'), []).stdout, /^none\n/);
  assert.match(prepare(folder).stdout, /code cache: built dist\/code\n/);
  assert.match(prepare(folder).stdout, /code cache: up to date/);
  const code = join(folder, 'dist/code');
  const made = readdirSync(code, {recursive: true});
  assert.ok(made.length >= 2, 'a folder of the runtime, and a file of the bundle');
  const moved = `${folder}-moved`;
  folders.push(moved);
  renameSync(folder, moved);
  const {stdout} = launch(join(moved, 'bin/svc'), []);
  assert.ok(stdout.startsWith(join(moved, 'dist/code')), stdout);
  const {stdout: fromSources} = launch(join(moved, 'bin/svc'), [], {SVC_DEV: '1'});
  assert.match(fromSources, /^none\n/, 'only the bundle has code there');
  assert.deepEqual(readdirSync(join(moved, 'dist/code'), {recursive: true}), made, 'all was found');
  const {stdout: chosen} = launch(join(moved, 'bin/svc'), [], {NODE_COMPILE_CACHE: tmpdir()});
  assert.ok(chosen.startsWith(tmpdir()) && !chosen.includes(moved), 'the caller may choose');
});

test('a first start that fails leaves no compiled code and breaks no installation', () => {
  const folder = project({'server/node/main.ts': CODE});
  const failed = prepare(folder, {SVC_TEST_FAILS: 'yes'});
  assert.equal(failed.status, 1);
  assert.match(failed.stderr, /buildCodeCache failed: a first start ended with 3:/);
  assert.deepEqual(readdirSync(join(folder, 'dist')).sort(), [
    'echo-worker.mjs',
    'main.mjs',
    'stamp',
  ]);
  assert.match(launch(join(folder, 'bin/svc'), []).stdout, /^none\n/);
});

test('prepare skips what it has no sources or tools for', () => {
  const folder = project();
  rmSync(join(folder, 'server'), {recursive: true});
  const {status, stdout} = prepare(folder);
  assert.equal(status, 0);
  assert.match(stdout, /native store: skipped.*\nbundle: skipped/);
  assert.deepEqual(readdirSync(folder).sort(), ['bin', 'node_modules', 'package.json']);
});

const NATIVE = `
#include <node_api.h>
#include <rocksdb/db.h>
#include <rocksdb/utilities/checkpoint.h>
static napi_value Init(napi_env, napi_value exports) {
  rocksdb::DB* db = nullptr;
  rocksdb::DB::Open(rocksdb::Options(), "x", &db);
  EXTRA
  return exports;
}
NAPI_MODULE(NODE_GYP_MODULE_NAME, Init)
`;
const MISSING = 'rocksdb::Checkpoint* c = nullptr; rocksdb::Checkpoint::Create(db, &c);';
const SOURCE = 'server/storage/rocksdb/native/addon.cc';

const hasCompiler =
  process.arch === 'x64' && spawnSync('g++', ['--version'], {stdio: 'ignore'}).status === 0;

test('a symbol that the library lacks breaks the build and is named', {skip: !hasCompiler}, () => {
  const folder = project({[SOURCE]: NATIVE.replace('EXTRA', MISSING)});
  const {status, stderr} = prepare(folder);
  assert.equal(status, 1);
  assert.match(stderr, /does not export:\n\s+rocksdb::Checkpoint::Create\(/);
  assert.equal(existsSync(join(folder, 'build/svc-rocksdb.node')), false);

  writeFileSync(join(folder, SOURCE), NATIVE.replace('EXTRA', ''));
  assert.match(prepare(folder).stdout, /native store: built build\/svc-rocksdb\.node/);
  assert.match(prepare(folder).stdout, /native store: up to date/);
});

test('an installation without a compiler, or with code that fails, still succeeds', () => {
  const folder = project({[SOURCE]: 'this is no C++'});
  const none = prepare(folder, {CXX: join(folder, 'no-compiler')});
  assert.equal(none.status, 0);
  assert.match(none.stdout, /native store: skipped, no C\+\+ compiler/);
  const lenient = launch(process.execPath, [join(folder, 'bin/prepare.mjs')]);
  assert.equal(lenient.status, 0);
});
