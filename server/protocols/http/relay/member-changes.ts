/**
 * Changes of the cluster's members, as an administrator asks this server for them: another server
 * is added, this one leaves, another one is told to stop.
 *
 * Source: docs/cluster.md.
 */
import {reasonOf, Refusal} from '#server/base/errors.ts';
import type {MemberRequests} from '#server/administration/member-requests.ts';
import {checkAddition, checkRemoval, ownAddress, successorsOf} from '#server/cluster/changes.ts';
import {type AddedPeer, type Cluster, otherMembers} from '#server/cluster/cluster.ts';
import {localPeer} from '#server/cluster/readiness.ts';
import type {ReplicaStatus} from '#server/cluster/replica-health.ts';
import {isSameMachine} from './own-address.ts';
import type {PeerAnswer, PeerClient} from './peer-client.ts';

const transferMs = 10_000;
const leaderWaitMs = 5_000;
const removalMs = 120_000;
const shutdownMs = 5_000;

export interface MemberChangesOptions {
  readonly cluster: Cluster;
  readonly peerClient: PeerClient;
  /** What an entry of `svc.ha.serverList` names. @throws {Refusal} `argument`. */
  readonly peerAt: (entry: string) => AddedPeer;
  /** How followers do, as this server's samples of them say. */
  readonly replicaStatus: (peerId: string) => ReplicaStatus;
}

export class MemberChanges implements MemberRequests {
  readonly #options: MemberChangesOptions;

  constructor(options: MemberChangesOptions) {
    this.#options = options;
  }

  async refuseSelf(entry: string): Promise<void> {
    await refuseOwnAddress(this.#options.cluster, this.#options.peerAt(entry));
  }

  async add(entry: string): Promise<void> {
    await addMember(this.#options.cluster, this.#options.peerAt(entry));
  }

  async leave(force: boolean): Promise<void> {
    await leaveCluster(this.#options, force);
  }

  async shutDown(name: string): Promise<void> {
    const {cluster, peerClient} = this.#options;
    const others = otherMembers(cluster.state());
    const meant = others.filter(peer => peer.id === name || peer.name === name);
    const [peer] = meant;
    if (peer === undefined || meant.length > 1) {
      const known = others.map(({id, name: its}) => (its === undefined ? id : `${its} (${id})`));
      const what = peer === undefined ? 'no member is' : 'several members are';
      const message = `${what} called '${name}': name one of ${known.join(', ')}`;
      throw new Refusal('cluster.peer', message);
    }
    const asked = {peer, method: 'POST', path: '/server', user: 'root'} as const;
    const body = {command: 'shutdown'};
    const answer = await peerClient
      .ask({...asked, body, token: cluster.token, timeoutMs: shutdownMs})
      .catch(() => undefined);
    if (answer?.status === 200) return;
    const said = answer === undefined ? 'does not answer' : `answered ${answer.status}`;
    throw new Refusal('cluster.no-quorum', `${peer.id} was asked to stop and ${said}`);
  }
}

/**
 * Adds a server; on the leader.
 *
 * @throws {Refusal} `cluster.peer`, `cluster.membership`, `cluster.not-leader`,
 *   `cluster.no-quorum`.
 */
export async function addMember(cluster: Cluster, peer: AddedPeer): Promise<void> {
  checkAddition(cluster.state(), peer);
  await refuseOwnAddress(cluster, peer);
  await cluster.addPeer(peer);
}

/**
 * An address that leads to the server that was asked is refused, whatever name it has: a cluster
 * that counts one server twice has a majority that it does not have.
 *
 * @throws {Refusal} `cluster.peer`.
 */
async function refuseOwnAddress(cluster: Cluster, peer: AddedPeer): Promise<void> {
  const self = localPeer(cluster.state());
  const isOwn =
    self?.id === peer.id ||
    (self?.raftPort === peer.raftPort && (await isSameMachine(peer.host, self.host)));
  if (isOwn) throw ownAddress(`${peer.host}:${peer.raftPort}`);
}

/**
 * Takes this server out of its cluster.
 *
 * A leader hands over first, since the change is made by the leader and is not for the one that
 * goes; then whoever leads is asked to remove this server. Nothing is given up half way: a leave
 * that is refused leaves a member.
 *
 * @returns False for the only member, which has nothing to leave.
 * @throws {Refusal} `cluster.membership`, `cluster.no-quorum`.
 */
export async function leaveCluster(
  {
    cluster,
    peerClient,
    replicaStatus,
  }: Pick<MemberChangesOptions, 'cluster' | 'peerClient' | 'replicaStatus'>,
  force: boolean,
): Promise<boolean> {
  const state = cluster.state();
  const {localPeerId} = state;
  if (otherMembers(state).length === 0) return false;
  if (state.isLeader) {
    checkRemoval(state, localPeerId, force);
    const [to] = successorsOf(state, replicaStatus);
    await cluster.transferLeadership(to, transferMs);
  }
  const {status, json} = await askToBeRemoved(cluster, peerClient, force);
  if (status === 200) return true;
  throw new Refusal('cluster.membership', `the leader keeps ${localPeerId}: ${saidIn(json)}`);
}

/** @throws {Refusal} `cluster.no-quorum`: nobody leads, or the leader does not answer. */
async function askToBeRemoved(
  cluster: Cluster,
  peerClient: PeerClient,
  force: boolean,
): Promise<PeerAnswer> {
  await cluster.whenLeaderKnown(leaderWaitMs);
  const {localPeerId, leaderId, peers} = cluster.state();
  const leader = peers.find(({id}) => id === leaderId);
  if (leader === undefined || leaderId === localPeerId) {
    throw new Refusal('cluster.no-quorum', 'no other server leads, and only a leader removes one');
  }
  const path = `/cluster/peer/${encodeURIComponent(localPeerId)}${force ? '?force=true' : ''}`;
  const asked = {peer: leader, method: 'DELETE', path, user: 'root'} as const;
  try {
    return await peerClient.ask({...asked, token: cluster.token, timeoutMs: removalMs});
  } catch (error) {
    throw new Refusal('cluster.no-quorum', `the leader cannot be asked: ${reasonOf(error)}`);
  }
}

/** The sentence of a refusal. */
function saidIn(json: unknown): string {
  if (typeof json !== 'object' || json === null) return 'it said nothing';
  const {detail, error} = json as {readonly detail?: unknown; readonly error?: unknown};
  const said = detail ?? error;
  return typeof said === 'string' ? said : 'it said nothing';
}
