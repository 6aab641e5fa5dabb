/**
 * Random plans: the stored graph, one whose values are compressed and the naive one, any batch
 * size, the plan as it is and as the optimizer rewrites it, give the same rows in the same order. A
 * failure prints the plan as text and the seed that made it.
 */
import assert from 'node:assert/strict';
import {after, test} from 'node:test';
import fc from 'fast-check';
import {optimize} from '#server/optimizer/optimize.ts';
import type {Expression} from '#server/plan/expression.ts';
import type {Direction, PlanNode} from '#server/plan/node.ts';
import {planText} from '#server/plan/printer.ts';
import {
  call,
  literal,
  property,
  scan,
  slot,
  World,
  worldCatalog,
} from '#server/testing/worlds/hand-built-plan.ts';
import {openStoredWorld} from '#server/testing/worlds/stored-world.ts';

const stored = await openStoredWorld();
after(() => stored.close());
const world = await stored.open('committed');
const compressed = await openStoredWorld(true);
after(() => compressed.close());
const compressedWorld = await compressed.open('committed');
const naive = new World();
const catalog = worldCatalog();

const directions: readonly Direction[] = ['out', 'in', 'both'];
const typeLists = [[], ['Knows'], ['Likes', 'Wrote'], ['Knows', 'Likes', 'Wrote']];

/** Slot 0 is a thing, slot 1 a value; every layer keeps both bound. */
const sources: fc.Arbitrary<PlanNode> = fc.constantFrom('Person', 'Message', 'Thing').map(type => ({
  kind: 'extend',
  input: scan(type, 0),
  bind: [{slot: 1, value: property(0, 'name')}],
}));

const conditions: fc.Arbitrary<Expression> = fc.oneof(
  fc.integer({min: 20, max: 45}).map(n => call('op:less', property(0, 'age'), literal(n))),
  fc.constantFrom('a%', '%1', '?an').map(p => call('op:like', slot(1), literal(p))),
  fc.constant<Expression>({kind: 'is-null', of: property(0, 'age')}),
  fc.constantFrom(...directions).map(
    (direction): Expression => ({
      kind: 'subplan',
      mode: 'exists',
      plan: {
        kind: 'follow',
        input: {kind: 'argument'},
        from: 0,
        direction,
        types: ['Likes'],
        to: 9,
        edge: undefined,
      },
      slot: 9,
      correlated: true,
    }),
  ),
);

type Layer = (input: PlanNode) => PlanNode;

const hop = fc.record({
  direction: fc.constantFrom(...directions),
  types: fc.constantFrom(...typeLists),
});

const layers: fc.Arbitrary<Layer> = fc.oneof(
  conditions.map(
    (condition): Layer =>
      input => ({kind: 'filter', input, condition}),
  ),
  hop.map(
    (parts): Layer =>
      input => ({kind: 'follow', input, from: 0, to: 0, edge: undefined, ...parts}),
  ),
  fc.boolean().map(
    (descending): Layer =>
      input => ({
        kind: 'sort',
        input,
        keys: [{by: property(0, 'name'), descending, nulls: descending ? 'last' : 'first'}],
      }),
  ),
  fc.constant<Layer>(input => ({kind: 'distinct', input, by: [slot(0)]})),
  fc.nat(5).map(
    (n): Layer =>
      input => ({kind: 'skip', input, count: literal(n)}),
  ),
  fc.integer({min: 0, max: 7}).map(
    (n): Layer =>
      input => ({kind: 'limit', input, count: literal(n)}),
  ),
  fc.constant<Layer>(input => ({kind: 'union', inputs: [input, scan('Person', 0)]})),
  fc.constant<Layer>(input => ({kind: 'barrier', input})),
  hop.map(
    (parts): Layer =>
      input => ({
        kind: 'apply',
        mode: 'left',
        input,
        plan: {
          kind: 'follow',
          input: {kind: 'argument'},
          from: 0,
          to: 2,
          edge: undefined,
          ...parts,
        },
        slots: [2],
      }),
  ),
  fc.tuple(hop, hop, fc.boolean()).map(
    ([there, back, edges]): Layer =>
      input => ({
        kind: 'connect',
        input: {kind: 'follow', input, from: 0, to: 2, edge: undefined, ...there},
        from: 2,
        to: 0,
        edge: edges ? 3 : undefined,
        ...back,
      }),
  ),
  hop.map(
    (parts): Layer =>
      input => ({
        kind: 'walk',
        input,
        from: 0,
        depthMin: 0,
        depthMax: 2,
        mode: 'acyclic',
        to: 0,
        edges: undefined,
        path: undefined,
        depth: 3,
        edge: undefined,
        condition: undefined,
        ...parts,
      }),
  ),
  fc
    .record({
      hop,
      order: fc.constantFrom('depth-first' as const, 'breadth-first' as const),
      unique: fc.constantFrom('global' as const, 'start' as const, 'path' as const),
      emitOnFail: fc.boolean(),
    })
    .map(
      ({hop: parts, ...more}): Layer =>
        input => ({
          kind: 'extend',
          input: {
            kind: 'repeat',
            input: {kind: 'extend', input, bind: [{slot: 5, value: slot(0)}]},
            body: {
              kind: 'follow',
              input: {kind: 'argument'},
              from: 5,
              to: 6,
              edge: undefined,
              ...parts,
            },
            loop: 5,
            next: 6,
            depth: 3,
            path: undefined,
            depthMin: 0,
            depthMax: 3,
            whileCondition: call('op:less', slot(3), literal(2)),
            ...more,
          },
          bind: [{slot: 0, value: slot(5)}],
        }),
    ),
  fc.constant<Layer>(input => ({
    kind: 'extend',
    input: {
      kind: 'aggregate',
      input,
      keys: [{slot: 4, value: slot(0)}],
      aggregates: [{slot: 1, name: 'count', args: [], distinct: false}],
    },
    bind: [{slot: 0, value: slot(4)}],
  })),
);

const plans = fc
  .tuple(sources, fc.array(layers, {maxLength: 5}))
  .map(([source, list]) => list.reduce((plan, layer) => layer(plan), source));

/** The plan as it is rewritten where the slots are read: what nobody reads may be left out. */
function rewrittenFor(plan: PlanNode, slots: readonly number[]): PlanNode {
  const columns = slots.map(each => ({name: `$${each}`, value: slot(each)}));
  const read: PlanNode = {kind: 'project', input: plan, output: {kind: 'columns', columns}};
  // An index gives its own order, and the project goes again; all other rules are asked.
  const without = new Set(['choose-index', 'inline-columns']);
  const rewritten = optimize(read, {catalog, without});
  assert(rewritten.kind === 'project', planText(rewritten));
  return rewritten.input;
}

test('random plans give the same rows over any graph and any batch size', () => {
  fc.assert(
    fc.property(plans, plan => {
      const text = planText(plan);
      const expected = naive.run(plan, [0, 1, 2, 3]);
      assert.deepEqual(world.run(plan, [0, 1, 2, 3]), expected, text);
      assert.deepEqual(compressedWorld.run(plan, [0, 1, 2, 3]), expected, text);
      for (const batchRows of [1, 3]) {
        assert.deepEqual(world.run(plan, [0, 1, 2, 3], {batchRows}), expected, text);
      }
      const rewritten = rewrittenFor(plan, [0, 1, 2, 3]);
      const rewrittenText = `${text}\n${planText(rewritten)}`;
      assert.deepEqual(world.run(rewritten, [0, 1, 2, 3]), expected, rewrittenText);
      assert.deepEqual(compressedWorld.run(rewritten, [0, 1, 2, 3]), expected, rewrittenText);
      for (const batchRows of [2, 1024]) {
        const found = world.run(rewritten, [0, 1, 2, 3], {batchRows, readOnly: true});
        assert.deepEqual(found, expected, rewrittenText);
      }
    }),
    {numRuns: 150},
  );
});
