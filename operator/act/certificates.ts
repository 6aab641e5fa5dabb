/**
 * Writes the Secrets of a cluster's certificates, from what is there in this moment: a step that
 * was decided upon another one is not taken.
 */
import {annotations} from '#operator/api/group.ts';
import {annotationOf, type KubeObject} from '#operator/api/kube-object.ts';
import {durationMs} from '#operator/api/schema.ts';
import type {CertificateMaker, KeyPair, RandomBytes} from '#operator/certificates/certificates.ts';
import {authorityLives} from '#operator/decide/certificates.ts';
import type {Action} from '#operator/decide/decision.ts';
import type {Observation} from '#operator/decide/observation.ts';
import {textOfSecret} from '#operator/kubernetes/secret-text.ts';
import {
  authorityFacts,
  authorityKeys,
  authoritySecret,
  certificateKeys,
  certificateSecret,
  hostsHash,
  hostsOf,
  type Texts,
} from '#operator/objects/certificates.ts';
import {names} from '#operator/objects/names.ts';
import {Outdated} from './outdated.ts';

export interface CertificateParts {
  readonly observation: Observation;
  readonly maker: CertificateMaker;
  readonly random: RandomBytes;
  /** A Secret of the cluster's namespace as it is now. */
  readonly read: (name: string) => Promise<KubeObject | undefined>;
  /** Writes a Secret in the place of `live`, or a new one. */
  readonly write: (next: KubeObject, live: KubeObject | undefined) => Promise<void>;
}

/** Clocks differ: what is made now must be good a little earlier too. */
const skewMs = 3_600_000;

export async function writeAuthority(
  {step, to}: Extract<Action, {kind: 'write-authority'}>,
  {observation, maker, random, read, write}: CertificateParts,
): Promise<void> {
  const {cluster, nowMs, object} = observation;
  const live = await read(names.authority(cluster));
  const before = live && authorityFacts(live);
  if (before?.step !== step) throw new Outdated('the authority was written meanwhile');
  const notAfterMs = nowMs + authorityLives * durationMs(cluster.spec.tls.validity);
  const fresh = (): KeyPair => {
    const {name: own, namespace} = cluster.metadata;
    const name = `svc ${own} in ${namespace} ${(step ?? -1) + 1}`;
    return maker.authority(name, {notBeforeMs: nowMs - skewMs, notAfterMs}, random);
  };
  const texts = nextTexts(to, live, fresh);
  const isNew = to === 'joined' || live === undefined;
  const facts = {
    phase: to,
    step: (step ?? -1) + 1,
    notAfter: isNew ? stamp(notAfterMs) : (before?.notAfter ?? ''),
    renewed: annotationOf(object, annotations.renewAuthority),
  };
  await write(authoritySecret(cluster, facts, texts), live);
}

function nextTexts(
  to: 'single' | 'joined' | 'turned',
  live: KubeObject | undefined,
  fresh: () => KeyPair,
): Texts {
  const {certificate, key, otherCertificate, otherKey} = authorityKeys;
  if (live === undefined) {
    const made = fresh();
    return {[certificate]: made.certificate, [key]: made.key};
  }
  const held = (name: string): string => textOfSecret(live, name) ?? '';
  const own = {[certificate]: held(certificate), [key]: held(key)};
  if (to === 'single') return own;
  if (to === 'joined') {
    const made = fresh();
    return {...own, [otherCertificate]: made.certificate, [otherKey]: made.key};
  }
  return {
    [certificate]: held(otherCertificate),
    [key]: held(otherKey),
    [otherCertificate]: held(certificate),
  };
}

export async function issueCertificate({
  observation,
  maker,
  random,
  read,
  write,
}: CertificateParts): Promise<void> {
  const {cluster, nowMs, stamp: since} = observation;
  const authority = await read(names.authority(cluster));
  if (authority === undefined) throw new Outdated('the Secret of the authority is gone');
  const held = (name: string): string => textOfSecret(authority, name) ?? '';
  const by = {certificate: `${held(authorityKeys.certificate)}\n`, key: held(authorityKeys.key)};
  const notAfterMs = nowMs + durationMs(cluster.spec.tls.validity);
  const validity = {notBeforeMs: nowMs - skewMs, notAfterMs};
  const made = maker.server(by, hostsOf(cluster), validity, random);
  const other = held(authorityKeys.otherCertificate);
  const texts = {
    [certificateKeys.certificate]: made.certificate,
    [certificateKeys.key]: made.key,
    [certificateKeys.trusted]: other === '' ? by.certificate : `${by.certificate}${other}\n`,
    [certificateKeys.store]: `${made.key}${made.certificate}`,
  };
  const {step} = authorityFacts(authority);
  const facts = {step, since, notAfter: stamp(notAfterMs), hosts: hostsHash(cluster)};
  const live = await read(names.certificate(cluster));
  await write(certificateSecret(cluster, facts, texts), live);
}

/** RFC 3339, whole seconds. */
function stamp(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
}
