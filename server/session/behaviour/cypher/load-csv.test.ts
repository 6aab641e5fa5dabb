/** LOAD CSV: what is read, from where, and what never is. */
import assert from 'node:assert/strict';
import {mkdtempSync, rmSync, symlinkSync, writeFileSync} from 'node:fs';
import {createServer, type Server} from 'node:http';
import type {AddressInfo} from 'node:net';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {after, before, test} from 'node:test';
import {root, ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';

const prefix = 'svc.opencypher.loadCsv';
let directory: string;
let outside: string;
let server: Server;
let address: string;
/** Files below `directory`; addresses of every range. */
let world: ServiceWorld;
let database: TestDatabase;

before(async () => {
  directory = mkdtempSync(join(tmpdir(), 'svc-csv-'));
  outside = mkdtempSync(join(tmpdir(), 'svc-secret-'));
  writeFileSync(join(directory, 'people.csv'), 'name,born\nAda,1815\n"Bob, the 2nd",\n');
  writeFileSync(join(directory, 'plain.csv'), 'a;1\nb;2\n');
  writeFileSync(join(directory, 'bad.csv'), 'a\n"b');
  writeFileSync(join(outside, 'secret.csv'), 'secret\n');
  symlinkSync(join(outside, 'secret.csv'), join(directory, 'link.csv'));
  server = createServer((request, response) => {
    if (request.url === '/moved') response.writeHead(302, {location: '/people.csv'}).end();
    else if (request.url === '/people.csv') response.end('name\nEve\nFay\n');
    else if (request.url === '/big.csv') response.end('x'.repeat(4_000));
    else response.writeHead(404).end();
  });
  await new Promise<void>(resolve => {
    server.listen(0, '127.0.0.1', resolve);
  });
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  world = await ServiceWorld.open({
    [`${prefix}.allowFileUrls`]: 'true',
    [`${prefix}.importDirectory`]: directory,
    [`${prefix}.blockedIpRanges`]: '',
    [`${prefix}.maxRemoteSize`]: '2000',
  });
  database = await world.database([]);
});

after(async () => {
  await world.close();
  server.close();
  for (const path of [directory, outside]) rmSync(path, {recursive: true});
});

const cypher = (text: string): ReturnType<TestDatabase['run']> =>
  database.run(text, {language: 'cypher'});

test('a file with a header gives maps, one without lists', async () => {
  assert.deepEqual(
    await cypher(
      `LOAD CSV WITH HEADERS FROM 'file:///people.csv' AS row
       RETURN row.name AS name, toInteger(row.born) AS born, linenumber() AS line, file() AS file`,
    ),
    [
      {name: 'Ada', born: 1815, line: 2, file: 'file:///people.csv'},
      {name: 'Bob, the 2nd', born: null, line: 3, file: 'file:///people.csv'},
    ],
  );
  assert.deepEqual(
    await cypher(
      "LOAD CSV FROM 'plain.csv' AS row FIELDTERMINATOR ';' RETURN row[0] AS a, row AS r",
    ),
    [
      {a: 'a', r: ['a', '1']},
      {a: 'b', r: ['b', '2']},
    ],
  );
});

test('what is read can be stored, and the file may depend on the row', async () => {
  await cypher(
    `UNWIND ['people.csv', 'people.csv'] AS file
     LOAD CSV WITH HEADERS FROM file AS row MERGE (:Reader {name: row.name})`,
  );
  assert.deepEqual(await cypher('MATCH (r:Reader) RETURN r.name AS name ORDER BY name'), [
    {name: 'Ada'},
    {name: 'Bob, the 2nd'},
  ]);
});

test('an address is fetched, by redirects too, for a read and for a write', async () => {
  const names = [{name: 'Eve'}, {name: 'Fay'}];
  const from = `LOAD CSV WITH HEADERS FROM '${address}`;
  assert.deepEqual(await cypher(`${from}/people.csv' AS row RETURN row.name AS name`), names);
  assert.deepEqual(
    await cypher(`${from}/moved' AS row CREATE (g:Guest {name: row.name}) RETURN g.name AS name`),
    names,
  );
  assert.deepEqual(await cypher('MATCH (g:Guest) RETURN count(*) AS n'), [{n: 2}]);
});

test('in a transaction an address is refused and what was written before stays', async () => {
  const {service, name} = database;
  const transactionId = await service.begin(root, name);
  const text = `LOAD CSV FROM '${address}/people.csv' AS row RETURN row`;
  await assert.rejects(
    database.run(text, {language: 'cypher', transactionId}),
    /load it by a statement of its own/,
  );
  await service.rollback(root, name, transactionId);
});

const refusals: readonly (readonly [from: () => string, code: string])[] = [
  [() => '/etc/passwd', 'source.unreadable'],
  [() => '../../../../../../etc/passwd', 'source.refused'],
  [() => 'file:///link.csv', 'source.refused'],
  [() => 'none.csv', 'source.unreadable'],
  [() => 'bad.csv', 'source.malformed'],
  [() => 'ftp://127.0.0.1/x', 'argument'],
  [() => 'file://host/x', 'argument'],
  [() => 'classpath:///x.csv', 'argument'],
  [() => `${address}/none`, 'source.unreadable'],
  [() => `${address}/big.csv`, 'source.unreadable'],
];

for (const [from, code] of refusals) {
  test(`refused with ${code}: ${String(from)}`, async () => {
    await assert.rejects(cypher(`LOAD CSV FROM '${from()}' AS row RETURN row`), {code});
  });
}

test('by default no file is read, and no private address, whatever its name', async () => {
  const strict = await ServiceWorld.open();
  try {
    const fresh = await strict.database([]);
    const load = (from: string): Promise<unknown> =>
      fresh.run(`LOAD CSV FROM '${from}' AS row RETURN row`, {language: 'cypher'});
    await assert.rejects(load(join(outside, 'secret.csv')), {code: 'source.refused'});
    const port = new URL(address).port;
    for (const host of ['127.0.0.1', 'localhost', '[::1]', '[::ffff:127.0.0.1]', '2130706433']) {
      await assert.rejects(load(`http://${host}:${port}/people.csv`), {code: 'source.refused'});
    }
    await assert.rejects(load('http://169.254.169.254/latest'), {code: 'source.refused'});
    // L8: addresses that lead to one of those through a translator or a tunnel.
    const beyond = ['64:ff9b::a00:1', '64:ff9b:1::1', '2002:a00:1::', '2001:0:a00:1::', '::a00:1'];
    for (const host of [...beyond, 'fec0::1']) {
      await assert.rejects(load(`http://[${host}]/x.csv`), {code: 'source.refused'}, host);
    }
  } finally {
    await strict.close();
  }
});

test('files are not for users who may not change security', async () => {
  const plain = {name: 'plain', root: false, grants: new Map([[database.name, ['user']]])};
  await assert.rejects(
    database.run("LOAD CSV FROM 'people.csv' AS r RETURN r", {language: 'cypher'}, plain),
    {code: 'security.denied'},
  );
});
