/** The bound of the bidirectional search, on a network with hubs. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {shortestEffort} from './effort.ts';
import {powerLawNetwork} from './network.ts';

test('the degrees of the network follow a power law, and a seed gives one network', () => {
  const {vertices, edges} = powerLawNetwork(5_000, 8, 7);
  const degrees = new Array<number>(vertices).fill(0);
  for (const pair of edges) for (const end of pair) degrees[end] = (degrees[end] ?? 0) + 1;
  const sorted = degrees.toSorted((a, b) => b - a);
  const share = (count: number): number =>
    sorted.slice(0, count).reduce((sum, degree) => sum + degree, 0) / (2 * edges.length);
  assert.ok(share(vertices / 100) > 0.08, `one vertex in a hundred has ${share(vertices / 100)}`);
  assert.deepEqual(powerLawNetwork(5_000, 8, 7).edges, edges);
});

test('a shortest path touches a tenth of the edges of a search of everybody at most', () => {
  const {pairs} = shortestEffort(1_000, 5, 7);
  const searched = pairs.reduce((sum, pair) => sum + pair.searched, 0);
  const visited = pairs.reduce((sum, pair) => sum + pair.visited, 0);
  assert.ok(searched <= visited / 10, `${searched} of ${visited} edges`);
});
