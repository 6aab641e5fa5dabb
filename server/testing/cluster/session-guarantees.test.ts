/** The checker of sessions refuses each kind of broken history, and no whole one. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import type {Operation} from './history.ts';
import {brokenGuarantees} from './session-guarantees.ts';

let clock = 0;

function operation(parts: Partial<Operation>): Operation {
  clock += 10;
  return {
    client: 1,
    node: 'a/1',
    key: 'k',
    kind: 'read',
    mode: parts.kind === undefined ? 'read_your_writes' : undefined,
    atFollower: true,
    value: 0,
    expected: 0,
    outcome: 'ok',
    applied: true,
    found: 0,
    version: 0,
    call: clock,
    return: clock + 5,
    reason: undefined,
    ...parts,
  };
}

function found(...operations: readonly Operation[]): readonly string[] {
  return brokenGuarantees(operations).map(({guarantee}) => guarantee);
}

test('a whole history is not blamed', () => {
  assert.deepEqual(
    found(
      operation({kind: 'write', value: 7, version: 1}),
      operation({found: 7, version: 1}),
      operation({kind: 'compare', applied: false, version: 0}),
      operation({client: 2, found: 0, version: 0, node: 'b/1'}),
      operation({node: 'c/1', mode: 'eventual', found: 0, version: 0}),
      operation({node: 'b/1', found: 7, version: 1}),
      operation({outcome: 'unknown', kind: 'write', value: 8, version: 0}),
    ),
    [],
  );
});

test('an own write that another member does not show', () => {
  const write = operation({kind: 'write', value: 7, version: 1});
  assert.deepEqual(found(write, operation({node: 'b/1'})), ['read your writes']);
  assert.deepEqual(found(write, operation({node: 'b/1', mode: 'eventual'})), []);
});

test('a read that goes back behind an earlier one', () => {
  const first = operation({found: 7, version: 1});
  assert.deepEqual(found(first, operation({node: 'b/1'})), ['monotonic reads']);
  const other = operation({node: 'b/1', client: 2});
  assert.deepEqual(found(first, other), [], 'another client may');
});

test('one life of a member that goes back, in every mode', () => {
  const first = operation({mode: 'eventual', found: 7, version: 1});
  assert.deepEqual(found(first, operation({mode: 'eventual'})), ['monotonic member']);
  assert.deepEqual(found(first, operation({mode: 'eventual', node: 'a/2'})), []);
});

test('members that hold different values under one version', () => {
  const one = operation({mode: 'eventual', found: 7, version: 1});
  const other = operation({mode: 'eventual', found: 8, version: 1, node: 'b/1', client: 2});
  assert.deepEqual(found(one, other), ['agreement']);
});
