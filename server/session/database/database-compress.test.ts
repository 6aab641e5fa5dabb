/** CHECK DATABASE COMPRESS: room comes back, nothing else changes, and others work meanwhile. */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {root, ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';

let world: ServiceWorld;
before(async () => {
  world = await ServiceWorld.open();
});
after(() => world.close());

interface Compressed {
  readonly compressed?: boolean;
  readonly bytesBefore?: number;
  readonly bytesAfter?: number;
  readonly totalErrors: number;
}

const kept = 100;

/** Makes 800 KB in files of each type, of which a tenth is alive. */
async function worn(): Promise<TestDatabase> {
  const database = await world.database([
    'CREATE DOCUMENT TYPE A BUCKETS 1',
    'CREATE DOCUMENT TYPE B BUCKETS 1',
    'CREATE PROPERTY A.n INTEGER',
    'CREATE INDEX ON A (n) UNIQUE',
  ]);
  const text = 'x'.repeat(800);
  for (const type of ['A', 'B']) {
    const rows = Array.from({length: 10 * kept}, (_, n) => `(${n}, '${text}')`);
    for (let from = 0; from < rows.length; from += kept) {
      await database.run(
        `INSERT INTO ${type} (n, text) VALUES ${rows.slice(from, from + kept).join()}`,
      );
    }
  }
  world.stored(database).store.makeDurable();
  for (const type of ['A', 'B']) await database.run(`DELETE FROM ${type} WHERE n >= ${kept}`);
  return database;
}

async function compress(database: TestDatabase, clauses: string): Promise<Compressed> {
  const [row] = await database.run(`CHECK DATABASE ${clauses}`);
  return row as unknown as Compressed;
}

async function sums(database: TestDatabase): Promise<unknown> {
  return [
    await database.run('SELECT count(*) AS c, sum(n) AS s FROM A'),
    await database.run('SELECT count(*) AS c, sum(n) AS s FROM B'),
    await database.run('SELECT n FROM A WHERE n = 77'),
  ];
}

test('what was deleted leaves the files, and nothing that is there', async () => {
  const database = await worn();
  const before = await sums(database);
  const row = await compress(database, 'FIX COMPRESS');
  assert.equal(row.compressed, true);
  assert.equal(row.totalErrors, 0);
  const {bytesBefore = 0, bytesAfter = 0} = row;
  assert.ok(bytesBefore > 1.6e6, `${bytesBefore}`);
  assert.ok(bytesAfter < bytesBefore / 4, `${bytesBefore} -> ${bytesAfter}`);
  assert.deepEqual(await sums(database), before);
  assert.equal((await compress(database, '')).compressed, undefined);
});

test('a type or a bucket may be named', async () => {
  const database = await worn();
  const before = await sums(database);
  const first = await compress(database, 'TYPE A COMPRESS');
  const second = await compress(database, 'BUCKET B_0 COMPRESS');
  assert.ok(Number(first.bytesAfter) < Number(first.bytesBefore) / 2);
  assert.ok(second.compressed);
  assert.deepEqual(await sums(database), before);
});

test('others write and read while it goes on, and a snapshot stays as it is', async () => {
  const database = await worn();
  const snapshot = world.stored(database).read();
  const count = snapshot.recordCount(1);
  let isDone = false;
  const compressing = compress(database, 'COMPRESS').finally(() => {
    isDone = true;
  });
  let written = 0;
  while (!isDone) {
    await database.run(`INSERT INTO B SET n = ${1_000_000 + written}`);
    written += 1;
    await new Promise(setImmediate);
  }
  assert.equal((await compressing).compressed, true);
  const [row] = await database.run('SELECT count(*) AS n FROM B WHERE n >= 1000000');
  assert.deepEqual(row, {n: written});
  assert.equal(snapshot.recordCount(1), count);
  snapshot.close();
  const {totalErrors} = await compress(database, 'COMPRESS');
  assert.equal(totalErrors, 0);
});

test('told to stop, it ends, be it waiting for another one or not', async () => {
  const database = await worn();
  const first = database.run('CHECK DATABASE COMPRESS', {tag: 'one'});
  const second = database.run('CHECK DATABASE COMPRESS', {tag: 'two'});
  const refused = assert.rejects(second, {code: 'query.terminated'});
  await new Promise(setImmediate);
  world.service.terminateTagged(root, 'two');
  await refused;
  await first;
  assert.deepEqual(world.service.progress(root, database.name), []);
  const dropped = database.run('CHECK DATABASE COMPRESS').catch(() => undefined);
  await world.service.dropDatabase(root, database.name);
  await dropped;
});

test('single records are not compressed', async () => {
  const database = await worn();
  await assert.rejects(database.run('CHECK DATABASE RECORD #1:0 COMPRESS'), {
    code: 'query.semantic',
  });
});
