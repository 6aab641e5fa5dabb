/** Adding a member to the cluster, removing one (leader only), and leaving it. */
import {Refusal} from '#server/base/errors.ts';
import type {AddedPeer, Cluster, ClusterState} from '#server/cluster/cluster.ts';
import {checkRemoval} from '#server/cluster/changes.ts';
import {isForced, replicaStatusIn, requireLeader} from './cluster-call.ts';
import type {Exchange} from '../message/exchange.ts';
import {PlainFailure} from '../message/failure.ts';
import {checkFields, integerField, textField} from '../message/json-body.ts';
import {addMember, leaveCluster} from '../relay/member-changes.ts';

/** POST `/cluster/peer` `{peerId, address, name?, priority?}`. */
export async function addPeer(exchange: Exchange, cluster: Cluster): Promise<void> {
  const peer = await peerIn(exchange);
  const state = cluster.state();
  requireLeader(state);
  checkConfiguration(exchange, state);
  const asksItself = exchange.parameter(asksItselfParameter) === 'true';
  await addMember(cluster, {...peer, asksItself});
  exchange.answerJson(200, {result: `Peer ${peer.id} added`});
}

/** DELETE `/cluster/peer/{peerId}?force=`. */
export async function removePeer(exchange: Exchange, cluster: Cluster): Promise<void> {
  const [, , id = ''] = exchange.segments;
  const force = isForced(exchange);
  const state = cluster.state();
  requireLeader(state);
  checkConfiguration(exchange, state);
  checkRemoval(state, id, force);
  await cluster.removePeer(id, force);
  exchange.answerJson(200, {result: `Peer ${id} removed`});
}

/** POST `/cluster/leave?force=`: this server takes itself out of its cluster. */
export async function leave(exchange: Exchange, cluster: Cluster): Promise<void> {
  const {peerClient} = exchange.context;
  const parts = {cluster, peerClient, replicaStatus: replicaStatusIn(exchange)};
  const hasLeft = await leaveCluster(parts, isForced(exchange));
  const result = hasLeft
    ? `${cluster.state().localPeerId} left the cluster`
    : 'This server is the only member: there is nothing to leave';
  exchange.answerJson(200, {result});
}

/** A server that asks for itself says so: one that was removed stays out then. */
export const asksItselfParameter = 'asksItself';

/**
 * `?configurationIndex=` is where the configuration stood that the caller decided by.
 *
 * @throws {Refusal} `cluster.membership` when it has changed since.
 */
function checkConfiguration(exchange: Exchange, {configurationIndex}: ClusterState): void {
  const given = exchange.parameter('configurationIndex');
  if (given === undefined || given === '') return;
  if (!/^\d{1,15}$/.test(given)) {
    throw new Refusal('request.field', `'configurationIndex' must be a number, not '${given}'`);
  }
  if (Number(given) === configurationIndex) return;
  throw new Refusal(
    'cluster.membership',
    `the members changed meanwhile: their configuration stands at ${configurationIndex}, not at ` +
      `${given}: look at the cluster again`,
  );
}

async function peerIn(exchange: Exchange): Promise<AddedPeer> {
  const body = await exchange.jsonBody();
  if (body === undefined) throw new PlainFailure(400, 'Request body is required');
  checkFields(body, ['peerId', 'address', 'name', 'priority']);
  const id = textField(body, 'peerId');
  const address = textField(body, 'address');
  if (id === undefined || address === undefined) {
    throw new Refusal('request.field', "Fields 'peerId' and 'address' are required");
  }
  const {host, raftPort, httpPort} = parseAddress(address);
  if (id !== `${host}_${raftPort}`) {
    throw new Refusal(
      'cluster.peer',
      `the id of the peer at ${host}:${raftPort} is '${host}_${raftPort}', not '${id}'`,
    );
  }
  const priority = integerField(body, 'priority') ?? 0;
  if (priority < 0) throw new Refusal('request.field', "Field 'priority' must not be negative");
  const name = textField(body, 'name');
  if (name !== undefined && !namePattern.test(name)) {
    throw new Refusal('request.field', `Field 'name' is no name of a server: '${name}'`);
  }
  return {id, host, raftPort, httpPort, name, priority};
}

const addressPattern =
  /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?)):(\d{1,5})(?::(\d{1,5}))?$/;
const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

function parseAddress(address: string): {
  readonly host: string;
  readonly raftPort: number;
  readonly httpPort: number | undefined;
} {
  const [, bracketed, plain, raft = '', http] = addressPattern.exec(address) ?? [];
  const host = bracketed ?? plain;
  const raftPort = Number(raft);
  const httpPort = http === undefined ? undefined : Number(http);
  if (host === undefined || !isPort(raftPort) || (httpPort !== undefined && !isPort(httpPort))) {
    throw new Refusal(
      'request.field',
      `Field 'address' must be host:raftPort:httpPort, not '${address.slice(0, 80)}'`,
    );
  }
  return {host, raftPort, httpPort};
}

function isPort(value: number): boolean {
  return value >= 1 && value <= 65_535;
}
