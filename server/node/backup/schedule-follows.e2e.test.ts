/**
 * A schedule of every second follows the databases of a real server: one that is created, closed,
 * opened, restored from an archive or from an address, and dropped.
 */
import assert from 'node:assert/strict';
import {createReadStream, existsSync, readdirSync} from 'node:fs';
import {createServer} from 'node:http';
import type {AddressInfo} from 'node:net';
import {join} from 'node:path';
import {after, before, test} from 'node:test';
import type {Client, Row} from '#server/client/client.ts';
import {eventually} from '#server/testing/time/eventually.ts';
import {freePort} from '#server/testing/worlds/free-port.ts';
import {
  type ServerProcess,
  startServer,
  temporaryRoot,
} from '#server/testing/worlds/server-process.ts';

const root = temporaryRoot('schedule-follows');
let server: ServerProcess;
let client: Client;

before(async () => {
  // The test's own address is inside; the guard is told that it may be asked.
  const settings = {'svc.opencypher.loadCsv.blockedIpRanges': '10.0.0.0/8'};
  server = await startServer({root, port: await freePort(), settings});
  client = server.client();
  await client.createDatabase('first');
  const config = {
    defaults: {
      schedule: {type: 'cron', expression: '* * * * * *'},
      retention: {maxFiles: 1_000},
    },
    databases: {never: {enabled: false}},
  };
  await client.serverCommand('set backup config', {config});
});

after(async () => {
  client.close();
  await server.dispose();
});

function archives(database: string): readonly string[] {
  const directory = join(root, 'backups', database);
  if (!existsSync(directory)) return [];
  return readdirSync(directory).filter(name => name.endsWith('.zip'));
}

/** Two more than there are now: the first may have been under way. */
async function untilMore(database: string): Promise<void> {
  const {length} = archives(database);
  await eventually(`more archives of ${database}`, () => archives(database).length >= length + 2);
}

async function planned(): Promise<readonly unknown[]> {
  const {result} = await client.serverCommand('list jobs');
  return (result as readonly Row[])
    .filter(({kind}) => kind === 'backup')
    .map(({database}) => String(database))
    .sort();
}

test('one that is created is backed up from then on, one that is switched off is not', async () => {
  await client.createDatabase('second');
  await client.createDatabase('never');
  await untilMore('second');
  assert.deepEqual(await planned(), ['first', 'second']);
  assert.deepEqual(archives('never'), []);
});

test('one that is closed is not, and keeps its archives; opened, it is again', async () => {
  await client.serverCommand('close database second');
  assert.deepEqual(await planned(), ['first']);
  await untilMore('first');
  const kept = archives('second');
  assert.ok(kept.length > 0);
  await untilMore('first');
  assert.deepEqual(archives('second'), kept);
  await client.serverCommand('open database second');
  assert.deepEqual(await planned(), ['first', 'second']);
  await untilMore('second');
});

test('one that is restored is, under its new name', async () => {
  const [archive] = archives('second');
  await client.serverCommand(`restore backup second ${String(archive)} as third`);
  assert.deepEqual(await planned(), ['first', 'second', 'third']);
  await untilMore('third');
});

test('one that is restored from an address is, and its way in is told step by step', async () => {
  const [archive] = archives('second');
  const path = join(root, 'backups/second', String(archive));
  const web = createServer((_, answer) => void createReadStream(path).pipe(answer));
  await new Promise<void>(resolve => web.listen(0, '127.0.0.1', () => resolve()));
  try {
    const {port} = web.address() as AddressInfo;
    const address = `http://127.0.0.1:${port}/second.zip`;
    const said: unknown[] = [];
    const tell = (event: Row): void => void said.push(event['message']);
    await client.longCommand(`restore database fourth ${address}`, {}, tell);
    for (const step of ['attaching', 'putting in place']) assert.ok(said.includes(step), step);
  } finally {
    web.close();
  }
  await untilMore('fourth');
  assert.deepEqual(readdirSync(join(root, 'temporary')), []);
});

test('one that is imported is', async () => {
  const body = async function* (): AsyncGenerator<Buffer> {
    yield Buffer.from('n\n1\n');
  };
  await client.importFile('fifth', body(), {new: 'true'}, () => {});
  assert.deepEqual(await planned(), ['fifth', 'first', 'fourth', 'second', 'third']);
  await untilMore('fifth');
});

test('one that is dropped is not, and its archives restore it', async () => {
  await client.dropDatabase('second');
  assert.deepEqual(await planned(), ['fifth', 'first', 'fourth', 'third']);
  const [archive] = archives('second');
  await client.serverCommand(`restore backup second ${String(archive)} as second`);
  assert.deepEqual(await planned(), ['fifth', 'first', 'fourth', 'second', 'third']);
  await untilMore('second');
});
