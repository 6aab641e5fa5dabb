/** Settings that are changed while a real server runs, across its restarts. */
import assert from 'node:assert/strict';
import {mkdirSync, readFileSync, rmSync, statSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {after, before, test} from 'node:test';
import {freePort} from '#server/testing/worlds/free-port.ts';
import {
  rootPassword,
  type ServerProcess,
  startServer,
  temporaryRoot,
} from '#server/testing/worlds/server-process.ts';
import {readConfiguration} from './configuration.ts';

const root = temporaryRoot('kept-settings');
const kept = join(root, 'config/changed-settings.json');
const key = 'svc.server.httpQueryDefaultLimit';
let port = 0;
let server: ServerProcess;

before(async () => {
  port = await freePort();
  server = await startServer({root, port});
});
after(async () => {
  await server.dispose();
});

async function ask(path: string, body?: object): Promise<{status: number; json: unknown}> {
  const authorization = `Basic ${Buffer.from(`root:${rootPassword}`).toString('base64')}`;
  const answer = await fetch(`${server.url}/api/v1${path}`, {
    headers: {authorization},
    ...(body === undefined ? {} : {method: 'POST', body: JSON.stringify(body)}),
  });
  return {status: answer.status, json: await answer.json()};
}

async function limit(): Promise<unknown> {
  const {json} = await ask('/query/db', {language: 'sql', command: 'SELECT 1 AS a'});
  return (json as {limit?: unknown}).limit;
}

test("what is set counts at once and after a restart, and its file is the own user's", async () => {
  assert.equal((await ask('/server', {command: 'create database db'})).status, 200);
  assert.equal(await limit(), 20_000);
  assert.equal((await ask('/server', {command: `set server setting ${key} 50`})).status, 200);
  assert.equal(await limit(), 50);
  const none = await ask('/server', {command: `set server setting ${key} none`});
  assert.equal(none.status, 400);
  await server.stop();
  assert.equal(statSync(kept).mode & 0o777, 0o600);
  server = await startServer({root, port});
  assert.equal(await limit(), 50);
  assert.equal((await ask('/server', {command: `set server setting ${key} 60`})).status, 200);
  await server.stop();
  server = await startServer({root, port, settings: {[key]: 70}});
  assert.equal(await limit(), 70, 'the command line counts more');
});

test('it counts less than the environment and more than the file, and not with --config', () => {
  const folder = temporaryRoot('kept-order');
  const config = join(folder, 'config');
  mkdirSync(config, {recursive: true});
  const own = join(config, 'server-configuration.json');
  const changed = join(config, 'changed-settings.json');
  const value = (given: object, environment = {}): unknown => {
    const sets = {'svc.server.rootPath': folder};
    const read = readConfiguration({sets, configPath: undefined, ...given}, environment);
    assert.deepEqual(read.refused, []);
    return read.settings.get(key);
  };
  try {
    writeFileSync(own, JSON.stringify({[key]: 1}));
    assert.equal(value({}), 1);
    writeFileSync(changed, JSON.stringify({[key]: 2}));
    assert.equal(value({}), 2);
    assert.equal(value({}, {SVC_SERVER_HTTPQUERYDEFAULTLIMIT: '3'}), 3);
    assert.equal(value({configPath: own}), 1);
    writeFileSync(changed, '{"svc.nothing": ');
    const sets = {'svc.server.rootPath': folder};
    const {refused} = readConfiguration({sets, configPath: undefined}, {});
    assert.match(refused[0]?.message ?? '', /cannot read .*changed-settings\.json/);
    assert.equal(readFileSync(changed, 'utf8'), '{"svc.nothing": ');
  } finally {
    rmSync(folder, {recursive: true});
  }
});
