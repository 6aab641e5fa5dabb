/** What a follower does for its own copies, look by look. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {
  followerState,
  leaderState,
  peerOf,
  wellProgress,
} from '#server/testing/cluster/member-states.ts';
import type {ClusterState} from './cluster.ts';
import {
  type CareStep,
  ReplicaRepairPolicy,
  type SelfCareOptions,
  type UnusableDatabase,
} from './replica-repair-policy.ts';
import {StalledReplicas} from './stalled-replicas.ts';

const options: SelfCareOptions = {
  replacesDamaged: true,
  takesMissing: true,
  attemptsMax: 2,
  staleLag: 1_000,
  staleMs: 60_000,
  tells: true,
  tellMs: 5_000,
  caughtUpLag: 100,
};

interface Look {
  readonly at: number;
  readonly state?: ClusterState;
  readonly unusable?: readonly UnusableDatabase[];
  readonly isTaking?: boolean;
  readonly steps: readonly CareStep[];
}

function follow(looks: readonly Look[], changed: Partial<SelfCareOptions> = {}): void {
  const care = new ReplicaRepairPolicy();
  for (const {at, state = followerState(), unusable = [], isTaking = false, steps} of looks) {
    const moment = {now: at, isTaking, options: {...options, ...changed}};
    assert.deepEqual(care.look(state, unusable, moment), steps, `at ${at}`);
  }
}

const damaged = [{name: 'shop', isMissing: false}];
const take = (attempt: number): CareStep => ({kind: 'take', database: 'shop', attempt});

test('a damaged database is taken, again after longer and longer, then a person looks', () => {
  follow([
    {at: 0, unusable: damaged, steps: [take(1)]},
    {at: 3_000, unusable: damaged, isTaking: true, steps: []},
    {at: 9_000, unusable: damaged, steps: []},
    {at: 10_000, unusable: damaged, steps: [take(2)]},
    {at: 29_000, unusable: damaged, steps: []},
    {at: 30_000, unusable: damaged, steps: [{kind: 'give-up', database: 'shop', attempts: 2}]},
    {at: 900_000, unusable: damaged, steps: []},
  ]);
});

test('what was given up is told until it can be used', () => {
  const care = new ReplicaRepairPolicy();
  const look = (now: number, unusable: readonly UnusableDatabase[]) => {
    care.look(followerState(), unusable, {now, isTaking: false, options});
    return care.givenUp.join();
  };
  assert.equal(look(0, damaged), '');
  assert.equal(look(10_000, damaged), '');
  assert.equal(look(30_000, damaged), 'shop');
  assert.equal(look(40_000, []), '');
});

test('one that was mended has all its attempts back', () => {
  follow([
    {at: 0, unusable: damaged, steps: [take(1)]},
    {at: 10_000, unusable: [], steps: []},
    {at: 11_000, unusable: damaged, steps: [take(1)]},
  ]);
});

test('one after the other, and only what the settings allow', () => {
  const two = [...damaged, {name: 'old', isMissing: true}];
  const old: CareStep = {kind: 'take', database: 'old', attempt: 1};
  follow([
    {at: 0, unusable: two, steps: [take(1)]},
    {at: 1_000, unusable: two, steps: [old]},
  ]);
  follow([{at: 0, unusable: two, steps: [old]}], {replacesDamaged: false});
  follow([{at: 0, unusable: two, steps: [take(1)]}], {takesMissing: false});
});

test('a leader whose copy is damaged hands over first, and tries again in a while', () => {
  const handOver: CareStep = {kind: 'hand-over', database: 'shop'};
  follow([
    {at: 0, state: leaderState(), unusable: damaged, steps: [handOver]},
    {at: 3_000, state: leaderState(), unusable: damaged, steps: []},
    {at: 60_000, state: leaderState(), unusable: damaged, steps: [handOver]},
    {at: 63_000, unusable: damaged, steps: [take(1)]},
    {at: 999_000, state: leaderState(), steps: []},
  ]);
});

test('nobody takes from nobody', () => {
  for (const state of [
    followerState({leaderId: undefined}),
    followerState({raftState: 'EXCEPTION'}),
    followerState({peers: [peerOf(0, {inConfiguration: false}), peerOf(1)]}),
  ]) {
    follow([{at: 0, state, unusable: damaged, steps: []}]);
  }
});

const behind = (lag: number, more: Partial<ClusterState> = {}): ClusterState =>
  followerState({appliedIndex: 100, commitIndex: 100, leaderCommitIndex: 100 + lag, ...more});

test('far behind for a minute, and not nearer: everything is taken anew', () => {
  follow([
    {at: 0, state: behind(2_000), steps: []},
    {at: 59_000, state: behind(3_000), steps: []},
    {at: 60_000, state: behind(4_000), steps: [{kind: 'take-all', lag: 4_000}]},
    {at: 61_000, state: behind(4_000), steps: []},
  ]);
});

test('who comes nearer, or is behind for a while only, is left alone', () => {
  follow([
    {at: 0, state: behind(9_000), steps: []},
    {at: 50_000, state: behind(8_000), steps: []},
    {at: 100_000, state: behind(7_000), steps: []},
  ]);
  follow([
    {at: 0, state: behind(9_000), steps: []},
    {at: 50_000, state: behind(10), steps: []},
    {at: 70_000, state: behind(9_000), steps: []},
  ]);
  follow(
    [
      {at: 0, state: behind(9_000), steps: []},
      {at: 99_000, state: behind(9_000), steps: []},
    ],
    {
      staleLag: 0,
    },
  );
});

test('a resync is told of once in a while, until the rest of the log is applied too', () => {
  const installing = behind(5_000, {isInstallingSnapshot: true});
  const looks = (told: boolean): readonly Look[] => {
    const progress = (lag: number): readonly CareStep[] =>
      told ? [{kind: 'progress', appliedIndex: 100, lag}] : [];
    return [
      {at: 0, state: installing, steps: progress(5_000)},
      {at: 3_000, state: installing, steps: []},
      {at: 5_000, state: installing, steps: progress(5_000)},
      {at: 10_000, state: behind(500), steps: progress(500)},
      {at: 11_000, state: behind(100), steps: told ? [{kind: 'caught-up', appliedIndex: 100}] : []},
      {at: 20_000, state: behind(500), steps: []},
    ];
  };
  follow(looks(true));
  follow(looks(false), {tells: false});
});

test('a leader asks who answers and takes nothing, once in a while', () => {
  const stalled = {...wellProgress, matchIndex: 40, laggingForMs: 60_000};
  const stateOf = (changed: Partial<typeof stalled>): ClusterState =>
    leaderState({peers: [peerOf(0), peerOf(1, {progress: {...stalled, ...changed}}), peerOf(2)]});
  const limits = {stalledMs: 60_000, unreachableMs: 10_000};
  const replicas = new StalledReplicas();
  const asked = [{id: peerOf(1).id, lag: 60, stalledForMs: 60_000}];
  assert.deepEqual(replicas.look(stateOf({}), 0, limits), asked);
  assert.deepEqual(replicas.look(stateOf({}), 59_000, limits), []);
  assert.deepEqual(replicas.look(stateOf({}), 60_000, limits), asked);
  for (const changed of [
    {lastContactMs: 10_000},
    {laggingForMs: 59_999},
    {isInstallingSnapshot: true},
    {matchIndex: 100},
  ]) {
    assert.deepEqual(new StalledReplicas().look(stateOf(changed), 0, limits), []);
  }
  assert.deepEqual(new StalledReplicas().look(stateOf({}), 0, {...limits, stalledMs: 0}), []);
  assert.deepEqual(new StalledReplicas().look(followerState(), 0, limits), []);
});
