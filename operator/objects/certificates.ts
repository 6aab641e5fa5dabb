/**
 * The two Secrets of a cluster whose certificates the operator makes: its authority, which no pod
 * ever sees, and what the servers listen and dial with.
 *
 * What decisions are made from stands in annotations, so that nobody has to read certificates.
 */
import {annotationOf, hashOf, type KubeObject} from '#operator/api/kube-object.ts';
import type {SvcCluster} from '#operator/api/svc-cluster.ts';
import {hostSuffix, names, ownedMeta} from './names.ts';

/** `joined`: another authority is believed besides. `turned`: that one signs, and both are. */
export const authorityPhases = ['single', 'joined', 'turned'] as const;
export type AuthorityPhase = (typeof authorityPhases)[number];

export interface AuthorityFacts {
  readonly phase: AuthorityPhase;
  /** How often it was written. */
  readonly step: number;
  /** RFC 3339: the end of the authority that signs. */
  readonly notAfter: string;
  /** The text of svc.io/renew-authority that was acted upon. */
  readonly renewed: string | undefined;
}

export interface CertificateFacts {
  /** That of the authority's Secret, when it was issued. */
  readonly step: number;
  /** RFC 3339: when it was issued, and its end. */
  readonly since: string;
  readonly notAfter: string;
  /** Stands for the hosts that it names. */
  readonly hosts: string;
}

const marks = {
  step: 'svc.io/authority-step',
  phase: 'svc.io/authority-phase',
  notAfter: 'svc.io/not-after',
  renewed: 'svc.io/renewed-for',
  since: 'svc.io/issued-at',
  hosts: 'svc.io/hosts-hash',
} as const;

/** Names in the authority's Secret: who signs, and the other one that is believed. */
export const authorityKeys = {
  certificate: 'ca.crt',
  key: 'ca.key',
  otherCertificate: 'other.crt',
  otherKey: 'other.key',
} as const;

/** Names in the servers' Secret. */
export const certificateKeys = {
  certificate: 'tls.crt',
  key: 'tls.key',
  trusted: 'ca.crt',
  /** Key and certificate in one file, as HTTPS wants them. */
  store: 'server.pem',
} as const;

export type Texts = Readonly<Record<string, string>>;

/** Every name by which the servers are called. */
export function hostsOf(cluster: SvcCluster): readonly string[] {
  const {namespace} = cluster.metadata;
  const services = [names.rw(cluster), names.ro(cluster)];
  return [
    `*${hostSuffix(cluster)}`,
    ...services.flatMap(service => [
      `${service}.${namespace}.svc`,
      `${service}.${namespace}.svc.cluster.local`,
      `${service}.${namespace}`,
      service,
    ]),
  ];
}

export function hostsHash(cluster: SvcCluster): string {
  return hashOf(hostsOf(cluster));
}

export function authoritySecret(
  cluster: SvcCluster,
  {step, phase, notAfter, renewed}: AuthorityFacts,
  texts: Texts,
): KubeObject {
  return secret(cluster, names.authority(cluster), texts, {
    [marks.step]: String(step),
    [marks.phase]: phase,
    [marks.notAfter]: notAfter,
    ...(renewed === undefined ? {} : {[marks.renewed]: renewed}),
  });
}

export function certificateSecret(
  cluster: SvcCluster,
  {step, since, notAfter, hosts}: CertificateFacts,
  texts: Texts,
): KubeObject {
  return secret(cluster, names.certificate(cluster), texts, {
    [marks.step]: String(step),
    [marks.since]: since,
    [marks.notAfter]: notAfter,
    [marks.hosts]: hosts,
  });
}

function secret(
  cluster: SvcCluster,
  name: string,
  stringData: Texts,
  annotations: Texts,
): KubeObject {
  const metadata = {...ownedMeta(cluster, name), annotations};
  return {apiVersion: 'v1', kind: 'Secret', type: 'Opaque', metadata, stringData};
}

export function authorityFacts(object: KubeObject): AuthorityFacts {
  const phase = annotationOf(object, marks.phase);
  return {
    phase: authorityPhases.find(one => one === phase) ?? 'single',
    step: stepIn(object),
    notAfter: annotationOf(object, marks.notAfter) ?? '',
    renewed: annotationOf(object, marks.renewed),
  };
}

export function certificateFacts(object: KubeObject): CertificateFacts {
  return {
    step: stepIn(object),
    since: annotationOf(object, marks.since) ?? '',
    notAfter: annotationOf(object, marks.notAfter) ?? '',
    hosts: annotationOf(object, marks.hosts) ?? '',
  };
}

function stepIn(object: KubeObject): number {
  return Number(annotationOf(object, marks.step) ?? 0);
}
