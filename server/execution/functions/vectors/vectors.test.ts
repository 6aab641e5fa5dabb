/** `vector.*`: the answers of the inventory, refusals, ranked rows, and fusion against twins. */
import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import {jsonText} from '#server/model/json.ts';
import {Rid, type Value} from '#server/model/value.ts';
import {World} from '#server/testing/worlds/hand-built-plan.ts';
import {answerOf, valueOf} from '#server/testing/worlds/function-values.ts';
import {fuse, fusionStrategies, type RankedItem} from './fusion.ts';

const families: Readonly<Record<string, readonly (readonly [string, string])[]>> = {
  inventory: [
    ['vector.cosineSimilarity([1.0,0.0],[1.0,1.0])', '0.70710677'],
    ['vector.dotProduct([1.0,2.0],[3.0,4.0])', '11.0'],
    ['vector.l2Distance([0.0,0.0],[3.0,4.0])', '5.0'],
    ['vector.l1Distance([0.0,0.0],[3.0,4.0])', '7.0'],
    ['vector.add([1.0,2.0],[3.0,4.0])', '[4.0,6.0]'],
    ['vector.subtract([1.0,2.0],[3.0,4.0])', '[-2.0,-2.0]'],
    ['vector.multiply([1.0,2.0],[3.0,4.0])', '[3.0,8.0]'],
    ['vector.scale([1.0,2.0],2)', '[2.0,4.0]'],
    ['vector.normalize([3.0,4.0])', '[0.6,0.8]'],
    ['vector.magnitude([3.0,4.0])', '5.0'],
    ['vector.dimension([1.0,2.0,3.0])', '3'],
    ['vector.isNormalized([0.6,0.8])', 'true'],
    ['vector.l1Norm([1.0,-2.0])', '3.0'],
    ['vector.lInfNorm([1.0,-2.0])', '2.0'],
    ['vector.variance([1.0,3.0])', '1.0'],
    ['vector.stdDev([1.0,3.0])', '1.0'],
    ["vector.sparsity([0.0,1.0],0.1,'FRACTION')", '0.5'],
    ['vector.hasNaN([1.0])', 'false'],
    ['vector.hasInf([1.0])', 'false'],
    ['vector.clip([5.0,-5.0],-1,1)', '[1.0,-1.0]'],
    ['vector.dequantizeInt8(vector.quantizeInt8([0.1,0.5,-0.5]))', '[0.1,0.5,-0.5]'],
    ['vector.dequantizeBinary(vector.quantizeBinary([0.1,0.5,-0.5]))', '[1.0,1.0,-1.0]'],
    [
      "vector.approxDistance(vectorQuantizeInt8([0.1,0.5]), vectorQuantizeInt8([0.1,0.5]), 'INT8')",
      '0.0',
    ],
  ],
  spellings: [
    ['vectorAdd([1], [2])', '[3.0]'],
    ['VECTOR.ADD([1], [2])', '[3.0]'],
    ['vectorL2Norm([3, 4])', '5.0'],
    ['vector.l2Norm([3, 4])', '5.0'],
    ['vector.clamp([3], 0, 1)', '[1.0]'],
    ["vector.add('[1, 2]', '3 4')", '[4.0,6.0]'],
    ["'1, 2'.asVector()", '[1.0,2.0]'],
    ['[0, 2].asSparse().indices', '[1]'],
    ['vector.add(null, [1])', 'null'],
  ],
  oddVectors: [
    ['vector.cosineSimilarity([0, 0], [1, 0])', '0.0'],
    ['vector.normalize([0, 0])', '[0.0,0.0]'],
    ['vector.hasNull([1, null])', 'true'],
    ['vector.hasNaN([sqrt(-1)])', 'true'],
    ['vector.quantizeInt8([2, 2]).quantized', '[0,0]'],
    ['vector.dequantizeInt8([-128, 127], 0, 1)', '[0.0,1.0]'],
    ['vector.quantizeBinary([1, 2, 3, 4]).median', '2.5'],
    ["vector.approxDistance([0, 3], [4, 0], 'INT8')", '5.0'],
    ['vector.approxDistance(vector.quantizeBinary([1, 2]), vector.quantizeBinary([2, 1]))', '1.0'],
    ["vector.sparsity([0.5, 0, 2], 1, 'L0')", '1'],
    ["vector.sparsity([2, 8], null, 'GMEAN')", '4.0'],
    ["vector.sparsity([0, 8], null, 'GMEAN')", '0.0'],
    ["vector.toString([0.5, 1], 'PRETTY')", '"[\\n  0.5,\\n  1.0\\n]"'],
    ["vector.toString([0.5, 1], 'numpy')", '"0.5, 1.0"'],
    ["vector.toString([0.5, 1], 'MATLAB_COLUMN')", '"[0.5; 1.0]"'],
    ["vector.toString([0.5, 1], 'JULIA')", '"[0.5, 1.0]"'],
  ],
  scores: [
    ['vector.rrfScore(1, 5, 10, 60)', '0.046063773'],
    ['vector.rrfScore(1, 1, {k: 1})', '1.0'],
    ['vector.rrfScore(1, null)', '0.016393442'],
    ["vector.multiScore([0.9, 0.7], 'max')", '0.9'],
    ["vector.multiScore([1, 3], 'WEIGHTED', [3, 1])", '1.5'],
    ["vector.multiScore([1, 3], 'WEIGHTED', {weights: [1, 1]})", '2.0'],
    ['vector.hybridScore(0.75, 0.25, 0.5)', '0.5'],
    ['vector.normalizeScores([2, 2])', '[0.5,0.5]'],
    ["vector.scoreTransform(1, 'LN')", '0.0'],
    ["vector.scoreTransform(0, 'TANH')", '0.0'],
  ],
  refusals: [
    ['vector.add([1], [1, 2])', /^argument: .*one dimension/],
    ["vector.add(['a'], [1])", /^argument: .*numbers/],
    ['vector.add([], [])', /^argument: .*at least one/],
    ["vector.add('x y', [1, 2])", /^argument: .*numbers/],
    ['vector.sparseCreate([1, 1], [1, 2])', /^argument: .*index 1 twice/],
    ['vector.sparseCreate([-1], [1])', /^argument: .*whole numbers/],
    ['vector.sparseCreate([1], [1, 2])', /^argument: .*1 indices and 2 values/],
    ['vector.sparseCreate([5], [1], 3)', /^argument: .*index 5 .* 3 dimensions/],
    ['vector.sparseToDense(vector.sparseCreate([2000000], [1]))', /^argument: .*dimensions/],
    ["vector.scoreTransform(0, 'LOG')", /^argument: .*above 0/],
    ["vector.scoreTransform(0, 'COS')", /^query.option: Unknown transformation 'COS'/],
    ['vector.rrfScore(0)', /^argument: vector.rrfscore\(\) needs ranks of 1 or more/],
    ["vector.multiScore([1], 'WEIGHTED', [1, 2])", /^query.option: .*1 scores and 2 weights/],
    ['vector.fuse([])', /^query.option: .*at least 2 sources/],
    [
      "vector.fuse([], [], {fusoin: 'RRF'})",
      /^query.option: Unknown option 'fusoin' for function 'vector.fuse'. Allowed: \[fusion, /,
    ],
    ["vector.fuse([], [], {fusion: 'SUM'})", /^query.option: Unknown fusion strategy 'SUM'/],
    ['vector.fuse([], [], {weights: [1]})', /^query.option: .*weights size 1/],
    ['vector.boost([], {})', /^query.option: .*'boosts' option is required/],
    ["vector.mmr([], 'v', {lambda: 2})", /^query.option: .*lambda/],
    ['vector.rerank(5, [1], 1, 1)', /^query.option: .*list of rows/],
  ].map(([text, pattern]) => [text as string, String(pattern)] as const),
};

for (const [family, cases] of Object.entries(families)) {
  test(`vectors: ${family}`, () => {
    for (const [text, expected] of cases) {
      const answer = answerOf(text);
      if (family === 'refusals') {
        const pattern = new RegExp(expected.slice(1, expected.lastIndexOf('/')));
        assert.match(answer, pattern, text);
      } else assert.equal(answer, expected, text);
    }
  });
}

test('sparse vectors answer as dense ones do', () => {
  const sparse = fc
    .uniqueArray(fc.tuple(fc.nat(30), fc.integer({min: -4, max: 4})), {selector: ([at]) => at})
    .filter(pairs => pairs.length > 0);
  fc.assert(
    fc.property(sparse, sparse, (left, right) => {
      const of = (pairs: readonly (readonly [number, number])[]): string =>
        `vector.sparseCreate([${pairs.map(([at]) => at)}], [${pairs.map(([, x]) => x)}], 31)`;
      const product = answerOf(`vector.sparseDot(${of(left)}, ${of(right)})`);
      const dense = (text: string): string => `vector.sparseToDense(${text})`;
      assert.equal(product, answerOf(`vector.dotProduct(${dense(of(left))}, ${dense(of(right))})`));
      assert.equal(
        answerOf(`${dense(of(left))}.asSparse()`),
        answerOf(of(left.filter(([, value]) => value !== 0))).replace(
          /^argument.*/,
          '{"dimensions":31,"indices":[],"values":[]}',
        ),
      );
    }),
    {numRuns: 60, seed: 31},
  );
});

test('a quantized vector is at most half a step away', () => {
  const elements = fc.array(fc.float({noNaN: true, min: -100, max: 100}), {
    minLength: 1,
    maxLength: 20,
  });
  fc.assert(
    fc.property(elements, vector => {
      const back = valueOf('vector.dequantizeInt8(vector.quantizeInt8(:v))', new World(), {
        parameters: {v: Float32Array.from(vector)},
      }) as Float32Array;
      const step = (Math.max(...vector) - Math.min(...vector)) / 255;
      for (const [at, element] of vector.entries()) {
        const distance = Math.abs((back[at] ?? 0) - element);
        assert.ok(distance <= step / 2 + 1e-4, `${element} came back as ${back[at]}`);
      }
    }),
    {numRuns: 60, seed: 31},
  );
});

/** Two rows of three records with vectors, as a search would answer them. */
function ranking(): {readonly world: World; readonly parameters: Record<string, Value>} {
  const world = new World();
  const add = (name: string, v: readonly number[], rank: number): Rid =>
    world.add('Person', {name, v: Float32Array.from(v), rank}).rid;
  const [a, b, c] = [add('a', [1, 0], 1), add('b', [1, 0.1], 5), add('c', [0, 1], 9)];
  const row = (rid: Rid, key: string, value: number): Value =>
    new Map<string, Value>([
      ['@rid', rid],
      [key, value],
    ]);
  const near = [row(a, 'distance', 0.005), row(c, 'distance', 0.25), row(b, 'distance', 0.9)];
  const text = [
    row(b, 'score', 3),
    row(c, 'score', 1.5),
    row(new Rid(a.bucket, 999_999), 'score', 1),
  ];
  return {world, parameters: {near, text, query: [0, 1]}};
}

test('ranked rows: fused, ranked anew, made diverse, boosted', () => {
  const {world, parameters} = ranking();
  const names = (text: string): string => answerOf(`${text}.name`, world, {parameters});
  assert.equal(names('vector.fuse(:near, :text)'), '["b","c","a"]');
  assert.equal(names('vector.fuse(:near, :text, {weights: [1, 0]})'), '["a","c","b"]');
  assert.equal(names("vector.fuse(:near, :text, {fusion: 'LINEAR', limit: 1})"), '["a"]');
  assert.equal(names("vector.fuse(:near, :text, {groupBy: 'nothing', groupSize: 2})"), '["b","c"]');
  assert.equal(names("vector.rerank(:near, :query, 'v', 2)"), '["c","b"]');
  assert.equal(names("vector.mmr(:text, 'v', {lambda: 1})"), '["b","c"]');
  assert.equal(
    names("vector.mmr(vector.fuse(:near, :text), 'v', {lambda: 0.05, k: 2})"),
    '["b","c"]',
  );
  const boosted = 'vector.boost(vector.fuse(:near, :text), {boosts: [{field: "rank", weight: 1}]})';
  assert.equal(names(boosted), '["c","b","a"]');
  assert.equal(answerOf(`${boosted}[0].score`, world, {parameters}).slice(0, 4), '9.03');
});

test('a score is needed where scores are compared', () => {
  const {world, parameters} = ranking();
  const rows = {...parameters, bare: [new Map<string, Value>([['@rid', new Rid(1, 1)]])]};
  const answer = answerOf("vector.fuse(:near, :bare, {fusion: 'DBSF'})", world, {parameters: rows});
  assert.match(answer, /^query.option: .*numeric score on every row of source\[1\]/);
  assert.equal(answerOf('vector.fuse(:near, :bare).size()', world, {parameters: rows}), '3');
});

const items = (...scores: readonly (readonly [number, number])[]): readonly RankedItem[] =>
  scores.map(([position, score]) => ({rid: new Rid(15, position), score}));

test('fusion answers the recorded scores', () => {
  const distances = items(
    [0, -0.004962801933288574],
    [2, -0.2260427474975586],
    [1, -0.900496244430542],
  );
  const matches = items([0, 0.47000363], [1, 0.47000363]);
  const shown = (strategy: 'RRF' | 'DBSF' | 'LINEAR', weights: readonly [number, number]): string =>
    fuse(
      [
        {items: distances, weight: weights[0]},
        {items: matches, weight: weights[1]},
      ],
      strategy,
    )
      .map(({rid, score}) => `${rid.position} ${score.toPrecision(7)}`)
      .join(', ');
  assert.equal(shown('RRF', [1, 1]), '0 0.03278688, 1 0.03200205, 2 0.01612903');
  assert.equal(shown('DBSF', [1, 1]), '0 1.662863, 1 1.271010, 2 0.5661266');
  assert.equal(shown('LINEAR', [0.3, 0.7]), '0 1.000000, 1 0.7000000, 2 0.2259391');
});

test('fusion is what its formulas say, whatever the order of the sources', () => {
  const source = fc
    .uniqueArray(fc.nat(20), {minLength: 1, maxLength: 12})
    .map(positions => items(...positions.map((at, rank) => [at, 100 - rank] as const)));
  const weighted = fc.record({items: source, weight: fc.constantFrom(0.5, 1, 2)});
  fc.assert(
    fc.property(
      fc.array(weighted, {minLength: 2, maxLength: 4}),
      fc.constantFrom(...fusionStrategies),
      (sources, strategy) => {
        const fused = fuse(sources, strategy);
        const naive = new Map<number, number>();
        for (const one of sources) {
          for (const [at, {rid}] of one.items.entries()) {
            const share = shareOf(one.items, at, strategy);
            naive.set(rid.position, (naive.get(rid.position) ?? 0) + one.weight * share);
          }
        }
        assert.equal(fused.length, naive.size);
        for (const {rid, score} of fused) {
          assert.ok(Math.abs(score - (naive.get(rid.position) ?? 0)) < 1e-5);
        }
        for (let at = 1; at < fused.length; at++) {
          const [before, item] = [fused[at - 1], fused[at]] as [RankedItem, RankedItem];
          const inOrder =
            before.score > item.score ||
            (before.score === item.score && before.rid.position < item.rid.position);
          assert.ok(inOrder, jsonText(fused.map(({rid}) => rid)));
        }
      },
    ),
    {numRuns: 100, seed: 31},
  );
});

function shareOf(list: readonly RankedItem[], at: number, strategy: string): number {
  if (strategy === 'RRF') return 1 / (60 + at + 1);
  const scores = list.map(({score}) => score);
  const mean = scores.reduce((sum, score) => sum + score, 0) / scores.length;
  const deviation = Math.sqrt(
    scores.reduce((sum, score) => sum + (score - mean) ** 2, 0) / scores.length,
  );
  const low = strategy === 'LINEAR' ? Math.min(...scores) : mean - 3 * deviation;
  const high = strategy === 'LINEAR' ? Math.max(...scores) : mean + 3 * deviation;
  return high === low ? 1 : ((scores[at] ?? 0) - low) / (high - low);
}
