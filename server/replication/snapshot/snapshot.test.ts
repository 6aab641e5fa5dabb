/**
 * A server gives a snapshot over HTTP and another one starts from it: real disks, RocksDB and
 * sockets; then everything that can be cut off, kept, or wrong.
 */
import assert from 'node:assert/strict';
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import {type AddressInfo, connect, createServer, type Socket} from 'node:net';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {crc32} from 'node:zlib';
import {createRandom, createTimers} from '#server/platform/real/clock.ts';
import {createDisk} from '#server/platform/real/disk.ts';
import {openDiskEngine} from '#server/simulation/disk-engine.ts';
import {openStore} from '#server/storage/rocksdb/open.ts';
import {leaderState} from '#server/testing/cluster/member-states.ts';
import {MemoryCluster} from '#server/testing/cluster/memory-cluster.ts';
import {type HttpWorld, httpWorld} from '#server/testing/worlds/http-world.ts';
import type {Engine} from '#server/engine/engine.ts';
import {dataPaths} from '#server/engine/engine-options.ts';
import {defaultEngineSettings} from '#server/engine/settings.ts';
import {SnapshotInstall} from '#server/engine/snapshot-install.ts';
import {createDiskStoreFactory} from '#server/engine/store-factory.ts';
import {closing} from '#server/testing/closing.ts';
import {checksumOfFile} from './file-checksum.ts';
import {type DownloadOptions, downloadSnapshot} from './download.ts';
import {PeerFailure, PeerRequests} from './peer-requests.ts';
import {fetchSnapshot} from './snapshot-fetch.ts';
import {SnapshotStore} from './snapshot-store.ts';
import {transferFiles, type TransferOrder} from './transfer.ts';

const base = mkdtempSync(join(tmpdir(), 'svc-snapshot-'));
after(() => rmSync(base, {recursive: true}));
let roots = 0;
const disk = createDisk();
const stores = createDiskStoreFactory(disk, openStore);
const logger = {log: () => {}};
const {token} = new MemoryCluster(leaderState());
const membership = [{id: '127.0.0.1_2434', role: 'voter', priority: 0}] as const;

async function put(engine: Engine, name: string, key: string, bytes = 10): Promise<void> {
  const transaction = engine.database(name)?.begin('READ_COMMITTED');
  assert.ok(transaction !== undefined);
  transaction.put(Buffer.from(key), Buffer.alloc(bytes, key));
  assert.equal((await transaction.commit()).kind, 'committed');
}

function has(engine: Engine, name: string, key: string): boolean {
  const session = engine.database(name)?.read();
  const found = session?.get(Buffer.from(key)) !== undefined;
  session?.close();
  return found;
}

interface Giver {
  readonly engine: Engine;
  readonly rootPath: string;
  readonly shelf: SnapshotStore;
  readonly http: HttpWorld;
  close(): Promise<void>;
}

/** A server with two databases and a document, which gives snapshots. */
async function startGiver(holdsMax = 2): Promise<Giver> {
  const rootPath = join(base, `root${++roots}`);
  const engine = closing(await openDiskEngine({rootPath}));
  await engine.createDatabase('music');
  await engine.createDatabase('films');
  await engine.putServerDocument('server-users.jsonl', Buffer.from('{"name":"root"}\n'));
  await put(engine, 'music', 'before');
  await put(engine, 'films', 'other');
  const shelf = new SnapshotStore({
    maker: {
      capture: directory => engine.capture(directory),
      checkpointAt: index => ({last: {index, term: 3}, membership}),
      whenApplied: async () => {},
    },
    disk,
    checksum: async (path, bytes) => checksumAt(path, bytes),
    random: createRandom(),
    timers: createTimers(),
    logger,
    holdsMax,
    idleMs: 60_000,
    directory: `${rootPath}/databases/.snapshots`,
  });
  const cluster = new MemoryCluster(leaderState());
  const http = await httpWorld({}, undefined, {cluster, snapshots: shelf});
  return closing({
    engine,
    rootPath,
    shelf,
    http,
    async close() {
      await http.server.close(0);
      shelf.close();
      await engine.close();
    },
  });
}

function checksumAt(path: string, bytes: number): number {
  const descriptor = openSync(path, 'r');
  try {
    return checksumOfFile(descriptor, bytes, crc32);
  } finally {
    closeSync(descriptor);
  }
}

interface Receiver {
  readonly rootPath: string;
  readonly install: SnapshotInstall;
  download(from: Giver, options?: Partial<DownloadOptions>): ReturnType<typeof downloadSnapshot>;
}

function newReceiver(): Receiver {
  const rootPath = join(base, `root${++roots}`);
  const storage = `${rootPath}/raft-storage-one`;
  for (const name of ['databases', 'config', 'raft-storage-one/server']) {
    disk.makeDirectory(`${rootPath}/${name}`);
  }
  const {formats} = defaultEngineSettings;
  const install = new SnapshotInstall({
    ...dataPaths({rootPath}),
    disk,
    storage,
    stores,
    formats,
    logger,
  });
  return {
    rootPath,
    install,
    async download(from, options = {}) {
      const endpoint = {host: '127.0.0.1', port: from.http.port, token};
      const requests = new PeerRequests(endpoint, 5_000);
      try {
        return await downloadSnapshot({
          requests,
          receiver: 'two',
          atLeast: 0,
          fileBytesMax: 1 << 30,
          reusable: () => [],
          stagedPath: id => install.stagedPath(id),
          obstacle: () => undefined,
          transfer: order => transferFiles(order, crc32),
          ...options,
        });
      } finally {
        requests.close();
      }
    },
  };
}

test('a server with nothing becomes what another one was at one entry of the log', async () => {
  const giver = await startGiver();
  const receiver = newReceiver();
  const {manifest, figures} = await receiver.download(giver);
  await put(giver.engine, 'music', 'after');
  assert.equal(figures.bytesReceived, figures.bytes);
  assert.deepEqual(manifest.checkpoint, {
    last: {index: manifest.state.durableIndex, term: 3},
    membership,
  });
  await receiver.install.plan(manifest);
  receiver.install.finish();
  receiver.install.forget();
  assert.deepEqual(readdirSync(`${receiver.rootPath}/databases`), ['films', 'music']);

  const engine = closing(await openDiskEngine({rootPath: receiver.rootPath}));
  assert.deepEqual(engine.databases(), ['films', 'music']);
  assert.ok(has(engine, 'music', 'before') && has(engine, 'films', 'other'));
  assert.ok(!has(engine, 'music', 'after'), 'what came later comes by the log');
  const document = engine.serverDocument('server-users.jsonl');
  assert.equal(document?.bytes.toString(), '{"name":"root"}\n');
  assert.ok(engine.appliedIndex >= manifest.state.durableIndex);
  await engine.close();
  await giver.close();
});

test('what was received before a connection broke is not sent again', async () => {
  const giver = await startGiver();
  for (let number = 0; number < 40; number++) {
    await put(giver.engine, 'music', `key${number}`, 200_000 + number);
  }
  await giver.engine.checkpoint();
  const receiver = newReceiver();
  const proxy = await startBreakingProxy(giver.http.port, 5_000_000);
  const broken = receiver.download(giver, {requests: proxy.requests});
  await assert.rejects(broken, PeerFailure);
  await proxy.close();
  const {figures} = await receiver.download(giver);
  assert.ok(figures.bytes > 8_000_000);
  assert.ok(figures.bytesReceived < figures.bytes - 4_000_000, `${figures.bytesReceived} again`);
  const third = await receiver.download(giver);
  assert.equal(third.figures.bytesReceived, 0);
  assert.equal(third.figures.filesKept, third.figures.files);
  await giver.close();
});

test('a part of a file that is not the same one is fetched again from its beginning', async () => {
  const giver = await startGiver();
  const receiver = newReceiver();
  const {manifest} = await receiver.download(giver);
  const [music] = manifest.databases;
  assert.ok(music !== undefined);
  const directory = receiver.install.stagedPath(music.id);
  const sizes = music.files.map(({name, bytes}) => ({path: join(directory, name), bytes}));
  for (const {path, bytes} of sizes) {
    // Some too short, some damaged, some too long.
    writeFileSync(path, Buffer.alloc(bytes % 3 === 0 ? bytes + 7 : Math.ceil(bytes / (bytes % 3))));
  }
  writeFileSync(join(directory, 'left-over.txt'), 'no part of it');
  await receiver.download(giver);
  assert.deepEqual(readdirSync(directory).sort(), music.files.map(({name}) => name).sort());
  await receiver.install.plan(manifest);
  receiver.install.finish();
  receiver.install.forget();
  const engine = closing(await openDiskEngine({rootPath: receiver.rootPath}));
  assert.ok(has(engine, 'music', 'before'));
  await engine.close();
  await giver.close();
});

test('files of a copy that is here are not sent, and others of their names stay', async () => {
  const giver = await startGiver();
  for (let number = 0; number < 20; number++) {
    await put(giver.engine, 'music', `key${number}`, 100_000);
  }
  await giver.engine.checkpoint();
  const copy = newReceiver();
  const {manifest, figures} = await copy.download(giver);
  const [music] = manifest.databases;
  assert.ok(music !== undefined);
  const directory = copy.install.stagedPath(music.id);
  const reusable = (): string[] => [`${base}/none`, directory];

  const same = await newReceiver().download(giver, {reusable});
  const sorted = music.files.filter(({name}) => name.endsWith('.sst'));
  const bytes = sorted.reduce((sum, file) => sum + file.bytes, 0);
  assert.ok(bytes > 1_500_000, `${bytes} bytes in sorted files`);
  assert.ok(same.figures.bytesReceived <= figures.bytes - bytes);

  const zeros = sorted.map(file => ({
    path: join(directory, file.name),
    is: Buffer.alloc(file.bytes),
  }));
  for (const {path, is} of zeros) writeFileSync(path, is);
  const receiver = newReceiver();
  const other = await receiver.download(giver, {reusable});
  assert.ok(other.figures.bytesReceived >= bytes);
  for (const {path, is} of zeros) assert.ok(readFileSync(path).equals(is), `${path} was changed`);
  await receiver.install.plan(manifest);
  receiver.install.finish();
  receiver.install.forget();
  const engine = closing(await openDiskEngine({rootPath: receiver.rootPath}));
  assert.ok(has(engine, 'music', 'key19'));
  await engine.close();
  await giver.close();
});

test('a snapshot is shared, superseded, and removed when nobody holds it', async () => {
  const giver = await startGiver(1);
  const first = await giver.shelf.hold('two', 0);
  const busy = giver.shelf.hold('three', 0);
  await assert.rejects(busy, /snapshotMaxConcurrent/);
  const again = await giver.shelf.hold('two', 0);
  assert.equal(again.manifest, first.manifest, 'the same one, and the old hold has ended');
  assert.equal(await giver.shelf.open(first.hold, 1, 'CURRENT'), undefined);
  await put(giver.engine, 'music', 'after');
  const newer = await giver.shelf.hold('two', giver.engine.appliedIndex);
  assert.notEqual(newer.manifest, first.manifest);
  assert.equal(readdirSync(`${giver.rootPath}/databases/.snapshots`).length, 1);
  await giver.close();
  assert.ok(!existsSync(`${giver.rootPath}/databases/.snapshots`));
});

test('who does not show the token of the cluster gets nothing', async () => {
  const giver = await startGiver();
  const {hold} = await giver.shelf.hold('two', 0);
  for (const given of [undefined, 'another', '']) {
    const headers = given === undefined ? {} : {'X-Svc-Cluster-Token': given};
    const asked = await giver.http.call(`/ha/checkpoint/${hold}/1/CURRENT`, {headers});
    assert.equal(asked.status, 401);
    const body = {receiver: 'two', atLeast: 0};
    assert.equal((await giver.http.call('/ha/checkpoint', {headers, body})).status, 401);
  }
  const headers = {'X-Svc-Cluster-Token': token};
  for (const path of ['x/1/CURRENT', `${hold}/1/..%2F..%2Fstate`, `${hold}/9/CURRENT`]) {
    assert.equal((await giver.http.call(`/ha/checkpoint/${path}`, {headers})).status, 404);
  }
  const behind = {...headers, Range: 'bytes=900000-'};
  const answer = await giver.http.call(`/ha/checkpoint/${hold}/1/CURRENT`, {headers: behind});
  assert.equal(answer.status, 416);
  await giver.close();
});

test('the leader gives one database as an archive that says itself what is in it', async () => {
  const giver = await startGiver(1);
  const headers = {'X-Svc-Cluster-Token': token};
  const url = `http://127.0.0.1:${giver.http.port}/api/v1/ha/snapshot`;
  const answer = await fetch(`${url}/music`, {headers});
  assert.equal(answer.status, 200);
  assert.match(answer.headers.get('content-disposition') ?? '', /music-snapshot\.zip/);
  const directory = join(base, 'unzipped');
  unpack(Buffer.from(await answer.arrayBuffer()), directory);
  const manifest = JSON.parse(readFileSync(join(directory, 'manifest.json'), 'utf8'));
  const names = manifest.files.map(({name}: {readonly name: string}) => name);
  assert.deepEqual(new Set(readdirSync(directory)), new Set([...names, 'manifest.json']));
  const told = await fetch(`${url}/music/checksums`, {headers});
  const checksums = (await told.json()) as Record<string, number>;
  for (const {name, size, crc} of manifest.files) {
    const bytes = readFileSync(join(directory, name));
    assert.deepEqual([bytes.length, crc32(bytes)], [size, crc]);
    assert.equal(checksums[name], crc);
  }
  const store = closing(await openStore(directory, {mustExist: true}));
  assert.ok(store.get(Buffer.from('before')) !== undefined);
  store.close();
  assert.equal((await fetch(`${url}/none`, {headers})).status, 404);
  assert.equal((await fetch(`${url}/music`)).status, 401);
  await giver.shelf.hold('two', 0);
  assert.equal((await fetch(`${url}/music`, {headers})).status, 503);
  await giver.close();
});

test('a fetch is tried again, from whoever leads then, and ends when it is given up', async () => {
  const giver = await startGiver();
  const receiver = newReceiver();
  const timers = createTimers();
  const port = giver.http.port;
  const sources = [
    'nobody leads',
    {host: '127.0.0.1', port: 1, token},
    {host: '127.0.0.1', port, token},
  ];
  const logged: string[] = [];
  const options = {
    receiver: 'two',
    timers,
    retries: 2,
    retryBaseMs: 1,
    idleMs: 5_000,
    fileBytesMax: 1 << 30,
    reusable: () => [],
    stagedPath: (id: number) => receiver.install.stagedPath(id),
    obstacle: () => undefined,
    transfer: (order: TransferOrder) => transferFiles(order, crc32),
    logger: {log: (_level: unknown, event: string) => void logged.push(event)},
  };
  const inTurn = () => sources.shift() ?? 'nobody is left';
  const {manifest} = await fetchSnapshot({...options, source: inTurn}, {atLeast: 0, only: 'films'});
  assert.equal(logged.filter(event => event === 'snapshot.fetch-failed').length, 2);
  assert.deepEqual(
    receiver.install.staged(manifest.state.databases).map(({name}) => name),
    ['films'],
  );

  const nobody = {...options, source: () => 'nobody leads'};
  await assert.rejects(fetchSnapshot(nobody, {atLeast: 0}), /nobody leads/);
  const giveUp = new AbortController();
  const slow = fetchSnapshot({...nobody, retryBaseMs: 60_000}, {atLeast: 0, signal: giveUp.signal});
  giveUp.abort();
  await assert.rejects(slow);
  const full = {...options, retries: 0, source: () => ({host: '127.0.0.1', port, token})};
  const noRoom = {...full, obstacle: (bytes: number) => `${bytes > 0} but no room`};
  await assert.rejects(fetchSnapshot(noRoom, {atLeast: 0}), /true but no room/);
  await assert.rejects(fetchSnapshot({...full, fileBytesMax: 10}, {atLeast: 0}), /MaxEntrySize/);
  await giver.close();
});

/** Takes an archive of stored files apart, by its directory. */
function unpack(archive: Buffer, directory: string): void {
  mkdirSync(directory);
  const end = archive.length - 22;
  assert.equal(archive.readUInt32LE(end), 0x06054b50);
  let at = archive.readUInt32LE(end + 16);
  for (let entry = 0; entry < archive.readUInt16LE(end + 10); entry++) {
    const nameBytes = archive.readUInt16LE(at + 28);
    const name = archive.toString('utf8', at + 46, at + 46 + nameBytes);
    const header = archive.readUInt32LE(at + 42);
    const begin =
      header + 30 + archive.readUInt16LE(header + 26) + archive.readUInt16LE(header + 28);
    const bytes = archive.subarray(begin, begin + archive.readUInt32LE(at + 24));
    assert.equal(crc32(bytes), archive.readUInt32LE(at + 16));
    writeFileSync(join(directory, name), bytes);
    at += 46 + nameBytes + archive.readUInt16LE(at + 30);
  }
}

interface Proxy {
  readonly requests: PeerRequests;
  close(): Promise<void>;
}

/** Passes bytes on, and breaks every connection once so many have come back. */
async function startBreakingProxy(port: number, bytesMax: number): Promise<Proxy> {
  let left = bytesMax;
  const sockets = new Set<Socket>();
  const server = createServer(near => {
    const far = connect(port, '127.0.0.1');
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        near.destroy();
        far.destroy();
      });
    }
    near.pipe(far);
    far.on('data', piece => {
      left -= piece.length;
      if (left < 0) for (const socket of sockets) socket.destroy();
      else near.write(piece);
    });
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const {port: own} = server.address() as AddressInfo;
  const requests = new PeerRequests({host: '127.0.0.1', port: own, token}, 5_000);
  return closing({
    requests,
    close: () => {
      for (const socket of sockets) socket.destroy();
      return new Promise<void>(resolve => server.close(() => resolve()));
    },
  });
}
