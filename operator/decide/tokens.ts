/**
 * Carries a new token of the cluster, or a new password of root, from its Secret to the servers.
 *
 * Servers read their token when they start, and believe only those who know one of theirs. So a new
 * one takes three rounds of restarts: old over new, then new over old, then new alone; the first
 * line is by which a server proves itself, every line is one by which others may. At no moment do
 * two servers run that do not believe each other. A round begins when the one before is over.
 * Source: docs/design/0050-operator.md.
 */
import type {Action} from './decision.ts';
import type {Member} from './members.ts';
import type {Observation} from './observation.ts';
import type {Plan, Situation} from './plan.ts';

/**
 * What makes the Secret of the tokens, or its copy, when one of them is not there. While a token
 * changes, the old one stands nowhere else, and servers that know another one believe nobody.
 */
export function tokenSecrets({
  cluster,
  secrets,
  tokens,
  tokenStepKept,
  statefulSet: set,
}: Observation): readonly Action[] {
  if (tokens === undefined && tokenStepKept !== undefined) {
    return [{kind: 'restore-tokens', step: tokenStepKept}];
  }
  // While nobody runs, nobody has to believe anybody.
  const isAsleep = set?.replicas === 0 && tokens?.leadsToWanted === false;
  const isKnown = secrets.token || cluster.spec.secrets.clusterToken === undefined;
  if (isKnown && (tokens === undefined || isAsleep)) {
    return [{kind: 'write-tokens', step: tokens?.step, to: 'wanted'}];
  }
  return tokens === undefined || tokens.step === tokenStepKept
    ? []
    : [{kind: 'keep-tokens', step: tokens.step}];
}

/** What is to be written next; undefined: nothing, or not yet. */
export function tokenActions(
  {observed, members, template, set, agreement}: Situation,
  plan: Plan | undefined,
): readonly Action[] {
  const {tokens, secrets} = observed;
  if (tokens === undefined || !secrets.token) return [];
  const {phase, leadsToWanted, step} = tokens;
  if (phase === 'single' && leadsToWanted) return [];
  // Nobody has to believe anybody, now or after what this decision adds.
  const isAlone = Math.max(set.replicas, plan?.replicas ?? 0) <= 1 && members.length <= 1;
  if (isAlone && phase === 'single') return [{kind: 'write-tokens', step, to: 'wanted'}];
  const isRound =
    plan === undefined &&
    agreement.kind === 'agreed' &&
    members.length === set.replicas &&
    members.every(one => one.isHealthy && one.pod?.templateHash === template.hash);
  if (!isRound) return [];
  const next = {single: 'joined', joined: 'turned', turned: 'single'} as const;
  return [{kind: 'write-tokens', step, to: next[phase]}];
}

/** The servers refused the password that the Secret holds, and believed the token. */
export function passwordActions(members: readonly Member[]): readonly Action[] {
  const refusing = members.find(
    ({answer}) => answer?.kind === 'report' && answer.isPasswordRefused === true,
  );
  if (refusing === undefined) return [];
  return [{kind: 'set-root-password', peerId: refusing.peerId}];
}
