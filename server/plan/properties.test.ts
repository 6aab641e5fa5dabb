/** What follows from a plan without running it. */
import assert from 'node:assert/strict';
import test from 'node:test';
import type {Expression} from './expression.ts';
import type {PlanNode} from './node.ts';
import {effectsOf, isDeterministic, isReadOnly, orderOf} from './properties.ts';

const people: PlanNode = {
  kind: 'scan-type',
  type: 'Person',
  polymorphic: true,
  slot: 0,
  descending: false,
};
const age: Expression = {
  kind: 'property',
  of: {kind: 'slot', slot: 0},
  name: 'age',
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
const copies: PlanNode = {
  kind: 'create',
  input: people,
  what: 'vertex',
  type: 'Copy',
  bucket: undefined,
  from: undefined,
  to: undefined,
  ifNotExists: false,
  unidirectional: false,
  assignments: [],
  slot: 1,
};

test('effects name types, and say when a type is known only later', () => {
  const {reads, readsAny, creates} = effectsOf(copies);
  assert.deepEqual([[...reads], readsAny, [...creates]], [['Person'], false, ['Copy']]);
  const exists: Expression = {
    kind: 'subplan',
    mode: 'exists',
    plan: friends,
    slot: 1,
    correlated: true,
  };
  const nested = effectsOf({kind: 'filter', input: people, condition: exists});
  assert.deepEqual([[...nested.reads].sort(), nested.readsAny], [['Knows', 'Person'], true]);
});

test('a plan is read-only unless a node of it writes, in sub-plans too', () => {
  assert.equal(isReadOnly(people), true);
  assert.equal(isReadOnly(copies), false);
  const inside: PlanNode = {
    kind: 'apply',
    mode: 'for-each',
    input: people,
    plan: {kind: 'delete', input: {kind: 'argument'}, slot: 0, only: undefined},
    slots: [],
  };
  assert.equal(isReadOnly(inside), false);
});

test('order survives nodes that keep rows in order and ends at the others', () => {
  const keys = [{by: age, descending: true, nulls: 'last'}] as const;
  const sorted: PlanNode = {kind: 'sort', input: people, keys};
  assert.deepEqual(orderOf({kind: 'limit', input: sorted, count: age}), keys);
  assert.deepEqual(orderOf({kind: 'union', inputs: [sorted, sorted]}), []);
});

test('randomness is not deterministic', () => {
  const random: Expression = {kind: 'call', name: 'uuid', args: []};
  const drawn: PlanNode = {kind: 'extend', input: people, bind: [{slot: 1, value: random}]};
  assert.equal(isDeterministic(people), true);
  assert.equal(isDeterministic(drawn), false);
});
