/** Layers and archives: equal files are equal bytes, and every digest is that of what it names. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {gunzipSync} from 'node:zlib';
import {extract, type Header} from 'tar-stream';
import {type Image, packImage} from './archive.ts';
import {directory, type ImageFile, programMode, text} from './image-file.ts';
import {digestOf, packLayer} from './layer.ts';
import {openArchive} from './testing-archive.ts';

const time = new Date('2026-11-01T00:00:00Z');
const deep = `/opt/${'long-name-of-a-folder/'.repeat(8)}leaf`;
const files: readonly ImageFile[] = [
  text('/etc/passwd', 'root:x:0:0::/:/none\n'),
  text(deep, 'x'),
  text('/bin/run', '#!', programMode),
  {kind: 'link', path: '/bin/alias', target: 'run'},
  directory('/data', {owner: 65_532}),
];

test('a layer depends on its files alone, not on their order', async () => {
  const one = await packLayer(files, time);
  const two = await packLayer([...files].reverse(), time);
  assert.equal(one.digest, two.digest);
  assert.equal(one.digest, digestOf(one.bytes));
  assert.equal(one.diffId, digestOf(gunzipSync(one.bytes)));
  const other = await packLayer([...files, text('/etc/group', '')], time);
  assert.notEqual(one.digest, other.digest);
});

test('a layer holds every folder in front of what lies in it', async () => {
  const headers = await headersOf(gunzipSync((await packLayer(files, time)).bytes));
  const names = headers.map(({name}) => `/${name}`.replace(/\/$/, ''));
  for (const name of names) {
    const parent = name.slice(0, name.lastIndexOf('/'));
    if (parent === '') continue;
    assert.ok(names.slice(0, names.indexOf(name)).includes(parent), `${parent} before ${name}`);
  }
  assert.ok(names.includes(deep), 'a path of more than a hundred characters is whole');
});

test('nothing of this machine goes into a layer', async () => {
  const headers = await headersOf(gunzipSync((await packLayer(files, time)).bytes));
  for (const {name, uid, gid, uname, gname, mtime} of headers) {
    const owner = name === 'data/' ? 65_532 : 0;
    assert.deepEqual({uid, gid, uname, gname, mtime}, {...owned(owner), mtime: time}, name);
  }
});

test('two files of one path are refused', async () => {
  await assert.rejects(packLayer([...files, text('/bin/run', '')], time), /twice/);
});

test('an archive names what it holds by the right digests', async () => {
  const {blobs, read} = await openArchive(await imageOf('svc/server:1.2.3'));
  for (const [path, bytes] of blobs) {
    assert.equal(digestOf(bytes), path.replace('blobs/', '').replace('/', ':'));
  }
  const [saved] = read('manifest.json') as [{Config: string; Layers: string[]; RepoTags: string[]}];
  assert.deepEqual(saved.RepoTags, ['svc/server:1.2.3']);
  const config = read(saved.Config) as {rootfs: {diff_ids: string[]}; config: {User: string}};
  assert.equal(config.config.User, '65532:65532');
  assert.deepEqual(
    config.rootfs.diff_ids,
    saved.Layers.map(path => digestOf(gunzipSync(blobs.get(path) ?? ''))),
  );
});

test('engines that read the index of an archive find the same manifest and name', async () => {
  const packed = await imageOf('svc/server:1.2.3');
  const {read} = await openArchive(packed);
  const {manifests} = read('index.json') as {
    manifests: {digest: string; annotations: Record<string, string>}[];
  };
  assert.deepEqual(
    manifests.map(({digest}) => digest),
    [packed.digest],
  );
  const {annotations = {}} = manifests[0] ?? {};
  assert.equal(annotations['io.containerd.image.name'], 'docker.io/svc/server:1.2.3');
  const {annotations: own = {}} =
    (await openArchive(await imageOf('lab.local/pause:1'))).manifestOf() ?? {};
  assert.equal(own['io.containerd.image.name'], 'lab.local/pause:1', 'a host stays what it is');
});

function owned(id: number) {
  return {uid: id, gid: id, uname: '', gname: ''};
}

async function imageOf(name: string) {
  const image: Image = {
    name,
    architecture: 'amd64',
    created: time,
    config: {
      user: '65532:65532',
      env: {A: 'b'},
      entrypoint: ['/bin/run'],
      cmd: [],
      workingDir: '/data',
      ports: [2480],
      volumes: ['/data'],
      labels: {'org.opencontainers.image.title': 'one'},
      stopSignal: 'SIGTERM',
    },
    layers: [await packLayer(files, time), await packLayer([text('/etc/group', '')], time)],
  };
  return packImage(image);
}

async function headersOf(tar: Uint8Array): Promise<Header[]> {
  const headers: Header[] = [];
  const reader = extract();
  reader.end(tar);
  for await (const entry of reader) {
    headers.push(entry.header);
    entry.resume();
  }
  return headers;
}
