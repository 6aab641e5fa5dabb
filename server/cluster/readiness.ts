/**
 * What keeps a member of a cluster from being ready, as a function of its state.
 *
 * Readiness and alerts both begin here: what fails `/ready` has its alert by the type of a table
 * in alerts.ts, so that a person who looks at the status always finds the reason.
 *
 * Source: docs/cluster.md.
 */
import type {ClusterPeer, ClusterState} from './cluster.ts';

/** The faults in the order in which they are told: the cause before what follows from it. */
export const nodeFaults = [
  'halted',
  'log-failed',
  'not-running',
  'not-member',
  'no-leader',
  'installing',
  'leader-not-ready',
  'behind',
] as const;

export type NodeFault = (typeof nodeFaults)[number];

/** What a person reads in the answer of `/ready`. */
export const faultSentences: Readonly<Record<NodeFault, string>> = {
  halted: 'Consensus has stopped on this server',
  'log-failed': 'The log of this server takes nothing more',
  'not-running': 'Consensus is not running yet',
  'not-member': 'This server is no member of the cluster: it was removed, or not taken in yet',
  'no-leader': 'No leader is known',
  installing: 'A snapshot is being put in place',
  'leader-not-ready': 'This server leads and is not ready yet',
  behind: 'This server is behind the leader',
};

/**
 * Everything that is wrong with this node now; empty: it is ready.
 *
 * @param lagMax - `svc.server.readinessHAMaxLag`.
 */
export function faultsOf(state: ClusterState, lagMax: number): readonly NodeFault[] {
  const has: Readonly<Record<NodeFault, boolean>> = {
    halted: state.raftState === 'EXCEPTION',
    'log-failed': state.logFailure !== undefined,
    'not-running': state.raftState === 'STARTING' || state.raftState === 'CLOSED',
    'not-member': localPeer(state)?.inConfiguration !== true,
    'no-leader': state.leaderId === undefined,
    installing: state.isInstallingSnapshot,
    'leader-not-ready': state.isLeader && !state.leaderReady,
    behind: !state.isLeader && localLag(state) > lagMax,
  };
  return nodeFaults.filter(fault => has[fault]);
}

/** This server among the peers; undefined when it is neither a member nor declared. */
export function localPeer({peers, localPeerId}: ClusterState): ClusterPeer | undefined {
  return peers.find(({id}) => id === localPeerId);
}

/** Entries that are committed, as far as this node has heard, and not applied here. */
export function localLag({commitIndex, leaderCommitIndex = 0, appliedIndex}: ClusterState): number {
  return Math.max(0, Math.max(commitIndex, leaderCommitIndex) - appliedIndex);
}
