/** When a new token is simply written, because nobody has to believe anybody. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import type {Action} from './decision.ts';
import type {Observation} from './observation.ts';
import {type Plan, type Situation, waiting} from './plan.ts';
import {tokenActions, tokenSecrets} from './tokens.ts';

const one = {ordinal: 0, isHealthy: true, pod: {templateHash: 'hash'}};
const alone = {
  observed: {tokens: {phase: 'single', step: 3, leadsToWanted: false}, secrets: {token: true}},
  members: [one],
  template: {hash: 'hash'},
  set: {replicas: 1},
  agreement: {kind: 'agreed'},
} as unknown as Situation;
const step: Plan = waiting({type: 'ScaleUp', step: 'AddPod', target: undefined, message: ''});

const written = (plan: Plan | undefined): readonly Action['kind'][] =>
  tokenActions(alone, plan).map(({kind}) => kind);

test('one member alone is given the new token at once', () => {
  assert.deepEqual(tokenActions(alone, undefined), [{kind: 'write-tokens', step: 3, to: 'wanted'}]);
});

test('one that is just getting company is not: the other would start with it first', () => {
  assert.deepEqual(written({...step, replicas: 2}), []);
});

const secretsSeen = (more: Partial<Observation>): readonly Action[] =>
  tokenSecrets({
    cluster: {spec: {secrets: {}}},
    secrets: {token: true},
    tokens: undefined,
    tokenStepKept: undefined,
    statefulSet: {replicas: 3},
    ...more,
  } as unknown as Observation);
const turned = {phase: 'turned', step: 2, leadsToWanted: true} as const;

test('of the tokens and their copy the one that is left makes the other', () => {
  assert.deepEqual(secretsSeen({tokenStepKept: 2}), [{kind: 'restore-tokens', step: 2}]);
  assert.deepEqual(secretsSeen({tokens: turned}), [{kind: 'keep-tokens', step: 2}]);
  assert.deepEqual(secretsSeen({tokens: turned, tokenStepKept: 1}), [
    {kind: 'keep-tokens', step: 2},
  ]);
  assert.deepEqual(secretsSeen({tokens: turned, tokenStepKept: 2}), []);
});

test('with neither the token that is wanted is written alone', () => {
  assert.deepEqual(secretsSeen({}), [{kind: 'write-tokens', step: undefined, to: 'wanted'}]);
});
