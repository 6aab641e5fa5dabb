/**
 * POST `/cluster/verify/{database}`: whether all members hold the same of a database, and what
 * they tell each other for it.
 *
 * The leader compares (member-copies.ts); any other member answers with its own digest alone.
 * Source: docs/cluster.md.
 */
import {reasonOf} from '#server/base/errors.ts';
import type {Cluster} from '#server/cluster/cluster.ts';
import {checksumsOf, type LocalDigest} from '#server/cluster/verify.ts';
import type {DatabaseDigests} from '#server/session/database-digests.ts';
import {byMember, byRoot} from './cluster-call.ts';
import {ownDatabases} from './cluster-presence.ts';
import type {Exchange} from '../message/exchange.ts';
import {PlainFailure} from '../message/failure.ts';
import type {MemberCopies} from '../relay/member-copies.ts';
import type {Route} from '../router.ts';

export const clusterVerifyRoutes: readonly Route[] = [
  {path: '/cluster/verify/{database}', operations: {POST: byRoot(verify)}},
  {path: '/cluster/digest/{database}', operations: {POST: byMember(tellDigest)}},
  {path: '/cluster/bootstrap-state', operations: {POST: byMember(tellBootstrapState)}},
];

async function verify(exchange: Exchange, cluster: Cluster): Promise<void> {
  const copies = copiesIn(exchange);
  const [, , database = ''] = exchange.segments;
  if (cluster.state().isLeader) {
    exchange.answerJson(200, {result: await copies.compare(database)});
  } else tell(exchange, await copies.digests.digest(database, undefined));
}

/** Answers another member with this one's digest at a marker. */
async function tellDigest(exchange: Exchange): Promise<void> {
  const marker = (await exchange.jsonBody())?.get('marker');
  if (typeof marker !== 'string') {
    throw new PlainFailure(400, 'Invalid request', {detail: 'marker is needed'});
  }
  tell(exchange, await copiesIn(exchange).digests.digest(exchange.segments[2] ?? '', marker));
}

/**
 * Tells another member what this one holds of each database, in one figure that is equal where the
 * contents are, and the entry up to which it holds it. Reads all databases once.
 */
async function tellBootstrapState(exchange: Exchange, cluster: Cluster): Promise<void> {
  const {digests} = copiesIn(exchange);
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
    return {name, error: reasonOf(error)};
  }
}

function tell(exchange: Exchange, digest: LocalDigest): void {
  exchange.answerJson(200, {...digest, localChecksums: checksumsOf(digest)});
}

function copiesIn({context}: Exchange): MemberCopies {
  const {copies} = context.options;
  if (copies !== undefined) return copies;
  throw new PlainFailure(503, 'This server cannot verify databases yet');
}
