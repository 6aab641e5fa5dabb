/**
 * ALIGN DATABASE over three processes: a row that one member alone has lost is found by whoever is
 * asked, and that member takes its copy anew; a leader whose copy is the odd one gives it away to
 * nobody.
 */
import assert from 'node:assert/strict';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {namespace} from '#server/layout/namespace.ts';
import {createPackedRows, eachRow} from '#server/storage/packed-rows.ts';
import {openStore} from '#server/storage/rocksdb/open.ts';
import {type Member, untilLed} from '#server/testing/cluster/cluster-system.ts';
import {calmElections, startSvcCluster} from '#server/testing/cluster/svc-cluster.ts';
import {eventually} from '#server/testing/time/eventually.ts';

const rows = 100;
const cluster = await startSvcCluster({
  size: 3,
  settings: calmElections,
});
after(() => cluster.dispose());

interface Aligned {
  readonly member: string;
  readonly found: string;
  readonly differing: readonly string[];
  readonly done: string;
  readonly status: string;
  readonly error?: string;
}

async function align(at: Member): Promise<Aligned[]> {
  const {result} = await cluster.clientOf(at).command('music', 'ALIGN DATABASE');
  return result as unknown as Aligned[];
}

async function idOf(member: Member): Promise<string> {
  return String((await cluster.clientOf(member).cluster('GET', ''))['localPeerId']);
}

async function count(member: Member): Promise<unknown> {
  const {result} = await cluster.clientOf(member).query('music', 'SELECT FROM Artist');
  return result.length;
}

/** Removes one record from the store of a stopped member, and nobody knows. */
async function loseRecord(member: Member): Promise<void> {
  await member.process.stop();
  const store = await openStore(join(cluster.folder, member.name, 'databases/music'));
  const range = {start: Buffer.of(namespace.records), end: Buffer.of(namespace.records + 1)};
  const scanner = store.scan([range], {keysOnly: true, rowsMax: 1});
  const [record] = eachRow(scanner.next(createPackedRows(1 << 10)));
  assert.ok(record !== undefined);
  const batch = store.batch();
  batch.delete(Buffer.from(record.key));
  scanner.close();
  store.write(batch, {sync: true});
  store.close();
  member.process.start();
  await eventually('it answers again', () => count(member).then(n => n === rows - 1));
}

test('a copy that differs is found and taken anew, whoever is asked', async () => {
  const leader = await untilLed(cluster);
  const [hurt, other] = cluster.members.filter(member => member !== leader) as [Member, Member];
  const client = cluster.clientOf(leader);
  await client.createDatabase('music');
  await client.command('music', 'CREATE DOCUMENT TYPE Artist BUCKETS 1');
  const values = Array.from({length: rows}, (_, number) => `(${number})`).join();
  await client.command('music', `INSERT INTO Artist (number) VALUES ${values}`);
  for (const member of cluster.members) {
    await eventually('it has all rows', async () => (await count(member)) === rows);
  }
  const sound = await align(other);
  assert.deepEqual(
    sound.map(({found, done, status}) => [found, done, status]),
    Array.from({length: 3}, () => ['CONSISTENT', 'nothing', 'CONSISTENT']),
  );
  assert.equal(sound[0]?.member, await idOf(leader));

  await loseRecord(hurt);
  assert.equal(await untilLed(cluster), leader);
  const aligned = await align(other);
  const mended = aligned.find(({done}) => done === 'taken anew');
  assert.deepEqual(mended, {
    operation: 'align database',
    member: await idOf(hurt),
    found: 'INCONSISTENT',
    differing: ['Artist_0.bucket'],
    done: 'taken anew',
    status: 'CONSISTENT',
  });
  assert.equal(aligned.filter(({status}) => status === 'CONSISTENT').length, 3);
  assert.equal(await count(hurt), rows);
});

test('a leader whose copy is the odd one replaces nobody’s', async () => {
  const leader = await untilLed(cluster);
  const hurt = cluster.members.find(member => member !== leader) as Member;
  await loseRecord(hurt);
  const body = {peerId: await idOf(hurt)};
  await cluster.clientOf(await untilLed(cluster)).cluster('POST', '/leader', body);
  await eventually('it leads', async () => (await untilLed(cluster)) === hurt);
  const [first, ...others] = await align(leader);
  assert.match(first?.error ?? '', /more members hold another copy/);
  assert.deepEqual(
    others.map(({found, done}) => [found, done]),
    Array.from({length: 2}, () => ['INCONSISTENT', 'nothing']),
  );
  assert.equal(await count(leader), rows);
  await cluster.clientOf(hurt).cluster('POST', '/leader', {peerId: await idOf(leader)});
  await eventually('the other one leads', async () => (await untilLed(cluster)) === leader);
  const [, ...after] = await align(hurt);
  assert.ok(after.some(({done}) => done === 'taken anew'));
  assert.ok(after.every(({status}) => status === 'CONSISTENT'));
  assert.equal(await count(hurt), rows);
});
