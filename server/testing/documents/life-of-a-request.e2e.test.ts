/**
 * Holds docs/life-of-a-request.md to the code: the requests of the page go to real servers that
 * run from their sources and record which functions were called (V8's coverage of every thread),
 * and every hop that the page names has to be among those.
 */
import assert from 'node:assert/strict';
import {mkdirSync, readdirSync, readFileSync, rmSync} from 'node:fs';
import {join} from 'node:path';
import {after, before, test} from 'node:test';
import {untilLed} from '../cluster/cluster-system.ts';
import {startSvcCluster} from '../cluster/svc-cluster.ts';
import {freePort} from '../worlds/free-port.ts';
import {rootPassword, startServer, temporaryRoot} from '../worlds/server-process.ts';

interface Hop {
  readonly path: string;
  readonly name: string;
}

interface Coverage {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly {
      readonly functionName: string;
      readonly ranges: readonly {readonly count: number}[];
    }[];
  }[];
}

const page = readFileSync(join(import.meta.dirname, '../../../docs/life-of-a-request.md'), 'utf8');
const [, ...sections] = page.split(/^## /m);
const folder = temporaryRoot('hops');
const kept = {...process.env};

before(() => {
  process.env['SVC_DEV'] = '1';
});

after(() => {
  process.env = kept;
  rmSync(folder, {recursive: true, force: true});
});

/** The hops of the section with this title, in the order of the page. */
function hopsOf(title: string): readonly Hop[] {
  const section = sections.find(text => text.startsWith(`${title}\n`)) ?? '';
  const rows = [...section.matchAll(/^\| `([^`]+)` `([^`]+)` \|/gm)];
  return rows.map(([, path = '', name = '']) => ({path, name}));
}

/** Runs `work`, whose servers leave behind what they called, and returns that. */
async function called(name: string, work: () => Promise<void>): Promise<ReadonlySet<string>> {
  const directory = join(folder, `calls-${name}`);
  mkdirSync(directory);
  process.env['NODE_V8_COVERAGE'] = directory;
  try {
    await work();
  } finally {
    delete process.env['NODE_V8_COVERAGE'];
  }
  const reports = readdirSync(directory).map(
    file => JSON.parse(readFileSync(join(directory, file), 'utf8')) as Coverage,
  );
  return new Set(
    reports.flatMap(({result}) =>
      result.flatMap(({url, functions}) => {
        const path = url.slice(url.lastIndexOf('/server/') + '/server/'.length);
        const run = functions.filter(({ranges}) => (ranges[0]?.count ?? 0) > 0);
        return run.map(({functionName}) => `${path} ${functionName}`);
      }),
    ),
  );
}

function assertCalled(hops: readonly Hop[], functions: ReadonlySet<string>): void {
  assert.ok(hops.length >= 5, 'the section has hops');
  const missing = hops.filter(({path, name}) => !functions.has(`${path} ${name}`));
  assert.deepEqual(missing, []);
}

/** Sends a request as a usual program does, and returns the rows. */
async function send(url: string, path: string, body: object): Promise<readonly unknown[]> {
  const answer = await fetch(`${url}/api/v1/${path}`, {
    method: 'POST',
    headers: {
      authorization: `Basic ${Buffer.from(`root:${rootPassword}`).toString('base64')}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  assert.equal(answer.status, 200, text);
  const {result} = JSON.parse(text) as {readonly result: unknown};
  return Array.isArray(result) ? result : [];
}

const sql = (command: string, params = {}): object => ({language: 'sql', command, params});

async function fill(url: string): Promise<void> {
  await send(url, 'server', {command: 'create database d'});
  for (const statement of [
    'CREATE VERTEX TYPE P',
    'CREATE PROPERTY P.n INTEGER',
    'CREATE INDEX ON P (n) UNIQUE',
    'CREATE EDGE TYPE K',
  ]) {
    await send(url, 'command/d', sql(statement));
  }
  for (let n = 1; n <= 30; n += 1) {
    await send(url, 'command/d', sql('INSERT INTO P SET n = :n', {n}));
  }
  const edges = 'CREATE EDGE K FROM (SELECT FROM P) TO (SELECT FROM P WHERE n > 1)';
  await send(url, 'command/d', sql(edges));
}

test('the hops at a single server are called', async t => {
  const functions = await called('single', async () => {
    const server = await startServer({
      root: join(folder, 'root'),
      port: await freePort(),
      // Among thirty vertices no plan is large.
      settings: {'svc.scanWorkerCostMin': 100},
    });
    try {
      await fill(server.url);
      const select = 'SELECT FROM P WHERE n > 1 ORDER BY n LIMIT 1';
      assert.equal((await send(server.url, 'query/d', sql(select))).length, 1);
      const command = 'MATCH (a:P)-[:K]->(b)-[:K]->(c) RETURN c.n';
      const hops = await send(server.url, 'query/d', {language: 'cypher', command});
      assert.ok(hops.length > 0);
    } finally {
      assert.equal(await server.stop(), 0);
    }
  });
  for (const title of [
    'An INSERT at a single server',
    'A SELECT by index, with ORDER BY and LIMIT',
    'Two hops of Cypher',
  ]) {
    await t.test(title, () => assertCalled(hopsOf(title), functions));
  }
});

test('the hops at a follower and its leader are called', async () => {
  const functions = await called('cluster', async () => {
    const cluster = await startSvcCluster({size: 2, folder: join(folder, 'cluster')});
    try {
      const leader = await untilLed(cluster);
      await fill(leader.url);
      const follower = cluster.members.find(member => member !== leader);
      assert.ok(follower !== undefined);
      await send(follower.url, 'command/d', sql('INSERT INTO P SET n = 99'));
      for (const {process: member} of cluster.members) await member.stop();
    } finally {
      await cluster.dispose(true);
    }
  });
  assertCalled(hopsOf('The same at a follower'), functions);
});
