/**
 * The image of the server as it is built: the same bytes twice, small, without a shell, and a
 * server that runs in nothing but its files, as a user without rights.
 */
import assert from 'node:assert/strict';
import {spawn, spawnSync} from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {createInterface} from 'node:readline';
import {before, test} from 'node:test';
import {type BuiltImage, buildImage} from './build-image.ts';
import {completed, type ImageFile} from './image-file.ts';
import {baseFiles, type Machine, nodeFiles, userId} from './runtime-files.ts';
import {serverImage} from './server-image.ts';

const root = join(import.meta.dirname, '..');
const password = 'only-for-a-test';
const program = ['/usr/local/bin/svc'];
const isRoot = process.getuid?.() === 0;
const native = serverImage.native.map(path => join(root, path));
const skip = native.every(path => existsSync(path)) ? false : 'make rocksdb has not run here';
const architecture: Machine['architecture'] = process.arch === 'arm64' ? 'arm64' : 'x64';
const machine = {root, architecture};
const release = {version: '1.2.3', revision: 'abc', created: new Date('2026-11-01T00:00:00Z')};

let image: BuiltImage;
before(async () => {
  if (skip === false) image = await buildImage(serverImage, machine, release);
});

test('an image that is built twice has one digest', {skip}, async () => {
  const again = await buildImage(serverImage, machine, release);
  assert.equal(again.digest, image.digest);
  assert.equal(again.billOfMaterials, image.billOfMaterials);
});

test('nothing but Node.js and svc can be run in it', {skip}, async () => {
  const programs = (await filesOf())
    .filter(file => file.kind === 'file' && ((file.mode ?? 0) & 0o111) !== 0)
    .map(({path}) => path)
    .filter(path => !/\.so(\.\d+)*$|\.node$/.test(path));
  assert.deepEqual(programs, ['/opt/svc/bin/node', '/usr/local/bin/svc']);
});

test('the bill of materials names what is inside', {skip}, () => {
  const {components} = JSON.parse(image.billOfMaterials) as {components: {name: string}[]};
  const names = components.map(({name}) => name);
  for (const name of ['node', 'libc6', 'libstdc++6', 'express', 'rocksdb', 'body-parser']) {
    assert.ok(names.includes(name), name);
  }
  // What the package of the store names for its own authors.
  for (const name of ['abstract-level', 'prebuildify', 'tar-fs']) {
    assert.ok(!names.includes(name), name);
  }
});

const unable = skip || (isRoot ? false : 'only root may change the root directory');

test('a server starts, answers and stops in it', {skip: unable}, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-image-'));
  try {
    chmodSync(folder, 0o755);
    for (const file of await filesOf()) unpack(folder, file);
    const {entrypoint, cmd, env} = serverImage.config(root);
    const inside = ['--userspec', `${userId}:${userId}`, folder];
    // The root of a container has a /proc, which a folder has not.
    const proc = join(folder, 'proc');
    mkdirSync(proc);
    const script = `mount -t proc proc ${proc} && ip link set lo up && exec chroot "$@"`;
    const port = '--set=svc.server.httpIncomingPort=2480';
    const server = spawn(
      'unshare',
      ['--mount', '--net', 'sh', '-c', script, 'sh', ...inside, ...entrypoint, ...cmd, port],
      {
        env: {PATH: process.env['PATH'], ...env, SVC_SERVER_ROOTPASSWORD: password},
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    const ended = new Promise<number | null>(resolve => server.once('close', resolve));
    const ready = await eventNamed(server.stderr, 'server.ready');
    assert.equal(ready['port'], 2480);
    const svc = (...words: string[]): string => {
      const within = ['-t', String(server.pid), '--mount', '--net', 'chroot', ...inside];
      const options = {
        encoding: 'utf8',
        env: {PATH: process.env['PATH'], SVC_PASSWORD: password},
      } as const;
      const {stdout, stderr} = spawnSync('nsenter', [...within, ...program, ...words], options);
      return `${stdout}${stderr}`.trim();
    };
    assert.equal(svc('database', 'create', 'music'), 'created database music');
    assert.equal(svc('query', 'music', 'SELECT 1 AS n'), '{"n":1}');
    server.kill('SIGTERM');
    assert.equal(await ended, 0);
    assert.ok(existsSync(join(folder, 'data/databases/music')));
  } finally {
    rmSync(folder, {recursive: true, force: true});
  }
});

async function filesOf(): Promise<ImageFile[]> {
  const {files} = await serverImage.application(root);
  return completed([...baseFiles(machine, native).files, ...nodeFiles(machine).files, ...files]);
}

function unpack(folder: string, file: ImageFile): void {
  const path = join(folder, file.path);
  if (file.kind === 'directory') mkdirSync(path, {recursive: true});
  if (file.kind === 'file') {
    mkdirSync(dirname(path), {recursive: true});
    writeFileSync(path, file.bytes, {mode: file.mode ?? 0o644});
  }
  if (file.owner !== undefined) chownSync(path, file.owner, file.owner);
}

/** The first line of a log with this event. */
async function eventNamed(
  stream: NodeJS.ReadableStream,
  name: string,
): Promise<Record<string, unknown>> {
  const seen: string[] = [];
  for await (const line of createInterface({input: stream})) {
    seen.push(line);
    const event = line.startsWith('{') ? (JSON.parse(line) as Record<string, unknown>) : {};
    if (event['event'] === name) return event;
  }
  throw new Error(`the server ended without ${name}:\n${seen.join('\n')}`);
}
