/**
 * The cluster over HTTP: its status, and what a person changes of it (root only).
 *
 * Source: docs/cluster.md.
 */
import {Refusal} from '#server/base/errors.ts';
import type {MapValue} from '#server/model/value.ts';
import type {Cluster} from '#server/cluster/cluster.ts';
import {clusterAlerts} from '#server/cluster/alerts.ts';
import {checkSuccessor, successorsOf} from '#server/cluster/changes.ts';
import {clusterStatus} from '#server/cluster/status.ts';
import {noTroubles} from '#server/cluster/local-health.ts';
import type {SeededDocument} from '#server/security/seed.ts';
import type {Principal} from '#server/security/principal.ts';
import {byMember, byRoot, replicaStatusIn, requireLeader} from './cluster-call.ts';
import {addPeer, leave, removePeer} from './cluster-peers.ts';
import {databasePresence, tellCapabilities} from './cluster-presence.ts';
import type {Exchange} from '../message/exchange.ts';
import {PlainFailure} from '../message/failure.ts';
import {checkFields, integerField, textField} from '../message/json-body.ts';
import type {Route} from '../router.ts';

export const clusterRoutes: readonly Route[] = [
  {path: '/cluster', operations: {GET: byRoot(tellStatus)}},
  {path: '/cluster/peer', operations: {POST: byRoot(addPeer)}},
  {path: '/cluster/peer/{peerId}', operations: {DELETE: byRoot(removePeer)}},
  {path: '/cluster/leader', operations: {POST: byRoot(transfer)}},
  {path: '/cluster/stepdown', operations: {POST: byRoot(stepDown)}},
  {path: '/cluster/leave', operations: {POST: byRoot(leave)}},
  {path: '/cluster/resync/{database}', operations: {POST: byRoot(resync)}},
  {path: '/cluster/capabilities', operations: {POST: byMember(tellOwnCapabilities)}},
  {path: '/cluster/security-seed', operations: {POST: byMember(seedSecurity)}},
];

const transferMsDefault = 30_000;
const transferMsMax = 600_000;
const stepDownMs = 10_000;

async function tellStatus(
  exchange: Exchange,
  cluster: Cluster,
  principal: Principal,
): Promise<void> {
  const {service, administration, settings} = exchange.context;
  const state = cluster.state();
  const asksPresence = exchange.parameter('presence') === 'true' && state.isLeader;
  const presence = asksPresence
    ? await databasePresence(exchange, cluster, exchange.context.peerClient)
    : undefined;
  const replicaStatus = replicaStatusIn(exchange);
  const troubles = exchange.context.options.ownTroubles?.() ?? noTroubles;
  const alerts = clusterAlerts({
    state,
    troubles,
    lagMax: settings.get('svc.server.readinessHAMaxLag'),
    replicaStatus,
    backupFault: exchange.context.options.backups?.configurationFault,
    unavailableDatabases: administration.fencedDatabases(),
    missingOnLeader: (presence?.databases ?? [])
      .filter(({missing}) => missing.includes(state.localPeerId))
      .map(({name}) => name),
  });
  const databases = service.databaseNames(principal);
  const status = clusterStatus({state, troubles, alerts, replicaStatus, databases});
  const matrix = presence === undefined ? {} : {databasePresence: presence};
  exchange.answerJson(200, {...status, ...matrix});
}

async function transfer(exchange: Exchange, cluster: Cluster): Promise<void> {
  const body = await exchange.jsonBody();
  if (body === undefined) throw new PlainFailure(400, 'Request body is required');
  checkFields(body, ['peerId', 'timeoutMs']);
  const to = textField(body, 'peerId');
  const timeoutMs = timeoutIn(body);
  const state = cluster.state();
  requireLeader(state);
  if (to !== undefined) checkSuccessor(state, to, replicaStatusIn(exchange));
  const leaderId = await cluster.transferLeadership(to, timeoutMs);
  exchange.answerJson(200, {result: `Leadership transferred to ${leaderId}`, leaderId});
}

function timeoutIn(body: MapValue): number {
  const timeoutMs = integerField(body, 'timeoutMs') ?? transferMsDefault;
  if (timeoutMs >= 1 && timeoutMs <= transferMsMax) return timeoutMs;
  throw new Refusal('request.field', `Field 'timeoutMs' must be from 1 to ${transferMsMax}`);
}

async function stepDown(exchange: Exchange, cluster: Cluster): Promise<void> {
  const state = cluster.state();
  requireLeader(state);
  const [to] = successorsOf(state, replicaStatusIn(exchange));
  const leaderId = await cluster.transferLeadership(to, stepDownMs);
  exchange.answerJson(200, {result: `${state.localPeerId} stepped down`, leaderId});
}

async function resync(exchange: Exchange, cluster: Cluster): Promise<void> {
  const [, , database = ''] = exchange.segments;
  const state = cluster.state();
  if (state.isLeader) {
    throw new Refusal(
      'cluster.peer',
      `${state.localPeerId} leads, and others take their copies from it: ask the follower whose ` +
        'copy is to be replaced',
    );
  }
  if (state.leaderId === undefined) {
    throw new Refusal('cluster.no-quorum', 'nobody leads now, so there is no copy to take');
  }
  await cluster.resync(database);
  const result = `Database '${database}' was taken from ${state.leaderId}`;
  const {serverName: localServer} = exchange.context.administration.identity;
  exchange.answerJson(200, {result, database, localServer});
}

function tellOwnCapabilities(exchange: Exchange, cluster: Cluster): void {
  tellCapabilities(exchange, cluster.state());
}

const documentNames = ['users', 'groups', 'apiTokens'] as const;

/** A member sends the digests of its copies; those that differ are written to everybody. */
async function seedSecurity(exchange: Exchange, cluster: Cluster): Promise<void> {
  const body = await exchange.jsonBody();
  requireLeader(cluster.state());
  if (body !== undefined) checkFields(body, ['reason', 'fingerprints']);
  const written = await exchange.context.security.seed(fingerprintsIn(body));
  const isCurrent = written.length === 0;
  exchange.answerJson(200, {upToDate: isCurrent, seeded: !isCurrent, failedSeeds: []});
}

function fingerprintsIn(body: MapValue | undefined): Partial<Record<SeededDocument, string>> {
  const given = body?.get('fingerprints') ?? undefined;
  if (given === undefined) return {};
  if (!(given instanceof Map)) {
    throw new Refusal('request.field', "Field 'fingerprints' must be an object");
  }
  checkFields(given, documentNames);
  return Object.fromEntries(
    documentNames.flatMap(name => {
      const digest = textField(given, name);
      return digest === undefined ? [] : [[name, digest.toLowerCase()]];
    }),
  );
}
