/**
 * Backups of a real server: by command, by statement and by the schedule; restores beside and in
 * the place of a database; and what a kill in the middle leaves.
 */
import assert from 'node:assert/strict';
import {existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync} from 'node:fs';
import {join, relative} from 'node:path';
import {after, before, test} from 'node:test';
import type {Client, Row} from '#server/client/client.ts';
import {ServerError} from '#server/client/server-error.ts';
import {eventually} from '#server/testing/time/eventually.ts';
import {freePort} from '#server/testing/worlds/free-port.ts';
import {
  rootPassword,
  type ServerProcess,
  startServer,
  temporaryRoot,
} from '#server/testing/worlds/server-process.ts';

const root = temporaryRoot('backup');
let server: ServerProcess;
let client: Client;

before(async () => {
  mkdirSync(join(root, 'config'), {recursive: true});
  // A file that cannot be used: the start goes on, and the reason is told.
  writeFileSync(join(root, 'config/backup.json'), '{"defaults":{"schedule":{"type":"cron"}}}');
  server = await startServer({root, port: await freePort()});
  client = server.client();
  await client.createDatabase('music');
  await client.command('music', 'CREATE VERTEX TYPE Artist');
  await client.command('music', "INSERT INTO Artist SET name = 'Ada'");
});

after(async () => {
  client.close();
  await server.dispose();
});

async function names(database: string): Promise<readonly unknown[]> {
  const {result} = await client.query(database, 'SELECT name FROM Artist ORDER BY name');
  return result.map(({name}) => name);
}

async function archives(): Promise<readonly string[]> {
  const {backups} = await client.serverCommand('list backups music');
  return (backups as readonly Row[]).map(({fileName}) => String(fileName));
}

function refusedWith(status: number, said: RegExp): (error: unknown) => boolean {
  return error =>
    error instanceof ServerError && error.status === status && said.test(error.message);
}

test('a configuration that cannot be used is told and stops nothing', async () => {
  const answer = await client.serverCommand('get backup config');
  assert.equal(answer['enabled'], false);
  assert.match(String(answer['message']), /defaults\.schedule\.expression is missing/);
  assert.equal(answer['backupDirectory'], join(root, 'backups'));
});

test('a backup and its way back, beside the database and in its place', async () => {
  const made = await client.serverCommand('trigger backup music');
  assert.match(String(made['fileName']), /^music-backup-\d{8}-\d{9}\.zip$/);
  assert.ok(existsSync(String(made['path'])));
  const file = String(made['fileName']);
  await client.command('music', "INSERT INTO Artist SET name = 'Clara'");

  const heard: unknown[] = [];
  const tell = (event: Row): void => void heard.push(event['message']);
  const checked = await client.longCommand(`restore backup music ${file}`, {verify: true}, tell);
  assert.match(String(checked['message']), /is whole: \d+ files/);
  await client.longCommand(`restore backup music ${file} as before`, {}, tell);
  assert.deepEqual(await names('before'), ['Ada']);
  assert.deepEqual(await names('music'), ['Ada', 'Clara']);
  assert.ok(heard.includes('putting in place'));

  const again = client.serverCommand(`restore backup music ${file} as before`);
  await assert.rejects(again, refusedWith(400, /already exists\. Enable overwrite/));
  await client.command('before', "INSERT INTO Artist SET name = 'Bea'");
  await client.serverCommand(`restore backup music ${file} as before overwrite`);
  assert.deepEqual(await names('before'), ['Ada']);
  await client.command('before', "INSERT INTO Artist SET name = 'Zoe'");
  assert.deepEqual(await names('before'), ['Ada', 'Zoe']);
  assert.deepEqual(await client.databases(), ['before', 'music']);
});

test('the statement makes an archive in the same directory, encrypted where asked', async () => {
  const {result} = await client.command(
    'music',
    "BACKUP DATABASE WITH encryptionKey = 'secret', compressionLevel = 9",
  );
  assert.equal(result[0]?.['result'], 'OK');
  const file = String(result[0]?.['backupFile']);
  assert.equal((await archives())[0], file);
  const restore = (fields: Row): Promise<Row> =>
    client.serverCommand(`restore backup music ${file} as secret`, fields);
  await assert.rejects(restore({}), refusedWith(400, /encryptionKey is missing/));
  await assert.rejects(restore({encryptionKey: 'other'}), refusedWith(400, /encryptionKey/));
  assert.deepEqual(await client.databases(), ['before', 'music']);
  for (const spelt of [{verfiy: true}, {encryptionkey: 'secret'}]) {
    await assert.rejects(restore(spelt), refusedWith(400, /no option '(verfiy|encryptionkey)'/));
  }
  assert.deepEqual(await client.databases(), ['before', 'music']);
  await restore({encryptionKey: 'secret'});
  assert.deepEqual(await names('secret'), ['Ada', 'Clara']);
  await client.dropDatabase('secret');
  const unknown = client.command('music', 'BACKUP DATABASE WITH speed = 9');
  await assert.rejects(unknown, refusedWith(400, /no option 'speed'/));
});

test('a damaged archive changes nothing', async () => {
  const {path, backupFile} = await client.serverCommand('trigger backup music', {
    compressionLevel: 0,
  });
  const bytes = readFileSync(String(path));
  const at = bytes.indexOf('Artist');
  bytes[at] = 0x20;
  writeFileSync(String(path), bytes);
  const restoring = client.serverCommand(`restore backup music ${String(backupFile)} overwrite`);
  await assert.rejects(restoring, refusedWith(400, /entry '.*CRC-32/));
  assert.deepEqual(await names('music'), ['Ada', 'Clara']);
  assert.deepEqual(hiddenDirectories(), []);
  await client.serverCommand(`delete backup music ${String(backupFile)}`);
  assert.ok(!existsSync(String(path)));
});

test('what became of backups is counted, and one that failed is an event', async () => {
  const none = client.serverCommand('trigger backup nobody');
  await assert.rejects(none, refusedWith(404, /nobody/));
  const {result} = await client.serverCommand('get server events');
  const {events} = result as {readonly events: readonly Row[]};
  const failed = events.find(({message}) => /backup\.failed/.test(String(message)));
  assert.deepEqual([failed?.['type'], failed?.['db']], ['CRITICAL', 'nobody']);
  const authorization = `Basic ${Buffer.from(`root:${rootPassword}`).toString('base64')}`;
  const answer = await fetch(`${server.url}/prometheus`, {headers: {authorization}});
  const text = await answer.text();
  const value = (name: string): number =>
    Number(new RegExp(`^${name}(?:\\{[^}]*\\})? ([\\d.e+]+)$`, 'm').exec(text)?.[1] ?? -1);
  assert.ok(value('svc_backup_completed_total') >= 3);
  assert.equal(value('svc_backup_failed_total'), 1);
  assert.ok(value('svc_backup_last_completed_timestamp_seconds') > 1e9);
  assert.ok(value('svc_restore_completed_total') >= 3);
  assert.ok(value('svc_restore_failed_total') >= 1);
  assert.equal(value('svc_backup_configuration_faulty'), 1);
  assert.equal(value('svc_engine_snapshot_barrier_failed_total'), 0);
});

test('names that lead elsewhere are refused', async () => {
  for (const name of ['../music/x-backup-1.zip', '/etc/passwd', 'a-backup-..zip', 'backup.zip']) {
    await assert.rejects(
      client.serverCommand(`delete backup music ${name}`),
      refusedWith(400, /./),
    );
  }
  await assert.rejects(client.serverCommand('list backups ../config'), refusedWith(400, /name/));
  const [file = ''] = await archives();
  const before = readdirSync(root).sort();
  for (const target of ['../up', 'a/b', 'a\\b', '.hidden', '..', 'a\0b']) {
    const restoring = client.serverCommand(`restore backup music ${file}`, {target});
    await assert.rejects(restoring, refusedWith(400, /name/));
  }
  for (const url of ['/tmp/x-backup-1.zip', 'file:///tmp/x-backup-1.zip', '../x-backup-1.zip']) {
    const backup = client.command('music', `BACKUP DATABASE '${url}'`);
    await assert.rejects(backup, refusedWith(400, /name|path/));
  }
  assert.deepEqual(readdirSync(root).sort(), before);
  assert.deepEqual(hiddenDirectories(), []);
  const none = client.serverCommand('delete backup music no-backup-1.zip');
  await assert.rejects(none, refusedWith(400, /no archive/));
  assert.deepEqual((await client.serverCommand('list backups nobody'))['backups'], []);
  const {databases} = await client.serverCommand('list archived databases');
  assert.ok(Array.isArray(databases) && databases.includes('music'), String(databases));
});

test('one backup of a database at a time', async () => {
  const slow = client.serverCommand('trigger backup music', {maxMBPerSecond: 0.02});
  await eventually('the first one to be under way', async () => {
    const works = await client.progress('music');
    return works.some(({operation}) => operation === 'backup');
  });
  const second = client.serverCommand('trigger backup music');
  await assert.rejects(
    second,
    refusedWith(409, /A backup of database 'music' is already in progress/),
  );
  await slow;
});

test('a schedule is put into force by a command, and a bad one names its field', async () => {
  const bad = {defaults: {schedule: {frequencyMinutes: 0}}};
  await assert.rejects(
    client.serverCommand('set backup config', {config: bad}),
    refusedWith(400, /defaults\.schedule\.frequencyMinutes/),
  );
  const outside = {backupDirectory: '../elsewhere'};
  await assert.rejects(
    client.serverCommand('set backup config', {config: outside}),
    refusedWith(400, /backupDirectory/),
  );
  const config = {
    backupDirectory: 'nightly',
    defaults: {
      schedule: {type: 'cron', expression: '* * * * * *', timeWindow: null},
      retention: {maxFiles: 2},
    },
    databases: {before: {enabled: false}},
  };
  await client.serverCommand('set backup config', {config});
  assert.deepEqual((await client.serverCommand('get backup config'))['config'], config);
  await eventually('two archives and no more', async () => {
    const made = await archives();
    assert.ok(made.length <= 3);
    return made.length === 2 && made[0] !== undefined;
  });
  const first = (await archives())[1];
  await eventually('the first to be rotated away', async () => {
    return !(await archives()).includes(String(first));
  });
  assert.ok(!existsSync(join(root, 'nightly/before')));
  const {result} = await client.serverCommand('get server events');
  const {events} = result as {readonly events: readonly Row[]};
  const own = events.filter(({component}) => component === 'Auto-Backup');
  const completed = own.find(({message}) => /auto-backup\.completed: music-/.test(String(message)));
  assert.deepEqual([completed?.['type'], completed?.['db']], ['INFO', 'music']);
  const [newest = ''] = readdirSync(join(root, 'log')).sort().toReversed();
  const kept = await client.serverCommand(`get server events ${newest}`);
  const written = (kept['result'] as {readonly events: readonly Row[]}).events;
  for (const [type, message] of [
    ['CRITICAL', /auto-backup\.configuration: .*expression is missing/],
    ['INFO', /auto-backup\.scheduler-started/],
    ['INFO', /auto-backup\.completed: music-/],
    ['INFO', /auto-backup\.rotated: music-/],
  ] as const) {
    const found = written.some(
      event =>
        event['component'] === 'Auto-Backup' &&
        event['type'] === type &&
        message.test(String(event['message'])),
    );
    assert.ok(found, `${type} ${message}`);
  }
  await client.serverCommand('set backup config', {config: {...config, enabled: false}});
  assert.equal((await client.serverCommand('get backup config'))['enabled'], false);
});

test('a kill in the middle leaves the database and no litter behind the next start', async () => {
  const slow = client.serverCommand('trigger backup music', {maxMBPerSecond: 0.01});
  slow.catch(() => {});
  await eventually('a part of an archive', () =>
    readdirSync(join(root, 'nightly/music')).some(name => name.endsWith('.part')),
  );
  assert.ok(hiddenDirectories().length > 0);
  client.close();
  await server.kill();
  // What a kill leaves that comes while the checkpoint itself is being built.
  mkdirSync(join(root, 'databases/.backup-61713154ad005885.partial'));
  server = await startServer({root, port: await freePort()});
  client = server.client();
  assert.deepEqual(hiddenDirectories(), []);
  const left = readdirSync(join(root, 'nightly/music'));
  assert.deepEqual(
    left.filter(name => name.endsWith('.part')),
    [],
  );
  assert.deepEqual(await names('music'), ['Ada', 'Clara']);
});

function hiddenDirectories(): readonly string[] {
  return readdirSync(join(root, 'databases')).filter(name => /^\.(backup|restoring)/.test(name));
}

test('a root that is a relative path holds its archives, once', async () => {
  const folder = temporaryRoot('backup-relative');
  // Servers of tests run in the root of the repository.
  const data = join(folder, 'data/of/it');
  const given = relative(join(import.meta.dirname, '../../..'), data);
  const settings = {'svc.server.rootPath': given, 'svc.server.sampleDatabase': 'demo'};
  await using other = await startServer({root: folder, port: await freePort(), settings});
  const administrator = other.client();
  try {
    const {backupFile} = await administrator.serverCommand('trigger backup demo');
    assert.ok(existsSync(join(data, 'backups/demo', String(backupFile))));
  } finally {
    administrator.close();
  }
});
