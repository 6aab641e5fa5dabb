/**
 * POST `/cluster/leave`: this server takes itself out of its cluster.
 *
 * A leader hands over first, since the change is made by the leader and is not for the one that
 * goes; then whoever leads is asked to remove this server. Nothing is given up half way: a leave
 * that is refused leaves a member.
 *
 * Source: docs/cluster.md.
 */
import {Refusal} from '#server/base/errors.ts';
import type {Cluster} from '#server/cluster/cluster.ts';
import {checkRemoval, successorsOf} from '#server/cluster/changes.ts';
import {isForced, replicaStatusIn} from './cluster-call.ts';
import type {Exchange} from '../message/exchange.ts';
import type {PeerAnswer} from '../relay/peer-client.ts';

const transferMs = 10_000;
const leaderWaitMs = 5_000;
const removalMs = 120_000;

export async function leave(exchange: Exchange, cluster: Cluster): Promise<void> {
  const force = isForced(exchange);
  const state = cluster.state();
  const {localPeerId} = state;
  const others = state.peers.filter(
    ({id, inConfiguration}) => inConfiguration && id !== localPeerId,
  );
  if (others.length === 0) {
    const result = 'This server is the only member: there is nothing to leave';
    return exchange.answerJson(200, {result});
  }
  if (state.isLeader) {
    checkRemoval(state, localPeerId, force);
    const [to] = successorsOf(state, replicaStatusIn(exchange));
    await cluster.transferLeadership(to, transferMs);
  }
  const {status, json} = await askLeader(exchange, cluster, force);
  if (status === 200) return exchange.answerJson(200, {result: `${localPeerId} left the cluster`});
  throw new Refusal('cluster.membership', `the leader keeps ${localPeerId}: ${saidIn(json)}`);
}

/** @throws {Refusal} `cluster.no-quorum`: nobody leads, or the leader does not answer. */
async function askLeader(
  exchange: Exchange,
  cluster: Cluster,
  force: boolean,
): Promise<PeerAnswer> {
  await cluster.whenLeaderKnown(leaderWaitMs);
  const {localPeerId, leaderId, peers} = cluster.state();
  const leader = peers.find(({id}) => id === leaderId);
  if (leader === undefined || leaderId === localPeerId) {
    throw new Refusal('cluster.no-quorum', 'no other server leads, and only a leader removes one');
  }
  const path = `/cluster/peer/${encodeURIComponent(localPeerId)}${force ? '?force=true' : ''}`;
  const {peerClient} = exchange.context;
  const {token} = cluster;
  try {
    const asked = {peer: leader, method: 'DELETE', path, token, user: 'root'} as const;
    return await peerClient.ask({...asked, timeoutMs: removalMs});
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Refusal('cluster.no-quorum', `the leader cannot be asked: ${reason}`);
  }
}

/** The sentence of a refusal. */
function saidIn(json: unknown): string {
  if (typeof json !== 'object' || json === null) return 'it said nothing';
  const {detail, error} = json as {readonly detail?: unknown; readonly error?: unknown};
  const said = detail ?? error;
  return typeof said === 'string' ? said : 'it said nothing';
}
