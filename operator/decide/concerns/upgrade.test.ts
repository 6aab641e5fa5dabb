/** Which pods are replaced before a cluster has begun, which it may do in any moment. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {checkCluster} from '#operator/api/cluster-check.ts';
import {clusterObject} from '#operator/api/testing-cluster.ts';
import {podTemplate} from '#operator/objects/pod-template.ts';
import {peerIdOf} from '#operator/objects/names.ts';
import type {ClusterStatus} from '#operator/api/cluster-status.ts';
import type {Action} from '../decision.ts';
import {type Member, membersOf} from '../members.ts';
import type {Observation, PodFacts} from '../observation.ts';
import type {Situation} from '../plan.ts';
import type {Answer} from '../agreement.ts';
import {planUpgrade} from './upgrade.ts';

const object = clusterObject({replicas: 3});
const {cluster} = checkCluster(object);
const nowMs = Date.parse('2026-01-01T00:00:00Z');
const starting: Answer = {kind: 'starting', message: 'it waits for the others'};
const silent: Answer = {kind: 'silent', message: 'no answer'};

const outdated: PodFacts = {
  ordinal: 0,
  name: 'db-0',
  uid: 'uid',
  resourceVersion: '7',
  templateHash: 'another',
  version: '26.11.1',
  isReady: false,
  readyChangedMs: nowMs - 3_000,
  createdMs: nowMs - 3_000,
  address: '10.0.0.1',
  isStarted: true,
  isBroken: false,
  isTerminating: false,
  role: undefined,
  wantsReplacement: false,
  settings: undefined,
  trouble: undefined,
};

/** What is done about three pods of another template, none of which is ready. */
function actionsAbout(
  pods: readonly Partial<PodFacts>[],
  answers: readonly Answer[],
  voters?: number,
): readonly Action[] {
  const all = pods.map((facts, ordinal) => ({
    ...outdated,
    ordinal,
    name: `db-${ordinal}`,
    ...facts,
  }));
  const seen = {
    nowMs,
    object,
    cluster: {...cluster, status: {voters} as ClusterStatus},
    pods: all,
    claims: [],
    answers: new Map(answers.map((answer, ordinal) => [peerIdOf(cluster, ordinal), answer])),
  } satisfies Partial<Observation> as unknown as Observation;
  const agreement = {kind: 'unknown', why: 'no-leader', message: 'nobody leads'} as const;
  const members: readonly Member[] = membersOf(seen, agreement);
  const template = podTemplate(cluster, {initial: [0, 1, 2], restartAt: undefined});
  const set = {
    uid: 'set',
    replicas: 3,
    isTerminating: false,
    claimSizes: new Map<string, string>(),
  };
  const situation: Situation = {observed: seen, agreement, members, template, set};
  return planUpgrade(situation)?.actions ?? [];
}

test('of servers that all say that they wait, one is replaced, as it was seen', () => {
  const deletion = {kind: 'delete-pod', name: 'db-0', uid: 'uid', resourceVersion: '7'};
  assert.deepEqual(actionsAbout([{}, {}, {}], [starting, starting, starting]), [deletion]);
});

test('the next one waits until the first is back: the three may have begun meanwhile', () => {
  const going = {isTerminating: true};
  assert.deepEqual(actionsAbout([going, {}, {}], [starting, starting, starting]), []);
});

test('nobody is replaced while one of those that run says nothing, or once they had begun', () => {
  assert.deepEqual(actionsAbout([{}, {}, {}], [starting, silent, starting]), []);
  assert.deepEqual(actionsAbout([{}, {}, {}], [starting, starting, starting], 3), []);
});

test('who has not started is replaced, whatever the others say', () => {
  const broken = {isStarted: false, isBroken: true};
  const [action] = actionsAbout([{}, {}, broken], [starting, silent]);
  assert.equal(action?.kind === 'delete-pod' && action.name, 'db-2');
});
