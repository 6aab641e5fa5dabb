/** The text of plans: stable, readable, one node a line. */
import assert from 'node:assert/strict';
import test from 'node:test';
import type {Expression} from './expression.ts';
import type {PlanNode} from './node.ts';
import {nodeText, planLines, planText} from './printer.ts';

const name: Expression = {
  kind: 'property',
  of: {kind: 'slot', slot: 0},
  name: 'name',
  each: false,
};
const friends: PlanNode = {
  kind: 'follow',
  input: {kind: 'argument'},
  from: 0,
  direction: 'out',
  types: ['Knows'],
  to: 1,
  edge: undefined,
};
const plan: PlanNode = {
  kind: 'project',
  output: {kind: 'columns', columns: [{name: 'who', value: name}]},
  input: {
    kind: 'join',
    mode: 'left',
    on: [{left: name, right: {kind: 'slot', slot: 2}}],
    rightSlots: [2],
    left: {
      kind: 'filter',
      input: {
        kind: 'scan-type',
        type: 'Person',
        polymorphic: true,
        slot: 0,
        descending: false,
      },
      condition: {
        kind: 'and',
        terms: [
          {kind: 'call', name: 'op:like', args: [name, {kind: 'literal', value: 'a%'}]},
          {kind: 'subplan', mode: 'exists', plan: friends, slot: 1, correlated: true},
        ],
      },
    },
    right: {kind: 'values', slots: [2], rows: [[{kind: 'literal', value: 'ann'}]]},
  },
};

test('a plan prints as a tree', () => {
  assert.equal(
    planText(plan),
    [
      'project $0.name as who',
      '└─ join left on $0.name = $2',
      '   ├─ filter ($0.name like "a%") and exists {argument | follow $0 -[:Knows]-> $1}',
      '   │  └─ scan Person as $0',
      '   └─ values $2: 1 rows',
    ].join('\n'),
  );
});

test('each line of the text knows its node', () => {
  assert.deepEqual(
    planLines(plan).map(line => [line.node.kind, line.text.endsWith(nodeText(line.node))]),
    planLines(plan).map(line => [line.node.kind, true]),
  );
  assert.equal(planLines(plan)[0]?.node, plan);
});
