/** The image starts a server with the flags that `bin/svc` gives it within the same limits. */
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import {mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {after, test} from 'node:test';

const root = join(import.meta.dirname, '..');
const folder = mkdtempSync(join(tmpdir(), 'svc-launch-'));
after(() => rmSync(folder, {recursive: true, force: true}));

interface Start {
  readonly flags: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

interface Launcher {
  startWithin(limits: {
    readonly memoryMax: string;
    readonly cpuMax: string;
    readonly processors: number;
    readonly env: Readonly<Record<string, string | undefined>>;
  }): Start;
}

const launcher = (await import(join(root, 'bin/launch.mjs'))) as Launcher;
const inherited = {PATH: process.env['PATH']};

/** What `bin/svc` starts where the files of the control group hold these texts. */
function startByShell(memoryMax: string, cpuMax: string): Start {
  for (const [name, text] of Object.entries({memoryMax, cpuMax})) {
    writeFileSync(join(folder, name), `${text}\n`);
  }
  const script = readFileSync(join(root, 'bin/svc'), 'utf8')
    .replaceAll('/sys/fs/cgroup/memory.max', join(folder, 'memoryMax'))
    .replaceAll('/sys/fs/cgroup/memory/memory.limit_in_bytes', join(folder, 'absent'))
    .replaceAll('/sys/fs/cgroup/cpu.max', join(folder, 'cpuMax'));
  const programs = `node_modules/node-linux-${process.arch === 'arm64' ? 'arm64' : 'x64'}/bin`;
  for (const path of ['bin', 'dist', programs]) mkdirSync(join(folder, path), {recursive: true});
  const node = '#!/bin/sh\necho "$@"\necho "$MALLOC_ARENA_MAX"\necho "$MALLOC_MMAP_THRESHOLD_"\n';
  writeFileSync(join(folder, programs, 'node'), node, {mode: 0o755});
  writeFileSync(join(folder, 'dist/main.mjs'), '');
  writeFileSync(join(folder, 'bin/svc'), script, {mode: 0o755});
  const {stdout, stderr} = spawnSync(join(folder, 'bin/svc'), {env: inherited, encoding: 'utf8'});
  assert.equal(stderr, '');
  const [words = '', arenas = '', threshold = ''] = stdout.split('\n');
  return {
    flags: words.split(' ').slice(0, -1),
    env: {
      ...inherited,
      ...(arenas === '' ? {} : {MALLOC_ARENA_MAX: arenas}),
      ...(threshold === '' ? {} : {MALLOC_MMAP_THRESHOLD_: threshold}),
    },
  };
}

const mebibyte = 1 << 20;
for (const [memoryMax, cpuMax] of [
  ['max', 'max 100000'],
  [String(64 * mebibyte), '20000 100000'],
  [String(512 * mebibyte), '50000 100000'],
  [String(1024 * mebibyte), '100000 100000'],
  [String(2048 * mebibyte - 1), '250000 100000'],
  [String(2048 * mebibyte), '800000 100000'],
  [String(16_384 * mebibyte), ''],
  ['9223372036854771712', 'max 100000'],
] as const) {
  test(`memory '${memoryMax}' and processors '${cpuMax}'`, () => {
    const processors = Number(spawnSync('nproc', {encoding: 'utf8'}).stdout);
    const limits = {memoryMax, cpuMax, processors, env: inherited};
    assert.deepEqual(launcher.startWithin(limits), startByShell(memoryMax, cpuMax));
  });
}

test('what the environment says of the C library holds in a small container', () => {
  const env = {MALLOC_ARENA_MAX: '8', MALLOC_MMAP_THRESHOLD_: ''};
  const limits = {memoryMax: String(512 * mebibyte), cpuMax: '', processors: 8, env};
  const start = launcher.startWithin(limits);
  assert.deepEqual(start.env, {MALLOC_ARENA_MAX: '8', MALLOC_MMAP_THRESHOLD_: '262144'});
  assert.deepEqual(start.flags, [
    '--max-old-space-size=192',
    '--initial-old-space-size=32',
    '--max-semi-space-size=8',
    '--no-memory-reducer',
    '--max-inlined-bytecode-size-cumulative=2000',
    '--v8-pool-size=4',
  ]);
});
