/** The records that people, scripts and drivers read, on the leader and on a follower. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {
  followerState,
  leaderState,
  peerOf,
  wellProgress,
} from '#server/testing/cluster/member-states.ts';
import type {ClusterState} from './cluster.ts';
import {clusterStatus, driverRecord} from './status.ts';
import {noTroubles, type LocalHealth} from './local-health.ts';

function statusOf(
  state: ClusterState,
  troubles: LocalHealth = noTroubles,
): Record<string, unknown> {
  const input = {
    state,
    troubles,
    alerts: [],
    databases: ['shop'],
    replicaStatus: () => 'HEALTHY' as const,
  };
  return JSON.parse(JSON.stringify(clusterStatus(input))) as Record<string, unknown>;
}

function peersOf(state: ClusterState): readonly Record<string, unknown>[] {
  return statusOf(state)['peers'] as readonly Record<string, unknown>[];
}

test('the status of a leader', () => {
  const {peers, ...status} = statusOf(leaderState());
  assert.equal((peers as unknown[]).length, 3);
  assert.deepEqual(status, {
    implementation: 'raft',
    clusterName: 'svc',
    localPeerId: '127.0.0.1_2430',
    capabilities: {formats: {from: 1, to: 1}},
    raftState: 'RUNNING',
    isLeader: true,
    leaderReady: true,
    leaderId: '127.0.0.1_2430',
    leaderHttpAddress: '127.0.0.1:2480',
    configurationIndex: 1,
    wasRemoved: false,
    waitingOutside: [],
    currentTerm: 3,
    electionCount: 1,
    lastElectionTime: 1_000,
    uptime: 60_000,
    localAppliedIndex: 100,
    localCommitIndex: 100,
    leaderCommitIndex: 100,
    localStuckAtStaleTerm: false,
    localStalledBehindLeader: false,
    localReplicationLag: 0,
    alerts: [],
    databases: [{name: 'shop'}],
    localResync: {inProgress: false},
    bootstrapInstalls: {inProgress: false, count: 0, databases: []},
    crashLoopEscalated: false,
    criticalHalt: null,
    raftLogFailure: null,
  });
});

test('what goes wrong with the member itself, and what databases were at the beginning', () => {
  const troubles = {isStuckAtStaleTerm: true, isStalledBehindLeader: true, givenUp: ['shop']};
  const begunWith = new Map([['shop', {fingerprint: 'ab12', transactions: 7}]]);
  const status = statusOf(followerState({begunWith}), troubles);
  assert.equal(status['localStuckAtStaleTerm'], true);
  assert.equal(status['localStalledBehindLeader'], true);
  assert.equal(status['crashLoopEscalated'], true);
  const told = {name: 'shop', bootstrapLastTxId: 7, bootstrapFingerprint: 'ab12'};
  assert.deepEqual(status['databases'], [told]);
});

test('copies that were taken from other members, and how that went', () => {
  const byDatabase = new Map([
    ['shop', {status: 'LEADER_MISSING', at: 1_700, error: 'the leader has none'} as const],
  ]);
  const copies = {installs: 2, installed: ['shop'], isInstalling: true, byDatabase};
  const {databases, bootstrapInstalls} = statusOf(followerState({copies}));
  assert.deepEqual(bootstrapInstalls, {inProgress: true, count: 2, databases: ['shop']});
  assert.deepEqual(databases, [
    {
      name: 'shop',
      acquireStatus: 'LEADER_MISSING',
      acquireTimestamp: 1_700,
      acquireError: 'the leader has none',
    },
  ]);
});

test('a leader tells how its followers do, a follower does not', () => {
  const late = {...wellProgress, matchIndex: 60, nextIndex: 61, lastContactMs: undefined};
  const state = leaderState({peers: [peerOf(0), peerOf(1, {progress: late}), peerOf(2)]});
  const shared = {
    id: '127.0.0.1_2431',
    name: 'svc_1',
    address: '127.0.0.1:2431',
    inConfiguration: true,
    isVoter: true,
    priority: 0,
    httpAddress: '127.0.0.1:2481',
  };
  assert.deepEqual(peersOf(state)[1], {
    ...shared,
    role: 'FOLLOWER',
    version: '1.0.0',
    capabilities: {formats: {from: 1, to: 1}},
    matchIndex: 60,
    nextIndex: 61,
    replicationLag: 40,
    lastContactMs: -1,
    replicaStatus: 'HEALTHY',
    laggingForMs: 0,
    lagging: false,
    replicationRttMs: 0.25,
    replicationRttP99Ms: 1.5,
  });
  assert.deepEqual(peersOf(followerState())[1], {...shared, role: 'LEADER'});
});

test('what is not known, not in the cluster, or shared, is said', () => {
  const stranger = peerOf(3, {
    name: undefined,
    host: '::1',
    inConfiguration: false,
    isVoter: false,
    httpPort: 'ambiguous',
    httpsPort: 2490,
    release: undefined,
    formats: undefined,
    unknownReason: 'older build',
    progress: undefined,
  });
  const [, row] = peersOf(leaderState({peers: [peerOf(0), stranger]}));
  assert.deepEqual(row, {
    id: '127.0.0.1_2433',
    address: '[::1]:2433',
    inConfiguration: false,
    isVoter: false,
    role: 'NOT_IN_CONFIGURATION',
    priority: 0,
    httpsAddress: '[::1]:2490',
    httpAddressAmbiguous: true,
    capabilitiesUnknownReason: 'older build',
  });
  const halted = statusOf(
    followerState({raftState: 'EXCEPTION', logFailure: 'EIO', leaderId: undefined}),
  );
  assert.deepEqual(halted['criticalHalt'], {index: 100});
  assert.deepEqual(halted['raftLogFailure'], {index: 100, cause: 'EIO'});
  assert.equal(halted['leaderId'], null);
  assert.equal(halted['leaderHttpAddress'], null);
  assert.equal(halted['localReplicationLag'], -1);
});

test('drivers find the leader and the replicas, and no address that two peers share', () => {
  const state = followerState({
    peers: [peerOf(0), peerOf(1), peerOf(2, {httpPort: 'ambiguous'})],
  });
  assert.deepEqual(driverRecord(state, ['shop'], 'majority'), {
    clusterName: 'svc',
    leader: 'svc_1',
    electionStatus: 'DONE',
    network: {
      localPeerId: '127.0.0.1_2430',
      isLeader: false,
      leaderReady: false,
      configuredServers: 3,
      replicas: [{id: '127.0.0.1_2430', address: '127.0.0.1:2430', httpAddress: '127.0.0.1:2480'}],
    },
    databases: [{name: 'shop', quorum: 'majority'}],
    leaderAddress: '127.0.0.1:2481',
    replicaAddresses: '127.0.0.1:2480',
  });
  assert.equal(
    driverRecord(leaderState({leaderReady: false}), [], 'all')['electionStatus'],
    'LEADER_WAITING_FOR_QUORUM',
  );
  const leaderless = driverRecord(followerState({leaderId: undefined}), [], 'all');
  assert.equal(leaderless['leaderAddress'], null);
});
