/**
 * Searches of every kind on each member of a cluster: exact indexes answer alike everywhere, with
 * lists that a member has kept since before the changes and after the leader was killed; all
 * members hold the same entries.
 */
import assert from 'node:assert/strict';
import {after, test} from 'node:test';
import {type Member, untilLed} from '#server/testing/cluster/cluster-system.ts';
import {calmElections, startSvcCluster} from '#server/testing/cluster/svc-cluster.ts';
import {eventually} from '#server/testing/time/eventually.ts';

const cluster = await startSvcCluster({
  size: 3,
  settings: calmElections,
});
after(() => cluster.dispose());

const words = ['red', 'green', 'blue', 'apple', 'pear', 'plum', 'sweet'];

/** Record `n`, which differs with its `edition`. */
function record(n: number, edition: number): string {
  const at = n * 31 + edition * 7;
  const body = [words[at % 7], words[(at >> 1) % 7], words[(at >> 2) % 7]].join(' ');
  const v = [Math.sin(at), Math.cos(at), (at % 5) - 2];
  const pair = {d: [at % 11, 11 + (at % 3)], w: [1 + (at % 4), 0.5 + (at % 6)]};
  return JSON.stringify({n, body, v, ...pair});
}

const searches = [
  "SELECT n, $score AS s FROM D WHERE SEARCH_INDEX('D[body]', 'apple +sweet ble~1 gr*') = true " +
    'ORDER BY $score DESC LIMIT 20',
  "SELECT n, distance FROM (SELECT expand(vector.neighbors('D[v]', [0.3, 0.5, 1.0], 20)))",
  "SELECT n, score FROM (SELECT expand(vector.sparseNeighbors('D[d,w]', [3, 12], [1.0, 2.0], 20)))",
];

async function answersOf(member: Member): Promise<readonly unknown[]> {
  const answers: unknown[] = [];
  for (const search of searches) {
    const {result} = await cluster.clientOf(member).query('db', search);
    answers.push(result);
  }
  return answers;
}

/** Everybody who runs has so many records, and answers as the first who has them. */
async function assertAlike(count: number): Promise<void> {
  let expected: readonly unknown[] | undefined;
  for (const member of cluster.members.filter(({process}) => process.isRunning)) {
    await eventually(`${member.name} has ${count} records`, async () => {
      const {result} = await cluster.clientOf(member).query('db', 'SELECT count(*) AS n FROM D');
      return result[0]?.['n'] === count;
    });
    // Twice: from the entries, then from what is kept of them.
    for (const answers of [await answersOf(member), await answersOf(member)]) {
      expected ??= answers;
      assert.deepEqual(answers, expected, member.name);
      assert.ok(answers.every(rows => (rows as readonly unknown[]).length > 5));
    }
  }
}

test('exact searches answer alike on every member', {timeout: 120_000}, async () => {
  const first = await untilLed(cluster);
  const leader = cluster.clientOf(first);
  await leader.createDatabase('db');
  for (const text of [
    'CREATE DOCUMENT TYPE D',
    ...['body STRING', 'v ARRAY_OF_FLOATS', 'd ARRAY_OF_INTEGERS', 'w ARRAY_OF_FLOATS'].map(
      property => `CREATE PROPERTY D.${property}`,
    ),
    'CREATE INDEX ON D (body) FULL_TEXT METADATA {"analyzer": "english"}',
    'CREATE INDEX ON D (v) LSM_VECTOR METADATA {"dimensions": 3, "similarity": "EUCLIDEAN"}',
    'CREATE INDEX ON D (d, w) LSM_SPARSE_VECTOR METADATA {"modifier": "IDF"}',
    `INSERT INTO D CONTENT [${Array.from({length: 300}, (_, n) => record(n, 0)).join()}]`,
  ]) {
    await leader.command('db', text);
  }
  await assertAlike(300);

  for (let n = 40; n < 60; n += 1) {
    await leader.command('db', `UPDATE D CONTENT ${record(n, 1)} WHERE n = ${n}`);
  }
  // Last: who has counted it has the updates.
  await leader.command('db', 'DELETE FROM D WHERE n < 40');
  await assertAlike(260);

  await first.process.kill();
  const second = await untilLed(cluster);
  const more = Array.from({length: 50}, (_, n) => record(500 + n, 2));
  await cluster.clientOf(second).command('db', `INSERT INTO D CONTENT [${more.join()}]`);
  await assertAlike(310);

  first.process.start();
  await untilLed(cluster);
  await assertAlike(310);
});
