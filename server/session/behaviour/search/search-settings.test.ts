/** The settings of searches act: what is kept in memory, how many records are scored at once. */
import assert from 'node:assert/strict';
import {after, test} from 'node:test';
import {eventually} from '#server/testing/time/eventually.ts';
import {root, ServiceWorld} from '#server/testing/worlds/service-world.ts';

const world = await ServiceWorld.open();
after(() => world.close());

const count = 600;
const schema = [
  'CREATE DOCUMENT TYPE D',
  ...['t STRING', 'v ARRAY_OF_FLOATS', 'd ARRAY_OF_INTEGERS', 'w ARRAY_OF_FLOATS'].map(
    property => `CREATE PROPERTY D.${property}`,
  ),
  'CREATE INDEX ON D (t) FULL_TEXT',
  'CREATE INDEX ON D (v) LSM_VECTOR METADATA {"dimensions": 2}',
  'CREATE INDEX ON D (d, w) LSM_SPARSE_VECTOR',
];
const weightOf = (n: number): number => ((n * 7919) % count) + 0.5;
const rows = Array.from({length: count}, (_, n) => {
  return `{"n": ${n}, "t": "a", "v": [1, ${n}], "d": [1, 2], "w": [1, ${weightOf(n)}]}`;
});
const best = Array.from({length: count}, (_, n) => n)
  .sort((one, other) => weightOf(other) - weightOf(one))
  .slice(0, 5);

const text = "SELECT count(*) AS n FROM D WHERE SEARCH_INDEX('D[t]', 'a') = true";
const near = "SELECT n FROM (SELECT expand(vector.neighbors('D[v]', [1.0, 0.0], 2)))";
const sparse = "SELECT n FROM (SELECT expand(vector.sparseNeighbors('D[d,w]', [2], [1.0], 5)))";

/** Bytes that are kept of the index of one kind; waits until there are some where `isKept`. */
async function keptBytes(
  settings: Readonly<Record<string, string>>,
  [search, type]: readonly [string, string],
  isKept: boolean,
): Promise<number> {
  const service = world.another(settings);
  try {
    const own = database.over(service);
    const bytes = (): number => {
      const figures = service.searchFigures(root).get(own.name) ?? [];
      return figures.find(one => one.type === type)?.memoryBytes ?? 0;
    };
    for (let asked = 0; asked < 50; asked += 1) await own.run(search);
    if (isKept) {
      // Graphs are made in the background.
      await eventually(`something is kept of the ${type} index`, async () => {
        await own.run(search);
        return bytes() > 0;
      });
    }
    return bytes();
  } finally {
    await service.close();
  }
}

const database = await world.database(schema);
for (let from = 0; from < count; from += 200) {
  await database.run(`INSERT INTO D CONTENT [${rows.slice(from, from + 200).join()}]`);
}

test('svc.searchMemoryMax bounds the lists of words and dimensions', async () => {
  for (const kind of [
    [text, 'FULL_TEXT'],
    [sparse, 'LSM_SPARSE_VECTOR'],
  ] as const) {
    assert.ok((await keptBytes({}, kind, true)) > 0, kind[1]);
    assert.equal(await keptBytes({'svc.searchMemoryMax': '0'}, kind, false), 0, kind[1]);
  }
});

test('svc.vectorIndexMemoryMax bounds the graphs of vectors', async () => {
  const kind = [near, 'LSM_VECTOR'] as const;
  assert.ok((await keptBytes({}, kind, true)) > 0);
  assert.equal(await keptBytes({'svc.vectorIndexMemoryMax': '0'}, kind, false), 0);
});

test('svc.sparseVectorScoringWindow changes no answer', async () => {
  for (const window of ['0', '100', '16384']) {
    const service = world.another({'svc.sparseVectorScoringWindow': window});
    try {
      const found = await database.over(service).run(sparse);
      assert.deepEqual(
        found.map(({n}) => n),
        best,
        window,
      );
    } finally {
      await service.close();
    }
  }
});

test('svc.sparseVectorScoringMinPostingsForPartitioning changes no answer', async () => {
  const partsOf = async (postings: number): Promise<number> => {
    const name = 'svc.sparseVectorScoringMinPostingsForPartitioning';
    const service = world.another({[name]: String(postings)});
    try {
      const own = database.over(service);
      const found = await own.run(sparse);
      assert.deepEqual(
        found.map(({n}) => n),
        best,
      );
      const figures = service.searchFigures(root).get(own.name) ?? [];
      return figures.find(({type}) => type === 'LSM_SPARSE_VECTOR')?.parts ?? 0;
    } finally {
      await service.close();
    }
  };
  assert.equal(await partsOf(50_000), 0);
  assert.ok((await partsOf(count / 4)) >= 4);
});

test('options of a sparse index act: weights of a byte, rare dimensions', async () => {
  const own = await world.database([
    'CREATE DOCUMENT TYPE S',
    'CREATE PROPERTY S.d ARRAY_OF_INTEGERS',
    'CREATE PROPERTY S.w ARRAY_OF_FLOATS',
    "INSERT INTO S SET n = 'a', d = [1, 2], w = [100.25, 0.25]",
    "INSERT INTO S SET n = 'b', d = [1], w = [100.5]",
  ]);
  const found = async (
    options: string,
    dimension: number,
  ): Promise<readonly (readonly [unknown, number])[]> => {
    await own.run(`CREATE INDEX ON S (d, w) LSM_SPARSE_VECTOR METADATA ${options}`);
    const search = `vector.sparseNeighbors('S[d,w]', [${dimension}], [1.0], 5)`;
    const rows = await own.run(`SELECT n, score FROM (SELECT expand(${search}))`);
    await own.run('DROP INDEX `S[d,w]`');
    return rows.map(({n, score}) => [n, Number(score)] as const);
  };
  assert.deepEqual(await found('{}', 1), [
    ['b', 100.5],
    ['a', 100.25],
  ]);
  // Rounded to a step that keeps the greatest weight of the record within a byte.
  assert.deepEqual(await found('{"weightQuantization": "INT8"}', 1), [
    ['b', 101],
    ['a', 100],
  ]);
  // What is less than half a step has no entry.
  assert.deepEqual(await found('{"weightQuantization": "INT8"}', 2), []);
  const common = (await found('{"modifier": "IDF"}', 1))[0]?.[1] ?? 0;
  const rare = (await found('{"modifier": "IDF"}', 2))[0]?.[1] ?? 0;
  assert.ok(rare / 0.25 > common / 100.5, `${rare} of the rare one, ${common} of the common one`);
});
