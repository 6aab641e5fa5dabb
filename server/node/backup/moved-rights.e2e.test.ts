/**
 * Databases that are moved give nobody rights: what an import does is done in the name of whoever
 * asked for it, and triggers and views of a restored one keep their owner's name, who may do what
 * he may where it is restored. H6, M4 and M9 of the attacks, by the doors of whole databases.
 */
import assert from 'node:assert/strict';
import {copyFileSync, mkdirSync, writeFileSync} from 'node:fs';
import {createServer, type Server} from 'node:http';
import type {AddressInfo} from 'node:net';
import {basename, join} from 'node:path';
import {after, before, test} from 'node:test';
import {AskedServer, type Told} from '#server/testing/settings/asked-server.ts';

const settings = {
  'svc.opencypher.loadCsv.allowFileUrls': true,
  'svc.opencypher.loadCsv.blockedIpRanges': '',
};
const everything = {access: ['createRecord', 'readRecord', 'updateRecord', 'deleteRecord']};
const schema = [
  'CREATE DOCUMENT TYPE Secret',
  'CREATE DOCUMENT TYPE Doc',
  'CREATE DOCUMENT TYPE Copy',
  "INSERT INTO Secret SET name = 'top-secret'",
];
let server: AskedServer;
let files: Server;
/** What the next request for a file is answered with. */
let content = '';

before(async () => {
  server = await AskedServer.start(settings);
  files = createServer((_request, answer) => void answer.end(content)).listen(0, '127.0.0.1');
  for (const statement of schema) await server.rows(statement);
  await person(server, 'mover', 'db');
});
after(async () => {
  files.close();
  await server.dispose();
});

/** A user who may change schema and security of a database, and everything but read Secret. */
async function person(at: AskedServer, name: string, database: string): Promise<void> {
  const types = {'*': everything, Secret: {access: []}};
  const access = ['updateSchema', 'updateSecurity'];
  const group = await at.ask('/server/groups', {body: {database, name: 'movers', access, types}});
  assert.equal(group.status, 200, group.text);
  const user = {name, password: `${name}-pass`, databases: {[database]: ['movers']}};
  const made = await at.ask('/server/users', {body: user});
  assert.ok(made.status < 300, made.text);
}

const run = (command: string, as?: string, database = 'db'): Promise<Told> =>
  server.ask(`/command/${database}`, {
    body: {language: 'sql', command},
    ...(as !== undefined && {as: `${as}:${as}-pass`}),
  });

function imported(text: string): Promise<Told> {
  content = text;
  const {port} = files.address() as AddressInfo;
  return run(`IMPORT DATABASE http://127.0.0.1:${port}/dump.jsonl`, 'mover');
}

const line = (fields: object): string => `${JSON.stringify(fields)}\n`;
const says = (statement: string): string => line({t: 'schema', s: statement});
const record = (type: string, properties: object): string =>
  line({t: 'd', c: type, r: '#900:0', p: properties});

test('what a dump says is schema or nothing: no statement of it is run', async () => {
  for (const statement of [
    "CREATE USER mallory IDENTIFIED BY 'mallory-pass'",
    "ALTER USER root SET PASSWORD 'mallory-pass'",
    'DROP USER mover',
    'INSERT INTO Doc SET n = 1',
    'DELETE FROM Copy',
    'SELECT FROM Secret',
    'BACKUP DATABASE',
    'DROP TYPE Doc UNSAFE',
    'TRUNCATE TYPE Doc UNSAFE',
    'ALTER DATABASE `svc.txRetries` 1',
  ]) {
    const {status, text} = await imported(says(statement));
    assert.equal(status, 400, text);
    assert.match(text, /makes nothing of a schema|line 1/, statement);
  }
  const users = await server.ask('/server/users');
  assert.doesNotMatch(users.text, /mallory/);
});

test('an import writes no type that whoever asks may not write', async () => {
  const refused = await imported(record('Secret', {name: 'forged'}));
  assert.equal(refused.status, 403, refused.text);
  assert.match(refused.text, /'mover' is not allowed to create records of type 'Secret'/);
  assert.deepEqual(await server.rows('SELECT count(*) AS n FROM Secret'), [{n: 1}]);
  const taken = await imported(record('Doc', {name: 'plain'}));
  assert.equal(taken.status, 200, taken.text);
});

test('an import changes no schema that whoever asks may not change', async () => {
  const group = {database: 'db', name: 'loaders', access: ['updateSecurity'], types: {}};
  await server.ask('/server/groups', {body: group});
  const loader = {name: 'loader', password: 'loader-pass', databases: {db: ['loaders']}};
  await server.ask('/server/users', {body: loader});
  content = says('CREATE DOCUMENT TYPE Made');
  const {port} = files.address() as AddressInfo;
  const refused = await run(`IMPORT DATABASE http://127.0.0.1:${port}/dump.jsonl`, 'loader');
  assert.equal(refused.status, 403, refused.text);
});

test('an export tells no type that whoever asks may not read', async () => {
  const refused = await run('EXPORT DATABASE file://mine.jsonl.tgz', 'mover');
  assert.equal(refused.status, 403, refused.text);
  assert.match(refused.text, /'mover' is not allowed to read records of type 'Secret'/);
  assert.equal((await run('EXPORT DATABASE file://all.jsonl.tgz')).status, 200);
});

test('an export overwrites none of others', async () => {
  await server.ask('/server', {body: {command: 'create database own'}});
  const databases = {own: ['admin']};
  const user = {name: 'owner', password: 'owner-pass', databases};
  assert.ok((await server.ask('/server/users', {body: user})).status < 300);
  const overwriting = 'EXPORT DATABASE file://all.jsonl.tgz WITH overwrite = true';
  const refused = await run(overwriting, 'owner', 'own');
  assert.equal(refused.status, 403, refused.text);
  assert.match(refused.text, /overwrite/);
  assert.equal((await run('EXPORT DATABASE file://own.jsonl.tgz', 'owner', 'own')).status, 200);
});

test('M9: files without a folder are imported for root alone', async () => {
  const path = join(server.process.root, 'secret.jsonl');
  writeFileSync(path, record('Doc', {name: 'a file'}));
  const refused = await run(`IMPORT DATABASE 'file://${path}'`, 'mover');
  assert.equal(refused.status, 403, refused.text);
  assert.equal((await run(`IMPORT DATABASE 'file://${path}'`)).status, 200);
});

test('triggers and views of a dump belong to whoever imports it', async () => {
  const spying = "'INSERT INTO Copy SET n = (SELECT name FROM Secret)'";
  const taken = await imported(
    says(`CREATE TRIGGER spy AFTER CREATE ON TYPE Doc EXECUTE SQL ${spying}`) +
      says('CREATE MATERIALIZED VIEW Seen AS SELECT name FROM Doc'),
  );
  assert.equal(taken.status, 200, taken.text);
  assert.deepEqual(await server.rows('SELECT owner FROM schema:triggers'), [{owner: 'mover'}]);
  assert.deepEqual(await server.rows('SELECT owner FROM schema:materializedViews'), [
    {owner: 'mover'},
  ]);
  const fired = await run('INSERT INTO Doc SET n = 1');
  assert.match(fired.text, /trigger 'spy'.*not allowed to read records of type 'Secret'/);
  const view = await imported(says('CREATE MATERIALIZED VIEW Stolen AS SELECT name FROM Secret'));
  assert.equal(view.status, 403, view.text);
  await server.rows('DROP TRIGGER spy');
});

test('restored triggers and views do what their owner may, and tell who is missing', async () => {
  const made = await run(
    "CREATE TRIGGER notes AFTER CREATE ON TYPE Doc EXECUTE SQL 'INSERT INTO Copy SET n = 1'",
    'mover',
  );
  assert.equal(made.status, 200, made.text);
  const backup = await server.ask('/server', {body: {command: 'trigger backup db'}});
  const {path} = JSON.parse(backup.text) as {readonly path: string};
  const file = basename(path);
  // Under another name: the owner is there and was not granted it.
  const restored = {command: `restore backup db ${file} as other`};
  assert.equal((await server.ask('/server', {body: restored})).status, 200);
  await assertNoRights(server, 'other');

  await using stack = new AsyncDisposableStack();
  const elsewhere = await AskedServer.start(settings);
  stack.defer(() => elsewhere.dispose());
  mkdirSync(join(elsewhere.process.root, 'backups/db'), {recursive: true, mode: 0o700});
  copyFileSync(path, join(elsewhere.process.root, 'backups/db', file));
  const moved = await elsewhere.ask('/server', {
    body: {command: `restore backup db ${file} as db2`},
  });
  assert.equal(moved.status, 200, moved.text);
  await assertNoRights(elsewhere, 'db2');
  // Somebody of that name with fewer rights: his are asked.
  await person(elsewhere, 'mover', 'db2');
  const types = {Doc: everything};
  await elsewhere.ask('/server/groups', {body: {database: 'db2', name: 'movers', types}});
  const insert = {body: {language: 'sql', command: 'INSERT INTO Doc SET n = 2'}};
  const fired = await elsewhere.ask('/command/db2', insert);
  assert.match(fired.text, /trigger 'notes'.*not allowed to create records of type 'Copy'/);
});

/** The trigger and the view of the database have an owner who may do nothing in it. */
async function assertNoRights(at: AskedServer, database: string): Promise<void> {
  const ask = (command: string): Promise<Told> =>
    at.ask(`/command/${database}`, {body: {language: 'sql', command}});
  const fired = await ask('INSERT INTO Doc SET n = 2');
  assert.ok(fired.status >= 400, fired.text);
  assert.match(fired.text, /trigger 'notes'.*'mover', in whose name it runs, may not use/);
  const refreshed = await ask('REFRESH MATERIALIZED VIEW Seen');
  assert.equal(refreshed.status, 403, refreshed.text);
  assert.match(refreshed.text, /'mover', in whose name it runs, may not use/);
  const events = await at.ask('/server/events');
  assert.match(events.text, /database\.owner-missing: trigger 'notes', view 'Seen': User 'mover'/);
}
