/**
 * A flipped bit in a sorted file of one member: the read that meets it is answered all the same, by
 * the leader, and the member takes its copy anew by itself; a leader lets another one lead before.
 */
import assert from 'node:assert/strict';
import {readdirSync, readFileSync, statSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {ServerError} from '#server/client/server-error.ts';
import {type Member, untilLed} from '../cluster/cluster-system.ts';
import {startSvcCluster, type SvcCluster} from '../cluster/svc-cluster.ts';
import {eventually} from '../time/eventually.ts';

const records = 400;
const sum = (records * (records - 1)) / 2;
const question = 'SELECT sum(id) AS n FROM V';

const cluster = await startSvcCluster({size: 3, settings: {'svc.ha.healthCheckInterval': 500}});
after(() => cluster.dispose());

function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const told = (): string =>
    cluster.members.map(({name, process}) => `${name}:\n${process.log}`).join('\n');
  return eventually(what, holds, {millisMax: 60_000, told});
}

async function ask(member: Member): Promise<unknown> {
  const client = cluster.client(member);
  try {
    return (await client.query('hurt', question)).result[0]?.['n'];
  } finally {
    client.close();
  }
}

async function isConsistent(from: SvcCluster): Promise<boolean> {
  const client = from.client(await untilLed(from));
  try {
    const path = '/api/v1/cluster/verify/hurt';
    const {text} = await client.send({method: 'POST', path, again: true});
    return text.includes('"ALL_CONSISTENT"');
  } finally {
    client.close();
  }
}

/** Flips a bit in the middle of the largest sorted file of a stopped member. */
function damage(member: Member): void {
  const directory = join(cluster.folder, member.name, 'databases/hurt');
  const [path = ''] = readdirSync(directory)
    .filter(name => name.endsWith('.sst'))
    .map(name => join(directory, name))
    .sort((one, other) => statSync(other).size - statSync(one).size);
  const bytes = readFileSync(path);
  const at = bytes.length >> 1;
  bytes[at] = (bytes[at] ?? 0) ^ 4;
  writeFileSync(path, bytes);
}

async function fill(): Promise<void> {
  const client = cluster.client(await untilLed(cluster));
  await client.createDatabase('hurt');
  await client.command('hurt', 'CREATE VERTEX TYPE V');
  const rows = Array.from({length: records}, (_, id) => `(${id}, '${'x'.repeat(500)}')`);
  await client.command('hurt', `INSERT INTO V (id, text) VALUES ${rows.join()}`);
  client.close();
}

/** Stops a member that does not lead, damages its copy, and starts it again. */
async function hurtFollower(): Promise<Member> {
  const leader = await untilLed(cluster);
  const member = cluster.members.find(one => one !== leader);
  assert.ok(member !== undefined);
  await until('it has everything', async () => (await ask(member)) === sum);
  await member.process.stop();
  damage(member);
  member.process.start();
  await untilLed(cluster);
  return member;
}

async function handOver(to: Member): Promise<void> {
  const leader = await untilLed(cluster);
  if (leader === to) return;
  const client = cluster.client(leader);
  const path = '/api/v1/cluster';
  const {text} = await client.send({method: 'GET', path, again: true});
  const {peers} = JSON.parse(text) as {peers: {id: string; name: string}[]};
  const body = JSON.stringify({peerId: peers.find(({name}) => name === to.name)?.id});
  const headers = {'Content-Type': 'application/json'};
  await client.send({method: 'POST', path: `${path}/leader`, headers, body, again: false});
  client.close();
}

function timesTaken(member: Member): number {
  return member.process.log.split('"resync.taken"').length - 1;
}

test('a replica has the leader answer, and mends its copy', async () => {
  await fill();
  const member = await hurtFollower();
  assert.equal(await ask(member), sum);
  assert.match(member.process.log, /"database.damaged".*checksum/);
  await until('it took its copy anew', async () => timesTaken(member) === 1);
  assert.equal(await ask(member), sum);
  await until('all hold the same', () => isConsistent(cluster));
});

test('a leader says what is damaged, lets another one lead, and mends its copy', async () => {
  const member = await hurtFollower();
  const before = timesTaken(member);
  // Whoever leads by then may be another one again: it is handed over once more.
  await until('a leader says what is damaged', async () => {
    await handOver(member);
    return ask(member).then(
      () => false,
      (error: unknown) => {
        assert.ok(error instanceof ServerError);
        assert.equal(error.exceptionName, 'DatabaseNotAvailableException');
        return /checksum .*hurt.*\.sst/s.test(error.message);
      },
    );
  });
  await until('another one leads', async () => (await untilLed(cluster)) !== member);
  await until('it took its copy anew', async () => timesTaken(member) > before);
  assert.equal(await ask(member), sum);
  await until('all hold the same', () => isConsistent(cluster));
});
