/**
 * The images of the table as they are built: small, labelled, each with its bill of materials
 * beside it; that of the server is the same bytes twice, without a shell, and a server runs in
 * nothing but its files, as a user without rights.
 *
 * One file, since the layer of Node.js, which they share, takes most of the time.
 */
import assert from 'node:assert/strict';
import {spawn, spawnSync} from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {createInterface} from 'node:readline';
import {before, test} from 'node:test';
import {type BuiltImage, buildImage} from './build-image.ts';
import {completed, type ImageFile} from './image-file.ts';
import type {ImageRow} from './image-row.ts';
import {imageTable} from './image-table.ts';
import type {Layer} from './layer.ts';
import {baseFiles, type Machine, nodeFiles, userId} from './runtime-files.ts';
import {serverImage} from './server-image.ts';
import {openArchive} from './testing-archive.ts';
import {writeImage} from './write-image.ts';

const root = join(import.meta.dirname, '..');
const password = 'only-for-a-test';
const program = ['/usr/local/bin/svc'];
const isRoot = process.getuid?.() === 0;
const native = serverImage.native.map(path => join(root, path));
const unbuilt = (row: ImageRow): string | false =>
  row.native.every(path => existsSync(join(root, path))) ? false : 'make rocksdb has not run here';
const skip = unbuilt(serverImage);
const architecture: Machine['architecture'] = process.arch === 'arm64' ? 'arm64' : 'x64';
const machine = {root, architecture};
const release = {version: '1.2.3', revision: 'abc', created: new Date('2026-11-01T00:00:00Z')};

/** The most that a pull of each image transfers, in bytes. */
const largest: Readonly<Record<string, number>> = {server: 60e6, operator: 55e6};

/** Layers of the images that were built, so that what they share is compressed once. */
const packed = new Map<string, Layer>();
let image: BuiltImage;
let files: readonly ImageFile[];
before(async () => {
  if (skip !== false) return;
  image = await buildImage(serverImage, machine, release, packed);
  const {files: own} = await serverImage.application(root);
  files = completed([...baseFiles(machine, native).files, ...nodeFiles(machine).files, ...own]);
});

test('an image that is built twice has one digest', {skip}, async () => {
  // The layer of Node.js is found by the digest of its tar, and not compressed once more.
  const large = [...packed].filter(([, {unpackedBytes}]) => unpackedBytes > 50e6);
  const again = await buildImage(serverImage, machine, release, new Map(large));
  assert.equal(again.digest, image.digest);
  assert.equal(again.billOfMaterials, image.billOfMaterials);
});

test('nothing but Node.js and svc can be run in it', {skip}, () => {
  const programs = files
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

for (const row of imageTable) {
  const title = `svc/${row.name} is small, labelled, and has its bill beside it`;
  test(title, {skip: unbuilt(row)}, async () => {
    const built = row === serverImage ? image : await buildImage(row, machine, release, packed);
    const max = largest[row.name] ?? 0;
    assert.ok(built.compressedBytes <= max, `${built.compressedBytes} of ${max} bytes`);

    const folder = mkdtempSync(join(tmpdir(), 'svc-images-'));
    try {
      writeImage(folder, row.name, built);
      const written = [`${row.name}.cdx.json`, `${row.name}.tar`];
      assert.deepEqual(readdirSync(folder).toSorted(), written);
      const {read} = await openArchive({bytes: readFileSync(join(folder, `${row.name}.tar`))});
      const [saved] = read('manifest.json') as [{Config: string}];
      const {config} = read(saved.Config) as {config: Record<string, unknown>};
      const label = 'org.opencontainers.image';
      assert.deepEqual(config['Labels'], {
        [`${label}.title`]: row.title,
        [`${label}.description`]: row.description,
        [`${label}.version`]: '1.2.3',
        [`${label}.revision`]: 'abc',
        [`${label}.created`]: '2026-11-01T00:00:00.000Z',
        [`${label}.licenses`]: 'Apache-2.0',
        [`${label}.vendor`]: 'Svc',
      });
      assert.equal(config['User'], '65532:65532');
      assert.equal(config['StopSignal'], 'SIGTERM');

      const bill = JSON.parse(readFileSync(join(folder, `${row.name}.cdx.json`), 'utf8')) as {
        readonly bomFormat: string;
        readonly specVersion: string;
        readonly metadata: {readonly component: {readonly name: string; readonly purl: string}};
        readonly components: readonly {readonly name: string}[];
      };
      assert.deepEqual([bill.bomFormat, bill.specVersion], ['CycloneDX', '1.6']);
      const {component} = bill.metadata;
      assert.equal(component.name, `svc/${row.name}`);
      const {manifests} = read('index.json') as {manifests: [{digest: string}]};
      assert.ok(component.purl.endsWith(encodeURIComponent(manifests[0].digest)), component.purl);
      assert.ok(bill.components.some(({name}) => name === 'node'));
    } finally {
      rmSync(folder, {recursive: true, force: true});
    }
  });
}

const unable = skip || (isRoot ? false : 'only root may change the root directory');

test('a server starts, answers and stops in it', {skip: unable}, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-image-'));
  try {
    chmodSync(folder, 0o755);
    for (const file of files) unpack(folder, file);
    const {entrypoint, cmd, env} = serverImage.config;
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
    // The launcher has become the server, in the same process and with the flags of this machine.
    assert.match(readFileSync(`/proc/${server.pid}/cmdline`, 'utf8'), /--v8-pool-size=[1-4]\0/);
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
