/**
 * The commands as a shell runs them: `bin/svc` in a process of its own, against a real server.
 */
import assert from 'node:assert/strict';
import {spawn} from 'node:child_process';
import {cpSync, rmSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {after, before, test} from 'node:test';
import {indexRange} from '#server/layout/index-key.ts';
import {recordKey} from '#server/layout/record-key.ts';
import {Rid} from '#server/model/value.ts';
import {createPackedRows, eachRow} from '#server/storage/packed-rows.ts';
import {openStore} from '#server/storage/rocksdb/open.ts';
import {freePort} from '#server/testing/worlds/free-port.ts';
import {
  program,
  type Ran,
  rootPassword,
  runSvc,
  type ServerProcess,
  startServer,
  temporaryRoot,
} from '#server/testing/worlds/server-process.ts';

let server: ServerProcess;
let folder: string;

before(async () => {
  folder = temporaryRoot('commands');
  server = await startServer({root: temporaryRoot('commands-server'), port: await freePort()});
});

after(async () => {
  await server.dispose();
  rmSync(folder, {recursive: true});
});

/** Runs `bin/svc` with the words against the server, and with `input` on its standard input. */
function svc(words: readonly string[], input = ''): Promise<Ran> {
  return runSvc(words, {SVC_URL: server.url, SVC_PASSWORD: rootPassword}, input);
}

async function accepted(words: readonly string[], input = ''): Promise<string> {
  const ran = await svc(words, input);
  assert.equal(ran.code, 0, `svc ${words.join(' ')}: ${ran.error}${ran.out}`);
  return ran.out;
}

test('a database is created, filled from files and from standard input, and asked', async () => {
  assert.equal(await accepted(['database', 'create', 'shop']), 'created database shop\n');
  for (const statement of [
    'CREATE VERTEX TYPE Item',
    'CREATE PROPERTY Item.id LONG',
    'CREATE INDEX ON Item (id) UNIQUE',
    'CREATE EDGE TYPE Fits',
  ]) {
    await accepted(['query', 'shop', statement]);
  }
  const file = join(folder, 'items.ndjson');
  writeFileSync(
    file,
    '{"@type":"v","@class":"Item","@id":"a","id":1,"name":"bolt, long"}\n' +
      '{"@type":"v","@class":"Item","@id":"b","id":9007199254740993,"name":"nut"}\n' +
      '{"@type":"e","@class":"Fits","@from":"a","@to":"b"}\n',
  );
  const loaded = await accepted(['load', 'shop', file]);
  assert.match(loaded, /^loaded 2 vertices and 1 edges from 3 lines in [\d.]+ s\n$/);
  const csv = '@type,@class,id,name\nvertex,Item,3,washer\n';
  assert.match(await accepted(['load', 'shop', '-', '--format', 'csv'], csv), /^loaded 1 vertices/);

  const select = 'SELECT id, name FROM Item WHERE id <> :id ORDER BY id';
  const asked = ['query', 'shop', select, '--param', 'id=3'];
  assert.equal(
    await accepted([...asked, '--format', 'csv']),
    'id,name\r\n1,"bolt, long"\r\n9007199254740993,nut\r\n',
  );
  assert.equal(
    await accepted(asked),
    '{"id":1,"name":"bolt, long"}\n{"id":9007199254740993,"name":"nut"}\n',
  );
  const hop = "SELECT out('Fits').name AS fits FROM Item WHERE id = 1";
  assert.equal(await accepted(['query', 'shop', '-'], hop), '{"fits":["nut"]}\n');
});

test('databases are listed, closed, opened and dropped', async () => {
  await accepted(['database', 'create', 'brief']);
  assert.match(await accepted(['database', 'list']), /^brief$/m);
  assert.equal(await accepted(['database', 'close', 'brief']), 'closed database brief\n');
  assert.equal(await accepted(['database', 'open', 'brief']), 'opened database brief\n');
  assert.equal(await accepted(['database', 'drop', 'brief']), 'dropped database brief\n');
  assert.doesNotMatch(await accepted(['database', 'list']), /^brief$/m);
});

test('a damaged copy of a database is checked, and mended by a server of its own', async () => {
  await accepted(['database', 'create', 'precious']);
  for (const statement of [
    'CREATE VERTEX TYPE Item',
    'CREATE PROPERTY Item.id LONG',
    'CREATE INDEX ON Item (id) UNIQUE',
    'INSERT INTO Item SET id = 1',
    'INSERT INTO Item SET id = 2',
  ]) {
    await accepted(['query', 'precious', statement]);
  }
  const sound = 'checked 2 records of precious: 0 errors, 0 of them mended, 0 warnings\n';
  assert.equal(await accepted(['database', 'check', 'precious']), sound);

  await server.stop();
  const root = temporaryRoot('commands-copy');
  cpSync(server.root, root, {recursive: true});
  server = await startServer({root: server.root, port: await freePort()});
  await damage(join(root, 'databases/precious'));
  const copy = await startServer({root, port: await freePort()});
  const onCopy = (...words: string[]): Promise<Ran> =>
    svc(['database', 'check', 'precious', '--url', copy.url, ...words]);
  try {
    const found = await onCopy();
    assert.equal(found.code, 1);
    assert.match(found.out, /^index-entry-missing +#1:0 .* FIX$/m);
    assert.match(found.out, /^record-damaged +#1:1 .* restore$/m);
    assert.match(found.out, /: 2 errors, 0 of them mended, 0 warnings\n$/);
    const fixed = await onCopy('--fix');
    assert.equal(fixed.code, 1, 'a lost record is not made up');
    assert.match(fixed.out, /^index-entry-missing +#1:0 .* done$/m);
    assert.match((await onCopy()).out, /: 1 errors, 0 of them mended, 0 warnings\n$/);
    assert.equal((await onCopy('--delete-orphans')).code, 2);
  } finally {
    await copy.dispose();
  }
  assert.equal(await accepted(['database', 'check', 'precious']), sound);
});

/** Cuts the second record short and takes the first one's index entry, below the transactions. */
async function damage(path: string): Promise<void> {
  const store = await openStore(path, {mustExist: true});
  const batch = store.batch();
  batch.put(recordKey(new Rid(1, 1)), Buffer.from('cut'));
  const {start, end} = indexRange(1);
  const [first] = [...eachRow(store.scan([{start, end}]).next(createPackedRows(4_096)))];
  batch.delete(first?.key ?? start);
  store.write(batch, {sync: true});
  store.close();
}

test('what the server refuses is one sentence and exit code 1', async () => {
  const missing = await svc(['query', 'nowhere', 'SELECT 1']);
  assert.equal(missing.code, 1);
  assert.match(missing.error, /^svc query: .*nowhere.*\(status 404\)/);
  const wrong = await svc(['query', 'nowhere', 'SELECT 1', '--json']);
  assert.equal((JSON.parse(wrong.error) as {status: number}).status, 404);
});

test('a reader that stops early is no defect', async () => {
  await accepted(['database', 'create', 'long']);
  const words = ['query', 'long', 'UNWIND range(1, 200000) AS i RETURN i', '--limit', '-1'];
  const env = {...process.env, SVC_URL: server.url, SVC_PASSWORD: rootPassword};
  const child = spawn(program, [...words, '--language', 'cypher'], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let error = '';
  child.stderr.on('data', chunk => (error += String(chunk)));
  child.stdout.once('data', () => child.stdout.destroy());
  const code = await new Promise(settle => child.once('close', settle));
  assert.deepEqual({code, error}, {code: 1, error: ''});
});

test('version and settings need no server', async () => {
  assert.match(await accepted(['version']), /^svc \d+\.\d+\.\d+\nruntime /);
  const settings = JSON.parse(
    await accepted(['settings', '--json', '--set', 'svc.server.httpIncomingPort=2490']),
  ) as {key: string; value: unknown}[];
  const port = settings.find(({key}) => key === 'svc.server.httpIncomingPort');
  assert.match(String(port?.value), /2490/);
});

test('a setting that does not exist is refused with the nearest one', async () => {
  const ran = await svc(['start', '--set', 'svc.server.httpIncomingPrt=1']);
  assert.equal(ran.code, 1);
  assert.match(ran.error, /svc\.server\.httpIncomingPrt.*svc\.server\.httpIncomingPort/s);
});
