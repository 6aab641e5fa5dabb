/**
 * Entries of search indexes that are lost, changed or of no record: CHECK DATABASE tells of them,
 * FIX makes them from the records to the byte, and searches answer as before.
 */
import assert from 'node:assert/strict';
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {openStore} from '#server/storage/rocksdb/open.ts';
import type {Store} from '#server/storage/store.ts';
import {dump} from '#server/testing/property/damages.ts';
import {closing} from '#server/testing/closing.ts';
import {ServiceWorld, TestDatabase} from '#server/testing/worlds/service-world.ts';

const rootPath = mkdtempSync(join(tmpdir(), 'svc-search-check-'));
after(() => rmSync(rootPath, {recursive: true, force: true}));

const searches = [
  "SELECT n, $score AS s FROM D WHERE SEARCH_INDEX('D[t]', 'word1 word2') = true ORDER BY n",
  "SELECT n, distance FROM (SELECT expand(vector.neighbors('D[v]', [3.0, 1.0], 5)))",
  "SELECT n, score FROM (SELECT expand(vector.sparseNeighbors('D[d,w]', [1, 2], [1.0, 0.5], 5)))",
];
const schema = [
  'CREATE DOCUMENT TYPE D',
  ...['t STRING', 'v ARRAY_OF_FLOATS', 'd ARRAY_OF_INTEGERS', 'w ARRAY_OF_FLOATS'].map(
    property => `CREATE PROPERTY D.${property}`,
  ),
  'CREATE INDEX ON D (t) FULL_TEXT METADATA {"positions": true}',
  'CREATE INDEX ON D (v) LSM_VECTOR METADATA {"dimensions": 2}',
  'CREATE INDEX ON D (d, w) LSM_SPARSE_VECTOR',
  ...Array.from(
    {length: 30},
    (_, n) =>
      `INSERT INTO D SET n=${n}, t='word${n % 4} all', v=[${n}.5,1.0], d=[1,2], w=[1.0,${n}.5]`,
  ),
];

async function run(statements: readonly string[], isNew = false): Promise<readonly unknown[]> {
  const world = closing(await ServiceWorld.open({}, {rootPath}));
  try {
    if (isNew) await world.database([]);
    const database = new TestDatabase(world.service, 'db1');
    const answers: unknown[] = [];
    for (const text of statements) answers.push(await database.run(text));
    return answers;
  } finally {
    await world.close();
  }
}

async function withStore<T>(work: (store: Store) => T): Promise<T> {
  const store = closing(await openStore(join(rootPath, 'databases/db1'), {mustExist: true}));
  try {
    return work(store);
  } finally {
    store.close();
  }
}

/** Rows of indexes, by the number of the index. */
const entries = (): Promise<ReadonlyMap<string, string>> =>
  withStore(store => {
    const rows = [...dump(store)].filter(([key]) => key.startsWith('40'));
    return new Map(rows.map(([key, value]) => [key, value.toString('hex')]));
  });

/** Every third entry of each index is lost, and every third stands under another record. */
function damage(store: Store, rows: ReadonlyMap<string, string>): number {
  const batch = store.batch();
  let damages = 0;
  for (const [at, [key, value]] of [...rows].entries()) {
    if (at % 3 === 0) continue;
    batch.delete(Buffer.from(key, 'hex'));
    if (at % 3 === 1)
      batch.put(Buffer.from(`${key.slice(0, -4)}ffff`, 'hex'), Buffer.from(value, 'hex'));
    damages += 1;
  }
  store.write(batch, {sync: true});
  return damages;
}

test('what is damaged in an index is told, and mended from the records', async () => {
  const made = await run([...schema, ...searches], true);
  const expected = made.slice(-searches.length);
  const sound = await entries();
  assert.equal(new Set([...sound.keys()].map(key => key.slice(0, 10))).size, 3, 'three indexes');
  const damages = await withStore(store => damage(store, sound));
  const [looked, fixed, again, ...answers] = await run([
    'CHECK DATABASE',
    'CHECK DATABASE FIX',
    'CHECK DATABASE',
    ...searches,
  ]);
  const errorsOf = (answer: unknown): number => (answer as [{totalErrors: number}])[0].totalErrors;
  assert.ok(errorsOf(looked) >= damages, `${errorsOf(looked)} errors of ${damages}`);
  assert.equal(errorsOf(fixed), errorsOf(looked));
  assert.equal(errorsOf(again), 0);
  assert.deepEqual(answers, expected);
  assert.deepEqual(await entries(), sound);
});
