/**
 * Certificates that the operator makes (`tls.mode: Operator`): an authority for each cluster, and
 * one certificate for its servers, which take over a new one while they run.
 *
 * A new authority is believed before it signs, and the old one as long as anybody may show what it
 * signed. Between two rounds `tls.settle` goes by, in which every server has read its files again.
 */
import {annotations} from '#operator/api/group.ts';
import {annotationOf} from '#operator/api/kube-object.ts';
import {durationMs} from '#operator/api/schema.ts';
import {
  type AuthorityFacts,
  type AuthorityPhase,
  hostsHash,
} from '#operator/objects/certificates.ts';
import type {Action} from './decision.ts';
import type {Observation} from './observation.ts';

/** An authority lives for so many lives of a certificate, and is replaced in its last two. */
export const authorityLives = 20;
const livesLeftMin = 2;

export function certificateActions(observed: Observation): readonly Action[] {
  const {cluster, certificates, nowMs} = observed;
  const {tls} = cluster.spec;
  if (tls.mode !== 'Operator') return [];
  const {authority, certificate, certificateEndMs, issuedMs} = certificates;
  const issue: Action = {kind: 'issue-certificate'};
  if (authority === undefined) {
    return [{kind: 'write-authority', step: undefined, to: 'single'}, issue];
  }
  // Never so early that a new certificate is due at once.
  const marginMs = Math.min(durationMs(tls.renewBefore), (2 * durationMs(tls.validity)) / 3);
  const isRight =
    certificate?.step === authority.step &&
    certificate.hosts === hostsHash(cluster) &&
    certificateEndMs - nowMs > marginMs;
  if (!isRight) return [issue];
  const to = nextPhase(observed, authority);
  // To believe one more asks nothing of anybody.
  const isSettled = to === 'joined' || nowMs - issuedMs >= durationMs(tls.settle);
  if (to === undefined || !isSettled) return [];
  return [{kind: 'write-authority', step: authority.step, to}, issue];
}

/** Milliseconds until the next step of a new authority may be due; undefined: none is under way. */
export function authorityDueMs({cluster, certificates, nowMs}: Observation): number | undefined {
  const {authority, issuedMs} = certificates;
  if (authority === undefined || authority.phase === 'single') return undefined;
  return issuedMs + durationMs(cluster.spec.tls.settle) - nowMs;
}

function nextPhase(
  {object, cluster, certificates, nowMs}: Observation,
  {phase, renewed}: AuthorityFacts,
): AuthorityPhase | undefined {
  if (phase === 'joined') return 'turned';
  if (phase === 'turned') return 'single';
  const asked = annotationOf(object, annotations.renewAuthority);
  const lifeMs = durationMs(cluster.spec.tls.validity);
  const isOld = certificates.authorityEndMs - nowMs < livesLeftMin * lifeMs;
  return isOld || (asked !== undefined && asked !== renewed) ? 'joined' : undefined;
}
