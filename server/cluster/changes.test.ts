/** Additions, removals and successors that are mistakes are refused with the reason. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {leaderState, peerOf, wellProgress} from '#server/testing/cluster/member-states.ts';
import {checkAddition, checkRemoval, checkSuccessor, successorsOf} from './changes.ts';
import type {AddedPeer, ClusterPeer, ClusterState} from './cluster.ts';

const silent = {progress: {...wellProgress, lastContactMs: 20_000}};
const newcomer: AddedPeer = {
  id: '127.0.0.1_2439',
  host: '127.0.0.1',
  raftPort: 2439,
  httpPort: 2489,
  name: undefined,
  priority: 0,
};

function withPeers(...peers: readonly ClusterPeer[]): ClusterState {
  return leaderState({peers: [peerOf(0), ...peers]});
}

const additions: readonly (readonly [Partial<AddedPeer>, string, RegExp])[] = [
  [{id: '127.0.0.1_2430'}, 'cluster.peer', /is this server itself/],
  [{id: '127.0.0.1_2432'}, 'cluster.membership', /member of the cluster already/],
  [{name: 'svc_1'}, 'cluster.peer', /name 'svc_1' is that of 127.0.0.1_2431/],
];

for (const [changed, code, message] of additions) {
  test(`adding ${JSON.stringify(changed)} is refused`, () => {
    const peer = {...newcomer, ...changed};
    assert.throws(() => checkAddition(leaderState(), peer), {code, message});
  });
}

test('a new server may be added, and one that was declared and left out too', () => {
  checkAddition(leaderState(), newcomer);
  checkAddition(leaderState(), {...newcomer, name: 'svc_9'});
  const out = peerOf(2, {inConfiguration: false, isVoter: false, name: 'svc_9'});
  checkAddition(withPeers(peerOf(1), out), {...newcomer, id: out.id, name: 'svc_9'});
});

const removals: readonly (readonly [string, ClusterState, string, RegExp])[] = [
  ['a stranger', leaderState(), 'nobody_1', /is no member of the cluster: 127/],
  ['the last voter', withPeers(), peerOf(0).id, /last voter/],
  [
    'the last one that answers beside the leader',
    withPeers(peerOf(1), peerOf(2, silent)),
    peerOf(1).id,
    /1 of 2 voters answer and 2 are needed/,
  ],
];

for (const [name, state, id, message] of removals) {
  test(`removing ${name} is refused`, () => {
    const code = 'cluster.membership';
    assert.throws(() => checkRemoval(state, id, false), {code, message});
  });
}

test('those who are gone, or have no vote, may be removed; the others by force', () => {
  checkRemoval(withPeers(peerOf(1), peerOf(2, silent)), peerOf(2).id, false);
  checkRemoval(withPeers(peerOf(1, {isVoter: false}), peerOf(2, silent)), peerOf(1).id, false);
  checkRemoval(withPeers(peerOf(1), peerOf(2, silent)), peerOf(1).id, true);
  checkRemoval(leaderState(), peerOf(0).id, false);
});

const successors: readonly (readonly [string, Partial<ClusterPeer>, RegExp])[] = [
  ['a stranger', {inConfiguration: false}, /no member/],
  ['who has no vote', {isVoter: false}, /no vote yet/],
  ['who is silent', silent, /does not answer/],
  ['who installs', {progress: {...wellProgress, isInstallingSnapshot: true}}, /snapshot/],
  ['a laggard', {progress: {...wellProgress, matchIndex: 5}}, /20095 entries behind/],
];

for (const [name, changed, message] of successors) {
  test(`handing over to ${name} is refused, and nobody chooses it`, () => {
    const state = {...withPeers(peerOf(1, changed)), commitIndex: 20_100};
    const code = 'cluster.membership';
    assert.throws(() => checkSuccessor(state, peerOf(1).id, () => 'HEALTHY'), {code, message});
    assert.deepEqual(
      successorsOf(state, () => 'HEALTHY'),
      [],
    );
  });
}

test('who stands still is passed over', () => {
  const statusOf = (id: string) => (id === peerOf(1).id ? 'STALLED' : 'HEALTHY');
  assert.throws(() => checkSuccessor(leaderState(), peerOf(1).id, statusOf), {
    message: /stands still/,
  });
  assert.equal(successorsOf(leaderState(), statusOf)[0], peerOf(2).id);
});

test('the highest priority leads, and 0 only where all are', () => {
  const choose = (...priorities: readonly number[]): string | undefined => {
    const [own = 0, ...others] = priorities;
    const peers = others.map((priority, at) => peerOf(at + 1, {priority}));
    const state = leaderState({peers: [peerOf(0, {priority: own}), ...peers]});
    return successorsOf(state, () => 'HEALTHY')[0];
  };
  assert.equal(choose(0, 0, 0), peerOf(1).id);
  assert.equal(choose(9, 1, 2), peerOf(2).id);
  assert.equal(choose(9, 0, 2), peerOf(2).id);
  assert.equal(choose(9, 0, 0), undefined);
});
