/**
 * A server gives a snapshot over HTTP and another one starts from it: real disks, RocksDB and
 * sockets; then everything that can be cut off, kept, or wrong.
 */
import assert from 'node:assert/strict';
import {mkdtempSync, readdirSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {createRandom, createTimers} from '#server/platform/real/clock.ts';
import {createDisk} from '#server/platform/real/disk.ts';
import {openDiskEngine} from '#server/simulation/disk-engine.ts';
import {openStore} from '#server/storage/rocksdb/open.ts';
import {type HttpWorld, httpWorld} from '#server/testing/http-world.ts';
import type {Engine} from '#server/transactions/engine.ts';
import {defaultEngineSettings} from '#server/transactions/settings.ts';
import {SnapshotInstall} from '#server/transactions/snapshot-install.ts';
import {createDiskStoreFactory} from '#server/transactions/store-factory.ts';
import {type DownloadOptions, downloadSnapshot} from './download.ts';
import {PeerRequests} from './peer-requests.ts';
import {SnapshotShelf} from './snapshot-shelf.ts';

const base = mkdtempSync(join(tmpdir(), 'svc-snapshot-'));
after(() => rmSync(base, {recursive: true}));
let roots = 0;
const disk = createDisk();
const stores = createDiskStoreFactory(disk, openStore);
const logger = {log: () => {}};
const token = 'a secret of the cluster';
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
  readonly shelf: SnapshotShelf;
  readonly http: HttpWorld;
  close(): Promise<void>;
}

/** A server with two databases and a document, which gives snapshots. */
async function startGiver(holdsMax = 2): Promise<Giver> {
  const rootPath = join(base, `root${++roots}`);
  const engine = await openDiskEngine({rootPath});
  await engine.createDatabase('music');
  await engine.createDatabase('films');
  await engine.putServerDocument('server-users.jsonl', Buffer.from('{"name":"root"}\n'));
  await put(engine, 'music', 'before');
  await put(engine, 'films', 'other');
  const shelf = new SnapshotShelf({
    maker: {
      get appliedIndex() {
        return engine.appliedIndex;
      },
      capture: directory => engine.capture(directory),
      checkpointAt: index => ({last: {index, term: 3}, membership}),
      whenApplied: async () => {},
    },
    ...{disk, random: createRandom(), timers: createTimers(), logger, holdsMax, idleMs: 60_000},
    directory: `${rootPath}/databases/.snapshots`,
  });
  const http = await httpWorld({}, undefined, {source: shelf, token, idleMs: 60_000});
  return {
    ...{engine, rootPath, shelf, http},
    async close() {
      await http.server.close(0);
      shelf.close();
      await engine.close();
    },
  };
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
  const install = new SnapshotInstall({disk, rootPath, storage, stores, formats, logger});
  return {
    ...{rootPath, install},
    async download(from, options = {}) {
      const endpoint = {host: '127.0.0.1', port: from.http.port, token};
      const requests = new PeerRequests(endpoint, 5_000);
      try {
        return await downloadSnapshot({
          ...{requests, receiver: 'two', atLeast: 0, fileBytesMax: 1 << 30},
          stagedPath: id => install.stagedPath(id),
          obstacle: () => undefined,
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
  await receiver.install.plan(manifest.state);
  receiver.install.finish();
  assert.deepEqual(readdirSync(`${receiver.rootPath}/databases`), ['films', 'music']);

  const engine = await openDiskEngine({rootPath: receiver.rootPath});
  assert.deepEqual(engine.databases(), ['films', 'music']);
  assert.ok(has(engine, 'music', 'before') && has(engine, 'films', 'other'));
  assert.ok(!has(engine, 'music', 'after'), 'what came later comes by the log');
  const document = engine.serverDocument('server-users.jsonl');
  assert.equal(document?.bytes.toString(), '{"name":"root"}\n');
  assert.ok(engine.appliedIndex >= manifest.state.durableIndex);
  await engine.close();
  await giver.close();
});
