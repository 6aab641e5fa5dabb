/** Readiness and alerts by tables of states; nothing that fails `/ready` is without its alert. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {
  followerState,
  leaderState,
  peerOf,
  wellProgress,
} from '#server/testing/cluster/member-states.ts';
import {type AlertInput, clusterAlerts} from './alerts.ts';
import {faultsOf, type NodeFault, nodeFaults} from './readiness.ts';
import type {ClusterState} from './cluster.ts';
import {noTroubles} from './local-health.ts';

const lagMax = 10;

function alertsOf(state: ClusterState, more: Partial<AlertInput> = {}): readonly string[] {
  const input: AlertInput = {
    state,
    troubles: noTroubles,
    lagMax,
    replicaStatus: () => 'HEALTHY',
    unavailableDatabases: [],
    missingOnLeader: [],
    backupFault: undefined,
    ...more,
  };
  return clusterAlerts(input).map(({id, severity}) => `${severity} ${id}`);
}

const out = {inConfiguration: false, isVoter: false};
const faulty: Readonly<Record<NodeFault, readonly ClusterState[]>> = {
  halted: [leaderState({raftState: 'EXCEPTION'}), followerState({raftState: 'EXCEPTION'})],
  'log-failed': [followerState({logFailure: 'EIO'}), leaderState({logFailure: 'EIO'})],
  'not-running': [followerState({raftState: 'STARTING'}), followerState({raftState: 'CLOSED'})],
  'not-member': [
    followerState({peers: [peerOf(0, out), peerOf(1), peerOf(2)]}),
    followerState({peers: [peerOf(0, {...out, isDeclared: false}), peerOf(1)]}),
    followerState({peers: [peerOf(0, out), peerOf(1, out)]}),
    followerState({peers: []}),
  ],
  'no-leader': [followerState({leaderId: undefined})],
  installing: [followerState({isInstallingSnapshot: true})],
  'leader-not-ready': [leaderState({leaderReady: false})],
  behind: [
    followerState({appliedIndex: 89}),
    followerState({appliedIndex: 50, commitIndex: 50}),
    followerState({appliedIndex: 0, leaderCommitIndex: undefined}),
  ],
};

for (const fault of nodeFaults) {
  test(`a server that is ${fault} is not ready, and has an alert that says so`, () => {
    for (const state of faulty[fault]) {
      assert.ok(faultsOf(state, lagMax).includes(fault));
      assert.match(alertsOf(state).join(), /critical|warning/);
    }
  });
}

test('of a cluster in which all is well there is nothing to say', () => {
  for (const state of [leaderState(), followerState(), followerState({appliedIndex: 90})]) {
    assert.deepEqual(faultsOf(state, lagMax), []);
    assert.deepEqual(alertsOf(state), []);
  }
});

const unheard = {progress: undefined, obstacle: 'connect ECONNREFUSED 127.0.0.1:2431'};

test('without a leader it is said who is not reached, and why', () => {
  const state = followerState({leaderId: undefined, peers: [peerOf(0), peerOf(1, unheard)]});
  const [alert] = clusterAlerts({
    state,
    troubles: noTroubles,
    lagMax,
    unavailableDatabases: [],
    missingOnLeader: [],
    backupFault: undefined,
    replicaStatus: () => 'UNKNOWN',
  });
  assert.match(alert?.message ?? '', /Not reached: 127\.0\.0\.1_2431 \(connect ECONNREFUSED/);
});

test('every alert says what happened and what to do', () => {
  for (const state of Object.values(faulty).flat()) {
    const troubles = {isStuckAtStaleTerm: true, isStalledBehindLeader: true, givenUp: ['a']};
    const away = {
      unavailableDatabases: ['a'],
      missingOnLeader: ['b'],
      backupFault: 'a field is wrong',
    };
    const input = {state, troubles, lagMax, ...away};
    for (const alert of clusterAlerts({...input, replicaStatus: () => 'STALLED'})) {
      assert.match(alert.message, /\S.{5,}/, alert.id);
      assert.match(alert.recommendation, /^[A-Z].{20,}\.$/, alert.id);
      assert.doesNotMatch(JSON.stringify(alert), /undefined|NaN/, alert.id);
    }
  }
});

const silent = {...wellProgress, lastContactMs: 60_000};
const cases: readonly (readonly [string, ClusterState, Partial<AlertInput>, readonly string[]])[] =
  [
    [
      'a full disk',
      followerState({spaceObstacle: 'only 7 bytes are free in /data'}),
      {},
      ['critical disk-full'],
    ],
    [
      'what goes wrong with the member itself',
      followerState(),
      {troubles: {isStuckAtStaleTerm: true, isStalledBehindLeader: true, givenUp: ['shop']}},
      [
        'critical repair-given-up',
        'critical stuck-at-stale-term',
        'critical stalled-behind-leader',
      ],
    ],
    [
      'a declared peer that was left out',
      leaderState({peers: [peerOf(0), peerOf(1), peerOf(2), peerOf(3, out)]}),
      {},
      ['warning peers-not-in-configuration'],
    ],
    [
      'this server left out',
      followerState({peers: [peerOf(0, out), peerOf(1), peerOf(2)]}),
      {},
      ['critical peers-not-in-configuration'],
    ],
    [
      'a member that nobody declared',
      leaderState({peers: [peerOf(0), peerOf(1), peerOf(2, {isDeclared: false})]}),
      {},
      ['info peers-not-in-server-list'],
    ],
    [
      'a follower that stands still',
      leaderState(),
      {replicaStatus: id => (id === peerOf(1).id ? 'STALLED' : 'HEALTHY')},
      ['critical lagging-followers'],
    ],
    [
      'a follower that falls behind',
      leaderState(),
      {replicaStatus: id => (id === peerOf(1).id ? 'FALLING_BEHIND' : 'CATCHING_UP')},
      ['warning lagging-followers'],
    ],
    [
      'one of three silent',
      leaderState({peers: [peerOf(0), peerOf(1, {progress: silent}), peerOf(2)]}),
      {},
      ['warning quorum-at-risk'],
    ],
    [
      'a configuration of backups that cannot be used',
      followerState(),
      {backupFault: 'defaults.enabled must be true or false'},
      ['warning backup-configuration'],
    ],
    ['two servers', leaderState({peers: [peerOf(0), peerOf(1)]}), {}, ['info quorum-at-risk']],
    ['one server', leaderState({peers: [peerOf(0)]}), {}, []],
    [
      'two releases',
      leaderState({peers: [peerOf(0), peerOf(1), peerOf(2, {release: '1.1.0'})]}),
      {},
      ['info several-releases'],
    ],
    [
      'somebody who was not let in',
      leaderState({
        turnedAway: [
          {remoteAddress: '10.0.0.9', reason: 'x does not know the token', times: 3, agoMs: 700},
        ],
      }),
      {},
      ['warning connections-turned-away'],
    ],
    [
      'a shared address',
      leaderState({peers: [peerOf(0), peerOf(1, {httpPort: 'ambiguous'}), peerOf(2)]}),
      {},
      ['warning ambiguous-http-addresses'],
    ],
    [
      'databases that are away, the worst first',
      followerState(),
      {unavailableDatabases: ['shop'], missingOnLeader: ['old']},
      ['critical databases-not-available', 'warning leader-missing-databases'],
    ],
  ];

for (const [name, state, more, expected] of cases) {
  test(`alerts of ${name}`, () => assert.deepEqual(alertsOf(state, more), expected));
}
