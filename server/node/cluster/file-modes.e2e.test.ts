/**
 * Every kind of file that a server writes, as a table: three members are made to write all of them,
 * and whoever looks meanwhile finds each of them its owner's alone, the temporary ones too. M7 of
 * the attacks.
 */
import assert from 'node:assert/strict';
import {readdirSync, statSync} from 'node:fs';
import {join} from 'node:path';
import {after, test} from 'node:test';
import type {Client} from '#server/client/client.ts';
import {type Member, untilLed} from '#server/testing/cluster/cluster-system.ts';
import {calmElections, startSvcCluster} from '#server/testing/cluster/svc-cluster.ts';
import {eventually} from '#server/testing/time/eventually.ts';
import {rootPassword} from '#server/testing/worlds/server-process.ts';

const cluster = await startSvcCluster({
  size: 3,
  settings: {
    ...calmElections,
    'svc.ha.logSegmentSize': 64 << 10,
    'svc.ha.logPurgeGap': 0,
    'svc.dumpMetricsEvery': 1,
  },
});
after(() => cluster.dispose());

/** What has to be found, by its path in the root of a member. */
const kinds: Readonly<Record<string, RegExp>> = {
  'the lock of the root': /^\.server\.lock$/,
  users: /^config\/server-users\.jsonl$/,
  groups: /^config\/server-groups\.json$/,
  'API tokens': /^config\/server-api-tokens\.json$/,
  'settings that were set': /^config\/.*settings/,
  'the schedule of backups': /^config\/backup\.json$/,
  'the rules of agents': /^config\/mcp/,
  'the log of the cluster': /^raft-storage-svc_\d\/.+/,
  'a store of records': /^databases\/music\/\d+\.sst$/,
  'a restored store': /^databases\/again\/CURRENT$/,
  'an imported store': /^databases\/sent\/CURRENT$/,
  'a snapshot of another member': /^databases\/\.snapshots/,
  'archives of backups': /^backups\/music\/.*\.zip$/,
  'what was exported': /^exports\/.*\.tgz$/,
  'events, a file for each start': /server-event-log-.*\.jsonl$/,
  'runs of the profiler': /profiler.*\.json/,
  'a file that is sent': /^temporary\/import-/,
};

const seen = new Set<string>();
const open = new Set<string>();

/** Looks at everything that lies in the roots now; what is gone meanwhile says nothing. */
function look(): void {
  for (const {name} of cluster.members) {
    const root = join(cluster.folder, name);
    for (const path of readdirSync(root, {recursive: true, encoding: 'utf8'})) {
      const mode = statSync(join(root, path), {throwIfNoEntry: false})?.mode;
      if (mode === undefined) continue;
      seen.add(path);
      if ((mode & 0o077) !== 0) open.add(`${name}/${path}: ${(mode & 0o777).toString(8)}`);
    }
  }
}

async function untilSeen(kind: string): Promise<void> {
  await eventually(`${kind} was seen`, () => {
    look();
    return [...seen].some(path => kinds[kind]?.test(path) === true);
  });
}

async function write(client: Client, count: number): Promise<void> {
  const text = 'x'.repeat(60_000);
  for (let n = 0; n < count; n += 1) {
    await client.command('music', 'INSERT INTO Artist SET text = :text', {params: {text}});
    look();
  }
}

const authorization = `Basic ${Buffer.from(`root:${rootPassword}`).toString('base64')}`;

/** Sends pieces to a path, the next one whenever `more` says so; answers the status. */
async function sendSlowly(
  {url}: Member,
  path: string,
  pieces: readonly string[],
  whileOpen: () => Promise<void>,
): Promise<number> {
  let sends: ReadableStreamDefaultController<Uint8Array> | undefined;
  const body = new ReadableStream<Uint8Array>({start: controller => void (sends = controller)});
  const init: RequestInit & {readonly duplex: 'half'} = {
    method: 'POST',
    headers: {authorization, 'content-type': 'application/x-ndjson'},
    body,
    duplex: 'half',
  };
  const answer = fetch(`${url}/api/v1/${path}`, init);
  for (const piece of pieces) sends?.enqueue(Buffer.from(piece));
  await whileOpen();
  sends?.close();
  return (await answer).status;
}

async function fillAway(): Promise<void> {
  const [away] = cluster.members.filter(member => member !== leader);
  assert.ok(away !== undefined);
  await away.process.kill();
  await write(cluster.clientOf(leader), 20);
  away.process.start();
  await eventually('it takes a snapshot', () => {
    look();
    return away.process.log.includes('"snapshot.installed"');
  });
}

const leader = await untilLed(cluster);

test('every kind of file is its owner’s alone, whenever and however it came', async () => {
  const client = cluster.clientOf(leader);
  await client.createDatabase('music');
  await client.command('music', 'CREATE DOCUMENT TYPE Artist');
  await write(client, 20);
  await client.command('music', 'EXPORT DATABASE file://music.jsonl.tgz');
  const {fileName} = await client.serverCommand('trigger backup music');
  const schedule = {enabled: false};
  const token = {name: 'reader', database: 'music', permissions: {}};
  const group = {database: 'music', name: 'readers', access: [], types: {}};
  for (const command of [
    `restore backup music ${String(fileName)} as again`,
    'set server setting svc.txRetries 7',
    'create user {"name":"adele","password":"ada-pass-word","databases":{"music":["admin"]}}',
    'profiler start 60',
  ]) {
    await client.serverCommand(command);
  }
  for (const [path, body] of [
    ['server', {command: 'set backup config', config: schedule}],
    ['server/api-tokens', token],
    ['server/groups', group],
    ['mcp/config', {enabled: true, allowedUsers: ['*']}],
  ] as const) {
    const made = await fetch(`${leader.url}/api/v1/${path}`, {
      method: 'POST',
      headers: {authorization},
      body: JSON.stringify(body),
    });
    assert.ok(made.status < 300, `${path}: ${await made.text()}`);
  }
  await client.query('music', 'SELECT FROM Artist LIMIT 1');
  await client.serverCommand('profiler stop');
  const line = '{"t":"d","c":"T","r":"#1:0","p":{"n":1}}\n';
  const sent = await sendSlowly(leader, 'import/sent?new=true&name=a.jsonl', [line], () =>
    untilSeen('a file that is sent'),
  );
  assert.equal(sent, 200);
  await fillAway();
  look();
  await Promise.all(cluster.members.map(({process}) => process.stop()));
  look();
  assert.deepEqual([...open], []);
  const missing = Object.entries(kinds).filter(
    ([, path]) => ![...seen].some(one => path.test(one)),
  );
  assert.deepEqual(missing, [], [...seen].join(' ').slice(0, 8_000));
});
