/** Hops and paths: over the small network of hand-built-plan.ts, and against naive searches. */
import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import type {Value} from '#server/model/value.ts';
import {World} from '#server/testing/worlds/hand-built-plan.ts';
import {NaiveGraph} from '#server/testing/worlds/naive-graph.ts';
import {answerOf, valueOf} from '#server/testing/worlds/function-values.ts';

const world = new World();
const people = Object.fromEntries(
  ['ann', 'bob', 'cat', 'dan', 'm1'].map(name => [name, world.rid(name)]),
);

/** Records by their names. */
function shown(text: string, parameters: Record<string, Value> = people): unknown {
  return world.plain(valueOf(text, world, {parameters}));
}

test('hops from a record, an id, a list', () => {
  const cases: readonly (readonly [string, unknown])[] = [
    [":ann.out('Knows')", ['bob', 'cat']],
    [":ann.asRecord().out('Knows')", ['bob', 'cat']],
    [":ann.out('Knows').out('Knows')", ['cat', 'dan']],
    [":ann.in('Knows')", ['dan']],
    [":ann.both('Knows')", ['bob', 'cat', 'dan']],
    [":ann.out('Knows', 'Likes').size()", 4],
    [":ann.out(['Knows', 'Likes']).size()", 4],
    [':ann.out().size()', 4],
    [":ann.out('NoSuchType')", []],
    [":ann.out('Knows').name", ['bob', 'cat']],
    [":ann.outE('Knows').since", [2019, 2022]],
    [":ann.outE('Knows').inV()", ['bob', 'cat']],
    [":ann.outE('Knows')[0].outV()", 'ann'],
    [":ann.outE('Knows')[0].inV().name", 'bob'],
    [":ann.inE('Knows')[0].bothV()", ['dan', 'ann']],
    [":ann.outE('Knows')[since = 2022].inV().name", ['cat']],
    [":ann.bothE('Likes').size()", 2],
    [":m1.in('Likes', 'Wrote').name", ['ann', 'cat']],
    ["[:ann, :bob].out('Knows')", ['bob', 'cat', 'cat']],
    ['null.out()', null],
    ['5.out()', []],
    [":ann.out('Knows').@type", ['Person', 'Person']],
    [":ann.outE('Knows').@type", ['Knows', 'Knows']],
    ['node.degree(:ann)', 5],
    ["node.degree.out(:ann, 'Knows')", 2],
    ["node.degree(:ann, '<Knows')", 1],
    ['node.labels(:ann)', ['Person', 'Thing']],
    ["node.relationship.exists(:m1, 'Knows')", false],
    ['node.relationship.types(:m1)', ['Likes', 'Wrote']],
    ["rel.type(:ann.outE('Knows')[0])", 'Knows'],
    ["rel.startNode(:ann.outE('Knows')[0])", 'ann'],
    ["path.elements(path.create(:ann, :ann.outE('Knows')[0])).size()", 3],
    [
      "path.elements(path.slice(path.create(:ann, [:ann.outE('Knows')[0], " +
        ":bob.outE('Knows')[0]]), 1))[0]",
      'bob',
    ],
  ];
  for (const [text, expected] of cases) assert.deepEqual(shown(text), expected, text);
});

test('shortest paths', () => {
  const cases: readonly (readonly [string, unknown])[] = [
    ['shortestPath(:ann, :dan)', ['ann', 'dan']],
    ["shortestPath(:ann, :dan, 'OUT')", ['ann', 'cat', 'dan']],
    ["shortestPath(:ann, :dan, 'out', 'Knows').name", ['ann', 'cat', 'dan']],
    ["shortestPath(:ann, :dan, 'OUT', 'Knows', {'edge': true}).size()", 5],
    ["shortestPath(:ann, :dan, 'OUT', 'Knows', {'edge': true})[1].since", 2022],
    ["shortestPath(:ann, :dan, 'OUT', 'Knows', {'maxDepth': 1})", []],
    ["shortestPath(:m1, :ann, 'OUT')", []],
    ['shortestPath(:ann, :ann)', ['ann']],
    ['shortestPath([:ann], [:bob])', ['ann', 'bob']],
    ["shortestPath(:ann, :bob, 'BOTH', 'NoSuchType')", []],
    ['shortestPath(null, :bob)', []],
    ["dijkstra(:ann, :dan, 'since', 'OUT')", ['ann', 'cat', 'dan']],
    ["astar(:ann, :dan, 'since')", ['ann', 'cat', 'dan']],
    ["bellmanFord(:ann, :dan, 'since')", ['ann', 'cat', 'dan']],
  ];
  for (const [text, expected] of cases) assert.deepEqual(shown(text), expected, text);
  const refused: readonly (readonly [string, RegExp])[] = [
    ["shortestPath(:ann, :bob, 'UP')", /^argument: the direction of a path/],
    ["shortestPath(:ann, :bob, 'OUT', 'Knows', {'depth': 1})", /no option 'depth'/],
    ["astar(:ann, :bob, 'since', {'heuristicFormula': 'MAGIC'})", /no heuristicFormula 'MAGIC'/],
  ];
  for (const [text, expected] of refused) {
    assert.match(answerOf(text, world, {parameters: people}), expected);
  }
});

interface Drawn {
  readonly from: number;
  readonly to: number;
  readonly weight: number;
}

const size = 7;
const edge = fc.record({
  from: fc.nat(size - 1),
  to: fc.nat(size - 1),
  weight: fc.integer({min: 0, max: 9}),
});

/** The least sum of weights between two vertices, by trying every number of edges. */
function leastSum(
  edges: readonly Drawn[],
  from: number,
  to: number,
  weigh: (edge: Drawn) => number,
) {
  const sums = Array.from({length: size}, (_, at) => (at === from ? 0 : Number.POSITIVE_INFINITY));
  for (let round = 0; round < size; round++) {
    for (const each of edges) {
      const sum = (sums[each.from] as number) + weigh(each);
      if (sum < (sums[each.to] as number)) sums[each.to] = sum;
    }
  }
  return sums[to] as number;
}

/** The least weight of an edge between two vertices that follow each other in a path. */
function pathSum(edges: readonly Drawn[], path: readonly number[]): number {
  return path.slice(1).reduce((sum, to, at) => {
    const between = edges.filter(each => each.from === path[at] && each.to === to);
    return sum + Math.min(...between.map(each => each.weight));
  }, 0);
}

test('paths are as short as a naive search finds them', () => {
  fc.assert(
    fc.property(fc.array(edge, {maxLength: 14}), edges => {
      const drawn = new World();
      for (let at = 0; at < size; at++) drawn.add('Person', {name: `p${at}`});
      for (const {from, to, weight} of edges) drawn.link('Knows', `p${from}`, `p${to}`, {weight});
      const parameters = {a: drawn.rid('p0'), b: drawn.rid('p6')};
      const path = (text: string): number[] => {
        const names = drawn.plain(valueOf(`${text}.name`, drawn, {parameters})) as string[];
        return names.map(name => Number(name.slice(1)));
      };
      const steps = leastSum(edges, 0, size - 1, () => 1);
      const hops = path("shortestPath(:a, :b, 'OUT', 'Knows')");
      assert.equal(hops.length, Number.isFinite(steps) ? steps + 1 : 0);
      assert.ok(hops.length === 0 || Number.isFinite(pathSum(edges, hops)));
      const least = leastSum(edges, 0, size - 1, each => each.weight);
      for (const name of ['dijkstra', 'astar', 'bellmanFord']) {
        const found = path(`${name}(:a, :b, 'weight', 'OUT')`);
        assert.equal(found.length > 0, Number.isFinite(least), name);
        if (found.length > 0) assert.equal(pathSum(edges, found), least, name);
      }
    }),
    {numRuns: 100},
  );
});

test('a cycle that gets lighter for ever is refused, a negative weight is not', () => {
  const drawn = new World();
  for (const name of ['x', 'y', 'z']) drawn.add('Person', {name});
  drawn.link('Knows', 'x', 'y', {weight: 5});
  drawn.link('Knows', 'y', 'z', {weight: -3});
  const parameters = {x: drawn.rid('x'), z: drawn.rid('z')};
  const text = "bellmanFord(:x, :z, 'weight').name";
  assert.equal(answerOf(text, drawn, {parameters}), '["x","y","z"]');
  assert.match(answerOf("dijkstra(:x, :z, 'weight')", drawn, {parameters}), /needs weights from 0/);
  drawn.link('Knows', 'z', 'y', {weight: 1});
  assert.match(answerOf(text, drawn, {parameters}), /^query.execution: the weights of a cycle/);
});

test('a search stops at its memory limit and closes what it opened', () => {
  const context = {parameters: people, limits: {memoryBytesMax: 100}};
  const answer = answerOf("shortestPath(:ann, :dan, 'OUT')", world, context);
  assert.match(answer, /^query.memory/);
  assert.ok(world.graph instanceof NaiveGraph);
  assert.equal(world.graph.openSources, 0);
});
