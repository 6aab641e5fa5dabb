/** The vector functions of the reference, each by its name and its alias, in SQL and in Cypher. */
import assert from 'node:assert/strict';
import {after, test} from 'node:test';
import {functionSignature} from '#server/plan/function-table.ts';
import {vectorFunctions} from '#server/plan/functions/vectors.ts';
import {ServiceWorld} from '#server/testing/worlds/service-world.ts';

const world = await ServiceWorld.open();
after(() => world.close());

/** Section 3.4 of the reference. */
const names = [
  'neighbors sparseNeighbors fuse rrfScore multiScore hybridScore normalizeScores scoreTransform',
  'rerank mmr boost recommend discover add subtract multiply scale clip sum avg min max',
  'dotProduct cosineSimilarity l2Distance l1Distance magnitude l1Norm lInfNorm normalize',
  'isNormalized variance stdDev dimension hasNaN hasInf hasNull sparsity quantizeInt8',
  'dequantizeInt8 quantizeBinary dequantizeBinary approxDistance sparseCreate denseToSparse',
  'sparseToDense sparseDot toString',
]
  .join(' ')
  .split(' ');
const otherNames = ['clamp', 'l2Norm'];

const aliasOf = (name: string): string => `vector${name[0]?.toUpperCase()}${name.slice(1)}`;

test('every function of the reference is there, by both spellings', () => {
  const wanted = [...names, ...otherNames].flatMap(name => [`vector.${name}`, aliasOf(name)]);
  assert.deepEqual(
    wanted.filter(name => functionSignature(name) === undefined),
    [],
  );
});

test('functions of vectors answer alike in SQL and Cypher, by name and by alias', async () => {
  const database = await world.database([]);
  const pure = vectorFunctions.filter(
    ({kind, needs}) => kind === 'function' && needs === 'nothing',
  );
  let asked = 0;
  for (const {name, example} of pure) {
    const [expression = '', answer = ''] = example ?? [];
    const alias = expression.replaceAll(/vector\.(\w+)/gu, (_, short: string) => aliasOf(short));
    for (const text of [expression, alias]) {
      const [sql] = await database.run(`SELECT ${text} AS x`);
      const [cypher] = await database.run(`RETURN ${text} AS x`, {language: 'cypher'});
      assert.deepEqual(sql?.['x'], JSON.parse(answer), text);
      assert.deepEqual(cypher, sql, `${name}: ${text}`);
      asked += 1;
    }
  }
  assert.ok(asked > 60, `${asked} expressions`);
});

test('aggregates of vectors answer alike in SQL and Cypher', async () => {
  const database = await world.database([
    'CREATE VERTEX TYPE V',
    'INSERT INTO V SET v = [1, 8]',
    'INSERT INTO V SET v = [3, 4]',
  ]);
  const answers = {sum: [4, 12], avg: [2, 6], min: [1, 4], max: [3, 8]};
  for (const [name, x] of Object.entries(answers)) {
    for (const call of [`vector.${name}`, aliasOf(name)]) {
      assert.deepEqual(await database.run(`SELECT ${call}(v) AS x FROM V`), [{x}], call);
      const text = `MATCH (n:V) RETURN ${call}(n.v) AS x`;
      assert.deepEqual(await database.run(text, {language: 'cypher'}), [{x}], call);
    }
  }
});
