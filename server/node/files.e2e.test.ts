/**
 * Files of a server: its owner alone reads them, on whatever way they came; a folder without a
 * database stops nothing.
 */
import assert from 'node:assert/strict';
import {mkdirSync, readdirSync, readFileSync, statSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {test} from 'node:test';
import {Client} from '#server/client/client.ts';
import {eventually} from '#server/testing/time/eventually.ts';
import {freePort} from '#server/testing/worlds/free-port.ts';
import {runSvc, startServer, temporaryRoot} from '#server/testing/worlds/server-process.ts';

test('M7, M10: all files are its owner’s alone, and lost+found is passed over', async () => {
  const root = temporaryRoot('files');
  mkdirSync(join(root, 'databases/lost+found'), {recursive: true, mode: 0o700});
  await using server = await startServer({
    root,
    port: await freePort(),
    settings: {'svc.server.defaultDatabases': 'kept[]'},
  });
  const client = server.client();
  try {
    await client.command('kept', 'CREATE DOCUMENT TYPE T');
    assert.deepEqual(openFiles(root), []);
    assert.match(server.log, /lost\+found/);
  } finally {
    client.close();
  }
});

/** What others than the owner may read, write or enter. */
function openFiles(root: string): readonly string[] {
  return readdirSync(root, {recursive: true, encoding: 'utf8'}).filter(
    // A file of an import that ended meanwhile is gone.
    path => ((statSync(join(root, path), {throwIfNoEntry: false})?.mode ?? 0) & 0o077) !== 0,
  );
}

test('M7: so are backups, exports, imports, settings, indexes and the profiler’s', async () => {
  const root = temporaryRoot('later-files');
  await using server = await startServer({root, port: await freePort()});
  const client = server.client();
  try {
    await client.createDatabase('a');
    for (const statement of [
      'CREATE DOCUMENT TYPE T',
      'CREATE PROPERTY T.v ARRAY_OF_FLOATS',
      'CREATE INDEX ON T (v) LSM_VECTOR METADATA {"dimensions": 2}',
      'INSERT INTO T SET v = [1.0, 2.0]',
      "SELECT expand(vector.neighbors('T[v]', [1.0, 1.0], 1))",
      'BACKUP DATABASE',
      'EXPORT DATABASE file://a.jsonl.tgz',
    ]) {
      await client.command('a', statement);
    }
    const {fileName} = await client.serverCommand('trigger backup a');
    for (const command of [
      `restore backup a ${String(fileName)} as b`,
      'set server setting svc.txRetries 7',
      'create user {"name":"adele","password":"ada-pass-word","databases":{"a":["admin"]}}',
      'profiler start 60',
    ]) {
      await client.serverCommand(command);
    }
    await client.query('a', 'SELECT FROM T');
    await client.serverCommand('profiler stop');
    const dump = async function* (): AsyncGenerator<Buffer> {
      yield await Promise.resolve(Buffer.from('{"t":"d","c":"T","r":"#1:0","p":{"n":1}}\n'));
    };
    await client.importFile('c', dump(), {new: 'true'}, () => {});
    assert.deepEqual(openFiles(root), []);
    assert.equal(await server.stop(), 0);
    // What is kept of indexes is written at the end.
    assert.deepEqual(openFiles(root), []);
    const names = readdirSync(root, {recursive: true, encoding: 'utf8'});
    for (const kept of [/^backups\/a\/.*\.zip$/, /^exports\/.*tgz$/, /^databases\/[bc]$/]) {
      assert.ok(
        names.some(name => kept.test(name)),
        `${kept}: ${names.join(' ').slice(0, 500)}`,
      );
    }
  } finally {
    client.close();
  }
});

test('users and groups that are written into their files count at once', async () => {
  const root = temporaryRoot('written-files');
  const port = await freePort();
  await using server = await startServer({root, port});
  const client = server.client();
  const anna = new Client({
    url: server.url,
    credentials: {kind: 'basic', user: 'anna', password: 'anna-pass-word'},
  });
  const users = join(root, 'config/server-users.jsonl');
  const groups = join(root, 'config/server-groups.json');
  const mayWrite = {access: ['readRecord', 'createRecord']};
  const groupsOf = (types: object): string =>
    JSON.stringify({version: 2, databases: {'*': {groups: {writer: {access: [], types}}}}});
  try {
    await client.createDatabase('a');
    await client.command('a', 'CREATE DOCUMENT TYPE T');
    await client.serverCommand(
      'create user {"name":"anna","password":"anna-pass-word","databases":{"a":["writer"]}}',
    );
    const insert = (): Promise<unknown> => anna.command('a', 'INSERT INTO T SET n = 1');
    await assert.rejects(insert, /not allowed to create/);
    // There was no such file.
    writeFileSync(groups, groupsOf({T: mayWrite}));
    await eventually('the group is known', () =>
      insert().then(
        () => true,
        () => false,
      ),
    );
    const written = readFileSync(users, 'utf8');
    writeFileSync(users, `${written}{"name": "bert"`);
    const told =
      /security\.document\.refused.*server-users\.jsonl: Line 3 of the users is not valid/;
    await eventually('the damage is told', () => told.test(server.log));
    await insert();
    writeFileSync(users, written.replace('"anna"', '"carl"'));
    await eventually('the user is another one', () =>
      insert().then(
        () => false,
        () => true,
      ),
    );
    assert.deepEqual(openFiles(root), []);
    await server.stop();
    writeFileSync(users, `${written}{"name": "bert"`);
    const settings = [`svc.server.rootPath=${root}`, `svc.server.httpIncomingPort=${port}`];
    const refused = await runSvc(['start', ...settings.flatMap(set => ['--set', set])], {});
    assert.equal(refused.code, 1);
    assert.match(refused.error, /server-users\.jsonl: Line 3 of the users is not valid JSON/);
    writeFileSync(users, written);
    await using second = await startServer({root, port});
    assert.deepEqual(await second.asRoot(who => who.databases()), ['a']);
  } finally {
    anna.close();
    client.close();
  }
});

test('default databases begin with a file or an archive, once, and with their users', async () => {
  const root = temporaryRoot('default-databases');
  const file = join(root, 'people.csv');
  writeFileSync(file, 'name\nAda\nBea\n');
  const port = await freePort();
  const start = (databases: string) =>
    startServer({
      root,
      port,
      settings: {
        'svc.server.defaultDatabases': databases,
        'svc.server.restoreImportAllowLocalUrls': true,
      },
    });
  const first = await start(`made[]{import:${file}}`);
  const client = first.client();
  const count = 'SELECT count(*) AS n FROM Document';
  try {
    assert.deepEqual((await client.query('made', count)).result, [{n: 2}]);
    const {backupFile} = await client.serverCommand('trigger backup made');
    await first.stop();
    const archive = join(root, 'backups/made', String(backupFile));
    const list = `made[]{import:${file}};copy[anna:her:password:readonly]{restore:${archive}}`;
    await using second = await start(list);
    for (const name of ['made', 'copy']) {
      assert.deepEqual((await client.query(name, count)).result, [{n: 2}], name);
    }
    const anna = new Client({
      url: second.url,
      credentials: {kind: 'basic', user: 'anna', password: 'her:password'},
    });
    assert.deepEqual((await anna.query('copy', count)).result, [{n: 2}]);
    await assert.rejects(anna.command('copy', 'INSERT INTO Document SET n = 1'), /not allowed/);
    anna.close();
  } finally {
    client.close();
    await first.dispose();
  }
});
