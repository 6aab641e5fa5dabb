/** What the tests of recall assert: at the defaults, filtered, and after half has changed. */
import assert from 'node:assert/strict';
import test from 'node:test';
import {Rid} from '#server/model/value.ts';
import {type DenseOptions, DenseVectors, exactDistance} from '../dense-vectors.ts';
import {clusteredVectors, nearestOf} from './testing-vectors.ts';

/** A slice: 100,000 take minutes (docs/design/0043-dense-vectors.md has their figures). */
const count = 10_000;
const dimensions = 128;
const k = 10;
const queryCount = 100;

const common = {
  dimensions,
  product: {subspaces: 32, clusters: 256, trainingLimit: 4096},
  maxConnections: 32,
  beamWidth: 100,
  neighborOverflowFactor: 1.2,
  alphaDiversityRelaxation: 1.2,
  addHierarchy: true,
} as const;

type Kind = Pick<DenseOptions, 'similarity' | 'quantization'>;

/** Tests a kind of index over 10,000 clustered vectors; cosines are asked after changes, too. */
export function holdsRecall(kind: Kind): void {
  test(`${kind.similarity} ${kind.quantization}: recall of 10,000, and after churn`, t => {
    const {next} = clusteredVectors(11, {dimensions, clusters: 200, spread: 0.8});
    const index = new DenseVectors({...common, ...kind});
    const vectors = new Map<number, Float32Array>();
    const put = (position: number): void => {
      const vector = next();
      vectors.set(position, vector);
      assert.ok(index.put(new Rid(1, position), vector));
    };
    const settle = (): void => {
      while (index.work());
    };
    const recall = (among?: ReadonlyMap<number, Float32Array>): number => {
      const rids = among && Array.from(among.keys(), position => new Rid(1, position));
      let found = 0;
      for (let query = 0; query < queryCount; query++) {
        const vector = next();
        const truth = nearestOf(vector, among ?? vectors, k, kind.similarity);
        const measured = index
          .candidates(vector, {k, among: rids})
          .map(({rid: {position}}) => ({
            position,
            distance: exactDistance(vector, vectors.get(position) as Float32Array, kind.similarity),
          }))
          .sort((one, other) => one.distance - other.distance)
          .slice(0, k);
        found += measured.filter(({position}) => truth.includes(position)).length;
      }
      return found / (k * queryCount);
    };
    for (let position = 0; position < count; position++) put(position);
    const begun = performance.now();
    settle();
    const seconds = (performance.now() - begun) / 1000;
    const fresh = recall();
    t.diagnostic(`linked ${Math.round(count / seconds)} vectors a second, recall ${fresh}`);
    assert.ok(fresh >= 0.95, `recall ${fresh}`);
    if (kind.similarity !== 'COSINE') return;
    for (const percent of [50, 10, 1, 0.1]) {
      const among = new Map([...vectors].filter(([at]) => at % Math.round(100 / percent) === 0));
      const filtered = recall(among);
      t.diagnostic(`recall ${filtered} among ${percent} %`);
      assert.ok(filtered >= 0.95, `recall ${filtered} at ${percent} %`);
    }
    for (let position = 0; position < count; position += 4) {
      index.remove(new Rid(1, position));
      vectors.delete(position);
    }
    for (let position = 1; position < count; position += 4) put(position);
    for (let position = count; position < 1.25 * count; position++) put(position);
    settle();
    assert.equal(index.live, vectors.size);
    const churned = recall();
    t.diagnostic(`recall ${churned} after half has changed`);
    assert.ok(churned >= fresh - 0.01, `recall ${churned} after ${fresh}`);
  });
}
