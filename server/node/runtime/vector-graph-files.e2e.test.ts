/** A restart answers from the graph that was written down, and what is damaged is made again. */
import assert from 'node:assert/strict';
import {existsSync, globSync, readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {freePort} from '#server/testing/worlds/free-port.ts';
import {
  rootPassword,
  type ServerProcess,
  startServer,
  temporaryRoot,
} from '#server/testing/worlds/server-process.ts';

const options = {root: temporaryRoot('vectors'), port: await freePort()};
let server: ServerProcess = await startServer(options);
after(() => server.dispose());

async function run(command: string, language = 'sql'): Promise<readonly unknown[]> {
  const client = server.client();
  try {
    const {result} = await client.command('d', command, {language});
    return result;
  } finally {
    client.close();
  }
}

const near = "SELECT n FROM (SELECT expand(vector.neighbors('P[v]', [700.2, 1], 3)))";

function graphs(): readonly string[] {
  return globSync('derived/*/*.graph', {cwd: options.root});
}

test('graphs of vectors are written when they rest, read at a start, and no truth', async () => {
  const client = server.client();
  await client.serverCommand('create database d');
  client.close();
  await run(
    'CREATE DOCUMENT TYPE P; CREATE PROPERTY P.v LIST; CREATE PROPERTY P.n INTEGER; ' +
      'CREATE INDEX ON P (v) LSM_VECTOR METADATA {"dimensions":2,"similarity":"EUCLIDEAN"}; ' +
      'LET i = 0; WHILE ($i < 1500) { INSERT INTO P SET n = $i, v = [$i, 1]; LET i = $i + 1 }',
    'sqlscript',
  );
  const expected = [{n: 700}, {n: 701}, {n: 699}];
  while (graphs().length === 0) assert.deepEqual(await run(near), expected);
  await server.stop();
  server = await startServer(options);
  assert.deepEqual(await run(near), expected);
  await run('DELETE FROM P WHERE n = 700');
  assert.deepEqual(await run(near), [{n: 701}, {n: 699}, {n: 702}]);

  await server.kill();
  for (const path of graphs()) writeFileSync(join(options.root, path), 'damaged');
  server = await startServer(options);
  for (let asked = 0; asked < 3; asked++) {
    assert.deepEqual(await run(near), [{n: 701}, {n: 699}, {n: 702}]);
  }
  const told = await warnings();
  assert.ok(
    told.some(message => /graph of an index is damaged/.test(message)),
    told.join(),
  );
  assert.equal(await figure('svc_engine_search_files_damaged_total'), 1);
  assert.ok((await figure('svc_engine_search_memory_bytes')) > 0);
});

test('what backups and snapshots copy of a database holds no derived file', async () => {
  while (graphs().length === 0) await run(near);
  assert.ok(existsSync(join(options.root, 'databases')));
  assert.deepEqual(globSync('databases/**/*.graph', {cwd: options.root}), []);
});

test('an archive beside a damaged graph is whole, and what is restored answers alike', async () => {
  const expected = await run(near);
  for (const path of graphs()) writeFileSync(join(options.root, path), 'damaged');
  const client = server.client();
  try {
    const {path, fileName} = await client.serverCommand('trigger backup d');
    const names = readFileSync(String(path)).toString('latin1');
    assert.match(names, /manifest\.json/);
    assert.doesNotMatch(names, /\.graph|derived/);
    await client.serverCommand(`restore backup d ${String(fileName)}`, {verify: true});
    await client.serverCommand(`restore backup d ${String(fileName)} as again`);
    assert.deepEqual((await client.query('again', near)).result, expected);
    const {result} = await client.command('again', 'CHECK DATABASE');
    assert.deepEqual((result[0] as Record<string, unknown>)['totalErrors'], 0);
  } finally {
    client.close();
  }
});

/** The value of a metric without labels. */
async function figure(name: string): Promise<number> {
  const authorization = `Basic ${Buffer.from(`root:${rootPassword}`).toString('base64')}`;
  const answer = await fetch(`${server.url}/prometheus`, {headers: {authorization}});
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(await answer.text())?.[1]);
}

/** Messages of server events that warn. */
async function warnings(): Promise<readonly string[]> {
  const client = server.client();
  try {
    const {result} = await client.serverCommand('get server events');
    const {events} = result as {
      readonly events: readonly {readonly type: string; readonly message: string}[];
    };
    return events.filter(({type}) => type === 'WARNING').map(({message}) => message);
  } finally {
    client.close();
  }
}
