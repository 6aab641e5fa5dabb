/** A search that has found what is near does not look on for as long as its breadth allows. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {NeighbourGraph} from './neighbour-graph.ts';
import {latentVectors, nearestOf} from './testing-vectors.ts';
import {chooseKernels, VectorSpace} from './vector-space.ts';

const dimensions = 32;
const k = 10;
const questionCount = 50;

/** Counts the rows that are measured. */
class CountingSpace extends VectorSpace {
  rows = 0;

  override measure(query: number, count: number): void {
    this.rows += count;
    super.measure(query, count);
  }
}

test('patience ends a search early, and what it finds is near all the same', t => {
  const {next} = latentVectors(12, {dimensions, latent: 10});
  const shape = {dimensions, similarity: 'EUCLIDEAN', encoding: 'FLOAT32'} as const;
  const space = new CountingSpace(shape, chooseKernels());
  const graph = new NeighbourGraph(space, {
    maxConnections: 16,
    beamWidth: 60,
    neighborOverflowFactor: 1.2,
    alphaDiversityRelaxation: 1.2,
    addHierarchy: true,
  });
  const vectors = new Map<number, Float32Array>();
  for (let position = 0; position < 4_000; position++) {
    const vector = next();
    vectors.set(position, vector);
    assert.ok(graph.add(1, position, position, vector));
  }
  while (graph.linkNext());
  const questions = Array.from({length: questionCount}, next);
  const truths = questions.map(vector => nearestOf(vector, vectors, k, 'EUCLIDEAN'));
  const ask = (patience?: number): {readonly recall: number; readonly rows: number} => {
    space.rows = 0;
    let found = 0;
    for (const [at, vector] of questions.entries()) {
      const {count, nodes} = graph.search(vector, {k, ef: 300, patience});
      const near = Array.from(nodes.subarray(0, count), node => graph.nodes.ridOf(node).position);
      found += near.filter(position => truths[at]?.includes(position)).length;
    }
    return {recall: found / (k * questionCount), rows: space.rows / questionCount};
  };
  const whole = ask();
  const early = ask(40);
  t.diagnostic(`${JSON.stringify(whole)}, with patience ${JSON.stringify(early)}`);
  assert.ok(early.rows < 0.7 * whole.rows, `${early.rows} rows of ${whole.rows}`);
  assert.ok(early.recall >= 0.98 && whole.recall >= 0.98, `${early.recall} of ${whole.recall}`);
});
