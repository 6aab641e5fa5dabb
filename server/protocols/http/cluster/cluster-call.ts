/**
 * What all routes of the cluster share: who may call, and what a server answers that cannot.
 *
 * What only the leader does is refused elsewhere with 409 and the leader's address, and never
 * passed on: a step-down sent through a load balancer must not end at whoever leads by now. Before
 * consensus runs the answer is 503; a server alone says so.
 */
import {Refusal} from '#server/base/errors.ts';
import type {Cluster, ClusterState} from '#server/cluster/cluster.ts';
import {leaderHttpAddress} from '#server/cluster/status.ts';
import {type ReplicaStatus, statusesOf} from '#server/cluster/replica-health.ts';
import type {Principal} from '#server/security/principal.ts';
import type {Exchange} from '../message/exchange.ts';
import {PlainFailure} from '../message/failure.ts';
import type {OpenHandler, Operation} from '../router.ts';

type ClusterRun = (
  exchange: Exchange,
  cluster: Cluster,
  principal: Principal,
) => Promise<void> | void;

/** An operation for root, on a server that is a member. */
export function byRoot(run: ClusterRun): Operation {
  return {
    access: 'root',
    run: (exchange, principal) => answering(exchange, cluster => run(exchange, cluster, principal)),
  };
}

/** An operation for other members, who prove themselves by the token of the cluster. */
export function byMember(
  run: (exchange: Exchange, cluster: Cluster) => Promise<void> | void,
): Operation {
  const open: OpenHandler = exchange => answering(exchange, cluster => run(exchange, cluster));
  return {access: 'member', run: open};
}

/** Whatever finds that this server does not lead is answered with who does. */
async function answering(
  exchange: Exchange,
  run: (cluster: Cluster) => Promise<void> | void,
): Promise<void> {
  const {cluster} = exchange.context.options;
  if (cluster === undefined) {
    throw new PlainFailure(400, 'No cluster', {
      detail: 'This server runs alone: svc.ha.enabled makes it a member of a cluster',
    });
  }
  const {raftState} = cluster.state();
  if (raftState === 'STARTING') {
    throw new PlainFailure(503, 'Consensus is not running yet', {headers: ['Retry-After', '1']});
  }
  try {
    await run(cluster);
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'cluster.not-leader') throw error;
    answerNotLeader(exchange, cluster.state(), error);
  }
}

function answerNotLeader(exchange: Exchange, state: ClusterState, refusal: Refusal): void {
  exchange.answerJson(409, {
    error: 'This server is not the leader',
    requestId: exchange.requestId,
    exception: refusal.exception,
    ...(exchange.context.hidesDetail ? {} : {detail: refusal.message}),
    leader: state.leaderId ?? null,
    leaderHttpAddress: leaderHttpAddress(state) ?? null,
  });
}

/** @throws {Refusal} `cluster.not-leader`. */
export function requireLeader(state: ClusterState): void {
  if (state.isLeader) return;
  const told = state.leaderId === undefined ? 'nobody does now' : `${state.leaderId} does`;
  throw new Refusal('cluster.not-leader', `${state.localPeerId} does not lead: ${told}`);
}

/** `?force=true`. @throws {Refusal} `request.field` for another word. */
export function isForced(exchange: Exchange): boolean {
  const word = exchange.parameter('force') ?? 'false';
  if (word === 'true' || word === 'false') return word === 'true';
  throw new Refusal('request.field', "Query parameter 'force' must be true or false");
}

/** How followers do, as this server's samples of them say. */
export function replicaStatusIn(exchange: Exchange): (peerId: string) => ReplicaStatus {
  return statusesOf(exchange.context.options.replicaHealth);
}
