/** The metrics of a real server are the client's own counts, and turning them off ends counting. */
import assert from 'node:assert/strict';
import {after, test} from 'node:test';
import {families, familyNames} from '#server/monitoring/families.ts';
import {
  parseExposition,
  type ScrapedFamily,
  scrapedValue,
} from '#server/testing/metrics/exposition.ts';
import {freePort} from '#server/testing/worlds/free-port.ts';
import {rootPassword, startServer, temporaryRoot} from '#server/testing/worlds/server-process.ts';

const server = await startServer({root: temporaryRoot('metrics'), port: await freePort()});
const client = server.client();
after(async () => {
  client.close();
  await server.dispose();
});

const authorization = `Basic ${btoa(`root:${rootPassword}`)}`;

async function scrape(): Promise<ReadonlyMap<string, ScrapedFamily>> {
  const answer = await fetch(`${server.url}/prometheus`, {headers: {authorization}});
  assert.equal(answer.status, 200);
  return parseExposition(await answer.text());
}

test('a server tells every family that is not of a cluster', async () => {
  await client.serverCommand('create database first');
  await client.query('first', 'SELECT 1');
  const scraped = await scrape();
  // Whether a pause for garbage was there already is chance.
  const missing = familyNames.filter(
    name => !scraped.has(name) && !('when' in families[name]) && name !== 'svc_runtime_gc_seconds',
  );
  assert.deepEqual(missing, []);
});

test('counters are equal to what the client counts', async () => {
  await client.serverCommand('create database d');
  await client.command('d', 'CREATE DOCUMENT TYPE P');
  const before = await scrape();
  const reads = 25;
  const writes = 10;
  for (let at = 0; at < writes; at++) await client.command('d', `INSERT INTO P SET n = ${at}`);
  for (let at = 0; at < reads; at++) await client.query('d', 'SELECT FROM P');
  await assert.rejects(client.query('d', 'SELEKT'));
  const transaction = await client.begin('d');
  await transaction.command('d', 'INSERT INTO P SET n = -1');
  await transaction.rollback();
  const now = await scrape();
  const grown = (name: string, labels: Readonly<Record<string, string>> = {}): number => {
    const known = before.get(name) === undefined ? 0 : scrapedValue(before, name, labels);
    return scrapedValue(now, name, labels) - known;
  };
  assert.equal(grown('svc_engine_queries_total'), reads + 1);
  assert.equal(grown('svc_engine_commands_total'), writes + 1);
  assert.equal(grown('svc_engine_tx_write_total'), writes);
  assert.equal(grown('svc_engine_tx_rollbacks_total'), 1);
  assert.equal(grown('svc_engine_mvcc_conflicts_total'), 0);
  assert.ok(grown('svc_engine_wal_bytes_written_total') > 0);
  const statements = {protocol: 'http', db: 'd', language: 'sql', type: 'query'};
  assert.equal(scrapedValue(now, 'svc_query_duration_seconds_count', statements), reads + 1);
  const requests = {path: '/api/v1/query/{database}', status: '200', db: 'd'};
  assert.equal(scrapedValue(now, 'svc_http_requests_seconds_count', requests), reads);
});

test('svc.serverMetrics may be changed while the server runs', async () => {
  const before = scrapedValue(await scrape(), 'svc_engine_queries_total');
  await client.serverCommand('set server setting svc.serverMetrics false');
  await client.query('first', 'SELECT 1');
  const {status} = await fetch(`${server.url}/prometheus`, {headers: {authorization}});
  assert.equal(status, 404);
  await client.serverCommand('set server setting svc.serverMetrics true');
  assert.equal(scrapedValue(await scrape(), 'svc_engine_queries_total'), before);
});

test('GET /server tells the same counts, the disk, the ports and the pools', async () => {
  const info = await client.serverInfo('default');
  const port = Number(new URL(server.url).port);
  assert.deepEqual(info['ports'], {http: port});
  assert.ok(Number(info['diskTotalSpace']) >= Number(info['diskFreeSpace']));
  assert.equal(info['diskDirectory'], `${server.root}/databases`);
  const {profiler, executors} = info['metrics'] as {
    profiler: Record<string, {count?: number}>;
    executors: Record<string, Record<string, number>>;
  };
  const scraped = await scrape();
  for (const [name, family] of [
    ['writeTx', 'svc_engine_tx_write_total'],
    ['queries', 'svc_engine_queries_total'],
    ['commands', 'svc_engine_commands_total'],
    ['txRollbacks', 'svc_engine_tx_rollbacks_total'],
  ] as const) {
    assert.equal(profiler[name]?.count, scrapedValue(scraped, family), name);
  }
  const {query_admission: pool} = executors;
  assert.equal(
    pool?.['pool.size'],
    scrapedValue(scraped, 'svc_executor_pool_size', {pool: 'query'}),
  );
  assert.equal(pool?.['queue.depth'], 0);
});
