/** Operators one by one, on rows that can be counted on fingers. */
import assert from 'node:assert/strict';
import test from 'node:test';
import {Refusal} from '#server/base/errors.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {
  call,
  equal,
  literal,
  property,
  scan,
  slot,
  World,
  worldCatalog,
} from '#server/testing/worlds/hand-built-plan.ts';
import {NaiveGraph} from '#server/testing/worlds/naive-graph.ts';

const people = scan('Person', 0);
const unit: PlanNode = {kind: 'unit'};
const numbers = (count: number, into = 0): PlanNode => ({
  kind: 'call',
  procedure: 'test.numbers',
  args: [literal(count)],
  outputs: [{name: 'number', slot: into}],
});

test('scan gives records in order of creation, and backwards', () => {
  const world = new World();
  assert.deepEqual(world.run(people, [0]), [['ann'], ['bob'], ['cat'], ['dan']]);
  assert.deepEqual(world.run({...people, descending: true} as PlanNode, [0]).length, 4);
  assert.equal(world.run(scan('Thing', 0), [0]).length, 7);
});

test('a condition inside a scan and a filter above it give the same rows', () => {
  const world = new World();
  const young = call('op:less', property(0, 'age'), literal(30));
  const filtered: PlanNode = {kind: 'filter', input: people, condition: young};
  assert.deepEqual(world.run(scan('Person', 0, young), [0]), [['bob'], ['dan']]);
  assert.deepEqual(world.run(filtered, [0]), [['bob'], ['dan']]);
});

test('extend binds in order, a later one from an earlier one', () => {
  const world = new World();
  const plan: PlanNode = {
    kind: 'extend',
    input: people,
    bind: [
      {slot: 1, value: property(0, 'age')},
      {slot: 2, value: call('op:multiply', slot(1), literal(2))},
    ],
  };
  assert.deepEqual(world.run(plan, [0, 1, 2])[0], ['ann', 30, 60]);
});

test('records keeps the order of ids and drops what is gone', () => {
  const world = new World();
  const [ann, dan] = [world.rid('ann'), world.rid('dan')];
  const gone = world.rid('nobody');
  const ids = literal([dan, [ann, gone], 7]);
  const plan: PlanNode = {kind: 'records', ids, slot: 0, loose: false};
  assert.deepEqual(world.run(plan, [0]), [['dan'], ['ann']]);
  assert.deepEqual(world.run({...plan, loose: true}, [0]), [['dan'], ['ann'], [7]]);
});

test('index rows: point, each of a list, range both ways, entries', () => {
  const world = new World();
  const point = {kind: 'index-point', index: 'Person[age]', slot: 0} as const;
  assert.deepEqual(world.run({...point, keys: [literal(25)], each: false}, [0]), [
    ['bob'],
    ['dan'],
  ]);
  const list = literal([41, 25, 41, null]);
  assert.deepEqual(world.run({...point, keys: [list], each: true}, [0]), [
    ['cat'],
    ['bob'],
    ['dan'],
  ]);
  assert.deepEqual(world.run({...point, keys: [literal(null)], each: false}, [0]), []);
  const range: PlanNode = {
    kind: 'index-range',
    index: 'Person[age]',
    from: {values: [literal(25)], inclusive: false},
    to: undefined,
    descending: true,
    slot: 0,
  };
  assert.deepEqual(world.run(range, [0]), [['cat'], ['ann']]);
  const entries: PlanNode = {
    kind: 'index-entries',
    index: 'Person[age]',
    key: 0,
    rid: 1,
    descending: false,
  };
  assert.deepEqual(world.run(entries, [0, 1])[3], [[41], 'cat']);
});

test('intersect: what all inputs find, in the order of the first, as ids or records', () => {
  const world = new World();
  const aged = (from: number, into: number): PlanNode => ({
    kind: 'index-range',
    index: 'Person[age]',
    from: {values: [literal(from)], inclusive: true},
    to: undefined,
    descending: true,
    slot: into,
  });
  const named: PlanNode = {
    kind: 'index-range',
    index: 'Thing[name]',
    from: {values: [literal('b')], inclusive: true},
    to: undefined,
    descending: false,
    slot: 2,
  };
  const both: PlanNode = {
    kind: 'intersect',
    inputs: [aged(25, 1), named],
    ids: [1, 2],
    slot: 0,
  };
  const found = world.run(
    {kind: 'extend', input: both, bind: [{slot: 3, value: property(0, 'age')}]},
    [0, 3],
  );
  assert.deepEqual(found.map(String).toSorted(), ['bob,25', 'cat,41', 'dan,25']);
  assert.deepEqual(found[0], ['cat', 41]);
  assert.deepEqual(world.run({...both, inputs: [aged(30, 1), named]}, [0]), [['cat']]);
  const limits = {memoryBytesMax: 20};
  assert.throws(() => world.run(both, [0], {limits}), {code: 'query.memory'});
});

test('follow: out, in, both, with edges; the order is edge type, then the other end', () => {
  const world = new World();
  const ann: PlanNode = {kind: 'records', ids: literal(world.rid('ann')), slot: 0, loose: false};
  const hop = {kind: 'follow', input: ann, from: 0, to: 1, edge: 2} as const;
  assert.deepEqual(world.run({...hop, direction: 'out', types: ['Knows']}, [1]), [
    ['bob'],
    ['cat'],
  ]);
  assert.deepEqual(world.run({...hop, direction: 'in', types: []}, [1]), [['dan']]);
  assert.deepEqual(world.run({...hop, direction: 'both', types: ['Knows']}, [1, 2]), [
    ['bob', '#Knows'],
    ['cat', '#Knows'],
    ['dan', '#Knows'],
  ]);
  assert.equal(world.run({...hop, direction: 'out', types: []}, [1]).length, 4);
});

test('unnest: lists, single values, nothing', () => {
  const world = new World();
  const values: PlanNode = {
    kind: 'values',
    slots: [0],
    rows: [[literal([1, 2])], [literal(null)], [literal('x')]],
  };
  const plan = {kind: 'unnest', input: values, list: slot(0), slot: 1} as const;
  assert.deepEqual(world.run({...plan, keepEmpty: false}, [1]), [[1], [2], ['x']]);
  assert.deepEqual(world.run({...plan, keepEmpty: true}, [1]), [[1], [2], [null], ['x']]);
});

test('join: inner, left, semi, anti; null keys equal nothing', () => {
  const world = new World();
  const left: PlanNode = {
    kind: 'values',
    slots: [0],
    rows: [[literal(25)], [literal(7)], [literal(null)]],
  };
  const on = [{left: slot(0), right: property(1, 'age')}];
  const join = {kind: 'join', left, right: scan('Person', 1), on, rightSlots: [1]} as const;
  assert.deepEqual(world.run({...join, mode: 'inner'}, [0, 1]), [
    [25, 'bob'],
    [25, 'dan'],
  ]);
  assert.deepEqual(world.run({...join, mode: 'left'}, [0, 1]), [
    [25, 'bob'],
    [25, 'dan'],
    [7, null],
    [null, null],
  ]);
  assert.deepEqual(world.run({...join, mode: 'semi'}, [0]), [[25]]);
  assert.deepEqual(world.run({...join, mode: 'anti'}, [0]), [[7], [null]]);
  assert.equal(world.run({...join, mode: 'inner', on: []}, [0]).length, 12);
});

test('aggregate: groups in order of first appearance; one row without keys', () => {
  const world = new World();
  const count = {slot: 2, name: 'count', args: [], distinct: false};
  const byAge: PlanNode = {
    kind: 'aggregate',
    input: people,
    keys: [{slot: 1, value: property(0, 'age')}],
    aggregates: [
      count,
      {slot: 3, name: 'test.collect', args: [property(0, 'name')], distinct: false},
    ],
  };
  assert.deepEqual(world.run(byAge, [1, 2, 3]), [
    [30, 1, ['ann']],
    [25, 2, ['bob', 'dan']],
    [41, 1, ['cat']],
  ]);
  const nobody = scan('Person', 0, literal(false));
  const all: PlanNode = {kind: 'aggregate', input: nobody, keys: [], aggregates: [count]};
  assert.deepEqual(world.run(all, [2]), [[0]]);
  const ages = {slot: 2, name: 'test.sum', args: [property(0, 'age')], distinct: true};
  assert.deepEqual(world.run({...all, input: people, aggregates: [ages]}, [2]), [[96]]);
});

test('sort is stable and puts null where asked; top agrees with sort and limit', () => {
  const world = new World();
  world.add('Person', {name: 'eve'});
  const key = {by: property(0, 'age'), descending: false, nulls: 'first'} as const;
  const sorted: PlanNode = {kind: 'sort', input: people, keys: [key]};
  assert.deepEqual(world.run(sorted, [0]).flat(), ['eve', 'bob', 'dan', 'ann', 'cat']);
  const keys = [{...key, descending: true, nulls: 'last'} as const];
  const top: PlanNode = {
    kind: 'top',
    input: people,
    keys,
    count: literal(2),
    skip: literal(1),
  };
  assert.deepEqual(world.run({...sorted, keys}, [0]).flat(), ['cat', 'ann', 'bob', 'dan', 'eve']);
  assert.deepEqual(world.run(top, [0]).flat(), ['ann', 'bob']);
});

test('a long sort and a long top agree with Array.sort', () => {
  const world = new World();
  const scrambled = call('op:modulo', call('op:multiply', slot(0), literal(7919)), literal(1009));
  const key = {by: scrambled, descending: true, nulls: 'last'} as const;
  const input = numbers(9_000);
  const expected = Array.from({length: 9_000}, (_, at) => at + 1).sort(
    (a, b) => ((b * 7919) % 1009) - ((a * 7919) % 1009),
  );
  assert.deepEqual(world.run({kind: 'sort', input, keys: [key]}, [0]).flat(), expected);
  const top: PlanNode = {kind: 'top', input, keys: [key], count: literal(50), skip: undefined};
  assert.deepEqual(world.run(top, [0]).flat(), expected.slice(0, 50));
});

test('distinct, skip, limit, union, values', () => {
  const world = new World();
  const ages: PlanNode = {
    kind: 'distinct',
    input: people,
    by: [property(0, 'age')],
  };
  assert.deepEqual(world.run(ages, [0]).flat(), ['ann', 'bob', 'cat']);
  const twice: PlanNode = {kind: 'union', inputs: [numbers(3), numbers(2)]};
  assert.deepEqual(world.run(twice, [0]).flat(), [1, 2, 3, 1, 2]);
  const cut: PlanNode = {
    kind: 'limit',
    input: {kind: 'skip', input: numbers(10), count: literal(4)},
    count: literal(3),
  };
  assert.deepEqual(world.run(cut, [0], {batchRows: 2}).flat(), [5, 6, 7]);
  assert.throws(
    () => world.run({...cut, count: literal('many')}, [0]),
    (error: unknown) => error instanceof Refusal && error.code === 'query.parameter',
  );
});

test('a limit closes the scan below it', () => {
  const graph = new NaiveGraph(worldCatalog());
  const world = new World({graph, writes: graph});
  const plan: PlanNode = {kind: 'limit', input: scan('Thing', 0), count: literal(1)};
  assert.equal(world.run(plan, [0], {batchRows: 1}).length, 1);
  assert.equal(graph.openSources, 0);
});

test('an error in the middle closes every scan', () => {
  const graph = new NaiveGraph(worldCatalog());
  const world = new World({graph, writes: graph});
  const bad = call('op:multiply', property(1, 'name'), literal(2));
  const plan: PlanNode = {
    kind: 'filter',
    input: {
      kind: 'follow',
      input: people,
      from: 0,
      direction: 'out',
      types: [],
      to: 1,
      edge: undefined,
    },
    condition: equal(bad, literal(1)),
  };
  assert.throws(() => world.run(plan, [0]), Refusal);
  assert.equal(graph.openSources, 0);
});

test('create makes records and edges; a write does not meet its own rows', () => {
  const world = new World();
  const copies: PlanNode = {
    kind: 'create',
    input: people,
    what: 'vertex',
    type: 'Person',
    bucket: undefined,
    from: undefined,
    to: undefined,
    ifNotExists: false,
    unidirectional: false,
    assignments: [
      {kind: 'content', value: slot(0), replace: false},
      {kind: 'set', name: 'copyOf', value: property(0, 'name')},
    ],
    slot: 1,
  };
  assert.equal(world.run(copies, [1], {batchRows: 1}).length, 4);
  assert.equal(world.graph.countType('Person', true), 8);
});

test('create edge: the product of both sides, and the one there is with ifNotExists', () => {
  const world = new World();
  const {named} = world;
  const [ann, bob, cat] = ['ann', 'bob', 'cat'].map(name => named.get(name) ?? null);
  const node = {
    kind: 'create',
    input: unit,
    what: 'edge',
    type: 'Knows',
    bucket: undefined,
    from: literal([ann ?? null, bob ?? null]),
    to: literal(cat ?? null),
    unidirectional: false,
    assignments: [{kind: 'set', name: 'since', value: literal(2030)}],
    slot: 0,
  } as const;
  const known: PlanNode = {...node, ifNotExists: true};
  const since = {kind: 'extend', bind: [{slot: 1, value: property(0, 'since')}]} as const;
  assert.deepEqual(world.run({...since, input: known}, [1]).flat(), [2022, 2020]);
  const fresh: PlanNode = {...node, ifNotExists: false};
  assert.deepEqual(world.run({...since, input: fresh}, [1]).flat(), [2030, 2030]);
});

test('change: assignments in order, inside lists and maps, the old record kept', () => {
  const world = new World();
  const input = scan('Person', 0, equal(property(0, 'name'), literal('ann')));
  const plan: PlanNode = {
    kind: 'change',
    input,
    slot: 0,
    before: 1,
    applyDefaults: false,
    assignments: [
      {kind: 'set', name: 'age', value: call('op:add', property(0, 'age'), literal(1))},
      {kind: 'set', name: 'tags', value: literal(['a', 'b'])},
      {kind: 'set-inside', path: ['tags', literal(1)], value: literal('B')},
      {kind: 'set-inside', path: ['home', 'city'], value: literal('Rome')},
      {kind: 'remove-inside', path: ['tags'], value: literal('a')},
    ],
  };
  const shown: PlanNode = {
    kind: 'extend',
    input: plan,
    bind: [
      {slot: 2, value: property(0, 'age')},
      {slot: 3, value: property(1, 'age')},
      {slot: 4, value: property(0, 'tags')},
      {slot: 5, value: property(0, 'home')},
    ],
  };
  assert.deepEqual(world.run(shown, [2, 3, 4, 5]), [[31, 30, ['B'], {city: 'Rome'}]]);
});

test('upsert creates only without rows; delete takes a record once', () => {
  const world = new World();
  const upsert = (name: string): PlanNode => ({
    kind: 'upsert',
    input: scan('Person', 0, equal(property(0, 'name'), literal(name))),
    type: 'Person',
    slot: 0,
    before: 1,
    seed: [{name: 'name', value: literal(name)}],
    assignments: [{kind: 'set', name: 'age', value: literal(1)}],
  });
  assert.deepEqual(world.run(upsert('ann'), [0, 1]), [['ann', 'ann']]);
  assert.deepEqual(world.run(upsert('zoe'), [0, 1]), [['zoe', null]]);
  const twice: PlanNode = {kind: 'union', inputs: [people, people]};
  const all: PlanNode = {kind: 'delete', input: twice, slot: 0, only: 'vertex'};
  assert.equal(world.run(all, [0]).length, 5);
  assert.deepEqual(world.run(scan('Knows', 0), [0]), []);
  const wrong: PlanNode = {kind: 'delete', input: scan('Message', 0), slot: 0, only: 'edge'};
  assert.throws(() => world.run(wrong, [0]), Refusal);
});

test('a table function binds its outputs by name', () => {
  const world = new World();
  const plan: PlanNode = {
    kind: 'call',
    procedure: 'test.numbers',
    args: [literal(3)],
    outputs: [{name: 'square', slot: 0}],
  };
  assert.deepEqual(world.run(plan, [0]).flat(), [1, 4, 9]);
});
