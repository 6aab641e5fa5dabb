/**
 * Searches with lists that are kept in memory answer as searches that read the store each time:
 * over a random history, from new snapshots and from one that is older than the lists.
 * Holds invariant W4.
 */
import assert from 'node:assert/strict';
import {after, test} from 'node:test';
import {statementRequest} from '../../statement-request.ts';
import {SeededRandom} from '#server/testing/property/seeded-random.ts';
import {root, ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';

const world = await ServiceWorld.open();
const forgetful = world.another({'svc.searchMemoryMax': '0'});
const tight = world.another({'svc.searchMemoryMax': '4KB'});
after(async () => {
  await forgetful.close();
  await tight.close();
  await world.close();
});

const words = ['alpha', 'beta', 'gamma', 'delta', 'omega', 'alphabet', 'rare'];

const queries = [
  ...words,
  'alpha beta',
  '+alpha +beta',
  'gamma -alpha',
  'alph*',
  '*ta',
  'alpa~1',
  '"beta gamma"',
].map(
  query => `SELECT @rid AS id, $score AS s FROM T WHERE SEARCH_INDEX('T[a]', '${query}') = true`,
);
const sparse = [0, 1, 2].map(
  at =>
    `SELECT expand(vector.sparseNeighbors('T[d,w]', [${at}, ${at + 1}], [1.0, 0.5], 10)) ` +
    'ORDER BY @rid',
);

for (const seed of [1, 2, 3]) {
  test(`a random history, seed ${seed}`, async () => {
    const random = new SeededRandom(seed);
    const database = await world.database([
      'CREATE DOCUMENT TYPE T BUCKETS 2',
      'CREATE PROPERTY T.a STRING',
      'CREATE PROPERTY T.d LIST',
      'CREATE PROPERTY T.w LIST',
      'CREATE INDEX ON T (a) FULL_TEXT METADATA {"allowLeadingWildcard": true}',
      'CREATE INDEX ON T (d, w) LSM_SPARSE_VECTOR METADATA {"modifier": "IDF"}',
    ]);
    let old: {readonly id: string; readonly answers: unknown} | undefined;
    for (let step = 0; step < 120; step += 1) {
      await write(database, random, step);
      if (random.below(3) > 0) continue;
      const text = random.pick([...queries, ...sparse]);
      const kept = await database.run(text);
      assert.deepEqual(kept, await database.over(forgetful).run(text), `step ${step}: ${text}`);
      assert.deepEqual(kept, await database.over(tight).run(text), `step ${step}: ${text}`);
      old = await look(database, old, step % 30 === 0);
    }
    const [checked] = await database.run('CHECK DATABASE');
    assert.equal(checked?.['totalErrors'], 0, JSON.stringify(checked));
  });
}

async function write(database: TestDatabase, random: SeededRandom, step: number): Promise<void> {
  const text = Array.from({length: random.below(6)}, () => random.pick(words)).join(' ');
  const [d, w] = [
    [random.below(4), 4 + random.below(2)],
    [random.below(9) + 1, 2],
  ];
  const set = `a = '${text}', d = ${JSON.stringify(d)}, w = ${JSON.stringify(w)}, n = ${step}`;
  const of = `n = ${random.below(step + 1)}`;
  switch (random.below(6)) {
    case 0:
      await database.run(`DELETE FROM T WHERE ${of}`);
      break;
    case 1:
    case 2:
      await database.run(`UPDATE T SET ${set} WHERE ${of}`);
      break;
    default:
      await database.run(`INSERT INTO T SET ${set}`);
  }
}

/** Asks from a snapshot that stays as it was while others write. */
async function look(
  database: TestDatabase,
  old: {readonly id: string; readonly answers: unknown} | undefined,
  begins: boolean,
): Promise<{readonly id: string; readonly answers: unknown}> {
  const answersIn = async (transactionId: string): Promise<unknown> => {
    const answers: unknown[] = [];
    for (const text of [...queries, ...sparse]) {
      const request = {...statementRequest(database.name, text), transactionId};
      answers.push(await database.run(text, request));
    }
    return answers;
  };
  if (old !== undefined) {
    assert.deepEqual(await answersIn(old.id), old.answers);
    if (!begins) return old;
    await world.service.rollback(root, database.name, old.id);
  }
  const id = await world.service.begin(root, database.name, {isolation: 'REPEATABLE_READ'});
  return {id, answers: await answersIn(id)};
}
