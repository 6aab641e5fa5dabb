/**
 * Work that wrote nothing rests on what it read: what the cluster may have told others before is
 * read again.
 */
import assert from 'node:assert/strict';
import {after, test} from 'node:test';
import {ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';

const world = await ServiceWorld.open();
after(() => world.close());

const schema = [
  'CREATE DOCUMENT TYPE R',
  'CREATE PROPERTY R.k STRING',
  'CREATE INDEX ON R (k) UNIQUE',
  "INSERT INTO R SET k = 'a', v = 1",
];

/** Whoever asks how new a read must be finds that `statement` was carried out by others before. */
function withNews(database: TestDatabase, statement: string): {readonly asked: () => number} {
  const inner = world.stored(database);
  let asked = 0;
  inner.readIndex = async () => {
    asked += 1;
    if (asked === 1) await database.run(statement);
    return inner.lastIndex;
  };
  return {asked: () => asked};
}

test('an update that found nothing looks again at what others were told', async () => {
  const database = await world.database(schema);
  const news = withNews(database, 'UPDATE R SET v = 2');
  assert.deepEqual(await database.run('UPDATE R SET v = 3 WHERE v = 2'), [{count: 1}]);
  assert.equal(news.asked(), 1, 'what wrote is confirmed by its commit');
  assert.deepEqual(await database.run('UPDATE R SET v = 4 WHERE v = 2'), [{count: 0}]);
  assert.equal(news.asked(), 2);
});

test('a vertex that is missing may be there', async () => {
  const database = await world.database(['CREATE VERTEX TYPE V', 'CREATE EDGE TYPE E']);
  await database.run('CREATE VERTEX V');
  withNews(database, 'CREATE VERTEX V');
  const edge = 'CREATE EDGE E FROM #1:0 TO #1:1';
  assert.equal((await database.run(edge)).length, 1);
  await assert.rejects(database.run('CREATE EDGE E FROM #1:0 TO #1:9'), {code: 'record.not-found'});
});

test('a key that is there may be gone', async () => {
  const database = await world.database(schema);
  withNews(database, 'DELETE FROM R');
  await database.run("INSERT INTO R SET k = 'a', v = 5");
  assert.deepEqual(await database.run('SELECT v FROM R'), [{v: 5}]);
  await assert.rejects(database.run("INSERT INTO R SET k = 'a'"), {code: 'commit.duplicate-key'});
});
