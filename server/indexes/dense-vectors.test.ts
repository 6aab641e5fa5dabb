/** Candidates of an index of vectors against comparing them all: recall, churn, filters, files. */
import assert from 'node:assert/strict';
import test from 'node:test';
import {Rid} from '#server/model/value.ts';
import {
  type CandidateRequest,
  type DenseOptions,
  DenseVectors,
  exactDistance,
  type Quantization,
  type Similarity,
} from './dense-vectors.ts';
import {clusteredVectors, nearestOf, randomNumbers} from './vector/testing-vectors.ts';

const bucket = 7;
const dimensions = 32;
const k = 10;

function optionsOf(similarity: Similarity, quantization: Quantization = 'NONE'): DenseOptions {
  return {
    dimensions,
    similarity,
    quantization,
    product: {subspaces: 16, clusters: 64, trainingLimit: 512},
    maxConnections: 32,
    beamWidth: 100,
    neighborOverflowFactor: 1.2,
    alphaDiversityRelaxation: 1.2,
    addHierarchy: true,
  };
}

const clustersOf = (seed: number): (() => Float32Array) =>
  clusteredVectors(seed, {dimensions, clusters: 40}).next;

class Collection {
  readonly index: DenseVectors;
  readonly vectors = new Map<number, Float32Array>();
  readonly #next: () => Float32Array;

  constructor(options: DenseOptions, next = clustersOf(1)) {
    this.index = new DenseVectors(options);
    this.#next = next;
  }

  put(position: number): void {
    const vector = this.#next();
    this.vectors.set(position, vector);
    assert.ok(this.index.put(new Rid(bucket, position), vector));
  }

  remove(position: number): void {
    this.vectors.delete(position);
    this.index.remove(new Rid(bucket, position));
  }

  fill(count: number): this {
    for (let position = 0; position < count; position++) this.put(position);
    this.settle();
    return this;
  }

  settle(): void {
    while (this.index.work());
  }

  /** The share of the nearest that are found. */
  recall(wish: Partial<CandidateRequest> = {}, among?: ReadonlySet<number>): number {
    const {similarity} = this.index.options;
    const eligible =
      among && new Map([...this.vectors].filter(([position]) => among.has(position)));
    let [found, wanted] = [0, 0];
    for (let query = 0; query < 50; query++) {
      const vector = this.#next();
      const truth = nearestOf(vector, eligible ?? this.vectors, k, similarity);
      const answer = this.answer(vector, {k, ...wish});
      wanted += truth.length;
      found += truth.filter(position => answer.includes(position)).length;
    }
    return found / wanted;
  }

  /** What a search answers: candidates, measured exactly. */
  answer(vector: Float32Array, wish: CandidateRequest): readonly number[] {
    const {similarity} = this.index.options;
    const measured = this.index.candidates(vector, wish).map(({rid: {position}, distance}) => {
      const exact = exactDistance(vector, this.vectors.get(position) as Float32Array, similarity);
      assert.ok(distance === undefined || distance === exact, 'what is told is exact');
      return {position, distance: exact};
    });
    measured.sort((one, other) => one.distance - other.distance);
    return measured.slice(0, wish.k).map(({position}) => position);
  }
}

const kinds: readonly (readonly [Similarity, Quantization, number])[] = [
  ['COSINE', 'NONE', 0.95],
  ['DOT_PRODUCT', 'NONE', 0.95],
  ['EUCLIDEAN', 'NONE', 0.95],
  ['COSINE', 'INT8', 0.95],
  ['DOT_PRODUCT', 'INT8', 0.95],
  ['EUCLIDEAN', 'INT8', 0.95],
  ['COSINE', 'BINARY', 0.6],
  ['COSINE', 'PRODUCT', 0.95],
  ['DOT_PRODUCT', 'PRODUCT', 0.95],
  ['EUCLIDEAN', 'PRODUCT', 0.95],
];

for (const [similarity, quantization, least] of kinds) {
  test(`${similarity} ${quantization}: found linked and before`, () => {
    const collection = new Collection(optionsOf(similarity, quantization));
    for (let position = 0; position < 1500; position++) collection.put(position);
    if (quantization === 'NONE') assert.equal(collection.recall(), 1);
    assert.equal(collection.index.waiting, 1500);
    collection.settle();
    assert.equal(collection.index.waiting, 0);
    const recall = collection.recall();
    assert.ok(recall >= least, `recall ${recall}`);
  });
}

for (const quantization of ['NONE', 'INT8', 'PRODUCT'] as const) {
  test(`DOT_PRODUCT ${quantization}: long vectors do not hide the others`, () => {
    const {gauss, share} = randomNumbers(3);
    // Of one sign, and of lengths that differ by a factor of a hundred.
    const next = (): Float32Array => {
      const length = 10 ** (2 * share());
      return Float32Array.from({length: dimensions}, () => length * Math.abs(gauss()));
    };
    const collection = new Collection(optionsOf('DOT_PRODUCT', quantization), next).fill(1500);
    const recall = collection.recall();
    assert.ok(recall >= 0.95, `recall ${recall}`);
  });
}

test('COSINE: very long and very short vectors keep their distances', () => {
  const {gauss} = randomNumbers(9);
  const next = (): Float32Array => {
    const length = 10 ** (10 * gauss());
    return Float32Array.from({length: dimensions}, () => length * gauss());
  };
  const recall = new Collection(optionsOf('COSINE'), next).fill(800).recall();
  assert.ok(recall >= 0.95, `recall ${recall}`);
});

for (const quantization of ['NONE', 'PRODUCT'] as const) {
  test(`${quantization}: what was loaded answers as before, and takes what changed since`, () => {
    loadsAgain(optionsOf('COSINE', quantization));
  });
}

test('updates and deletes do not wear it out', () => {
  const collection = new Collection(optionsOf('COSINE')).fill(1500);
  const before = collection.recall();
  const {share} = randomNumbers(5);
  for (let change = 0; change < 3000; change++) {
    const position = Math.floor(share() * 1500);
    if (change % 2 === 0) collection.remove(position);
    else collection.put(position);
    collection.index.work();
  }
  collection.settle();
  assert.equal(collection.index.live, collection.vectors.size);
  const recall = collection.recall();
  assert.ok(recall >= before - 0.01, `recall ${recall} after ${before}`);
  const bytes = collection.index.byteLength;
  for (let position = 0; position < 1500; position++) collection.put(position);
  collection.settle();
  assert.ok(collection.index.byteLength < 2.5 * bytes, 'the room of what is gone is taken again');
});

test('only records that may be answered are, whatever their share', () => {
  const collection = new Collection(optionsOf('COSINE')).fill(4000);
  for (const percent of [50, 10, 1, 0.1]) {
    const step = Math.round(100 / percent);
    const among = new Set([...collection.vectors.keys()].filter(at => at % step === 0));
    const rids = [...among].map(position => new Rid(bucket, position));
    const recall = collection.recall({among: rids}, among);
    assert.ok(recall >= 0.95, `recall ${recall} at ${percent} %`);
  }
});

test('buckets, and records that are left out', () => {
  const index = new DenseVectors(optionsOf('EUCLIDEAN'));
  const {next} = clusteredVectors(2, {dimensions, clusters: 10});
  for (let position = 0; position < 3000; position++) {
    index.put(new Rid(position % 100 === 0 ? 8 : bucket, position), next());
  }
  while (index.work());
  const few = index.candidates(next(), {k: 20, buckets: new Set([8])});
  assert.equal(few.length, 20);
  assert.ok(few.every(({rid}) => rid.bucket === 8));
  const query = next();
  const [first] = index.candidates(query, {k: 1});
  const leaveOut = (in_: number, position: number): boolean =>
    in_ === first?.rid.bucket && position === first.rid.position;
  const others = index.candidates(query, {k: 3000, leaveOut});
  assert.ok(!others.some(({rid}) => leaveOut(rid.bucket, rid.position)));
  assert.deepEqual(index.candidates(query, {k: 5, buckets: new Set([9])}), []);
});

test('one vector, none, and the same one many times', () => {
  const index = new DenseVectors(optionsOf('COSINE'));
  const vector = new Float32Array(dimensions).fill(1);
  assert.deepEqual(index.candidates(vector, {k: 3}), []);
  assert.ok(!index.work());
  for (let position = 0; position < 500; position++) index.put(new Rid(bucket, position), vector);
  while (index.work());
  assert.equal(index.candidates(vector, {k: 3}).length, 3);
  for (let position = 0; position < 500; position++) index.remove(new Rid(bucket, position));
  while (index.work());
  assert.deepEqual(index.candidates(vector, {k: 3}), []);
  index.put(new Rid(bucket, 9), vector);
  while (index.work());
  assert.deepEqual(
    index.candidates(vector, {k: 3}).map(({rid}) => rid),
    [new Rid(bucket, 9)],
  );
});

test('the same history answers the same', () => {
  const answers = [1, 2].map(() => {
    const collection = new Collection(optionsOf('COSINE'), clustersOf(3)).fill(2000);
    const {next} = clusteredVectors(9, {dimensions});
    return Array.from({length: 20}, () => collection.answer(next(), {k}));
  });
  assert.deepEqual(answers[0], answers[1]);
});

function loadsAgain(options: DenseOptions): void {
  const collection = new Collection(options, clustersOf(4)).fill(2500);
  const bytes = collection.index.encode();
  const again = new DenseVectors(options);
  assert.ok(again.load(bytes));
  // Changed since: one is gone, one is another, one is new.
  collection.remove(3);
  collection.put(4);
  collection.put(9_999);
  for (const [position, vector] of collection.vectors) again.put(new Rid(bucket, position), vector);
  again.settle();
  assert.equal(again.live, collection.vectors.size);
  assert.equal(again.waiting, 2);
  const vector = collection.vectors.get(4) as Float32Array;
  assert.equal(again.candidates(vector, {k: 1})[0]?.rid.position, 4);
  while (again.work());
  collection.settle();
  const {next} = clusteredVectors(4, {dimensions, clusters: 40});
  let same = 0;
  for (let query = 0; query < 20; query++) {
    const asked = next();
    const expected = nearestOf(asked, collection.vectors, k, 'COSINE');
    same += again.candidates(asked, {k}).filter(({rid}) => expected.includes(rid.position)).length;
  }
  assert.ok(same >= 190, `${same} of 200`);
}

test('codes are learnt while records come and go', () => {
  const options = {...optionsOf('EUCLIDEAN', 'PRODUCT'), maxConnections: 8};
  const collection = new Collection(options);
  for (let position = 0; position < 600; position++) collection.put(position);
  const {share} = randomNumbers(6);
  // A turn learns from some samples or writes some rows: both are met on the way.
  for (let turn = 0; turn < 4000; turn++) {
    const position = Math.floor(share() * 3000);
    if (turn % 3 === 0) collection.remove(position);
    else collection.put(position);
    collection.index.work();
    if (turn % 400 === 0) assert.ok(collection.recall() > 0.95);
  }
  collection.settle();
  assert.equal(collection.index.live, collection.vectors.size);
  assert.ok(collection.recall() > 0.95);
});

test('bytes that are damaged or of another shape are not taken', () => {
  const bytes = new Collection(optionsOf('COSINE')).fill(300).index.encode();
  const fresh = (): DenseVectors => new DenseVectors(optionsOf('COSINE'));
  for (const at of [0, 5, 9, 40, bytes.length - 1]) {
    const damaged = bytes.slice();
    damaged[at] = (damaged[at] ?? 0) ^ 1;
    assert.ok(!fresh().load(damaged), `a bit of byte ${at}`);
  }
  assert.ok(!fresh().load(bytes.subarray(0, bytes.length - 4)));
  assert.ok(!fresh().load(new Uint8Array(0)));
  assert.ok(!new DenseVectors({...optionsOf('COSINE'), maxConnections: 8}).load(bytes));
  assert.ok(fresh().load(bytes));
});
