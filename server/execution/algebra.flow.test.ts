/** Demands beyond matching: repeat, nested results, match-or-create, series, limits of a run. */
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
} from '#server/testing/worlds/hand-built-plan.ts';
import {PlanProfile} from './profile.ts';

const named = (name: string, into = 0): PlanNode =>
  scan('Person', into, equal(property(into, 'name'), literal(name)));

const knows: PlanNode = {
  kind: 'follow',
  input: {kind: 'argument'},
  from: 0,
  direction: 'out',
  types: ['Knows'],
  to: 1,
  edge: undefined,
};

const repeat = {
  kind: 'repeat',
  input: named('ann'),
  body: knows,
  loop: 0,
  next: 1,
  depth: 2,
  path: 3,
  depthMin: 0,
  depthMax: undefined,
  whileCondition: undefined,
  emitOnFail: false,
} as const;

test('repeat: depth first and breadth first, each record once', () => {
  const world = new World();
  const deep: PlanNode = {...repeat, order: 'depth-first', unique: 'global'};
  assert.deepEqual(world.run(deep, [0, 2, 3]), [
    ['ann', 0, ['ann']],
    ['bob', 1, ['ann', 'bob']],
    ['cat', 2, ['ann', 'bob', 'cat']],
    ['dan', 3, ['ann', 'bob', 'cat', 'dan']],
  ]);
  const broad: PlanNode = {...repeat, order: 'breadth-first', unique: 'global'};
  assert.deepEqual(world.run(broad, [0, 2]), [
    ['ann', 0],
    ['bob', 1],
    ['cat', 1],
    ['dan', 2],
  ]);
});

test('repeat: while ends a branch, or emits where it failed, and depths bound it', () => {
  const world = new World();
  const shallow = call('op:less', slot(2), literal(2));
  const base = {...repeat, order: 'depth-first', whileCondition: shallow} as const;
  assert.deepEqual(world.run({...base, unique: 'none'}, [0]).flat(), ['ann', 'bob', 'cat']);
  assert.deepEqual(world.run({...base, unique: 'none', emitOnFail: true}, [0, 2]), [
    ['ann', 0],
    ['bob', 1],
    ['cat', 2],
    ['cat', 1],
    ['dan', 2],
  ]);
  const paths: PlanNode = {...repeat, order: 'depth-first', unique: 'path', depthMin: 3};
  assert.deepEqual(world.run(paths, [0]).flat(), ['dan']);
  const two: PlanNode = {...repeat, order: 'depth-first', unique: 'none', depthMin: 1, depthMax: 1};
  assert.deepEqual(world.run(two, [0]).flat(), ['bob', 'cat']);
  const starts: PlanNode = {
    ...repeat,
    input: scan('Person', 0),
    order: 'breadth-first',
    unique: 'start',
    depthMax: 1,
  };
  assert.equal(world.run(starts, [0]).length, 9);
});

test('nested selections: a collect for each parent, inside each other', () => {
  const world = new World();
  const entry = {
    kind: 'map',
    entries: [
      {key: 'name', value: property(1, 'name')},
      {key: 'likes', value: slot(5)},
    ],
  } as const;
  const likes: PlanNode = {
    kind: 'apply',
    mode: 'collect',
    input: knows,
    plan: {
      kind: 'extend',
      input: {...knows, from: 1, to: 3, types: ['Likes']} as PlanNode,
      bind: [{slot: 4, value: property(3, 'name')}],
    },
    slots: [],
    collect: {from: 4, to: 5},
  };
  const plan: PlanNode = {
    kind: 'apply',
    mode: 'collect',
    input: scan('Person', 0),
    plan: {kind: 'extend', input: likes, bind: [{slot: 6, value: entry}]},
    slots: [],
    collect: {from: 6, to: 7},
  };
  assert.deepEqual(world.run(plan, [0, 7])[0], [
    'ann',
    [
      {name: 'bob', likes: ['m2']},
      {name: 'cat', likes: []},
    ],
  ]);
});

test('match or create: apply over the match, create only for rows without one', () => {
  const world = new World();
  const wanted: PlanNode = {
    kind: 'values',
    slots: [0],
    rows: [[literal('ann')], [literal('eve')], [literal('eve')]],
  };
  const match: PlanNode = {
    kind: 'index-point',
    index: 'Thing[name]',
    keys: [slot(0)],
    each: false,
    slot: 1,
  };
  const create: PlanNode = {
    kind: 'create',
    input: {kind: 'argument'},
    what: 'vertex',
    type: 'Person',
    bucket: undefined,
    from: undefined,
    to: undefined,
    ifNotExists: false,
    unidirectional: false,
    assignments: [{kind: 'set', name: 'name', value: slot(0)}],
    slot: 1,
  };
  const absent: PlanNode = {
    kind: 'filter',
    input: {kind: 'apply', mode: 'anti', input: {kind: 'argument'}, plan: match, slots: []},
    condition: literal(true),
  };
  const merge: PlanNode = {
    kind: 'barrier',
    input: {
      kind: 'apply',
      mode: 'inner',
      input: wanted,
      plan: {kind: 'union', inputs: [match, {...create, input: absent}]},
      slots: [1],
    },
  };
  // Row by row: the second eve finds the first, but ann's union looks again after her match.
  assert.deepEqual(world.run(merge, [0, 1]), [
    ['ann', 'ann'],
    ['eve', 'eve'],
    ['eve', 'eve'],
  ]);
  assert.equal(world.graph.countType('Person', true), 5);
});

test('apply: scalar takes the only row, refuses several; for-each runs for its effects', () => {
  const world = new World();
  const scalar: PlanNode = {
    kind: 'apply',
    mode: 'scalar',
    input: scan('Person', 0),
    plan: knows,
    slots: [1],
  };
  assert.throws(
    () => world.run(scalar, [0, 1]),
    (error: unknown) => error instanceof Refusal && error.code === 'query.execution',
  );
  const marked: PlanNode = {
    kind: 'apply',
    mode: 'for-each',
    input: named('ann'),
    plan: {
      kind: 'change',
      input: knows,
      slot: 1,
      before: undefined,
      applyDefaults: false,
      assignments: [{kind: 'set', name: 'friendOf', value: property(0, 'name')}],
    },
    slots: [],
  };
  assert.equal(world.run(marked, [0]).length, 1);
  const friends = scan('Person', 0, equal(property(0, 'friendOf'), literal('ann')));
  assert.deepEqual(world.run(friends, [0]).flat(), ['bob', 'cat']);
});

test('semi and anti apply keep or drop a row by its sub-plan', () => {
  const world = new World();
  const likes = {...knows, types: ['Likes']} as PlanNode;
  const base = {kind: 'apply', input: scan('Person', 0), plan: likes, slots: []} as const;
  assert.deepEqual(world.run({...base, mode: 'semi'}, [0]).flat(), ['ann', 'bob']);
  assert.deepEqual(world.run({...base, mode: 'anti'}, [0]).flat(), ['cat', 'dan']);
});

test('series: buckets of time, and the last value of each series', () => {
  const world = new World();
  for (let at = 0; at < 100; at++) {
    world.add('Sample', {sensor: at % 2 === 0 ? 'even' : 'odd', at, value: at * 1.5});
  }
  const start = call(
    'op:subtract',
    property(0, 'at'),
    call('op:modulo', property(0, 'at'), literal(25)),
  );
  const buckets: PlanNode = {
    kind: 'aggregate',
    input: scan('Sample', 0),
    keys: [{slot: 1, value: start}],
    aggregates: [
      {slot: 2, name: 'count', args: [], distinct: false},
      {slot: 3, name: 'test.sum', args: [property(0, 'value')], distinct: false},
    ],
  };
  assert.deepEqual(
    world.run(buckets, [1, 2]),
    [0, 25, 50, 75].map(bucket => [bucket, 25]),
  );
  const last: PlanNode = {
    kind: 'aggregate',
    input: {
      kind: 'sort',
      input: scan('Sample', 0),
      keys: [{by: property(0, 'at'), descending: false, nulls: 'first'}],
    },
    keys: [{slot: 1, value: property(0, 'sensor')}],
    aggregates: [{slot: 2, name: 'test.last', args: [property(0, 'at')], distinct: false}],
  };
  assert.deepEqual(world.run(last, [1, 2]), [
    ['even', 98],
    ['odd', 99],
  ]);
});

test('three-valued logic and quantifiers over lists', () => {
  const world = new World();
  const unknown = equal(literal(null), literal(1));
  const quantified = (mode: 'any' | 'all' | 'none' | 'single', list: unknown[]): unknown => {
    const plan: PlanNode = {
      kind: 'extend',
      input: {kind: 'unit'},
      bind: [
        {
          slot: 0,
          value: {
            kind: 'comprehension',
            mode,
            list: literal(list as never),
            item: 1,
            where: call('op:greater', slot(1), literal(1)),
          },
        },
      ],
    };
    return world.run(plan, [0])[0]?.[0];
  };
  const logic: PlanNode = {
    kind: 'extend',
    input: {kind: 'unit'},
    bind: [
      {slot: 0, value: {kind: 'and', terms: [unknown, literal(false)]}},
      {slot: 1, value: {kind: 'or', terms: [unknown, literal(true)]}},
      {slot: 2, value: {kind: 'and', terms: [unknown, literal(true)]}},
      {slot: 3, value: {kind: 'not', of: unknown}},
    ],
  };
  assert.deepEqual(world.run(logic, [0, 1, 2, 3]), [[false, true, null, null]]);
  assert.equal(quantified('any', [1, null, 2]), true);
  assert.equal(quantified('any', [1, null]), null);
  assert.equal(quantified('all', [2, null]), null);
  assert.equal(quantified('none', [1, 0]), true);
  assert.equal(quantified('single', [2, 1]), true);
});

test('any batch size gives the same rows in the same order', () => {
  const world = new World();
  const friendsByAge: PlanNode = {
    kind: 'sort',
    input: {
      kind: 'follow',
      input: scan('Person', 0),
      from: 0,
      direction: 'both',
      types: [],
      to: 1,
      edge: 4,
    },
    keys: [{by: property(1, 'age'), descending: true, nulls: 'last'}],
  };
  const plans: readonly PlanNode[] = [
    friendsByAge,
    {kind: 'distinct', input: friendsByAge, by: [slot(1)]},
    {
      kind: 'limit',
      input: {kind: 'skip', input: friendsByAge, count: literal(3)},
      count: literal(5),
    },
    {...repeat, input: scan('Person', 0), order: 'depth-first', unique: 'path'},
    {kind: 'apply', mode: 'left', input: scan('Thing', 0), plan: knows, slots: [1]},
  ];
  for (const plan of plans) {
    const expected = world.run(plan, [0, 1], {batchRows: 1024});
    for (const batchRows of [1, 2, 3, 5, 8]) {
      assert.deepEqual(world.run(plan, [0, 1], {batchRows}), expected);
    }
  }
});

test('a profile counts the rows, the time and the memory of each node', () => {
  const world = new World();
  const filter: PlanNode = {
    kind: 'filter',
    input: scan('Person', 0),
    condition: call('op:less', property(0, 'age'), literal(30)),
  };
  const plan: PlanNode = {kind: 'barrier', input: filter};
  const profile = new PlanProfile();
  let now = 0;
  world.run(plan, [0], {profile, monotonic: () => (now += 1)});
  const nodes = [plan, filter, filter.input].map(node => profile.of(node));
  assert.deepEqual(
    nodes.map(node => node?.rows),
    [2, 2, 4],
  );
  assert.ok(nodes.every(node => node !== undefined && node.ownMs > 0));
  assert.deepEqual(
    nodes.map(node => (node?.memoryBytes ?? 0) > 0),
    [true, false, false],
  );
});

test('time, memory and termination end a run, wherever it is', () => {
  const world = new World();
  const forever: PlanNode = {...repeat, order: 'depth-first', unique: 'none', path: undefined};
  let now = 0;
  const late = {limits: {timeoutMs: 20}, monotonic: () => (now += 0.01)};
  const refuses = (run: () => unknown, code: string): void => {
    assert.throws(run, (error: unknown) => error instanceof Refusal && error.code === code);
  };
  refuses(() => world.run(forever, [0], late), 'query.timeout');
  refuses(() => world.run(forever, [0], {cancellation: {aborted: true}}), 'query.terminated');
  const numbers: PlanNode = {
    kind: 'call',
    procedure: 'test.numbers',
    args: [literal(100_000)],
    outputs: [{name: 'number', slot: 0}],
  };
  const sorted: PlanNode = {
    kind: 'sort',
    input: numbers,
    keys: [{by: slot(0), descending: true, nulls: 'last'}],
  };
  refuses(() => world.run(sorted, [0], {limits: {memoryBytesMax: 1_000_000}}), 'query.memory');
  refuses(
    () => world.run(sorted, [0], {limits: {timeoutMs: 5}, monotonic: () => (now += 1)}),
    'query.timeout',
  );
});
