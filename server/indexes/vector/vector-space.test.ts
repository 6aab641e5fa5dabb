/** The kernels of WebAssembly against plain ones and against the formulas, in every encoding. */
import assert from 'node:assert/strict';
import test from 'node:test';
import {randomNumbers} from './testing-vectors.ts';
import {
  chooseKernels,
  plainKernels,
  type RowEncoding,
  simdKernels,
  type Similarity,
  VectorSpace,
} from './vector-space.ts';

const encodings: readonly RowEncoding[] = ['FLOAT32', 'INT8', 'BITS'];
const similarities: readonly Similarity[] = ['COSINE', 'DOT_PRODUCT', 'EUCLIDEAN'];

test('here the kernels of WebAssembly are chosen', () => {
  assert.equal(chooseKernels(), simdKernels);
});

for (const encoding of encodings) {
  for (const similarity of similarities) {
    test(`${encoding} ${similarity}: both kernels measure alike`, () => {
      const random = randomNumbers(7);
      for (const dimensions of [1, 2, 3, 15, 16, 17, 64, 100, 130, 768]) {
        const vector = (): Float32Array => Float32Array.from({length: dimensions}, random.gauss);
        const spaces = [simdKernels, plainKernels].map(
          kernels => new VectorSpace({dimensions, similarity, encoding}, kernels),
        );
        const vectors = Array.from({length: 30}, vector);
        const query = vector();
        const [simd = [], plain = []] = spaces.map(space => {
          for (const [row, one] of vectors.entries()) {
            assert.ok(space.reserve(row + 1));
            space.write(row, one);
          }
          space.ids.set(vectors.map((_, row) => row).toReversed());
          space.measure(space.setQuery(query), vectors.length);
          return Array.from(space.out.subarray(0, vectors.length)).toReversed();
        });
        for (const [row, one] of vectors.entries()) {
          near(simd[row], plain[row], 1e-4);
          if (encoding === 'BITS') continue;
          const share = encoding === 'INT8' ? 0.02 * lengths(one, query, similarity) : 1e-4;
          near(simd[row], formula(one, query, similarity), share);
        }
      }
    });
  }
}

test('a row can be the query, and rows stay while the memory grows', () => {
  const random = randomNumbers(3);
  const shape = {dimensions: 700, similarity: 'EUCLIDEAN', encoding: 'FLOAT32'} as const;
  const space = new VectorSpace(shape, simdKernels);
  const vectors = Array.from({length: 400}, () => Float32Array.from({length: 700}, random.gauss));
  for (const [row, vector] of vectors.entries()) {
    assert.ok(space.reserve(row + 1));
    space.write(row, vector);
  }
  for (const row of [0, 57, 399]) {
    space.ids.set([row, 0]);
    space.measure(space.queryOf(row), 2);
    assert.equal(space.out[0], 0);
    near(space.out[1], formula(vectors[0], vectors[row], 'EUCLIDEAN'), 1e-2);
  }
});

for (const encoding of ['FLOAT32', 'INT8'] as const) {
  test(`${encoding}: products between rows are told as straight distances`, () => {
    const {gauss, share} = randomNumbers(4);
    const [dimensions, count] = [48, 40];
    const vectors = Array.from({length: count}, () => {
      const length = 1 + 9 * share();
      return Float32Array.from({length: dimensions}, () => length * gauss());
    });
    const space = new VectorSpace({dimensions, similarity: 'DOT_PRODUCT', encoding}, simdKernels);
    for (const [row, vector] of vectors.entries()) {
      assert.ok(space.reserve(row + 1));
      space.write(row, vector);
    }
    // One dimension more makes all as long as the longest.
    const squares = vectors.map(vector => vector.reduce((sum, one) => sum + one * one, 0));
    const most = Math.max(...squares);
    const evened = vectors.map((vector, row) =>
      Float32Array.from([...vector, Math.sqrt(most - (squares[row] ?? 0))]),
    );
    space.ids.set(vectors.map((_, row) => row));
    space.measure(space.queryOf(7), count);
    for (const [row, vector] of evened.entries()) {
      const expected = formula(evened[7], vector, 'EUCLIDEAN');
      assert.ok(Math.abs((space.out[row] ?? Number.NaN) - expected) < 0.02 * most);
    }
  });
}

function formula(
  left: Float32Array | undefined,
  right: Float32Array | undefined,
  similarity: Similarity,
): number {
  let [product, squares, others, apart] = [0, 0, 0, 0];
  for (const [at, a] of (left ?? []).entries()) {
    const b = right?.[at] ?? 0;
    product += a * b;
    squares += a * a;
    others += b * b;
    apart += (a - b) ** 2;
  }
  if (similarity === 'EUCLIDEAN') return apart;
  return similarity === 'DOT_PRODUCT' ? -product : -product / Math.sqrt(squares * others);
}

/** What a rounding of each element by a share of the greatest moves, at most. */
function lengths(left: Float32Array, right: Float32Array, similarity: Similarity): number {
  const [one, other] = [left, right].map(vector => Math.hypot(...vector));
  return similarity === 'COSINE' ? 1 : Math.max(1, ((one ?? 0) + (other ?? 0)) ** 2);
}

function near(found: number | undefined, expected: number | undefined, share: number): void {
  const [one = Number.NaN, other = Number.NaN] = [found, expected];
  assert.ok(Math.abs(one - other) <= share * (1 + Math.abs(other)), `${one} is not ${other}`);
}
