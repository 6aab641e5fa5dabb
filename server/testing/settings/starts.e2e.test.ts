/** What settings do that only a start reads, seen on servers that were started with them. */
import assert from 'node:assert/strict';
import {existsSync, readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {eventually} from '../time/eventually.ts';
import {program} from '../worlds/server-process.ts';
import {AskedServer} from './asked-server.ts';

const cacheMax = 1 << 20;
const [small, usual, fallback] = await Promise.all([
  AskedServer.start({
    'svc.server.logFormat': 'text',
    'svc.server.shutdownTimeout': 200,
    'svc.scanWorkers': 0,
    'svc.dateTimeFormat': 'yyyy/MM/dd',
    'svc.storage.backgroundJobs': 3,
    'svc.storage.blockCacheSize': cacheMax,
    'svc.storage.writeBufferSize': '64KB',
    'svc.txWalFlush': 1,
  }),
  AskedServer.start(),
  AskedServer.start({'svc.storage.engine': 'fallback'}),
]);
after(() => Promise.all([small, usual, fallback].map(server => server.dispose())));

const endless =
  'MATCH (a:N), (b:N), (c:N), (d:N) WHERE a.n + b.n + c.n + d.n < 0 RETURN count(*) AS n';
for (const server of [small, usual]) {
  await server.rows('CREATE VERTEX TYPE N');
  const rows = Array.from({length: 2_000}, (_, at) => `(${at})`);
  await server.rows(`INSERT INTO N (n) VALUES ${rows.join()}`);
}

test('svc.server.logFormat writes lines for people, else objects', () => {
  assert.match(small.log, /^\S+ INFO +server server\.ready /m);
  assert.match(usual.log, /^\{"time":.*"event":"server\.ready"/m);
});

test('pods 9: where nobody looks on, every line that a start writes is an object', () => {
  const [, ...lines] = usual.log.trim().split('\n');
  assert.ok(lines.length > 0);
  for (const line of lines) assert.ok(typeof JSON.parse(line) === 'object', line);
});

test('svc.dateTimeFormat is how date-times of answers are printed', async () => {
  const asked = "SELECT date('2026-11-28 10:20:30', 'yyyy-MM-dd HH:mm:ss') AS d";
  assert.deepEqual(await small.rows(asked), [{d: '2026/11/28'}]);
  assert.deepEqual(await usual.rows(asked), [{d: '2026-11-28 10:20:30'}]);
});

/** What RocksDB says of itself in the folder of a database. */
function options({process}: AskedServer): string {
  const folder = join(process.root, 'databases/db');
  const name = readdirSync(folder).findLast(file => file.startsWith('OPTIONS-')) ?? '';
  return readFileSync(join(folder, name), 'utf8');
}

test('svc.storage: jobs, buffer and cache are those of the store, and its binding', async () => {
  assert.match(options(small), /max_background_jobs=3$/m);
  await small.rows('CREATE DOCUMENT TYPE D');
  const texts = Array.from({length: 40}, (_, at) => `('${String(at).repeat(20_000)}')`);
  await small.rows(`INSERT INTO D (text) VALUES ${texts.join()}`);
  await eventually('the buffer is written as a file', async () => {
    await small.rows('INSERT INTO D SET text = 1');
    return (await small.figure('storageFiles')) > 10_000;
  });
  for (let round = 0; round < 3; round++) await small.rows('SELECT sum(text.length()) FROM D');
  assert.ok((await small.figure('storageCache')) <= cacheMax);
});

test('svc.txWalFlush: a commit waits for the disk, or leaves that to the system', async () => {
  const commits = 40;
  const syncs = async (server: AskedServer): Promise<number> => {
    await server.rows('CREATE DOCUMENT TYPE Flushed');
    const before = await server.metric('svc_engine_log_syncs_total');
    for (let n = 0; n < commits; n++) await server.rows('INSERT INTO Flushed SET n = 1');
    return (await server.metric('svc_engine_log_syncs_total')) - before;
  };
  const [each, few] = [await syncs(usual), await syncs(small)];
  assert.ok(each >= commits, `${each} syncs for ${commits} commits`);
  assert.ok(few < commits / 2, `${few} syncs for ${commits} commits`);
});

/** Threads of long reads that are busy. */
async function threadsBusy(server: AskedServer): Promise<number> {
  const {text} = await server.ask('/server');
  const {metrics} = JSON.parse(text) as {
    readonly metrics: {readonly executors: Readonly<Record<string, Record<string, number>>>};
  };
  return metrics.executors['parallel_scan']?.['pool.active'] ?? Number.NaN;
}

test('svc.scanWorkers are the threads of long reads, and 0 gives them none', async () => {
  const running = [usual, small].map(server => server.query(endless, 'cypher'));
  await eventually('it has a thread', async () => (await threadsBusy(usual)) === 1);
  await eventually('it runs', async () => (await small.figure('queriesRunning')) > 0);
  assert.equal(await threadsBusy(small), 0);
  for (const server of [usual, small]) await server.endStatements();
  for (const {status} of await Promise.all(running)) assert.equal(status, 409);
});

test('svc.storage.engine is what the process has loaded', () => {
  const loads = ({process}: AskedServer): boolean =>
    readFileSync(`/proc/${process.pid}/maps`, 'utf8').includes('svc-rocksdb');
  assert.equal(loads(fallback), false);
  assert.equal(loads(small), existsSync(join(program, '../../build/svc-rocksdb-release.node')));
});

test('svc.server.shutdownTimeout ends what still runs when the server stops', async () => {
  const running = small.query(endless, 'cypher').then(
    ({status}) => status,
    () => 'broken off',
  );
  await eventually('it runs', async () => (await small.figure('queriesRunning')) > 0);
  assert.equal(await small.process.stop(), 0);
  assert.notEqual(await running, 200);
});
