/** Indexes that come and go while others read and write. */
import assert from 'node:assert/strict';
import {after, test} from 'node:test';
import {Refusal} from '#server/base/errors.ts';
import {assertIntegrity} from '#server/simulation/integrity.ts';
import {root, ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';
import {WatchedTimers} from '#server/testing/time/watched-timers.ts';

// What is shown of a build is looked at whenever something pauses: a build does before each chunk.
const timers = new WatchedTimers();
const world = await ServiceWorld.open({}, {timers});
after(() => world.close());

const rows = 20_000;

async function filled(): Promise<TestDatabase> {
  const database = await world.database([
    'CREATE DOCUMENT TYPE T',
    'CREATE PROPERTY T.k INTEGER',
    'CREATE PROPERTY T.n INTEGER',
  ]);
  for (let at = 0; at < rows; at += 2_000) {
    const values = Array.from({length: 2_000}, (_, n) => `(${at + n}, ${(at + n) % 7})`);
    await database.run(`INSERT INTO T (k, n) VALUES ${values.join(',')}`);
  }
  return database;
}

function assertWhole(database: TestDatabase): void {
  const {database: opened, schema} = world.service.databaseSession(root, database.name);
  const reader = opened.read();
  assertIntegrity(reader, schema.context);
  reader.close();
}

for (const kind of ['UNIQUE', 'NOTUNIQUE', 'UNIQUE_HASH', 'NOTUNIQUE_HASH']) {
  test(`${kind}: no write waits for a build, and none is missed by it`, async () => {
    const database = await filled();
    let isDone = false;
    const built = database.run(`CREATE INDEX ON T (k) ${kind}`).finally(() => {
      isDone = true;
    });
    const shown = new Set<number>();
    let writes = 0;
    timers.onPause = () => {
      for (const {stepName, done, total} of world.service.progress(root, database.name)) {
        assert.equal(stepName, 'T[k]');
        assert.ok(total !== undefined && done <= total + writes + 1);
        shown.add(done);
      }
      const stranger = {name: 'eve', root: false, grants: new Map([[database.name, ['none']]])};
      for (const {stepName, total} of world.service.progress(stranger, database.name)) {
        assert.deepEqual([stepName, total], ['build index', 100], 'who may not read T');
      }
    };
    for (let k = rows; !isDone; k += 1) {
      await database.run(`INSERT INTO T SET k = ${k}, n = 7`);
      await database.run(`UPDATE T SET k = ${-k} WHERE k = ${(k * 31) % rows}`);
      await database.run(`DELETE FROM T WHERE k = ${(k * 17) % rows}`);
      writes += 3;
    }
    const [answer] = await built;
    timers.onPause = () => {};
    assert.equal(answer?.['created'], true);
    assert.ok(shown.size > 5, `progress was shown ${shown.size} times`);
    assertWhole(database);
    const [counted] = await database.run('SELECT count(*) AS c FROM T WHERE k >= 0 OR k < 0');
    assert.deepEqual(await database.run('SELECT count(*) AS c FROM T'), [counted]);
  });
}

test('a duplicate made while a unique index is built ends the build or is refused', async () => {
  const database = await filled();
  const built = database.run('CREATE INDEX ON T (k) UNIQUE').then(
    () => 'built',
    (error: unknown) => error,
  );
  await new Promise(setImmediate);
  const doubled = await database.run(`INSERT INTO T SET k = ${rows - 1}`).then(
    () => 'inserted',
    (error: unknown) => error,
  );
  const outcomes = [await built, doubled];
  const refused = outcomes.filter(
    one => one instanceof Refusal && one.code === 'commit.duplicate-key',
  );
  assert.equal(refused.length, 1, outcomes.map(String).join(' and '));
  assertWhole(database);
});

for (const [what, statement] of [
  ['dropped', 'DROP INDEX `T[n]`'],
  ['rebuilt', 'REBUILD INDEX `T[n]`'],
] as const) {
  test(`a query that reads an index goes on when that is ${what}`, async () => {
    const database = await filled();
    await database.run('CREATE INDEX ON T (n) NOTUNIQUE');
    const text = 'SELECT k, n FROM T WHERE n >= 3';
    const request = {...database.request(text), format: 'ndjson', limit: -1} as const;
    const cursor = await world.service.run(root, request);
    let answer = (await cursor.next())?.toString() ?? '';
    await database.run(statement);
    for (let piece = await cursor.next(); piece; piece = await cursor.next()) {
      answer += piece.toString();
    }
    cursor.close();
    const lines = answer.trim().split('\n');
    const expected = Array.from({length: rows}, (_, k) => k).filter(k => k % 7 >= 3).length;
    assert.equal(new Set(lines).size, expected);
    assert.equal(lines.length, expected);
  });
}
