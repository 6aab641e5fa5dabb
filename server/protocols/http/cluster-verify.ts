/**
 * POST `/cluster/verify/{database}`: whether all members hold the same of a database, and what
 * they tell each other for it.
 *
 * The leader compares; any other member answers with its own digest alone. Members are asked at
 * once, about one place of the log, and one that does not answer is an ERROR of its own.
 * Source: specification, "Verify result"; reference 3.5.
 */
import type {Cluster, ClusterPeer} from '#server/session/cluster.ts';
import {printedHttpAddress} from '#server/session/cluster-status.ts';
import {
  checksumsOf,
  type LocalDigest,
  type PeerDigest,
  type VerifiedFile,
  verifyResult,
} from '#server/session/cluster-verify.ts';
import type {DatabaseDigests} from '#server/session/database-digests.ts';
import {byMember, byRoot} from './cluster-call.ts';
import {ownDatabases} from './cluster-presence.ts';
import type {Exchange} from './exchange.ts';
import {PlainFailure} from './failure.ts';
import type {Route} from './router.ts';

export const clusterVerifyRoutes: readonly Route[] = [
  {path: '/cluster/verify/{database}', operations: {POST: byRoot(verify)}},
  {path: '/cluster/digest/{database}', operations: {POST: byMember(tellDigest)}},
  {path: '/cluster/bootstrap-state', operations: {POST: byMember(tellBootstrapState)}},
];

const askMs = 60_000;

async function verify(exchange: Exchange, cluster: Cluster): Promise<void> {
  const digests = digestsIn(exchange);
  const [, , database = ''] = exchange.segments;
  const {isLeader, localPeerId, peers} = cluster.state();
  if (!isLeader) return tell(exchange, await digests.digest(database, undefined));
  const marker = await digests.mark(database);
  const others = peers.filter(({id, inConfiguration}) => inConfiguration && id !== localPeerId);
  const [local, ...asked] = await Promise.all([
    digests.digest(database, marker),
    ...others.map(peer => digestOf(exchange, cluster, {peer, database, marker})),
  ]);
  exchange.answerJson(200, {result: verifyResult({database, localPeerId}, local, asked)});
}

/** Between members: this one's digest at a marker. */
async function tellDigest(exchange: Exchange): Promise<void> {
  const marker = (await exchange.jsonBody())?.get('marker');
  if (typeof marker !== 'string') {
    throw new PlainFailure(400, 'Invalid request', {detail: 'marker is needed'});
  }
  tell(exchange, await digestsIn(exchange).digest(exchange.segments[2] ?? '', marker));
}

/**
 * Between members: what this one holds of each database, in one figure that is equal where the
 * contents are, and the entry up to which it holds it. Reads all databases once.
 */
async function tellBootstrapState(exchange: Exchange, cluster: Cluster): Promise<void> {
  const digests = digestsIn(exchange);
  const databases: unknown[] = [];
  for (const name of ownDatabases(exchange)) {
    databases.push(await heldState(cluster, digests, name));
  }
  exchange.answerJson(200, {peerId: cluster.state().localPeerId, databases});
}

async function heldState(
  cluster: Cluster,
  digests: DatabaseDigests,
  name: string,
): Promise<Readonly<Record<string, unknown>>> {
  const lastTxId = cluster.state().appliedIndex;
  try {
    return {name, fingerprint: await digests.fingerprint(name), lastTxId};
  } catch (error) {
    // One that cannot be read is told of; the others are not the worse for it.
    return {name, error: error instanceof Error ? error.message : String(error)};
  }
}

function tell(exchange: Exchange, digest: LocalDigest): void {
  exchange.answerJson(200, {...digest, localChecksums: checksumsOf(digest)});
}

/** Does not reject: why a member cannot be compared is a part of the answer. */
async function digestOf(
  exchange: Exchange,
  {token}: Cluster,
  about: {readonly peer: ClusterPeer; readonly database: string; readonly marker: string},
): Promise<PeerDigest> {
  const {peer, database, marker} = about;
  const {id: peerId} = peer;
  const httpAddress = printedHttpAddress(peer);
  const error = (reason: string): PeerDigest => ({peerId, httpAddress, digest: {error: reason}});
  const path = `/cluster/digest/${encodeURIComponent(database)}`;
  try {
    const {status, json} = await exchange.context.peerClient.ask({
      peer,
      path,
      token,
      timeoutMs: askMs,
      method: 'POST',
      body: {marker},
    });
    const digest = status === 200 ? digestIn(json) : undefined;
    if (digest !== undefined) return {peerId, httpAddress, digest};
    return error(`it answered ${status}: ${detailIn(json)}`);
  } catch (failure) {
    return error(failure instanceof Error ? failure.message : String(failure));
  }
}

function digestIn(json: unknown): LocalDigest | undefined {
  if (!isObject(json) || !Array.isArray(json['files'])) return undefined;
  const files = json['files'] as unknown[];
  if (!files.every(isVerifiedFile)) return undefined;
  return {localServer: String(json['localServer']), files};
}

function isVerifiedFile(value: unknown): value is VerifiedFile {
  if (!isObject(value)) return false;
  const {name, type, checksum, size} = value;
  const isNamed = typeof name === 'string' && typeof type === 'string';
  return isNamed && typeof checksum === 'number' && typeof size === 'number';
}

function detailIn(json: unknown): string {
  if (!isObject(json)) return 'nothing that could be read';
  const said = json['detail'] ?? json['error'];
  return typeof said === 'string' ? said : 'no reason';
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function digestsIn({context}: Exchange): DatabaseDigests {
  const {digests} = context.options;
  if (digests !== undefined) return digests;
  throw new PlainFailure(503, 'This server cannot verify databases yet');
}
