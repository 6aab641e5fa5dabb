/**
 * Fills an Observation: objects out of the informers, and the answer of every server that could be
 * running.
 *
 * Servers are asked all at once, and one that does not answer counts as silent: an observation
 * takes as long as the slowest answer may.
 */
import type {Clock} from '#server/platform/clock.ts';
import {checkCluster} from '#operator/api/cluster-check.ts';
import {labels} from '#operator/api/group.ts';
import {type KubeObject, labelOf, textAt} from '#operator/api/kube-object.ts';
import type {SvcCluster} from '#operator/api/svc-cluster.ts';
import {AdminError, type ServerAddress, type ServerAdmin} from '#operator/database/admin.ts';
import {placeOf} from '#operator/decide/members.ts';
import {idOf} from '#operator/decide/objects-wanted.ts';
import type {
  Observation,
  PodFacts,
  RecoveryFacts,
  RecoverySource,
  TokenFacts,
} from '#operator/decide/observation.ts';
import {isRecovering, sourceOf} from '#operator/decide/recovery.ts';
import {type Answer, agreementOf} from '#operator/decide/agreement.ts';
import {hasReason, type Kind, type KubeApi} from '#operator/kubernetes/api.ts';
import {kinds} from '#operator/kubernetes/kinds.ts';
import {textOfSecret} from '#operator/kubernetes/secret-text.ts';
import {authorityFacts, certificateFacts} from '#operator/objects/certificates.ts';
import {names, ordinalOfPeer, peerIdOf} from '#operator/objects/names.ts';
import {rootSecret, tokenSecret} from '#operator/objects/pod-template.ts';
import {clusterNameOf} from '#operator/objects/settings.ts';
import {type Tokens, TOKENS_KEY, tokensOf, tokenStepOf} from '#operator/objects/tokens.ts';
import {backupFacts, claimFacts, podFacts, scheduleFacts, setFacts} from './facts.ts';
import {type ClusterStore, owned} from './cluster-store.ts';

export interface ObserveOptions {
  readonly api: KubeApi;
  readonly store: ClusterStore;
  readonly admin: ServerAdmin;
  readonly clock: Pick<Clock, 'now'>;
  /** Whether the operator may read nodes; without that, none counts as missing. */
  readonly readsNodes: boolean;
}

/** What an operator knows by itself, and would lose with its end. */
export interface Memory {
  /** Uids of pods whose deletion was asked for, and of which no event came yet. */
  readonly deleted: ReadonlySet<string>;
  /** Restores that it began. */
  readonly restores: Pick<RecoveryFacts, 'running' | 'failures'>;
}

export const noMemory: Memory = {
  deleted: new Set(),
  restores: {running: undefined, failures: new Map()},
};

export interface Observed {
  readonly observation: Observation;
  /** The password of root; undefined while its Secret is not there. */
  readonly password: string | undefined;
  /** The token by which the running servers believe each other, and whoever has it. */
  readonly token: string | undefined;
}

export async function observeCluster(
  object: KubeObject,
  {deleted, restores}: Memory,
  options: ObserveOptions,
): Promise<Observed> {
  const {store, clock} = options;
  const objects = ownObjects(store, object);
  const {cluster, problems} = checkCluster(object, portKeptIn(objects));
  const pods = objects
    .filter(({kind}) => kind === 'Pod')
    .flatMap(pod => podFacts(cluster, pod, deleted) ?? [])
    .toSorted((a, b) => a.ordinal - b.ordinal);
  const claimObjects = objects.filter(({kind}) => kind === 'PersistentVolumeClaim');
  const missing = await missingNodes(claimObjects, pods, options);
  const set = objects.find(
    ({kind, metadata}) => kind === 'StatefulSet' && metadata.name === names.statefulSet(cluster),
  );
  const password = await secretValue(cluster, rootSecret(cluster), options);
  const wantedToken = await secretValue(cluster, tokenSecret(cluster), options);
  const secretNamed = (name: string): KubeObject | undefined =>
    objects.find(({kind, metadata}) => kind === 'Secret' && metadata.name === name);
  const [held, kept] = [names.tokens(cluster), names.tokensKept(cluster)].map(secretNamed);
  const running = held ?? kept;
  const token = running === undefined ? wantedToken : tokensHeld(running).lines[0];
  const nowMs = clock.now();
  const answers = await answersOf({cluster, pods}, {password, token}, options);
  const live = new Map(objects.map(one => [idOf(one), one]));
  const claims = claimObjects.flatMap(
    one => claimFacts(cluster, one, node => missing.has(node)) ?? [],
  );
  const isBeginning = problems.length === 0 && isRecovering({cluster, live, claims});
  const seen = isBeginning
    ? await databasesSeen({cluster, pods, answers}, password, options)
    : undefined;
  const observation: Observation = {
    nowMs,
    stamp: new Date(nowMs).toISOString().replace(/\.\d+Z$/, 'Z'),
    object,
    cluster,
    problems,
    live,
    statefulSet: set && setFacts(set),
    pods,
    claims,
    secrets: {root: password !== undefined, token: wantedToken !== undefined},
    tokens: held && tokenFacts(held, wantedToken),
    tokenStepKept: kept && tokenStepOf(kept),
    certificates: certificatesIn(objects, cluster),
    backups: backupsOf(store, object),
    recovery: seen && {...seen, ...restores, source: sourceIn(store, cluster)},
    answers,
  };
  return {observation, password, token};
}

function sourceIn(store: ClusterStore, cluster: SvcCluster): RecoverySource {
  const {namespace} = cluster.metadata;
  const sources = {
    SvcBackup: kinds.backup,
    SvcCluster: kinds.cluster,
    PersistentVolumeClaim: kinds.claim,
  } as const;
  return sourceOf(cluster, (kind, name) => store.get(sources[kind], `${namespace}/${name}`));
}

/** What the leader serves, and what it could restore. */
async function databasesSeen(
  {cluster, pods, answers}: Pick<Observation, 'cluster' | 'pods' | 'answers'>,
  password: string | undefined,
  {admin}: ObserveOptions,
): Promise<Pick<RecoveryFacts, 'present' | 'offered'>> {
  const nothing = {present: undefined, offered: undefined};
  const agreement = agreementOf(clusterNameOf(cluster), answers);
  const ordinal =
    agreement.kind === 'agreed' ? ordinalOfPeer(cluster, agreement.leader) : undefined;
  if (ordinal === undefined || password === undefined) return nothing;
  const server = {...placeOf({cluster, pods}, ordinal), password};
  try {
    const present = await admin.databases(server);
    return {present, offered: await admin.archivedDatabases(server)};
  } catch (error) {
    if (error instanceof AdminError) return nothing;
    throw error;
  }
}

function ownObjects(store: ClusterStore, {metadata}: KubeObject): readonly KubeObject[] {
  return owned.flatMap(kind => store.ofCluster(kind, metadata));
}

/** The port by which the members are called whose volumes are there. */
function portKeptIn(objects: readonly KubeObject[]): number | undefined {
  const ports = objects
    .filter(one => one.kind === 'PersistentVolumeClaim' && labelOf(one, labels.orphaned) !== 'true')
    .flatMap(one => labelOf(one, labels.raftPort) ?? []);
  return ports[0] === undefined ? undefined : Number(ports[0]);
}

function certificatesIn(
  objects: readonly KubeObject[],
  cluster: SvcCluster,
): Observation['certificates'] {
  const secret = (name: string): KubeObject | undefined =>
    objects.find(({kind, metadata}) => kind === 'Secret' && metadata.name === name);
  const [ca, tls] = [secret(names.authority(cluster)), secret(names.certificate(cluster))];
  const authority = ca && authorityFacts(ca);
  const certificate = tls && certificateFacts(tls);
  return {
    authority,
    certificate,
    authorityEndMs: Date.parse(authority?.notAfter ?? ''),
    certificateEndMs: Date.parse(certificate?.notAfter ?? ''),
    issuedMs: Date.parse(certificate?.since ?? ''),
  };
}

function backupsOf(store: ClusterStore, {metadata}: KubeObject): Observation['backups'] {
  const own = (kind: Kind): readonly KubeObject[] =>
    store
      .all(kind)
      .filter(
        one =>
          one.metadata.namespace === metadata.namespace &&
          textAt(one.spec, 'clusterRef', 'name') === metadata.name,
      );
  return {
    schedules: own(kinds.schedule).map(scheduleFacts),
    backups: own(kinds.backup).map(backupFacts),
  };
}

async function answersOf(
  {cluster, pods}: Pick<Observation, 'cluster' | 'pods'>,
  {password, token}: Pick<Observed, 'password' | 'token'>,
  {admin}: ObserveOptions,
): Promise<ReadonlyMap<string, Answer>> {
  if (password === undefined) return new Map();
  const running = pods.filter(({isStarted}) => isStarted);
  const answers = await Promise.all(
    running.map(async ({ordinal}): Promise<readonly [string, Answer]> => {
      const server = {...placeOf({cluster, pods}, ordinal), password};
      const peerId = peerIdOf(cluster, ordinal);
      try {
        return [peerId, {kind: 'report', report: await admin.status(server)}];
      } catch (error) {
        const failure = failureOf(error);
        if (failure.kind !== 'refused' || token === undefined) return [peerId, failure];
        return [peerId, await believing({...server, token}, failure, admin)];
      }
    }),
  );
  return new Map(answers);
}

/** The answer of a server that knows another password of root, to the token of its cluster. */
async function believing(
  server: ServerAddress,
  refusal: Answer,
  admin: ServerAdmin,
): Promise<Answer> {
  try {
    return {kind: 'report', report: await admin.status(server), isPasswordRefused: true};
  } catch (error) {
    if (error instanceof AdminError) return refusal;
    throw error;
  }
}

function failureOf(error: unknown): Answer {
  if (!(error instanceof AdminError)) throw error;
  const {reason, message} = error;
  const kind = reason === 'refused' || reason === 'starting' ? reason : 'silent';
  return {kind, message};
}

/** Generated Secrets are watched; one of the user's carries no label of ours and is read. */
async function secretValue(
  {metadata}: SvcCluster,
  {name, key}: {readonly name: string; readonly key: string},
  {store, api}: ObserveOptions,
): Promise<string | undefined> {
  const {namespace} = metadata;
  const watched = store.get(kinds.secret, `${namespace}/${name}`);
  const secret = watched ?? (await readOrNothing(api, {kind: kinds.secret, namespace, name}));
  return secret && textOfSecret(secret, key);
}

function tokensHeld(secret: KubeObject): Tokens {
  return tokensOf(secret, textOfSecret(secret, TOKENS_KEY));
}

/** @param wanted - The token that the servers are to end with. */
function tokenFacts(secret: KubeObject, wanted: string | undefined): TokenFacts {
  const {
    step,
    phase,
    lines: [first, second],
  } = tokensHeld(secret);
  const last = phase === 'joined' ? second : first;
  return {phase, step, leadsToWanted: last === wanted};
}

async function readOrNothing(
  api: KubeApi,
  ref: Parameters<KubeApi['get']>[0],
): Promise<KubeObject | undefined> {
  try {
    return await api.get(ref);
  } catch (error) {
    if (hasReason(error, 'NotFound')) return undefined;
    throw error;
  }
}

/** Nodes that claims of pods without one name, and that are not there. Asked only in trouble. */
async function missingNodes(
  claims: readonly KubeObject[],
  pods: readonly PodFacts[],
  {api, readsNodes}: ObserveOptions,
): Promise<ReadonlySet<string>> {
  const isTroubled = pods.some(({isReady, isStarted}) => !isReady && !isStarted);
  if (!readsNodes || !isTroubled) return new Set();
  const named = claims.flatMap(
    ({metadata}) => metadata.annotations?.['volume.kubernetes.io/selected-node'] ?? [],
  );
  const missing = new Set<string>();
  for (const name of new Set(named)) {
    const node = await readOrNothing(api, {kind: kinds.node, namespace: '', name});
    if (node === undefined) missing.add(name);
  }
  return missing;
}
