/** What a member says of itself when it stands still. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {followerState, peerOf} from '#server/testing/cluster/member-states.ts';
import type {ClusterState} from './cluster.ts';
import {StallDetector} from './local-health.ts';

const stalledMs = 60_000;

/** What is told after each of the states, ten seconds apart. */
function told(states: readonly ClusterState[], limitMs = stalledMs): string {
  const watch = new StallDetector();
  return states
    .map((state, at) => {
      watch.sample(state, at * 10_000, limitMs);
      const {isStuckAtStaleTerm, isStalledBehindLeader} = watch.troubles;
      return isStuckAtStaleTerm ? 'T' : isStalledBehindLeader ? 'B' : '.';
    })
    .join('');
}

const repeat = (state: ClusterState, times: number) => Array.from({length: times}, () => state);
const well = followerState();
const leaderless = followerState({leaderId: undefined, leaderCommitIndex: undefined});
const behind = followerState({appliedIndex: 40});

test('no leader for long, though most voters are reached', () => {
  assert.equal(told([well, ...repeat(leaderless, 8), well]), '.......TT.');
});

test('who reaches nobody is cut off, and says that otherwise', () => {
  const away = {obstacle: 'it refuses connections'};
  const peers = [peerOf(0), peerOf(1, away), peerOf(2, away)];
  assert.equal(told(repeat({...leaderless, peers}, 9)), '.........');
});

test('elections that go on are no stall', () => {
  const terms = Array.from({length: 9}, (_, at) => ({...leaderless, currentTerm: 3 + at}));
  assert.equal(told(terms), '.........');
});

test('behind its leader, and not moving', () => {
  const moved = followerState({appliedIndex: 41});
  assert.equal(told([...repeat(behind, 7), moved, well]), '......B..');
  const installing = {...behind, isInstallingSnapshot: true};
  assert.equal(told(repeat(installing, 9)), '.........');
  assert.equal(told(repeat(behind, 9), 0), '.........', 'switched off');
});
