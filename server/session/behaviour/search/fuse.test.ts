/** `vector.fuse` as a node of the plan: what it answers, and that hybrid searches are one. */
import assert from 'node:assert/strict';
import {after, test} from 'node:test';
import type {MapValue} from '#server/model/value.ts';
import {parseJsonText} from '#server/model/json-parser.ts';
import {SeededRandom} from '#server/testing/property/seeded-random.ts';
import {root, ServiceWorld} from '#server/testing/worlds/service-world.ts';
import {runSearch} from '../../searches.ts';

const world = await ServiceWorld.open();
after(() => world.close());

const count = 60;
const database = await world.database([
  'CREATE VERTEX TYPE Doc',
  'CREATE EDGE TYPE Cites',
  'CREATE PROPERTY Doc.body STRING',
  'CREATE PROPERTY Doc.place ARRAY_OF_FLOATS',
  'CREATE INDEX ON Doc (body) FULL_TEXT',
  'CREATE INDEX ON Doc (place) LSM_VECTOR METADATA {"dimensions": 2}',
  ...Array.from({length: count}, (_none, at) => {
    const words = ['apple', at % 2 === 0 ? 'pie' : 'tart', ...(at % 3 === 0 ? ['pie'] : [])];
    const place = [Math.cos(at % 10), Math.sin(at % 10)];
    return `INSERT INTO Doc SET n = ${at}, body = '${words.join(' ')}', place = [${place.join()}]`;
  }),
  'CREATE EDGE Cites FROM (SELECT FROM Doc WHERE n = 0) TO (SELECT FROM Doc WHERE n = 59)',
]);

const near =
  "SELECT @rid, distance FROM (SELECT expand(vector.neighbors('Doc[place]', [1, 0], 30)))";
const pies =
  "SELECT @rid, $score AS score FROM Doc WHERE SEARCH_INDEX('Doc[body]', 'pie') = true " +
  'ORDER BY $score DESC LIMIT 20';
const fused = (options: string, ...sources: string[]): string =>
  'SELECT @rid AS rid, score, n FROM ' +
  `(SELECT expand(vector.fuse(${sources.join(', ')}, ${options})))`;

async function explained(text: string): Promise<string> {
  const cursor = await database.service.run(root, database.request(`EXPLAIN ${text}`));
  cursor.close();
  return cursor.summary.explain ?? '';
}

const options: readonly Readonly<Record<string, unknown>>[] = [
  {},
  {limit: 7},
  {limit: -1, k: 1},
  {fusion: 'RRF', weights: [0, 2.5]},
  {fusion: 'DBSF', weights: [1, -1]},
  {fusion: 'LINEAR', limit: 100},
];

/** Options that are known when the statement runs are the function's. */
for (const given of options) {
  test(`the node answers what the function does: ${JSON.stringify(given)}`, async () => {
    const sources = [`(${near})`, `(${pies})`];
    const node = fused(JSON.stringify(given), ...sources);
    const call = fused(':options', ...sources);
    const parameters = new Map([['options', parseJsonText(JSON.stringify(given))]]);
    assert.match(await explained(node), /─ fuse \$\d+ by -\$\d+; \$\d+ by \$\d+/);
    assert.doesNotMatch(await explained(call), /─ fuse/);
    const rows = await database.run(node);
    assert.ok(rows.length > 0);
    assert.deepEqual(rows, await database.run(call, {parameters}));
  });
}

test('the node answers what the function does: legs and options by chance', async () => {
  const random = new SeededRandom(2_607);
  const ids = (await database.run('SELECT @rid AS rid FROM Doc')).map(row => String(row['rid']));
  // Some find nothing, or a record twice; scores are often equal, or differ beyond 32 bits.
  const leg = (): string => {
    const found = Array.from({length: 1 + random.below(12)}, () => random.pick(ids));
    const score = random.pick(['n % 5 - 2', '1 + n * 0.00000001', 'n * n * 1000', '3']);
    const column = random.pick(['score', 'distance']);
    const end = random.pick(['', ' WHERE n < 0', ' LIMIT 2', ` ORDER BY ${column} DESC LIMIT 4`]);
    return `(SELECT @rid, ${score} AS ${column} FROM [${found.join()}]${end})`;
  };
  for (let round = 0; round < 300; round += 1) {
    const legs = Array.from({length: random.pick([2, 2, 3])}, leg);
    const given = {
      fusion: random.pick(['RRF', 'DBSF', 'LINEAR']),
      weights: legs.map(() => random.pick([-1.5, -1, 0, 0, 0.5, 1, 1, 2])),
      ...random.pick([{}, {limit: -1}, {limit: 0}, {limit: 1}, {limit: 5}]),
    };
    const node =
      fused(JSON.stringify(given), ...legs) + random.pick(['', ' LIMIT 3', ' SKIP 1 LIMIT 2']);
    const call = node.replace(JSON.stringify(given), ':options');
    const parameters = new Map([['options', parseJsonText(JSON.stringify(given))]]);
    assert.match(await explained(node), /─ fuse/);
    assert.deepEqual(await database.run(node), await database.run(call, {parameters}), node);
  }
});

test('equal scores are in the order of ids, and a record counts where it is best', async () => {
  const list = (numbers: readonly number[]): string =>
    `(SELECT @rid FROM Doc WHERE n IN [${numbers.join()}])`;
  const rows = await database.run(fused('{limit: 3}', list([4, 9]), list([2, 9])));
  assert.deepEqual(
    rows.map(row => row['n']),
    [9, 2, 4],
  );
  const [, second, third] = rows;
  assert.equal(second?.['score'], third?.['score']);
});

test('a search in a leg is a node of its own, with its LIMIT', async () => {
  const plan = await explained(fused('{limit: 3}', `(${near})`, `(${pies})`));
  assert.match(plan, /search Doc\[body\] for "pie" by BM25 best 20 as/);
  assert.match(plan, /fuse .* best 3 as/);
});

for (const bad of ["{fusion: 'SUM'}", '{weights: [1]}', '{limit: -2}', '{k: -1}']) {
  test(`refused as the function does: ${bad}`, async () => {
    await assert.rejects(database.run(fused(bad, `(${near})`, `(${pies})`)), {
      code: 'query.option',
    });
  });
}

test('a score is needed on every row where scores are fused', async () => {
  const plain = '(SELECT @rid FROM Doc LIMIT 3)';
  await assert.rejects(database.run(fused("{fusion: 'LINEAR'}", `(${near})`, plain)), {
    code: 'query.option',
    message: /requires a numeric score on every row of source\[1\]/,
  });
});

test('ids of sources in turn, each once', async () => {
  const [row] = await database.run(
    "SELECT vector.interleave(['#1:0', '#1:1', '#1:2'], ['#1:1', '#1:5'], 3) AS ids",
  );
  assert.deepEqual(row?.['ids'], ['#1:0', '#1:1', '#1:5']);
});

for (const more of [{}, {expand: {maxDepth: 3}}]) {
  test(`a hybrid search is one statement: ${JSON.stringify(more)}`, async () => {
    const texts: string[] = [];
    const service = new Proxy(database.service, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== 'function') return value;
        return (...args: readonly unknown[]): unknown => {
          if (name === 'run') texts.push((args[1] as {readonly text: string}).text);
          return Reflect.apply(value, target, args);
        };
      },
    });
    const given = {
      vectorIndexName: 'Doc[place]',
      queryVector: [1, 0],
      fulltextIndexName: 'Doc[body]',
      fulltextQuery: 'pie',
      k: 5,
      ...more,
    };
    const answer = await runSearch(service, root, {
      kind: 'hybrid',
      database: database.name,
      given: parseJsonText(JSON.stringify(given)) as MapValue,
      transactionId: undefined,
      tag: undefined,
      signal: undefined,
    });
    assert.equal((JSON.parse(answer) as {count: number}).count, 5);
    assert.equal(texts.length, 1);
    assert.match(texts[0] ?? '', /vector\.fuse/);
  });
}
