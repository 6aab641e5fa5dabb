/** Demands of pattern matching: alternating hops with depth, optional parts, paths as values. */
import assert from 'node:assert/strict';
import test from 'node:test';
import type {Expression} from '#server/plan/expression.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {
  call,
  equal,
  literal,
  property,
  scan,
  slot,
  World,
} from '#server/testing/worlds/hand-built-plan.ts';

const named = (name: string, into = 0): PlanNode =>
  scan('Person', into, equal(property(into, 'name'), literal(name)));
const friendsOf = (from: number, to: number, edge?: number): PlanNode => ({
  kind: 'follow',
  input: {kind: 'argument'},
  from,
  direction: 'out',
  types: ['Knows'],
  to,
  edge,
});

const walk = {
  kind: 'walk',
  from: 0,
  direction: 'out',
  types: ['Knows'],
  depthMin: 1,
  depthMax: 3,
  to: 1,
  edges: undefined,
  path: 2,
  depth: 3,
  edge: undefined,
  condition: undefined,
} as const;

test('hops with a filter behind each: who wrote what the friends of ann like', () => {
  const world = new World();
  const plan: PlanNode = {
    kind: 'follow',
    input: {
      kind: 'follow',
      input: {
        kind: 'filter',
        input: {...walk, input: named('ann'), mode: 'trail', path: undefined, depthMax: 1},
        condition: call('op:less', property(1, 'age'), literal(30)),
      },
      from: 1,
      direction: 'out',
      types: ['Likes'],
      to: 4,
      edge: undefined,
    },
    from: 4,
    direction: 'in',
    types: ['Wrote'],
    to: 5,
    edge: undefined,
  };
  assert.deepEqual(world.run(plan, [1, 4, 5]), [['bob', 'm2', 'cat']]);
});

test('walks, trails and acyclic walks differ in what may repeat', () => {
  const world = new World();
  const from = (mode: 'walk' | 'trail' | 'acyclic', depthMax: number): unknown[][] =>
    world.run({...walk, input: named('ann'), mode, depthMax}, [1, 3]);
  // ann-bob, ann-bob-cat, ann-bob-cat-dan, ann-bob-cat-dan-ann, ... and by ann-cat.
  assert.equal(from('acyclic', 9).length, 5);
  assert.deepEqual(from('acyclic', 2), [
    ['bob', 1],
    ['cat', 2],
    ['cat', 1],
    ['dan', 2],
  ]);
  assert.equal(from('trail', 9).length, 10);
  assert.equal(from('walk', 5).filter(row => row[0] === 'ann').length, 2);
});

test('reach gives each end once at its least depth, with a path that leads there', () => {
  const world = new World();
  const plan: PlanNode = {...walk, input: named('ann'), mode: 'reach', depthMin: 0};
  assert.deepEqual(world.run(plan, [1, 3]), [
    ['ann', 0],
    ['bob', 1],
    ['cat', 1],
    ['dan', 2],
  ]);
  assert.deepEqual(world.run(plan, [2])[3]?.[0], ['ann', '#Knows', 'cat', '#Knows', 'dan']);
});

test('a condition on each step ends the branch it fails on', () => {
  const world = new World();
  const old = call('op:less', property(4, 'since'), literal(2022));
  const plan: PlanNode = {
    ...walk,
    input: named('ann'),
    mode: 'acyclic',
    edge: 4,
    condition: {kind: 'and', terms: [old, call('op:less', slot(3), literal(3))]},
  };
  assert.deepEqual(world.run(plan, [1, 3]), [
    ['bob', 1],
    ['cat', 2],
  ]);
});

test('an optional part keeps its row with nulls', () => {
  const world = new World();
  const liked: PlanNode = {
    kind: 'follow',
    input: {kind: 'argument'},
    from: 0,
    direction: 'out',
    types: ['Likes'],
    to: 1,
    edge: undefined,
  };
  const plan: PlanNode = {
    kind: 'apply',
    mode: 'left',
    input: scan('Person', 0),
    plan: liked,
    slots: [1],
  };
  assert.deepEqual(world.run(plan, [0, 1]), [
    ['ann', 'm1'],
    ['ann', 'm2'],
    ['bob', 'm2'],
    ['cat', null],
    ['dan', null],
  ]);
});

test('connect finds the edges between two bound ends', () => {
  const world = new World();
  const pairs: PlanNode = {
    kind: 'join',
    mode: 'inner',
    left: scan('Person', 0),
    right: scan('Person', 1),
    on: [],
    rightSlots: [1],
  };
  const plan: PlanNode = {
    kind: 'connect',
    input: pairs,
    from: 0,
    to: 1,
    direction: 'out',
    types: ['Knows'],
    edge: 2,
  };
  assert.equal(world.run(plan, [0, 1]).length, 5);
  assert.equal(world.run({...plan, direction: 'both', edge: undefined}, [0, 1]).length, 10);
});

test('exists, count, collect and scalar of a sub-plan, and once when it depends on nothing', () => {
  const world = new World();
  const of = (mode: 'exists' | 'count' | 'collect', plan: PlanNode, bound: number): Expression => ({
    kind: 'subplan',
    mode,
    plan,
    slot: bound,
    correlated: true,
  });
  const oldest: Expression = {
    kind: 'subplan',
    mode: 'scalar',
    plan: {
      kind: 'extend',
      input: {
        kind: 'top',
        input: scan('Person', 8),
        keys: [{by: property(8, 'age'), descending: true, nulls: 'last'}],
        count: literal(1),
        skip: undefined,
      },
      bind: [{slot: 9, value: property(8, 'name')}],
    },
    slot: 9,
    correlated: false,
  };
  const plan: PlanNode = {
    kind: 'extend',
    input: scan('Person', 0),
    bind: [
      {slot: 1, value: of('exists', friendsOf(0, 5), 5)},
      {slot: 2, value: of('count', friendsOf(0, 5), 5)},
      {slot: 3, value: of('collect', friendsOf(0, 5), 5)},
      {slot: 4, value: oldest},
    ],
  };
  assert.deepEqual(world.run(plan, [0, 1, 2, 3, 4]), [
    ['ann', true, 2, ['bob', 'cat'], 'cat'],
    ['bob', true, 1, ['cat'], 'cat'],
    ['cat', true, 1, ['dan'], 'cat'],
    ['dan', true, 1, ['ann'], 'cat'],
  ]);
});

test('a sub-plan inside a comprehension sees the item', () => {
  const world = new World();
  const collect: Expression = {
    kind: 'subplan',
    mode: 'collect',
    plan: friendsOf(0, 1),
    slot: 1,
    correlated: true,
  };
  const friendsOfItem: Expression = {
    kind: 'subplan',
    mode: 'count',
    plan: friendsOf(3, 4),
    slot: 4,
    correlated: true,
  };
  const plan: PlanNode = {
    kind: 'extend',
    input: named('ann'),
    bind: [
      {
        slot: 2,
        value: {
          kind: 'comprehension',
          mode: 'list',
          list: collect,
          item: 3,
          where: call('op:greater', property(3, 'age'), literal(20)),
          yields: {kind: 'list', items: [property(3, 'name'), friendsOfItem]},
        },
      },
    ],
  };
  assert.deepEqual(world.run(plan, [2]), [
    [
      [
        ['bob', 1],
        ['cat', 1],
      ],
    ],
  ]);
});

test('shortest paths: one, all, none, within a depth', () => {
  const world = new World();
  const between = (from: string, to: string, all: boolean, depthMax?: number): PlanNode => ({
    kind: 'shortest',
    input: {kind: 'unit'},
    from: literal(world.named.get(from) ?? null),
    to: literal(world.rid(to)),
    direction: 'out',
    types: ['Knows'],
    depthMax,
    all,
    path: 0,
  });
  assert.deepEqual(world.run(between('ann', 'dan', false), [0]), [
    [['ann', '#Knows', 'cat', '#Knows', 'dan']],
  ]);
  assert.equal(world.run(between('ann', 'dan', false, 1), [0])[0]?.[0], null);
  assert.deepEqual(world.run(between('bob', 'bob', false), [0]), [[['bob']]]);
  world.link('Knows', 'bob', 'dan', {});
  assert.equal(world.run(between('ann', 'dan', true), [0]).length, 2);
  assert.deepEqual(world.run(between('ann', 'm3', false), [0]), [[null]]);
});

test('relationship uniqueness: one edge stands for one variable of a pattern only', () => {
  const world = new World();
  const plan: PlanNode = {
    kind: 'filter',
    input: {
      kind: 'follow',
      input: {...friendsOf(0, 1, 2), input: scan('Person', 0)} as PlanNode,
      from: 1,
      direction: 'both',
      types: ['Knows'],
      to: 3,
      edge: 4,
    },
    condition: call('op:notEqual', slot(2), slot(4)),
  };
  const rows = world.run(plan, [0, 1, 3]);
  assert.equal(rows.length, 8);
  assert.equal(
    rows.some(([a, , c]) => a === 'ann' && c === 'ann'),
    false,
  );
});
