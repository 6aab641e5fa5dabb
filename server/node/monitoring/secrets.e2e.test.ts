/**
 * Secrets in every place that a client or an administrator writes one into, and nowhere that the
 * server tells of itself: log, events, metrics, dumps, profiler, lists, settings, process list.
 */
import assert from 'node:assert/strict';
import {mkdirSync, readdirSync, readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {freePort, startServer, temporaryRoot} from '#server/testing/worlds/server-process.ts';

let canaries = 0;
/** A secret that is found again wherever it goes. */
function canary(): string {
  canaries += 1;
  return `canary-7f3a-${canaries}-secret`;
}

const rootPassword = canary();
const root = temporaryRoot('secrets');
mkdirSync(join(root, 'config'));
writeFileSync(
  join(root, 'config/server-configuration.json'),
  JSON.stringify({
    configuration: {
      'ssl.keyStorePassword': canary(),
      'ha.clusterToken': canary(),
      'log.level': 'debug',
      dumpMetricsEvery: 3_600,
    },
  }),
);
const server = await startServer({root, port: await freePort(), password: rootPassword});
after(() => server.dispose());

const asRoot = {authorization: `Basic ${btoa(`root:${rootPassword}`)}`};

async function ask(
  path: string,
  {body, headers = asRoot}: {body?: unknown; headers?: Record<string, string>} = {},
): Promise<string> {
  const answer = await fetch(`${server.url}${path}`, {
    headers,
    ...(body === undefined ? {} : {method: 'POST', body: JSON.stringify(body)}),
  });
  return await answer.text();
}

function command(text: string, more: object = {}): Promise<string> {
  return ask('/api/v1/server', {body: {command: text, ...more}});
}

function statement(text: string, params: object = {}): Promise<string> {
  return ask('/api/v1/command/d', {body: {language: 'sql', command: text, params}});
}

test('a secret is told to nobody', async () => {
  await command('create database d');
  await command('profiler start 600');
  const secrets: string[] = [];
  const told: string[] = [];
  const hidden = (): string => {
    const secret = canary();
    secrets.push(secret);
    return secret;
  };
  // Who cannot be known.
  told.push(
    await ask('/api/v1/databases', {headers: {authorization: `Basic ${btoa(`root:${hidden()}`)}`}}),
    await ask('/api/v1/databases', {headers: {authorization: `Bearer ${hidden()}`}}),
    await ask('/api/v1/databases', {headers: {authorization: hidden()}}),
    await ask('/api/v1/cluster', {headers: {'x-svc-cluster-token': hidden()}}),
    await ask('/prometheus', {headers: {authorization: `Bearer at-${hidden()}`}}),
    await ask('/api/v1/query/d', {
      headers: {...asRoot, 'x-unknown': hidden(), cookie: `session=${hidden()}`},
      body: {language: 'sql', command: 'SELECT 1', extra: hidden()},
    }),
  );
  // Passwords in statements, commands and routes, right and wrong.
  told.push(
    await statement(`CREATE USER ada SET PASSWORD '${hidden()}'`),
    await statement(`CREATE USER ada IDENTIFIED BY '${hidden()}' ROLE reader`),
    await statement(`ALTER USER nobody SET PASSWORD "${hidden()}"`),
    await command(
      `create user {"name":"bob","password":"${hidden()}","databases":{"d":["admin"]}}`,
    ),
    await command(`create user {"name":"x","password":"${hidden()}"}`),
    await command(`create user {"name":"eve","passwort":"${hidden()}"`),
    await command(`set server setting svc.ssl.keyStorePassword ${hidden()}`),
    await command(`set server setting svc.server.rootPassword ${hidden()}`),
    await ask('/api/v1/server/users', {body: {name: 'carl', password: hidden(), databases: {}}}),
    await ask('/api/v1/server/users', {body: {name: 'carl', password: hidden(), databases: 7}}),
  );
  // Parameters stay with the statement's own client.
  await statement('CREATE DOCUMENT TYPE P');
  await statement('INSERT INTO P SET word = :word', {word: hidden()});
  await statement('INSERT INTO P SET word = :word', {other: hidden()});
  await statement('SELECT FROM P WHERE word = :word AND 1 = ', {word: hidden()});
  const {token} = JSON.parse(await ask('/api/v1/login', {body: {}})) as {token: string};
  const made = JSON.parse(
    await ask('/api/v1/server/api-tokens', {body: {name: 'scraper', database: 'd'}}),
  ) as {result: {token: string}};
  secrets.push(rootPassword, token, made.result.token);
  told.push(
    await ask('/api/v1/server'),
    await ask('/api/v1/server?mode=cluster'),
    await ask('/api/v1/server/events'),
    await ask('/prometheus'),
    await command('list settings'),
    await command('list queries'),
    await command('list users'),
    await command('list api tokens'),
    await command('profiler stop'),
    readFileSync(`/proc/${server.pid}/cmdline`, 'latin1'),
  );
  assert.equal(await server.stop(), 0);
  const {log} = server;
  assert.match(log, /"metrics\.dump"/);
  told.push(log);
  for (const folder of ['log', 'profiler']) {
    const names = readdirSync(join(root, folder));
    assert.ok(names.length > 0, folder);
    for (const name of names) told.push(readFileSync(join(root, folder, name), 'utf8'));
  }
  const whole = told.join('\n');
  assert.equal(secrets.filter(secret => secret === undefined || secret.length < 10).length, 0);
  assert.deepEqual(
    [...whole.matchAll(/canary-7f3a-\d+-secret/g)].map(([found]) => found),
    [],
  );
  for (const secret of [token, made.result.token]) assert.ok(!whole.includes(secret));
});
