/** The best records by sparse dot product are those that a look at every record finds. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import fc from 'fast-check';
import {Refusal} from '#server/base/errors.ts';
import {ridText} from '#server/model/rid.ts';
import {unbounded} from '../ranked/effort.ts';
import {searchSparse} from './search-sparse.ts';
import {sparseVector} from './sparse-vector.ts';
import {WeightListBuilder} from './weight-list.ts';

const dimensions = 8;
const any = {what: 'it', dimensionCount: 0};

const vectors = fc.uniqueArray(
  fc.tuple(
    fc.integer({min: 0, max: dimensions - 1}),
    fc.float({min: -2, max: 2, noNaN: true}).filter(weight => weight !== 0),
  ),
  {selector: ([dimension]) => dimension, maxLength: dimensions},
);
const records = fc.uniqueArray(
  fc.record({
    bucket: fc.integer({min: 1, max: 3}),
    position: fc.oneof(fc.nat(60), fc.nat(100_000)),
    vector: vectors,
  }),
  {selector: ({bucket, position}) => `${bucket}:${position}`, maxLength: 400},
);

type Entries = readonly (readonly [number, number])[];

test('windows and parts of any size and any modifier find what every record compared finds', () => {
  const property = fc.property(
    records,
    vectors,
    fc.record({
      k: fc.integer({min: 0, max: 20}),
      windowRows: fc.constantFrom(1, 7, 64, 16_384),
      partPostings: fc.constantFrom(1, 10, 300, 50_000),
      modifier: fc.constantFrom('NONE' as const, 'IDF' as const),
      odd: fc.boolean(),
    }),
    (all, query, {k, windowRows, partPostings, modifier, odd}) => {
      const sorted = all.toSorted((a, b) => a.bucket - b.bucket || a.position - b.position);
      const listOf = (dimension: number) => {
        const builder = new WeightListBuilder();
        for (const {bucket, position, vector} of sorted) {
          const weight = weightIn(vector, dimension);
          if (weight !== undefined) builder.add(bucket, position, weight);
        }
        return builder.finish();
      };
      const accept = odd ? (_bucket: number, position: number) => position % 2 === 1 : undefined;
      const found = searchSparse({
        query: sparseVector(
          query.map(([at]) => at),
          query.map(([, weight]) => weight),
          any,
        ),
        source: {weights: listOf, records: all.length},
        modifier,
        k,
        effort: unbounded,
        windowRows,
        partPostings,
        accept,
      });
      const scored = sorted
        .filter(({bucket, position}) => accept?.(bucket, position) !== false)
        .flatMap(({bucket, position, vector}) => {
          const score = dot(query, vector, dimension => factor(all, dimension, modifier));
          return score === undefined ? [] : [{place: `#${bucket}:${position}`, score}];
        })
        .toSorted((a, b) => b.score - a.score)
        .slice(0, k);
      assert.deepEqual(
        found.map(({rid, score}) => ({place: ridText(rid), score})),
        scored,
      );
    },
  );
  fc.assert(property, {numRuns: 200});
});

function weightIn(vector: Entries, dimension: number): number | undefined {
  return vector.find(([at]) => at === dimension)?.[1];
}

function factor(all: readonly {vector: Entries}[], dimension: number, modifier: string): number {
  if (modifier === 'NONE') return 1;
  const having = all.filter(({vector}) => weightIn(vector, dimension) !== undefined).length;
  return Math.log(1 + (all.length - having + 0.5) / (having + 0.5));
}

/**
 * The dot product, summed in the order of dimensions as the search does; undefined: none is
 * shared.
 */
function dot(
  query: Entries,
  vector: Entries,
  factorOf: (dimension: number) => number,
): number | undefined {
  let sum: number | undefined;
  for (const [dimension, weight] of query.toSorted(([a], [b]) => a - b)) {
    const own = weightIn(vector, dimension);
    if (own !== undefined) sum = (sum ?? 0) + Math.fround(own) * (weight * factorOf(dimension));
  }
  return sum === undefined ? undefined : Math.fround(sum);
}

const refused = [
  [[1, 2], [1], 0, /2 dimensions and 1 weights/],
  [[1, 1], [1, 2], 0, /dimension 1 is there twice/],
  [[-1], [1], 0, /dimension -1 is not from 0/],
  [[1.5], [1], 0, /dimension 1.5/],
  [[50], [1], 50, /dimension 50 is not from 0 to 49/],
  [[1], [Number.NaN], 0, /the weight of 1 is NaN/],
  [[1], [Number.POSITIVE_INFINITY], 0, /Infinity/],
] as const;

for (const [dimensionsOf, weights, dimensionCount, says] of refused) {
  test(`no sparse vector: ${says.source}`, () => {
    assert.throws(
      () => sparseVector(dimensionsOf, weights, {what: 'it', dimensionCount}),
      (error: unknown) => error instanceof Refusal && says.test(error.message),
    );
  });
}

test('a vector is brought in order and loses its zeros', () => {
  assert.deepEqual(sparseVector([7, 3, 5], [1, 0, -2], any), {
    dimensions: [5, 7],
    weights: [-2, 1],
  });
});
