/**
 * Which changes of a cluster's members may be asked for, as functions of the leader's state.
 *
 * Consensus itself keeps every change safe; here is what is safe and yet a mistake: adding a
 * server twice, removing one so that the rest cannot write, handing over to a server that is
 * behind. Each refusal names the members it is about and what to do.
 */
import {Refusal} from '#server/base/errors.ts';
import type {AddedPeer, ClusterPeer, ClusterState} from './cluster.ts';
import {followersOf, replicationLag, type ReplicaStatus} from './replica-health.ts';

/** @throws {Refusal} `cluster.peer` for this server or a name in use, `cluster.membership`. */
export function checkAddition(state: ClusterState, peer: AddedPeer): void {
  if (peer.id === state.localPeerId) throw ownAddress(peer.id);
  const members = state.peers.filter(({inConfiguration}) => inConfiguration);
  if (members.some(({id}) => id === peer.id)) {
    throw new Refusal('cluster.membership', `${peer.id} is a member of the cluster already`);
  }
  const namesake = members.find(({name}) => name !== undefined && name === peer.name);
  if (namesake !== undefined) {
    throw new Refusal(
      'cluster.peer',
      `the name '${peer.name}' is that of ${namesake.id}: names are unique in a cluster`,
    );
  }
}

/** What to say when the address of a new peer leads to the server that was asked. */
export function ownAddress(what: string): Refusal {
  return new Refusal(
    'cluster.peer',
    `'${what}' is this server itself: name the server that is to join`,
  );
}

/**
 * @param force - Removes although too few of the others answer.
 * @throws {Refusal} `cluster.membership`.
 */
export function checkRemoval(state: ClusterState, id: string, force: boolean): void {
  const members = state.peers.filter(({inConfiguration}) => inConfiguration);
  const leaving = members.find(member => member.id === id);
  if (leaving === undefined) {
    const known = members.map(member => member.id).join(', ');
    throw new Refusal('cluster.membership', `${id} is no member of the cluster: ${known} are`);
  }
  const staying = members.filter(member => member.isVoter && member.id !== id);
  if (staying.length === 0) {
    throw new Refusal('cluster.membership', `${id} is the last voter: a cluster keeps one`);
  }
  if (force || !leaving.isVoter) return;
  const answering = staying.filter(member => answers(state, member));
  const needed = Math.floor(staying.length / 2) + 1;
  if (answering.length >= needed) return;
  throw new Refusal(
    'cluster.membership',
    `without ${id}, ${answering.length} of ${staying.length} voters answer and ${needed} are ` +
      'needed: bring them back first, or remove it with force=true',
  );
}

/** A leader knows whom it heard of lately; elsewhere nobody is known not to answer. */
function answers(state: ClusterState, {id, progress}: ClusterPeer): boolean {
  if (!state.isLeader || id === state.localPeerId) return true;
  return progress?.lastContactMs !== undefined && progress.lastContactMs < silentMs;
}

/** A heartbeat comes many times in this while. */
const silentMs = 10_000;

/** @throws {Refusal} `cluster.membership` for whoever could not lead. */
export function checkSuccessor(
  state: ClusterState,
  id: string,
  replicaStatus: (peerId: string) => ReplicaStatus,
): void {
  if (id === state.localPeerId) return;
  const peer = state.peers.find(candidate => candidate.id === id);
  const obstacle = obstacleOf(state, peer, replicaStatus);
  if (obstacle !== undefined) {
    throw new Refusal('cluster.membership', `${id} cannot take the leadership: ${obstacle}`);
  }
}

/** Entries that a successor may lack: it gets them before it is asked to stand. */
const lagMax = 10_000;

function obstacleOf(
  state: ClusterState,
  peer: ClusterPeer | undefined,
  replicaStatus: (peerId: string) => ReplicaStatus,
): string | undefined {
  if (peer?.inConfiguration !== true) return 'it is no member of the cluster';
  if (!peer.isVoter) return 'it has no vote yet, since it is still catching up';
  if (!answers(state, peer)) return 'it does not answer';
  if (replicaStatus(peer.id) === 'STALLED') return 'it stands still';
  const {progress} = peer;
  if (progress === undefined) return undefined;
  if (progress.isInstallingSnapshot) return 'it is putting a snapshot in place';
  const lag = replicationLag(state, progress);
  return lag > lagMax ? `it is ${lag} entries behind` : undefined;
}

/**
 * Who could lead in place of this leader, the fittest first: the highest priority, then whoever
 * holds most; one of priority 0 only when all are 0.
 */
export function successorsOf(
  state: ClusterState,
  replicaStatus: (peerId: string) => ReplicaStatus,
): readonly string[] {
  const isRanked = state.peers.some(({priority}) => priority > 0);
  return followersOf(state)
    .filter(({priority}) => !isRanked || priority > 0)
    .filter(peer => obstacleOf(state, peer, replicaStatus) === undefined)
    .toSorted((a, b) => b.priority - a.priority || b.progress.matchIndex - a.progress.matchIndex)
    .map(({id}) => id);
}
