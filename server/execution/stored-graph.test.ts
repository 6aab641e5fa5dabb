/**
 * Plans over the stored graph and over the naive one give the same rows, whether the data is
 * committed or only written by the transaction that reads.
 */
import assert from 'node:assert/strict';
import {after, test} from 'node:test';
import type {Value} from '#server/model/value.ts';
import type {Direction, PlanNode} from '#server/plan/node.ts';
import {
  call,
  literal,
  property,
  scan,
  slot,
  World,
} from '#server/testing/worlds/hand-built-plan.ts';
import {openStoredWorld} from '#server/testing/worlds/stored-world.ts';

const stored = await openStoredWorld();
after(() => stored.close());

function follow(direction: Direction, types: readonly string[]): PlanNode {
  return {kind: 'follow', input: scan('Person', 0), from: 0, direction, types, to: 1, edge: 2};
}

const unique: PlanNode = {
  kind: 'index-point',
  index: 'Thing[name]',
  keys: [literal('cat')],
  each: false,
  slot: 0,
};

const plans: readonly (readonly [string, PlanNode, readonly number[]])[] = [
  ['scan', scan('Person', 0), [0]],
  ['scan with its subtypes', scan('Thing', 0), [0]],
  ['scan backwards', {...scan('Thing', 0), descending: true} as PlanNode, [0]],
  ['scan where', scan('Person', 0, call('op:less', property(0, 'age'), literal(30))), [0]],
  ['index point', unique, [0]],
  [
    'index range',
    {
      kind: 'index-range',
      index: 'Person[age]',
      from: {values: [literal(25)], inclusive: true},
      to: {values: [literal(41)], inclusive: false},
      descending: true,
      slot: 0,
    },
    [0],
  ],
  [
    'index entries',
    {kind: 'index-entries', index: 'Person[age]', key: 0, rid: 1, descending: false},
    [0, 1],
  ],
  ['follow out', follow('out', ['Knows']), [0, 1, 2]],
  ['follow in', follow('in', []), [0, 1, 2]],
  ['follow both', follow('both', ['Knows', 'Likes']), [0, 1, 2]],
  [
    'follow from the same vertex twice',
    {
      kind: 'follow',
      input: {kind: 'union', inputs: [unique, unique]},
      from: 0,
      direction: 'both',
      types: ['Knows'],
      to: 1,
      edge: undefined,
    },
    [0, 1],
  ],
  [
    'reach',
    {
      kind: 'walk',
      input: unique,
      from: 0,
      direction: 'out',
      types: ['Knows'],
      depthMin: 0,
      depthMax: undefined,
      mode: 'reach',
      to: 1,
      edges: undefined,
      path: 2,
      depth: 3,
      edge: undefined,
      condition: undefined,
    },
    [1, 2, 3],
  ],
];

for (const data of ['committed', 'uncommitted'] as const) {
  test(`plans over ${data} data give the naive graph's rows`, async () => {
    const world = await stored.open(data);
    const naive = new World();
    for (const [name, plan, slots] of plans) {
      assert.deepEqual(world.run(plan, slots), naive.run(plan, slots), name);
      assert.deepEqual(world.run(plan, slots, {batchRows: 1}), naive.run(plan, slots), name);
    }
  });
}

test('light edges are followed, scanned and deleted like others', async () => {
  const world = await stored.open('committed', filled => {
    filled.link('Follows', 'ann', 'bob', {});
    filled.link('Follows', 'ann', 'cat', {});
    filled.link('Follows', 'cat', 'ann', {});
  });
  const ends: PlanNode = {
    kind: 'extend',
    input: follow('both', ['Follows']),
    bind: [
      {slot: 3, value: {kind: 'attribute', of: slot(2), attribute: 'out'}},
      {slot: 4, value: {kind: 'attribute', of: slot(2), attribute: 'type'}},
    ],
  };
  assert.deepEqual(world.run(ends, [0, 1, 3, 4]), [
    ['ann', 'bob', 'ann', 'Follows'],
    ['ann', 'cat', 'ann', 'Follows'],
    ['ann', 'cat', 'cat', 'Follows'],
    ['bob', 'ann', 'ann', 'Follows'],
    ['cat', 'ann', 'cat', 'Follows'],
    ['cat', 'ann', 'ann', 'Follows'],
  ]);
  const all = scan('Follows', 0);
  const counted: PlanNode = {
    kind: 'aggregate',
    input: all,
    keys: [],
    aggregates: [{slot: 1, name: 'count', args: [], distinct: false}],
  };
  assert.equal(world.run(all, [0]).length, 3);
  assert.deepEqual(world.run(counted, [1]), [[3]]);
  const backwards = scan('Follows', 0, {
    kind: 'call',
    name: 'op:equal',
    args: [{kind: 'attribute', of: slot(0), attribute: 'out'}, literal(world.rid('cat'))],
  });
  assert.equal(world.run({kind: 'delete', input: backwards, slot: 0, only: 'edge'}, [0]).length, 1);
  assert.deepEqual(world.run(counted, [1]), [[2]]);
});

test('a write is seen by the next plan of its transaction, and by its own indexes', async () => {
  const world = await stored.open('committed');
  const rename: PlanNode = {
    kind: 'change',
    input: unique,
    slot: 0,
    before: undefined,
    applyDefaults: false,
    assignments: [{kind: 'set', name: 'name', value: literal('kit')}],
  };
  assert.deepEqual(world.run(rename, [0]), [['kit']]);
  assert.deepEqual(world.run(unique, [0]), []);
  const gone: PlanNode = {kind: 'delete', input: scan('Person', 0), slot: 0, only: 'vertex'};
  assert.equal(world.run(gone, [0]).length, 4);
  assert.deepEqual(world.run(scan('Knows', 0), [0]), []);
  assert.equal(world.graph.countType('Person', true), 0);
});

const cities: readonly Value[] = ['Rome', 'Oslo', '', 'Öl"', '7', 7, null, true, ['Rome'], 2.5];
const signs = ['equal', 'notEqual', 'less', 'greaterOrEqual', 'in', 'like'].map(s => `op:${s}`);

test('conditions decided on packed bytes agree with those on values', async () => {
  const fill = (world: World): void => {
    for (const city of cities) world.add('Sample', {city, other: 1});
    world.add('Sample', {other: 2});
  };
  const world = await stored.open('committed', fill);
  const naive = new World();
  fill(naive);
  for (const constant of cities) {
    for (const sign of signs) {
      const term = call(sign, property(0, 'city'), literal(constant));
      const bound = call(sign, property(0, 'city'), {kind: 'parameter', name: 'c'});
      const known = call('op:greater', property(0, 'other'), literal(0));
      for (const where of [term, bound, {kind: 'and', terms: [known, term]} as const]) {
        const plan: PlanNode = {
          kind: 'extend',
          input: scan('Sample', 0, where),
          bind: [{slot: 1, value: property(0, 'city')}],
        };
        const options = {parameters: {c: constant}};
        const what = `city ${sign} ${JSON.stringify(constant)}`;
        assert.deepEqual(world.run(plan, [1], options), naive.run(plan, [1], options), what);
      }
    }
  }
});

test('large records keep their bytes after the scan has moved on', async () => {
  const world = await stored.open('committed', filled => {
    for (let number = 0; number < 60; number++) {
      filled.add('Sample', {number, text: String(number).padStart(2, '0').repeat(3_000)});
    }
  });
  const plan: PlanNode = {
    kind: 'extend',
    input: {
      kind: 'sort',
      input: scan('Sample', 0),
      keys: [{by: property(0, 'number'), descending: true, nulls: 'last'}],
    },
    bind: [{slot: 1, value: property(0, 'text')}],
  };
  for (const [at, [text]] of world.run(plan, [1]).entries()) {
    assert.equal(
      String(text).slice(0, 4),
      String(59 - at)
        .padStart(2, '0')
        .repeat(2),
    );
  }
});

test('every record of a scan is counted once however the batches are cut', async () => {
  const world = await stored.open('committed');
  for (let number = 0; number < 3_000; number++) world.add('Sample', {number});
  const count: PlanNode = {
    kind: 'aggregate',
    input: scan('Sample', 0, call('op:greaterOrEqual', property(0, 'number'), literal(1_000))),
    keys: [],
    aggregates: [{slot: 1, name: 'count', args: [], distinct: false}],
  };
  for (const batchRows of [1, 7, 1024, 100_000]) {
    assert.deepEqual(world.run(count, [1], {batchRows}), [[2_000]]);
  }
  const sum: PlanNode = {
    kind: 'aggregate',
    input: scan('Sample', 0),
    keys: [],
    aggregates: [{slot: 1, name: 'test.sum', args: [property(slot(0), 'number')], distinct: false}],
  };
  assert.deepEqual(world.run(sum, [1]), [[(2_999 * 3_000) / 2]]);
});
