/**
 * The status record of a cluster, and what drivers read of it, from the state of one member.
 *
 * Shapes and field names are those of the documented surface; what is not known is null, or left
 * out where the documents say so.
 *
 * Source: docs/cluster.md.
 */
import {hostAndPort} from '#server/base/addresses.ts';
import {type ClusterPeer, type ClusterState, httpAddressOf, type PeerProgress} from './cluster.ts';
import type {ClusterAlert} from './alerts.ts';
import {localLag} from './readiness.ts';
import type {LocalHealth} from './local-health.ts';
import {replicationLag, type ReplicaStatus} from './replica-health.ts';

export interface StatusInput {
  readonly state: ClusterState;
  readonly troubles: LocalHealth;
  readonly alerts: readonly ClusterAlert[];
  readonly replicaStatus: (peerId: string) => ReplicaStatus;
  /** Names that the caller may know of. */
  readonly databases: readonly string[];
}

type Json = Readonly<Record<string, unknown>>;

/** The answer of GET `/cluster`, without the matrix of presence. */
export function clusterStatus(input: StatusInput): Json {
  const {state, troubles, alerts, replicaStatus, databases} = input;
  const self = state.peers.find(({id}) => id === state.localPeerId);
  return {
    implementation: 'raft',
    clusterName: state.clusterName,
    localPeerId: state.localPeerId,
    capabilities: self?.formats === undefined ? null : {formats: self.formats},
    raftState: state.raftState,
    isLeader: state.isLeader,
    leaderReady: state.leaderReady,
    leaderId: state.leaderId ?? null,
    leaderHttpAddress: leaderHttpAddress(state) ?? null,
    configurationIndex: state.configurationIndex,
    wasRemoved: state.wasRemoved,
    waitingOutside: state.waiting.map(({id, reason, agoMs}) => ({
      id,
      reason,
      secondsAgo: Math.round(agoMs / 1_000),
    })),
    currentTerm: state.currentTerm,
    electionCount: state.electionCount,
    lastElectionTime: state.lastElectionTime ?? null,
    uptime: Math.round(state.uptimeMs),
    localAppliedIndex: state.appliedIndex,
    localCommitIndex: state.commitIndex,
    leaderCommitIndex: state.leaderCommitIndex ?? -1,
    localStuckAtStaleTerm: troubles.isStuckAtStaleTerm,
    localStalledBehindLeader: troubles.isStalledBehindLeader,
    localReplicationLag: state.leaderId === undefined ? -1 : localLag(state),
    peers: state.peers.map(peer => peerRecord(state, peer, replicaStatus)),
    alerts,
    databases: databases.map(name => databaseRecord(state, name)),
    localResync: {inProgress: state.isInstallingSnapshot},
    bootstrapInstalls: {
      inProgress: state.copies.isInstalling,
      count: state.copies.installs,
      databases: state.copies.installed,
    },
    crashLoopEscalated: troubles.givenUp.length > 0,
    criticalHalt: state.raftState === 'EXCEPTION' ? {index: state.appliedIndex} : null,
    raftLogFailure:
      state.logFailure === undefined ? null : {index: state.appliedIndex, cause: state.logFailure},
  };
}

/**
 * A database, what it was when the cluster began, and how the last attempt to take a copy of it
 * from another member went.
 */
function databaseRecord({copies, begunWith}: ClusterState, name: string): Json {
  const taken = copies.byDatabase.get(name);
  const begun = begunWith.get(name);
  const baseline = begun && {
    bootstrapLastTxId: begun.transactions,
    bootstrapFingerprint: begun.fingerprint,
  };
  if (taken === undefined) return {name, ...baseline};
  const {status, at, error} = taken;
  return {
    name,
    ...baseline,
    acquireStatus: status,
    acquireTimestamp: at,
    ...(error === undefined ? {} : {acquireError: error}),
  };
}

export type PeerRole = 'LEADER' | 'FOLLOWER' | 'NOT_IN_CONFIGURATION';

export function roleOf({leaderId}: ClusterState, {id, inConfiguration}: ClusterPeer): PeerRole {
  if (!inConfiguration) return 'NOT_IN_CONFIGURATION';
  return id === leaderId ? 'LEADER' : 'FOLLOWER';
}

function peerRecord(
  state: ClusterState,
  peer: ClusterPeer,
  replicaStatus: StatusInput['replicaStatus'],
): Json {
  const isSelf = peer.id === state.localPeerId;
  const {host, httpPort, httpsPort} = peer;
  const httpAddress = printedHttpAddress(peer);
  return {
    id: peer.id,
    ...(peer.name === undefined ? {} : {name: peer.name}),
    address: hostAndPort(host, peer.raftPort),
    inConfiguration: peer.inConfiguration,
    isVoter: peer.isVoter,
    role: roleOf(state, peer),
    priority: peer.priority,
    ...(httpAddress === undefined ? {} : {httpAddress}),
    ...(httpsPort === undefined ? {} : {httpsAddress: hostAndPort(host, httpsPort)}),
    ...(httpPort === 'ambiguous' ? {httpAddressAmbiguous: true} : {}),
    ...(peer.obstacle === undefined ? {} : {obstacle: peer.obstacle}),
    ...(isSelf || state.isLeader ? capabilities(peer) : {}),
    ...(state.isLeader && !isSelf ? progressRecord(state, peer, replicaStatus) : {}),
  };
}

/** What a member can read, which only the leader gathers of the others. */
function capabilities({release, formats, unknownReason}: ClusterPeer): Json {
  return {
    ...(release === undefined ? {} : {version: release}),
    ...(formats === undefined
      ? {capabilitiesUnknownReason: unknownReason ?? 'unreachable'}
      : {capabilities: {formats}}),
  };
}

function progressRecord(
  state: ClusterState,
  {id, progress}: ClusterPeer,
  replicaStatus: StatusInput['replicaStatus'],
): Json {
  if (progress === undefined) return {};
  const status = replicaStatus(id);
  return {
    matchIndex: progress.matchIndex,
    nextIndex: progress.nextIndex,
    replicationLag: replicationLag(state, progress),
    lastContactMs: Math.round(progress.lastContactMs ?? -1),
    replicaStatus: status,
    laggingForMs: Math.round(progress.laggingForMs),
    lagging: status === 'STALLED' || status === 'FALLING_BEHIND',
    ...roundTripRecord(progress),
    ...(progress.isInstallingSnapshot ? {isInstallingSnapshot: true} : {}),
  };
}

function roundTripRecord({roundTrip}: PeerProgress): Json {
  if (roundTrip === undefined) return {};
  const {medianMs, p99Ms} = roundTrip;
  const rounded = (ms: number): number => Number(ms.toFixed(3));
  return {replicationRttMs: rounded(medianMs), replicationRttP99Ms: rounded(p99Ms)};
}

/** `ha` of GET `/server?mode=cluster`: where drivers of ordinary users send their requests. */
export function driverRecord(
  state: ClusterState,
  databases: readonly string[],
  quorum: string,
): Json {
  const leader = state.peers.find(({id}) => id === state.leaderId);
  const replicas = state.peers.filter(
    peer => peer.inConfiguration && peer.id !== state.leaderId && httpAddressOf(peer) !== undefined,
  );
  const leaderAddress = leader === undefined ? undefined : printedHttpAddress(leader);
  return {
    clusterName: state.clusterName,
    leader: leader?.name ?? leader?.id ?? null,
    electionStatus: electionStatus(state),
    network: {
      localPeerId: state.localPeerId,
      isLeader: state.isLeader,
      leaderReady: state.leaderReady,
      configuredServers: state.peers.filter(peer => peer.inConfiguration).length,
      replicas: replicas.map(peer => ({
        id: peer.id,
        address: hostAndPort(peer.host, peer.raftPort),
        httpAddress: printedHttpAddress(peer),
      })),
    },
    databases: databases.map(name => ({name, quorum})),
    leaderAddress: leaderAddress ?? null,
    replicaAddresses: replicas.flatMap(peer => printedHttpAddress(peer) ?? []).join(','),
  };
}

function electionStatus(state: ClusterState): string {
  if (state.isLeader && !state.leaderReady) return 'LEADER_WAITING_FOR_QUORUM';
  return state.leaderId === undefined ? 'VOTING_FOR_OTHERS' : 'DONE';
}

/** Where the leader is reached by HTTP; undefined where nobody leads or it cannot be told. */
export function leaderHttpAddress(state: ClusterState): string | undefined {
  const leader = state.peers.find(({id}) => id === state.leaderId);
  return leader === undefined ? undefined : printedHttpAddress(leader);
}

/** An address to show to people and drivers; undefined where it cannot be told. */
export function printedHttpAddress(peer: ClusterPeer): string | undefined {
  const address = httpAddressOf(peer);
  return address && hostAndPort(address.host, address.port);
}
