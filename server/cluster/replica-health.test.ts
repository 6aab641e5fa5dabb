/** What a leader says of a follower, sample by sample. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {
  followerState,
  leaderState,
  peerOf,
  wellProgress,
} from '#server/testing/cluster/member-states.ts';
import type {PeerProgress} from './cluster.ts';
import {ReplicaHealth} from './replica-health.ts';

const options = {lagWarning: 10, unreachableMs: 10_000};
const follower = peerOf(1).id;

type Step = readonly [commitIndex: number, progress: Partial<PeerProgress>, expected: string];

function statuses(steps: readonly Step[]): readonly string[] {
  const health = new ReplicaHealth();
  return steps.map(([commitIndex, changed], at) => {
    const progress = {...wellProgress, ...changed};
    const peers = [peerOf(0), peerOf(1, {progress})];
    health.sample(leaderState({commitIndex, peers}), at * 3_000, options);
    return health.status(follower);
  });
}

const histories: Readonly<Record<string, readonly Step[]>> = {
  'two samples make it sure': [
    [100, {matchIndex: 100}, 'UNKNOWN'],
    [110, {matchIndex: 105}, 'HEALTHY'],
  ],
  'a single burst does not make it late': [
    [100, {matchIndex: 100}, 'UNKNOWN'],
    [100, {matchIndex: 100}, 'HEALTHY'],
    [200, {matchIndex: 110}, 'HEALTHY'],
    [210, {matchIndex: 210}, 'HEALTHY'],
  ],
  'it falls behind and catches up': [
    [100, {matchIndex: 100}, 'UNKNOWN'],
    [200, {matchIndex: 120}, 'UNKNOWN'],
    [400, {matchIndex: 140}, 'FALLING_BEHIND'],
    [410, {matchIndex: 300}, 'FALLING_BEHIND'],
    [420, {matchIndex: 390}, 'CATCHING_UP'],
    [420, {matchIndex: 420}, 'CATCHING_UP'],
    [420, {matchIndex: 420}, 'HEALTHY'],
  ],
  'silence is told at once': [
    [100, {matchIndex: 100}, 'UNKNOWN'],
    [100, {matchIndex: 100}, 'HEALTHY'],
    [100, {matchIndex: 100, lastContactMs: 10_000}, 'STALLED'],
  ],
  'it was never heard': [
    [100, {matchIndex: 0, lastContactMs: undefined}, 'UNKNOWN'],
    [100, {matchIndex: 0, lastContactMs: undefined}, 'UNKNOWN'],
    [100, {matchIndex: 0, lastContactMs: undefined}, 'UNKNOWN'],
    [100, {matchIndex: 0, lastContactMs: undefined}, 'UNKNOWN'],
    [100, {matchIndex: 0, lastContactMs: undefined}, 'STALLED'],
  ],
  'it is heard and takes nothing': [
    [100, {matchIndex: 50, laggingForMs: 9_000}, 'UNKNOWN'],
    [110, {matchIndex: 50, laggingForMs: 12_000}, 'UNKNOWN'],
    [120, {matchIndex: 50, laggingForMs: 15_000}, 'STALLED'],
    [120, {matchIndex: 50, laggingForMs: 18_000}, 'STALLED'],
  ],
  'it never took an entry, and nobody writes': [
    [100, {matchIndex: 0, laggingForMs: 12_000}, 'UNKNOWN'],
    [100, {matchIndex: 0, laggingForMs: 15_000}, 'UNKNOWN'],
    [100, {matchIndex: 0, laggingForMs: 18_000}, 'STALLED'],
  ],
  'a snapshot under way is no stall': [
    [100, {matchIndex: 0, isInstallingSnapshot: true, laggingForMs: 60_000}, 'UNKNOWN'],
    [900, {matchIndex: 0, isInstallingSnapshot: true, laggingForMs: 63_000}, 'CATCHING_UP'],
  ],
};

for (const [name, steps] of Object.entries(histories)) {
  test(`a follower: ${name}`, () => {
    assert.deepEqual(
      statuses(steps),
      steps.map(([, , expected]) => expected),
    );
  });
}

test('what was known ends with the leadership', () => {
  const health = new ReplicaHealth();
  health.sample(leaderState(), 0, options);
  health.sample(leaderState(), 3_000, options);
  assert.equal(health.status(follower), 'HEALTHY');
  health.sample(leaderState({currentTerm: 4}), 6_000, options);
  assert.equal(health.status(follower), 'UNKNOWN');
  health.sample(followerState(), 9_000, options);
  assert.equal(health.status(follower), 'UNKNOWN');
});
