/**
 * States of a small cluster for tests: three members on one machine, the first of them asked.
 *
 * A test says what differs from a cluster in which all is well.
 */
import type {ClusterPeer, ClusterState, PeerProgress} from '#server/cluster/cluster.ts';

export const wellProgress: PeerProgress = {
  matchIndex: 100,
  nextIndex: 101,
  lastContactMs: 5,
  laggingForMs: 0,
  isInstallingSnapshot: false,
  roundTrip: {medianMs: 0.25, p99Ms: 1.5},
};

/** Member `number`, from 0; the leader knows the progress of the others. */
export function peerOf(number: number, changed: Partial<ClusterPeer> = {}): ClusterPeer {
  return {
    id: `127.0.0.1_243${number}`,
    name: `svc_${number}`,
    host: '127.0.0.1',
    raftPort: 2430 + number,
    httpPort: 2480 + number,
    httpsPort: undefined,
    priority: 0,
    inConfiguration: true,
    isDeclared: true,
    isVoter: true,
    release: '1.0.0',
    formats: {from: 1, to: 1},
    unknownReason: undefined,
    obstacle: undefined,
    silentMs: number === 0 ? undefined : 10,
    progress: number === 0 ? undefined : wellProgress,
    ...changed,
  };
}

/** What the leader of three sees when all is well. */
export function leaderState(changed: Partial<ClusterState> = {}): ClusterState {
  return {
    clusterName: 'svc',
    localPeerId: peerOf(0).id,
    raftState: 'RUNNING',
    isLeader: true,
    leaderReady: true,
    leaderId: peerOf(0).id,
    currentTerm: 3,
    electionCount: 1,
    lastElectionTime: 1_000,
    uptimeMs: 60_000,
    appliedIndex: 100,
    commitIndex: 100,
    leaderCommitIndex: 100,
    peers: [peerOf(0), peerOf(1), peerOf(2)],
    turnedAway: [],
    uncommittedBytes: 0,
    logFailure: undefined,
    spaceObstacle: undefined,
    isInstallingSnapshot: false,
    copies: {installs: 0, installed: [], isInstalling: false, byDatabase: new Map()},
    begunWith: new Map(),
    wasRemoved: false,
    configurationIndex: 1,
    waiting: [],
    ...changed,
  };
}

/** What a follower sees: another one leads, and nobody's progress is known. */
export function followerState(changed: Partial<ClusterState> = {}): ClusterState {
  const unseen = {progress: undefined, release: undefined, formats: undefined};
  return leaderState({
    isLeader: false,
    leaderReady: false,
    leaderId: peerOf(1).id,
    peers: [peerOf(0), peerOf(1, unseen), peerOf(2, unseen)],
    ...changed,
  });
}
