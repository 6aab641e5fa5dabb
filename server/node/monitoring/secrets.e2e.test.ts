/**
 * Secrets in every place that a client or an administrator writes one into, and nowhere that the
 * server tells of itself: log, events, metrics pulled and pushed, spans, dumps, profiler, lists,
 * settings, process list.
 */
import assert from 'node:assert/strict';
import {spawn} from 'node:child_process';
import {mkdirSync, readdirSync, readFileSync, writeFileSync} from 'node:fs';
import {createServer} from 'node:http';
import type {AddressInfo} from 'node:net';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {type SettingKey, settingRows} from '#server/base/settings.ts';
import {eventually} from '#server/testing/time/eventually.ts';
import {freePort} from '#server/testing/worlds/free-port.ts';
import {
  program,
  runSvc,
  startServer,
  temporaryRoot,
} from '#server/testing/worlds/server-process.ts';
import {WebSocketClient} from '#server/testing/worlds/web-socket-client.ts';

let canaries = 0;
/** A secret that is found again wherever it goes. */
function canary(): string {
  canaries += 1;
  return `canary-7f3a-${canaries}-secret`;
}

const rootPassword = canary();
const root = temporaryRoot('secrets');
const collected: string[] = [];
/** What a collector is pushed: the metrics and the spans. */
const collector = createServer((request, response) => {
  const pieces: Buffer[] = [];
  request.on('data', (piece: Buffer) => void pieces.push(piece));
  request.on('end', () => {
    collected.push(request.url ?? '', Buffer.concat(pieces).toString());
    response.writeHead(200, {'Content-Type': 'application/json'}).end('{}');
  });
});
await new Promise<void>(resolve => collector.listen(0, '127.0.0.1', resolve));
const {port: collectorPort} = collector.address() as AddressInfo;

/** What is imported from here is one record. */
const source = createServer((_request, response) => response.end('name\nAda\n'));
await new Promise<void>(resolve => source.listen(0, '127.0.0.1', resolve));
const {port: sourcePort} = source.address() as AddressInfo;

/** A value for every setting that is a secret; a new one without a value fails below. */
const secretSettings: Partial<Record<SettingKey, string>> = {
  'svc.ssl.keyStorePassword': canary(),
  'svc.ssl.trustStorePassword': canary(),
  'svc.ha.clusterToken': canary(),
  'svc.serverMetrics.otlp.headers': `x-token=${canary()}`,
  'svc.server.rootPassword': canary(),
  'svc.server.defaultDatabases': `made[maker:${canary()}]`,
};
mkdirSync(join(root, 'config'));
writeFileSync(
  join(root, 'config/server-configuration.json'),
  JSON.stringify({
    configuration: {
      ...secretSettings,
      'log.level': 'debug',
      dumpMetricsEvery: 1,
      'server.restoreImportAllowLocalUrls': true,
      'serverMetrics.otlp.enabled': true,
      'serverMetrics.otlp.endpoint': `http://127.0.0.1:${collectorPort}`,
      'serverMetrics.otlp.period': '200ms',
      'serverMetrics.tracing.enabled': true,
      'serverMetrics.tracing.samplingRate': '1.0',
    },
  }),
);
const port = await freePort();
const server = await startServer({
  root,
  port,
  password: rootPassword,
  logCharactersMax: 10_000_000,
});
after(async () => {
  await server.dispose();
  collector.closeAllConnections();
  collector.close();
  source.closeAllConnections();
  source.close();
});

const asRoot = {authorization: `Basic ${btoa(`root:${rootPassword}`)}`};

async function ask(
  path: string,
  {body, headers = asRoot}: {body?: unknown; headers?: Record<string, string>} = {},
): Promise<string> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const answer = await fetch(`${server.url}${path}`, {
    headers,
    ...(body === undefined ? {} : {method: 'POST', body: text}),
  });
  return await answer.text();
}

function command(text: string, more: object = {}): Promise<string> {
  return ask('/api/v1/server', {body: {command: text, ...more}});
}

function statement(text: string, params: object = {}): Promise<string> {
  return ask('/api/v1/command/d', {body: {language: 'sql', command: text, params}});
}

/** A statement whose answer is its client's own, whatever of it comes back. */
async function ownStatement(text: string, params: object = {}): Promise<void> {
  await statement(text, params);
}

/** What was answered to others than whoever sent the secret, or kept anywhere. */
const told: string[] = [];
const secrets: string[] = [];
function hidden(): string {
  const secret = canary();
  secrets.push(secret);
  return secret;
}

/** Where a secret is put; what is pushed to `told` may show it to nobody, the sender included. */
const puts: Readonly<Record<string, () => Promise<void>>> = {
  'headers of those who cannot be known': async () => {
    const wrong = [
      `Basic ${btoa(`root:${hidden()}`)}`,
      `Basic ${btoa(`${hidden()}:x`)}`,
      `Bearer ${hidden()}`,
      `Bearer at-${hidden()}`,
      `Digest ${hidden()}`,
      hidden(),
    ];
    for (const authorization of wrong) {
      for (const path of ['/api/v1/databases', '/prometheus', '/ws', '/api/v1/mcp/config']) {
        told.push(await ask(path, {headers: {authorization}}));
      }
    }
    told.push(await ask('/api/v1/cluster', {headers: {'x-svc-cluster-token': hidden()}}));
  },
  'headers that mean nothing here': async () => {
    const headers = {
      ...asRoot,
      'x-unknown': hidden(),
      cookie: `session=${hidden()}`,
      'proxy-authorization': `Basic ${hidden()}`,
      'x-svc-forwarded-user': hidden(),
      traceparent: hidden(),
      'mcp-session-id': hidden(),
    };
    const body = {language: 'sql', command: 'SELECT 1', extra: hidden()};
    told.push(await ask('/api/v1/query/d', {headers, body}));
  },
  'passwords in statements': async () => {
    told.push(
      await statement(`CREATE USER ada SET PASSWORD '${hidden()}'`),
      await statement(`CREATE USER ada IDENTIFIED BY '${hidden()}' ROLE reader`),
      await statement(`ALTER USER nobody SET PASSWORD "${hidden()}"`),
    );
  },
  'passwords in commands': async () => {
    told.push(
      await command(
        `create user {"name":"bob","password":"${hidden()}","databases":{"d":["admin"]}}`,
      ),
      await command(`create user {"name":"x","password":"${hidden()}"}`),
      await command(`create user {"name":"eve","passwort":"${hidden()}"`),
    );
  },
  'settings of the server': async () => {
    for (const key of Object.keys(secretSettings)) {
      told.push(await command(`set server setting ${key} ${hidden()}`));
      told.push(await command(`set database setting d ${key} ${hidden()}`));
    }
  },
  'fields of routes': async () => {
    told.push(
      await ask('/api/v1/server/users', {body: {name: 'carl', password: hidden(), databases: {}}}),
      await ask('/api/v1/server/users', {body: {name: 'carl', password: hidden(), databases: 7}}),
      await ask('/api/v1/server/users', {body: `{"name":"carl","password":"${hidden()}`}),
      await ask('/api/v1/login', {body: {password: hidden()}}),
    );
  },
  'calls of agents': async () => {
    await ask('/api/v1/mcp/config', {body: {enabled: true, allowAdmin: true}});
    const call = (name: string, more: object): object => ({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: {name, arguments: {database: 'd', ...more}},
    });
    const text = `CREATE USER zoe SET PASSWORD '${hidden()}'`;
    const calls = [
      call('query', {language: 'sql', query: text}),
      call('execute_command', {language: 'sql', command: text}),
      call('set_server_setting', {key: 'svc.ssl.keyStorePassword', value: hidden()}),
    ];
    for (const body of calls) told.push(await ask('/api/v1/mcp', {body}));
  },
  'keys of archives': async () => {
    told.push(
      await command('trigger backup d', {encryptionAlgorithm: 'AES', encryptionKey: hidden()}),
      await command('restore backup d latest', {encryptionKey: hidden()}),
      await statement(`BACKUP DATABASE WITH encryptionKey = '${hidden()}'`),
    );
    const from = `http://user:${hidden()}@127.0.0.1:1/x.csv`;
    await ownStatement(`IMPORT DATABASE ${from}`);
    await ask('/api/v1/command/d', {
      body: {language: 'cypher', command: `LOAD CSV FROM '${from}' AS row RETURN row`},
    });
    await command(`import database other ${from}`);
    await command(`restore database another ${from}`);
  },
  // An address may hold a password: whoever sends it may see it again, nobody else.
  'addresses of archives and servers': async () => {
    const place = (): string => `user:${hidden()}@127.0.0.1:1`;
    const config = (directory: string): object => ({config: {backup: {directory}}});
    await ownStatement(`BACKUP DATABASE 'https://${place()}/x.zip'`);
    await ownStatement(`EXPORT DATABASE 'https://${place()}/x.tgz'`);
    await command('set backup config', config(`https://${place()}/`));
    await command('set backup config', {config: `{"password":"${hidden()}`});
    await command(`connect cluster ${place()}`);
    await command(`export database d https://${place()}`);
    const peer = {peerId: place(), address: place(), password: hidden()};
    await ask('/api/v1/cluster/peer', {body: peer});
    await ask(`/api/v1/cluster/peer/${encodeURIComponent(place())}?force=${hidden()}`);
    await ask('/api/v1/cluster/leader', {body: {peerId: place()}});
  },
  'addresses that are read': async () => {
    const address = `http://user:${hidden()}@127.0.0.1:${sourcePort}/a.csv?key=${hidden()}`;
    const answer = await command(`import database imported ${address}`);
    assert.match(answer, /"result":"ok"/);
    await command(`restore database restored ${address}`);
  },
  'words in paths, queries and sessions': async () => {
    const headers = {
      ...asRoot,
      'svc-session-id': hidden(),
      'x-svc-read-after': hidden(),
      'x-svc-read-consistency': hidden(),
      'x-svc-snapshot-manifest': hidden(),
      tracestate: hidden(),
      'if-none-match': hidden(),
    };
    const body = {language: 'sql', command: 'SELECT 1'};
    for (const path of ['query/d', 'commit/d', 'rollback/d']) {
      await ask(`/api/v1/${path}`, {headers, body});
    }
    await ask(`/api/v1/query/d/sql/SELECT%201?password=${hidden()}`);
    await ask(`/api/v1/server/events?file=${hidden()}`);
    await ask(`/api/v1/server/api-tokens?token=${hidden()}`);
    await ask(`/${hidden()}?token=${hidden()}`);
    for (const path of ['vector/d/search', 'vector/d/hybrid', 'vector/d/fulltext']) {
      await ask(`/api/v1/${path}`, {body: {type: hidden(), index: hidden(), query: hidden()}});
    }
  },
  // Their own client may see them again: nobody else.
  'parameters and values': async () => {
    await ownStatement('CREATE DOCUMENT TYPE P');
    await ownStatement('INSERT INTO P SET word = :word', {word: hidden()});
    await ownStatement('INSERT INTO P SET word = :word', {other: hidden()});
    await ownStatement('SELECT FROM P WHERE word = :word AND 1 = ', {word: hidden()});
    await ownStatement('INSERT INTO P SET word = :word.nope(:word)', {word: hidden()});
    const line = `{"@type":"document","@class":"P","word":"${hidden()}"}\n{"word":"${hidden()}`;
    await ask('/api/v1/batch/d', {body: line});
  },
  'messages of change events': async () => {
    const client = await WebSocketClient.open(port, `root:${rootPassword}`);
    await client.ask({action: 'subscribe', database: 'd', type: hidden()});
    await client.ask(`{"action":"${hidden()}`);
    await client.ask({action: 'subscribe', database: 'd', since: hidden(), token: hidden()});
    await client.ask({action: 'subscribe', database: hidden()});
    client.close();
  },
  'commands of a shell': async () => {
    const words = ['query', 'd', 'SELECT 1', '--url', server.url];
    const secret = hidden();
    const wrong = await runSvc(words, {SVC_PASSWORD: secret});
    assert.notEqual(wrong.code, 0);
    const file = join(root, 'config', 'password');
    writeFileSync(file, secret, {mode: 0o600});
    const byFile = await runSvc([...words, '--password-file', file], {});
    const argument = await runSvc([...words, `--password=${hidden()}`], {});
    assert.notEqual(argument.code, 0);
    for (const {out, error} of [wrong, byFile, argument]) told.push(out, error);
    await lookAtProcess([...words.slice(0, 2), slow, ...words.slice(3)]);
  },
};

const slow = 'SELECT sum(a.n + b.n) FROM (SELECT expand(range(1, 3000000)) AS n)';

/** The line of a command's own process while it asks. */
async function lookAtProcess(words: readonly string[]): Promise<void> {
  const child = spawn(program, words, {
    env: {...process.env, SVC_PASSWORD: rootPassword},
    stdio: 'ignore',
  });
  try {
    for (const path of processesOf(child.pid ?? 0)) told.push(readFileSync(path, 'latin1'));
  } finally {
    child.kill('SIGKILL');
  }
}

function processesOf(pid: number): readonly string[] {
  return [`/proc/${pid}/cmdline`, `/proc/${pid}/comm`];
}

test('every setting that is a secret has a value here', () => {
  const rows = Object.entries(settingRows).filter(([, row]) => 'secret' in row && row.secret);
  assert.deepEqual(rows.map(([key]) => key).sort(), Object.keys(secretSettings).sort());
});

test('a secret is told to nobody', async () => {
  await command('create database d');
  await command('profiler start 600');
  for (const put of Object.values(puts)) await put();
  const {token} = JSON.parse(await ask('/api/v1/login', {body: {}})) as {token: string};
  const made = JSON.parse(
    await ask('/api/v1/server/api-tokens', {body: {name: 'scraper', database: 'd'}}),
  ) as {result: {token: string}};
  secrets.push(rootPassword, token, made.result.token);
  told.push(
    await ask('/api/v1/server'),
    await ask('/api/v1/server?mode=cluster'),
    await ask('/api/v1/server/events'),
    await ask('/api/v1/server/users'),
    await ask('/api/v1/server/api-tokens'),
    await ask('/api/v1/openapi.json'),
    await ask('/api/v1/docs'),
    await ask('/prometheus'),
    await command('list settings'),
    await command('list queries'),
    await command('list transactions'),
    await command('list users'),
    await command('list api tokens'),
    await command('profiler stop'),
    ...processesOf(server.pid).map(path => readFileSync(path, 'latin1')),
  );
  await eventually('spans and metrics are pushed', () => {
    return ['/v1/traces', '/v1/metrics'].every(path => collected.includes(path));
  });
  await eventually('a dump is written while it runs', () => server.log.includes('"metrics.dump"'));
  assert.equal(await server.stop(), 0);
  told.push(server.log, ...collected);
  for (const folder of ['log', 'profiler']) {
    const names = readdirSync(join(root, folder));
    assert.ok(names.length > 0, folder);
    for (const name of names) told.push(readFileSync(join(root, folder, name), 'utf8'));
  }
  const whole = told.join('\n');
  assert.equal(secrets.filter(secret => secret === undefined || secret.length < 10).length, 0);
  assert.deepEqual(
    [...whole.matchAll(/.{0,80}canary-7f3a-\d+-secret/g)].map(([found]) => found),
    [],
  );
  for (const secret of [token, made.result.token]) assert.ok(!whole.includes(secret));
  const users = readFileSync(join(root, 'config/server-users.jsonl'), 'utf8');
  // Hashes and keys: what is told of them is their salts, to whoever logs in.
  const stored = users.match(/[A-Za-z0-9+/]{43}=/g) ?? [];
  assert.ok(users.includes('SCRAM-SHA-256$') && stored.length >= 4, users);
  for (const key of stored) assert.ok(!whole.includes(key));
});
