/** What people and chance do to a simulated cluster, by the names that a run prints. */
import {annotations, labels} from '#operator/api/group.ts';
import {annotationOf, type JsonMap, labelOf} from '#operator/api/kube-object.ts';
import type {Kind} from '#operator/kubernetes/api.ts';
import {kinds} from '#operator/kubernetes/kinds.ts';
import {tokenStepOf} from '#operator/objects/tokens.ts';
import {mergePatch} from './fake-api/merge.ts';
import type {OperatorWorld} from './operator-world.ts';

export interface Wishes {
  spec: JsonMap;
  /** Annotations, null where one is taken away. */
  marks: Record<string, string | null>;
}

const tokenSecrets = ['db-tokens', 'db-tokens-kept'] as const;
const secretRef = (name: string) => ({kind: kinds.secret, namespace: 'shop', name});

/**
 * Whether the tokens that servers read at their start stand in two places: while a token changes,
 * who deletes both has lost the old one, and only a start of all together brings the servers to one
 * token again.
 */
function areTokensKept({kubernetes: {store}}: OperatorWorld): boolean {
  const [held, kept] = tokenSecrets.map(name => store.find(secretRef(name)));
  return held !== undefined && kept !== undefined && tokenStepOf(held) === tokenStepOf(kept);
}

/** A person writes another value into a Secret. */
function renew({random, kubernetes}: OperatorWorld, name: string, key: string): void {
  const ref = secretRef(name);
  if (kubernetes.store.find(ref) === undefined) return;
  const isHeld = tokenSecrets.some(one => kubernetes.store.find(secretRef(one)) !== undefined);
  if (name === 'db-token' && !isHeld) return;
  const value = Buffer.from(`chosen-${random.u32()}`).toString('base64');
  kubernetes.store.patch(ref, {data: {[key]: value}});
}

type Move = (wishes: Wishes, world: OperatorWorld) => Partial<Wishes> | undefined;

function withSpec({spec}: Wishes, change: JsonMap): Partial<Wishes> {
  return {spec: {...spec, ...change}};
}

function withMark({marks}: Wishes, name: string, value: string | null): Partial<Wishes> {
  return {marks: {...marks, [name]: value}};
}

function deletePod(world: OperatorWorld): string | undefined {
  const names = world.pods().map(({metadata}) => metadata.name);
  if (names.length === 0) return undefined;
  const name = world.random.pick(names);
  world.kubernetes.killPod(name, 'shop');
  return name;
}

/**
 * One loss more is what a cluster is made for; one beside a member that is just being replaced, or
 * is not back yet, takes the majority.
 */
function canLoseOne(world: OperatorWorld): boolean {
  if (!world.isThere()) return false;
  const group = world.servers.groupOf(world.cluster());
  const peers = [...(group?.peers ?? [])];
  const isWhole = peers.every(([id, {isVoter}]) => isVoter && world.servers.isReady(id));
  const isReplacing = world.pods().some(pod => annotationOf(pod, annotations.replace) === 'true');
  const scope = {kind: kinds.claim, namespace: undefined, labelSelector: undefined};
  const claims = world.kubernetes.store.list(scope);
  const isGoing = claims.some(({metadata}) => metadata.deletionTimestamp !== undefined);
  return peers.length > 2 && isWhole && !isReplacing && !isGoing;
}

/** Names are printed with a run: they say what was tried. */
export const moves: Readonly<Record<string, Move>> = {
  'another size': (wishes, {random}) => withSpec(wishes, {replicas: 1 + random.below(5)}),
  'a good version': (wishes, {random}) =>
    withSpec(wishes, {version: `26.11.${2 + random.below(3)}`}),
  'a later minor': wishes => withSpec(wishes, {version: '26.11.4'}),
  'an earlier minor': wishes => withSpec(wishes, {version: '26.9.1'}),
  'an image that is not there': wishes => withSpec(wishes, {image: {repository: 'svc/bad'}}),
  'an image that crashes': wishes => withSpec(wishes, {image: {repository: 'svc/crash'}}),
  'the image again': wishes => withSpec(wishes, {image: {repository: 'svc/server'}}),
  'nodes that are not there': wishes =>
    withSpec(wishes, {podTemplate: {nodeSelector: {moon: 'yes'}}}),
  'any nodes': wishes => withSpec(wishes, {podTemplate: {nodeSelector: null}}),
  'a setting that needs a restart': (wishes, {random}) =>
    withSpec(wishes, {settings: {'svc.network.connectionsMax': String(100 + random.below(900))}}),
  'a setting that does not': (wishes, {random}) =>
    withSpec(wishes, {settings: {'svc.txRetries': String(random.below(9))}}),
  'a setting that is none': wishes => withSpec(wishes, {settings: {'svc.nonsense': '1'}}),
  'no settings': wishes => withSpec(wishes, {settings: null}),
  'larger volumes': (wishes, {random}) =>
    withSpec(wishes, {storage: {size: `${10 + random.below(40)}Gi`}}),
  'another port': (wishes, world) => withPort(wishes, world, 2500),
  'the port again': (wishes, world) => withPort(wishes, world, 2434),
  pause: wishes => withMark(wishes, annotations.paused, 'true'),
  'go on': wishes => withMark(wishes, annotations.paused, null),
  sleep: wishes => withMark(wishes, annotations.hibernate, 'true'),
  wake: wishes => withMark(wishes, annotations.hibernate, null),
  'another token': (_, world) => {
    renew(world, 'db-token', 'token');
    return undefined;
  },
  'another password of root': (_, world) => {
    renew(world, 'db-root', 'password');
    return undefined;
  },
  'another authority': (wishes, {random}) =>
    withMark(wishes, annotations.renewAuthority, String(random.u32())),
  'restart all': (wishes, {random}) =>
    withMark(wishes, annotations.restartAt, String(random.u32())),
  'another leader': (wishes, {random}) =>
    withMark(wishes, annotations.transferLeaderTo, String(random.below(5))),
  'a pod is killed': (_, world) => {
    deletePod(world);
    return undefined;
  },
  'a pod and its volume are lost': (_, world) => {
    const name = canLoseOne(world) ? deletePod(world) : undefined;
    if (name === undefined) return undefined;
    const ref = {kind: kinds.claim, namespace: 'shop', name: `data-${name}`};
    if (world.kubernetes.store.find(ref) !== undefined) world.kubernetes.store.remove(ref);
    return undefined;
  },
  'a member is to be replaced': (_, world) => {
    const names = world.pods().map(({metadata}) => metadata.name);
    if (names.length === 0) return undefined;
    const ref = {kind: kinds.pod, namespace: 'shop', name: world.random.pick(names)};
    world.kubernetes.store.patch(ref, {metadata: {annotations: {[annotations.replace]: 'true'}}});
    return undefined;
  },
  'the operator is killed': () => undefined,
  'history is forgotten': (_, world) => {
    world.kubernetes.store.compact();
    return undefined;
  },
  'a Service is changed': (_, world) => {
    const ref = {kind: kinds.service, namespace: 'shop', name: 'db-rw'};
    if (world.kubernetes.store.find(ref) === undefined) return undefined;
    world.kubernetes.store.patch(ref, {spec: {selector: {wrong: 'yes'}}});
    return undefined;
  },
  'objects are deleted': (_, world) => {
    const {random} = world;
    for (const [kind, name] of supporting) if (random.chance(0.4)) take(world, kind, name);
    return undefined;
  },
  'the stateful set is deleted': (_, world) => {
    take(world, kinds.statefulSet, 'db');
    return undefined;
  },
  'a Secret is deleted': (_, world) => {
    const name = world.random.pick(['db-root', 'db-token', ...tokenSecrets]);
    const isSafe = !name.startsWith('db-tokens') || areTokensKept(world);
    if (isSafe) take(world, kinds.secret, name);
    return undefined;
  },
  'a claim is deleted': (_, world) => {
    const names = canLoseOne(world) ? world.pods().map(({metadata}) => metadata.name) : [];
    if (names.length > 0) take(world, kinds.claim, `data-${world.random.pick(names)}`);
    return undefined;
  },
  'the cluster is deleted and applied again': (wishes, world) => {
    take(world, kinds.cluster, 'db');
    world.time.after(world.random.below(20_000), () => recreate(world, wishes));
    return undefined;
  },
};

const supporting = [
  [kinds.serviceAccount, 'db'],
  [kinds.service, 'db-headless'],
  [kinds.service, 'db-rw'],
  [kinds.service, 'db-ro'],
  [kinds.configMap, 'db-config'],
  [kinds.disruptionBudget, 'db'],
  [kinds.networkPolicy, 'db'],
] as const;

/** Deletes an object as a person does: what belongs to it goes too, claims wait for their pod. */
function take({kubernetes: {store}}: OperatorWorld, kind: Kind, name: string): void {
  const ref = {kind, namespace: 'shop', name};
  if (store.find(ref) !== undefined) store.delete(ref, {});
}

/** Applies the cluster, where there is none, with what is wished for now and can be had. */
export function recreate(world: OperatorWorld, {spec}: Wishes): void {
  if (world.isThere()) return;
  const {settings: _, image: __, podTemplate: ___, ...rest} = spec;
  world.create(mergePatch({}, {...rest, ha: {raftPort: portOf(world)}}) as JsonMap);
}

/**
 * The port that members have in their names, as the status says, or else the claims of a cluster
 * that was deleted: a wish for another one may have come before either.
 */
export function portOf(world: OperatorWorld): number {
  const told = world.isThere() ? world.cluster().status?.initialMembers : undefined;
  return Number(/_(\d+)$/.exec(told?.[0] ?? '')?.[1] ?? keptPortOf(world) ?? 2434);
}

function keptPortOf({kubernetes: {store}}: OperatorWorld): string | undefined {
  const scope = {kind: kinds.claim, namespace: undefined, labelSelector: undefined};
  return store.list(scope).flatMap(claim => labelOf(claim, labels.raftPort) ?? [])[0];
}

/**
 * A wish for a port. Claims of a cluster that was deleted hold another one back for good, where the
 * rules refuse to set it right: nobody wishes for one then (mishaps.test.ts has what is said).
 */
function withPort(
  wishes: Wishes,
  world: OperatorWorld,
  raftPort: number,
): Partial<Wishes> | undefined {
  const isLookedAt = world.isThere() && world.cluster().status?.initialMembers !== undefined;
  if (keptPortOf(world) !== undefined && !isLookedAt) return undefined;
  return withSpec(wishes, {ha: {raftPort}});
}
