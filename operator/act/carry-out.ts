/**
 * Carries out the actions of a decision, in their order, and stops at the first that fails.
 *
 * Before each call it is asked whether this operator still leads. Deletions name the uid that was
 * seen, and those of pods and claims are made while the resource is as it was seen. A change of the
 * members first asks the leader again: the term, the leader and the set of members must be those
 * under which it was decided, so that an operator that slept does nothing.
 */
import {labels} from '#operator/api/group.ts';
import {canonicalJson, type KubeObject} from '#operator/api/kube-object.ts';
import {generatedSecret} from '#operator/objects/configuration.ts';
import {
  nextTokens,
  type Tokens,
  TOKENS_KEY,
  tokensOf,
  tokensSecret,
  tokenStepOf,
} from '#operator/objects/tokens.ts';
import {names, ordinalOfPeer} from '#operator/objects/names.ts';
import {SETTINGS_ANNOTATION, tokenSecret} from '#operator/objects/pod-template.ts';
import {AdminError, type ServerAddress, type ServerAdmin} from '#operator/database/admin.ts';
import type {Action, RestoreFrom, Under} from '#operator/decide/decision.ts';
import type {Observation} from '#operator/decide/observation.ts';
import {type CertificateParts, issueCertificate, writeAuthority} from './certificates.ts';
import {Outdated} from './outdated.ts';
import {placeOf} from '#operator/decide/members.ts';
import {agreementOf} from '#operator/decide/agreement.ts';
import {clusterNameOf} from '#operator/objects/settings.ts';
import type {CertificateMaker, RandomBytes} from '#operator/certificates/certificates.ts';
import {hasReason, type Kind, type KubeApi, type Ref} from '#operator/kubernetes/api.ts';
import {kindOf, kinds} from '#operator/kubernetes/kinds.ts';
import {textOfSecret} from '#operator/kubernetes/secret-text.ts';

export interface ActOptions {
  readonly api: KubeApi;
  readonly admin: ServerAdmin;
  readonly observation: Observation;
  readonly password: string | undefined;
  /** The token by which the running servers believe each other. */
  readonly token: string | undefined;
  /** Throws once this operator leads no more. */
  readonly assertLeading: () => void;
  /** Text of chance for a Secret. */
  readonly secretText: () => string;
  /** Makes keys and certificates, out of such bytes of chance. */
  readonly certificates: CertificateMaker;
  readonly random: RandomBytes;
  /** What a write was answered with. */
  readonly onWritten: (kind: Kind, object: KubeObject) => void;
  /** Begins a restore, and comes back before it ends. */
  readonly beginRestore: (order: RestoreOrder) => void;
  /** A pod whose deletion was asked for. */
  readonly onPodDeleted: (uid: string) => void;
}

/** A database that is to be restored by a server. */
export interface RestoreOrder {
  readonly server: ServerAddress;
  readonly database: string;
  readonly from: RestoreFrom;
}

export async function carryOut(actions: readonly Action[], options: ActOptions): Promise<void> {
  for (const action of actions) {
    options.assertLeading();
    await carryOutOne(action, options);
  }
}

async function carryOutOne(action: Action, options: ActOptions): Promise<void> {
  const {api} = options;
  switch (action.kind) {
    case 'apply': {
      const kind = kindOf(action.object);
      options.onWritten(kind, await api.apply(kind, action.object));
      return;
    }
    case 'delete-object': {
      const {metadata} = action.object;
      await remove(kindOf(action.object), {name: metadata.name, uid: metadata.uid ?? ''}, options);
      return;
    }
    case 'generate-secret':
      return await generate(action.which, options);
    case 'recreate-set':
      await remove(kinds.statefulSet, action, options, 'Orphan');
      return;
    case 'delete-pod':
      await assertStillWished(options);
      if (await remove(kinds.pod, action, options)) options.onPodDeleted(action.uid);
      return;
    case 'delete-claim':
      await assertStillWished(options);
      await remove(kinds.claim, action, options);
      return;
    case 'label-pod': {
      const patch = {metadata: {labels: {[labels.role]: action.role}}};
      return await change(kinds.pod, action.name, patch, options);
    }
    case 'mark-claim': {
      const value = action.isOrphaned ? 'true' : null;
      const patch = {metadata: {labels: {[labels.orphaned]: value}}};
      return await change(kinds.claim, action.name, patch, options);
    }
    case 'grow-claim': {
      const patch = {spec: {resources: {requests: {storage: action.size}}}};
      return await change(kinds.claim, action.name, patch, options);
    }
    case 'set-settings':
      return await setSettings(action, options);
    case 'write-tokens':
      return await writeTokens(action, options);
    case 'restore-tokens':
      return await copyTokens(action, {from: 'tokensKept', to: 'tokens'}, options);
    case 'keep-tokens':
      return await copyTokens(action, {from: 'tokens', to: 'tokensKept'}, options);
    case 'set-root-password': {
      const {admin, token} = options;
      if (token === undefined) return;
      return await admin.setRootPassword({...serverOf(action.peerId, options), token});
    }
    case 'write-authority':
      return await writeAuthority(action, certificateParts(options));
    case 'issue-certificate':
      return await issueCertificate(certificateParts(options));
    case 'restore-database': {
      const {peerId, database, from} = action;
      return options.beginRestore({server: serverOf(peerId, options), database, from});
    }
    default:
      return await changeMembers(action, options);
  }
}

/**
 * What is about to go is judged by the spec and the annotations; a person may have taken back in
 * this moment what it would go for.
 */
async function assertStillWished({api, observation: {object}}: ActOptions): Promise<void> {
  const {namespace = '', name} = object.metadata;
  const live = await readOrNothing(api, {kind: kinds.cluster, namespace, name});
  const wishes = ({metadata}: KubeObject): string =>
    canonicalJson([metadata.uid, metadata.generation, metadata.annotations]);
  if (live === undefined || wishes(live) !== wishes(object)) {
    throw new Outdated('the resource was changed since it was looked at');
  }
}

/** A Secret that appeared meanwhile is as good: it is read in the next look. */
async function generate(which: 'root' | 'token', options: ActOptions): Promise<void> {
  const {api, observation, secretText} = options;
  try {
    const secret = generatedSecret(observation.cluster, which, secretText());
    options.onWritten(kinds.secret, await api.create(kinds.secret, secret));
  } catch (error) {
    if (!hasReason(error, 'AlreadyExists')) throw error;
  }
}

function certificateParts(options: ActOptions): CertificateParts {
  const {api, observation, certificates: maker, random, assertLeading} = options;
  return {
    observation,
    maker,
    random,
    read: name => readOrNothing(api, refOf(kinds.secret, name, options)),
    write: async (next, live) => {
      assertLeading();
      options.onWritten(kinds.secret, await written(api, next, live));
    },
  };
}

/** A Secret in the place of the one that was read, or a new one. */
function written(
  api: KubeApi,
  next: KubeObject,
  live: KubeObject | undefined,
): Promise<KubeObject> {
  if (live === undefined) return api.create(kinds.secret, next);
  const resourceVersion = live.metadata.resourceVersion ?? '';
  return api.replace(kinds.secret, {...next, metadata: {...next.metadata, resourceVersion}});
}

function tokensHeld(secret: KubeObject): Tokens {
  return tokensOf(secret, textOfSecret(secret, TOKENS_KEY));
}

/** Nothing is written over what is another step by now. */
async function writeTokens(
  {step, to}: Extract<Action, {kind: 'write-tokens'}>,
  options: ActOptions,
): Promise<void> {
  const {api, observation} = options;
  const {cluster} = observation;
  const live = await readOrNothing(api, refOf(kinds.secret, names.tokens(cluster), options));
  if ((live && tokenStepOf(live)) !== step) throw new Outdated('the tokens were written meanwhile');
  const source = tokenSecret(cluster);
  const given = await readOrNothing(api, refOf(kinds.secret, source.name, options));
  const held = live === undefined ? [] : tokensHeld(live).lines;
  const lines = nextTokens(to, held, given && textOfSecret(given, source.key));
  if (lines === undefined) throw new Outdated('the Secret with the token is not there');
  const phase = to === 'wanted' ? 'single' : to;
  const tokens = {step: step === undefined ? 0 : step + 1, phase, lines};
  const next = tokensSecret(cluster, tokens, 'tokens');
  options.onWritten(kinds.secret, await written(api, next, live));
}

/** Nothing is copied that is another step by now. */
async function copyTokens(
  {step}: Extract<Action, {kind: 'restore-tokens' | 'keep-tokens'}>,
  {from, to}: Readonly<Record<'from' | 'to', 'tokens' | 'tokensKept'>>,
  options: ActOptions,
): Promise<void> {
  const {api, observation} = options;
  const {cluster} = observation;
  const read = (which: 'tokens' | 'tokensKept'): Promise<KubeObject | undefined> =>
    readOrNothing(api, refOf(kinds.secret, names[which](cluster), options));
  const [source, live] = [await read(from), await read(to)];
  const tokens = source && tokensHeld(source);
  const isThere = to === 'tokens' && live !== undefined;
  if (tokens?.step !== step || isThere) throw new Outdated('the tokens were written meanwhile');
  options.onWritten(kinds.secret, await written(api, tokensSecret(cluster, tokens, to), live));
}

async function readOrNothing(api: KubeApi, ref: Ref): Promise<KubeObject | undefined> {
  try {
    return await api.get(ref);
  } catch (error) {
    if (hasReason(error, 'NotFound')) return undefined;
    throw error;
  }
}

/** What was seen of an object that is to go. */
interface Seen {
  readonly name: string;
  readonly uid: string;
  /** Absent: it goes whatever became of it. */
  readonly resourceVersion?: string;
}

async function remove(
  kind: Kind,
  {name, uid, resourceVersion}: Seen,
  options: ActOptions,
  propagation: 'Background' | 'Orphan' = 'Background',
): Promise<boolean> {
  try {
    const conditions = {uid, resourceVersion, propagation};
    await options.api.delete(refOf(kind, name, options), conditions);
    return true;
  } catch (error) {
    // It is gone, is another one by now, or changed in this moment: the next look tells.
    if (!hasReason(error, 'NotFound', 'Conflict')) throw error;
    return false;
  }
}

async function change(
  kind: Kind,
  name: string,
  patch: unknown,
  options: ActOptions,
): Promise<void> {
  try {
    options.onWritten(kind, await options.api.patch(refOf(kind, name, options), patch));
  } catch (error) {
    if (!hasReason(error, 'NotFound')) throw error;
  }
}

async function setSettings(
  {pod, peerId, values, annotation}: Extract<Action, {kind: 'set-settings'}>,
  options: ActOptions,
): Promise<void> {
  const server = serverOf(peerId, options);
  for (const [key, value] of Object.entries(values)) {
    await options.admin.setSetting(server, key, value);
  }
  const patch = {metadata: {annotations: {[SETTINGS_ANNOTATION]: annotation}}};
  await change(kinds.pod, pod, patch, options);
}

type MemberChange = Extract<Action, {readonly under: Under}>;

async function changeMembers(action: MemberChange, options: ActOptions): Promise<void> {
  const {admin} = options;
  const leader = serverOf(action.under.leader, options);
  await assertStillSo(action.under, leader, options);
  options.assertLeading();
  try {
    switch (action.kind) {
      case 'add-peer': {
        const {peerId, address, name, priority} = action;
        return await admin.addPeer(leader, {peerId, address, name, priority});
      }
      case 'remove-peer':
        return await admin.removePeer(leader, action.peerId);
      case 'transfer-leader':
        return await admin.transferLeadership(leader, action.to);
      default:
        return action satisfies never;
    }
  } catch (error) {
    if (error instanceof AdminError && error.reason === 'not-leader') {
      throw new Outdated(`${action.under.leader} leads no more`);
    }
    throw error;
  }
}

async function assertStillSo(
  under: Under,
  leader: ServerAddress,
  {admin, observation}: ActOptions,
): Promise<void> {
  const report = await admin.status(leader);
  const seen = agreementOf(clusterNameOf(observation.cluster), observation.answers);
  const members = report.peers.filter(({inConfiguration}) => inConfiguration).map(({id}) => id);
  const before = seen.kind === 'agreed' ? seen.members.map(({id}) => id) : [];
  const isSame =
    report.isReadyLeader &&
    report.term === under.term &&
    members.toSorted().join() === before.toSorted().join();
  if (!isSame) throw new Outdated('leader, term or members changed since they were looked at');
}

function serverOf(peerId: string, {observation, password}: ActOptions): ServerAddress {
  const ordinal = ordinalOfPeer(observation.cluster, peerId);
  if (ordinal === undefined || password === undefined) {
    throw new Outdated(`${peerId} is no server of this cluster`);
  }
  return {...placeOf(observation, ordinal), password};
}

function refOf(kind: Kind, name: string, {observation}: ActOptions): Ref {
  return {kind, namespace: observation.cluster.metadata.namespace, name};
}
