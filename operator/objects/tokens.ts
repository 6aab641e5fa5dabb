/**
 * The Secret from which servers read the token of their cluster: one line, or two while it changes.
 * Its annotations say how often it was written, and of which round it is.
 */
import {annotationOf, type KubeObject} from '#operator/api/kube-object.ts';
import type {SvcCluster} from '#operator/api/svc-cluster.ts';
import {names, ownedMeta} from './names.ts';

/** `joined`: old over new. `turned`: new over old. */
export const tokenPhases = ['single', 'joined', 'turned'] as const;
export type TokenPhase = (typeof tokenPhases)[number];

/** Says on the Secret with the tokens how often it was written, and of which round it is. */
const TOKEN_STEP_ANNOTATION = 'svc.io/token-step';
const TOKEN_PHASE_ANNOTATION = 'svc.io/token-phase';
/** Key of that Secret: a token a line. */
export const TOKENS_KEY = 'token';

/** What such a Secret says. */
export interface Tokens {
  readonly step: number;
  readonly phase: TokenPhase;
  readonly lines: readonly string[];
}

/**
 * The Secret that servers read their tokens from, or its copy; it goes with the cluster.
 *
 * @param which - While a token changes, the old one stands in none but these two.
 */
export function tokensSecret(
  cluster: SvcCluster,
  {step, phase, lines}: Tokens,
  which: 'tokens' | 'tokensKept',
): KubeObject {
  const meta = ownedMeta(cluster, names[which](cluster));
  const marks = {[TOKEN_STEP_ANNOTATION]: String(step), [TOKEN_PHASE_ANNOTATION]: phase};
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'Opaque',
    metadata: {...meta, annotations: marks},
    stringData: {[TOKENS_KEY]: `${lines.join('\n')}\n`},
  };
}

/** @param text - What the Secret holds under TOKENS_KEY. */
export function tokensOf(secret: KubeObject, text: string | undefined): Tokens {
  return {step: tokenStepOf(secret), phase: tokenPhaseOf(secret), lines: tokensIn(text ?? '')};
}

export function tokenStepOf(secret: KubeObject): number {
  return Number(annotationOf(secret, TOKEN_STEP_ANNOTATION) ?? 0);
}

export function tokenPhaseOf(secret: KubeObject): TokenPhase {
  const said = annotationOf(secret, TOKEN_PHASE_ANNOTATION);
  return tokenPhases.find(phase => phase === said) ?? 'single';
}

/** The lines of that text; the first is by which a server proves itself. */
export function tokensIn(text: string): readonly string[] {
  return text
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '');
}

/** The lines of the next round; undefined where the token that is wanted is not there. */
export function nextTokens(
  to: TokenPhase | 'wanted',
  held: readonly string[],
  wanted: string | undefined,
): readonly string[] | undefined {
  const [first, second] = held;
  if (to === 'wanted' || first === undefined) return wanted === undefined ? undefined : [wanted];
  if (to === 'joined') return wanted === undefined ? undefined : [first, wanted];
  if (to === 'turned') return second === undefined ? [first] : [second, first];
  return [first];
}
