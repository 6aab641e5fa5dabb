/**
 * Databases, configuration, backups and events in folders of their own, on volumes of their own
 * where this machine has a second one: nothing of them lies in the root, and a start that would
 * begin empty beside what lies elsewhere is refused.
 */
import assert from 'node:assert/strict';
import {cpSync, existsSync, mkdtempSync, readdirSync, rmSync} from 'node:fs';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {freePort} from '#server/testing/worlds/free-port.ts';
import {
  type ServerProcess,
  startServer,
  temporaryRoot,
} from '#server/testing/worlds/server-process.ts';

const root = temporaryRoot('paths-root');
const config = temporaryRoot('paths-config');
const memory = '/dev/shm';
const volume = existsSync(memory)
  ? mkdtempSync(join(memory, 'svc-paths-'))
  : temporaryRoot('paths-volume');
const events = temporaryRoot('paths-events');
const settings = {
  'svc.server.databaseDirectory': join(volume, 'data'),
  'svc.server.configDirectory': config,
  'svc.server.backupDirectory': join(volume, 'archives'),
  'svc.server.logsDirectory': events,
};
const elsewhere = temporaryRoot('paths-other');
after(() => {
  for (const path of [root, config, volume, events, elsewhere]) {
    rmSync(path, {recursive: true, force: true});
  }
});

async function start(
  given: Readonly<Record<string, string>>,
  where = root,
): Promise<ServerProcess> {
  return await startServer({root: where, port: await freePort(), settings: given});
}

async function names(server: ServerProcess): Promise<readonly unknown[]> {
  const client = server.client();
  try {
    const {result} = await client.query('music', 'SELECT name FROM Artist ORDER BY name');
    return result.map(({name}) => name);
  } finally {
    client.close();
  }
}

test('databases, configuration, backups and events lie where the settings say', async () => {
  const server = await start(settings);
  const client = server.client();
  try {
    await client.createDatabase('music');
    await client.command('music', 'CREATE VERTEX TYPE Artist');
    await client.command('music', "INSERT INTO Artist SET name = 'Ada'");
    const user = {name: 'anna', password: 'anna-pass', databases: {music: ['admin']}};
    await client.serverCommand(`create user ${JSON.stringify(user)}`);
    await client.serverCommand('trigger backup music');
    assert.deepEqual(
      readdirSync(root).filter(name => ['databases', 'config', 'backups', 'log'].includes(name)),
      [],
    );
    assert.ok(readdirSync(join(volume, 'data')).includes('music'));
    assert.ok(existsSync(join(config, 'server-users.jsonl')));
    assert.equal(readdirSync(join(volume, 'archives/music')).length, 1);
    const kept = readdirSync(events);
    assert.deepEqual(
      kept.filter(name => !/^server-event-log-.*\.jsonl$/.test(name)),
      [],
    );
    assert.equal(kept.length, 1);
    const {metrics} = await client.serverInfo('default');
    const {profiler} = metrics as {profiler: Readonly<Record<string, {value: unknown}>>};
    assert.equal(profiler['diskDirectory']?.value, join(volume, 'data'));

    const [archive] = readdirSync(join(volume, 'archives/music'));
    await client.command('music', "INSERT INTO Artist SET name = 'Eve'");
    await client.serverCommand(`restore backup music ${archive}`, {overwrite: true});
    assert.deepEqual(await names(server), ['Ada']);
    await client.command('music', "INSERT INTO Artist SET name = 'Ben'");
    assert.equal(await server.kill(), 'SIGKILL');
  } finally {
    client.close();
    await server.kill();
  }
  const again = await start(settings);
  try {
    assert.deepEqual(await names(again), ['Ada', 'Ben']);
    await assert.rejects(start(settings, elsewhere), /another server works on .*data already/);
  } finally {
    await again.stop();
  }
});

test('a start that would begin empty beside its databases is refused', async () => {
  cpSync(join(volume, 'data'), join(root, 'databases'), {recursive: true});
  rmSync(join(volume, 'data'), {recursive: true});
  await assert.rejects(
    start(settings),
    /databaseDirectory is .*data, which holds no database.*lie in .*databases \(music\): move/,
  );
  assert.ok(!existsSync(join(volume, 'data')));
  const {'svc.server.databaseDirectory': _, ...rest} = settings;
  const server = await start(rest);
  try {
    assert.deepEqual(await names(server), ['Ada', 'Ben']);
  } finally {
    await server.stop();
  }
});
