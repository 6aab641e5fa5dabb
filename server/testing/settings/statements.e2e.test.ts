/**
 * What settings of statements do, seen by whoever sends them to a server in which they are changed
 * while it runs (effect-rows.ts).
 */
import assert from 'node:assert/strict';
import {writeFileSync} from 'node:fs';
import {createServer} from 'node:http';
import type {AddressInfo} from 'node:net';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {temporaryRoot} from '../worlds/server-process.ts';
import {eventually} from '../time/eventually.ts';
import {AskedServer, type Told} from './asked-server.ts';

const server = await AskedServer.start();
after(() => server.dispose());

function assertRefused(told: Told, status: number, says: RegExp): void {
  assert.equal(told.status, status, told.text);
  assert.match(told.text, says);
}

/** The setting has a value for as long as `work` takes. */
async function under(
  key: string,
  [value, usual]: readonly [string | number | boolean, string | number | boolean],
  work: () => Promise<void>,
): Promise<void> {
  await server.set(key, value);
  try {
    await work();
  } finally {
    await server.set(key, usual);
  }
}

const cases: readonly (readonly [string, readonly [number, number], string, RegExp])[] = [
  ['svc.parser.depthMax', [10, 500], `SELECT ${'('.repeat(12)}1${')'.repeat(12)} AS n`, /10 lev/],
  [
    'svc.parser.statementSizeMax',
    [1_024, 4 << 20],
    `SELECT '${'x'.repeat(1_100)}'.length() AS n`,
    /1024 are read/,
  ],
  [
    'svc.parser.columnsMax',
    [100, 4_096],
    `SELECT ${Array.from({length: 101}, (_, n) => `1 AS a${n}`).join(', ')}`,
    /more than 100 columns/,
  ],
];

for (const [key, values, text, says] of cases) {
  test(`${key} refuses a statement beyond it, and reads it again when it is raised`, async () => {
    await under(key, values, async () => assertRefused(await server.query(text), 400, says));
    assert.equal((await server.query(text)).status, 200);
  });
}

test('svc.javascript.callTimeout ends a function that does not end', async () => {
  const define = 'DEFINE FUNCTION slow.loop "for (;;) {}" LANGUAGE js';
  assert.equal((await server.run(define)).status, 200);
  await under('svc.javascript.callTimeout', [70, 1_000], async () => {
    assertRefused(await server.query('SELECT `slow.loop`()'), 400, /70 ms/);
  });
});

test('svc.txTimeout ends a transaction however busy it is', async () => {
  await under('svc.txTimeout', [30, 600_000], async () => {
    const begun = await server.ask('/begin/db', {method: 'POST'});
    const headers = {'svc-session-id': begun.headers.get('svc-session-id') ?? ''};
    await eventually('the transaction is ended', async () => {
      const body = {language: 'sql', command: 'SELECT 1 AS n'};
      return (await server.ask('/command/db', {headers, body})).status === 404;
    });
  });
});

test('svc.server.httpSessionExpireTimeout ends a transaction that nobody uses', async () => {
  await under('svc.server.httpSessionExpireTimeout', [1, 30], async () => {
    const begun = await server.ask('/begin/db', {method: 'POST'});
    const headers = {'svc-session-id': begun.headers.get('svc-session-id') ?? ''};
    const body = {language: 'sql', command: 'SELECT 1 AS n'};
    const isOver = async (): Promise<boolean> =>
      (await server.ask('/command/db', {headers, body})).status === 404;
    await eventually('the transaction is ended', isOver, {pollMillis: 2_100});
  });
});

test('svc.txSizeMax refuses a transaction that writes more', async () => {
  await server.rows('CREATE DOCUMENT TYPE Large');
  const insert = (): Promise<Told> =>
    server.run(`INSERT INTO Large SET text = '${'x'.repeat(1_500_000)}'`);
  await under('svc.txSizeMax', [1 << 20, 256 << 20], async () => {
    assertRefused(await insert(), 413, /svc.txSizeMax/);
  });
  assert.equal((await insert()).status, 200);
});

test('LOAD CSV reads below its folder, only addresses that are let, only so much', async () => {
  const folder = temporaryRoot('settings-csv');
  writeFileSync(join(folder, 'in.csv'), 'one\n');
  const site = createServer((_, response) => response.end('x'.repeat(2_000)));
  await new Promise<void>(resolve => site.listen(0, '127.0.0.1', resolve));
  const address = `http://127.0.0.1:${(site.address() as AddressInfo).port}/`;
  const load = (from: string): Promise<Told> =>
    server.query(`LOAD CSV FROM '${from}' AS row RETURN row`, 'cypher');
  const of = 'svc.opencypher.loadCsv';
  try {
    await server.set('svc.opencypher.loadCsv.allowFileUrls', true);
    await server.set('svc.opencypher.loadCsv.importDirectory', folder);
    assert.match((await load('file:///in.csv')).text, /one/);
    await server.set('svc.opencypher.loadCsv.importDirectory', join(folder, 'elsewhere'));
    assert.notEqual((await load('file:///in.csv')).status, 200);

    const blocked = 'svc.opencypher.loadCsv.blockedIpRanges';
    assertRefused(await load(address), 403, /127\.0\.0\.1/);
    await server.set(blocked, '10.0.0.0/8');
    assert.equal((await load(address)).status, 200);
    await under('svc.opencypher.loadCsv.maxRemoteSize', [1_024, 64 << 20], async () => {
      assertRefused(await load(address), 400, /1024/);
    });
    await under('svc.opencypher.loadCsv.allowRemoteUrls', [false, true], async () => {
      assertRefused(await load(address), 403, new RegExp(`${of}.allowRemoteUrls is off`));
    });
  } finally {
    site.close();
  }
});

const endless = 'UNWIND range(1, 900000) AS a UNWIND range(1, 9999) AS b RETURN sum(a)';

/** Has a statement run until what it answers is called. */
async function busy(as?: string): Promise<() => Promise<void>> {
  const body = {language: 'cypher', command: endless};
  const ended = server.ask('/query/db', {body, ...(as && {as})});
  await eventually('it runs', async () => (await server.figure('queriesRunning')) > 0);
  return async () => {
    await server.endStatements();
    assert.equal((await ended).status, 409);
  };
}

function assertComeAgain(told: Told, says: RegExp): void {
  assertRefused(told, 503, says);
  assert.equal(told.headers.get('retry-after'), '1');
}

test('svc.queryQueueMaxSize refuses who would wait, and says when to come again', async () => {
  await under('svc.queryMaxConcurrent', [1, -1], async () => {
    const end = await busy();
    await under('svc.queryQueueMaxSize', [0, 256], async () => {
      assertComeAgain(await server.query('SELECT 1 AS n'), /0 statements wait already/);
    });
    await end();
    assert.equal((await server.query('SELECT 1 AS n')).status, 200);
  });
});

test('svc.queryMaxConcurrentPerUser has a user wait for his own, and nobody else', async () => {
  for (const name of ['anna', 'bert']) {
    const user = {name, password: `${name}-pass`, databases: {db: ['admin']}};
    await server.ask('/server', {body: {command: `create user ${JSON.stringify(user)}`}});
  }
  await server.set('svc.queryMaxConcurrent', 10);
  await server.set('svc.queryQueueTimeout', 0);
  const body = {language: 'sql', command: 'SELECT 1 AS n'};
  const asks = (as: string): Promise<Told> => server.ask('/query/db', {body, as});
  await under('svc.queryMaxConcurrentPerUser', [1, 0], async () => {
    const end = await busy('anna:anna-pass');
    assertComeAgain(await asks('anna:anna-pass'), /svc.queryQueueTimeout/);
    assert.equal((await asks('bert:bert-pass')).status, 200);
    await server.set('svc.queryMaxConcurrentPerUser', 2);
    assert.equal((await asks('anna:anna-pass')).status, 200);
    await end();
  });
  await server.set('svc.queryQueueTimeout', 30_000);
  await server.set('svc.queryMaxConcurrent', -1);
});

test('svc.queryAdmissionHeapWatermark has the next statement wait for memory', async () => {
  await server.set('svc.queryQueueTimeout', 0);
  const sorted =
    'UNWIND range(1, 800000) AS a WITH a ORDER BY a UNWIND range(1, 99999) AS b RETURN sum(b)';
  const ended = server.query(sorted, 'cypher');
  const holdsMemory = async (): Promise<boolean> => (await server.figure('queryMemory')) > 12 << 20;
  await eventually('a statement holds memory', holdsMemory);
  await under('svc.queryAdmissionHeapWatermark', [1, 80], async () => {
    assertComeAgain(await server.query('SELECT 1 AS n'), /no place became free/);
  });
  assert.equal((await server.query('SELECT 1 AS n')).status, 200);
  await server.endStatements();
  await ended;
  await server.set('svc.queryQueueTimeout', 30_000);
});

test('svc.graphViewMemoryMax keeps edges packed, and none when it is 0', async () => {
  await server.rows('CREATE VERTEX TYPE N');
  await server.rows('CREATE EDGE TYPE E');
  await server.rows(`INSERT INTO N (n) VALUES ${Array.from({length: 200}, () => '(0)').join()}`);
  await server.rows('CREATE EDGE E FROM (SELECT FROM N) TO (SELECT FROM N)');
  const walk = 'MATCH {type: N, as: a}.out("E"){as: b}.out("E"){as: c} RETURN count(*) AS n';
  await under('svc.graphViewMemoryMax', [0, 512 << 20], async () => {
    for (let round = 0; round < 3; round++) await server.rows(walk);
    assert.equal(await server.figure('graphViewMemory'), 0);
  });
  for (let round = 0; round < 3; round++) await server.rows(walk);
  assert.ok((await server.figure('graphViewMemory')) > 0);
});
