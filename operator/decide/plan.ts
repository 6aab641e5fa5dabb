/**
 * A plan: what one concern (replacing, upgrading, scaling) wants done next. The first concern with
 * something under way has its turn, and the others wait for it.
 */
import type {OperationStatus} from '#operator/api/cluster-status.ts';
import type {Told} from '#operator/api/reasons.ts';
import type {PodTemplate} from '#operator/objects/pod-template.ts';
import type {Action} from './decision.ts';
import type {Member} from './members.ts';
import type {Observation, PodFacts, SetFacts} from './observation.ts';
import type {Agreement} from './agreement.ts';

export interface Plan {
  readonly operation: Pick<OperationStatus, 'type' | 'step' | 'target' | 'blockedBy' | 'message'>;
  readonly actions: readonly Action[];
  /** How many pods there should be; absent: as many as there are. */
  readonly replicas?: number;
  readonly told?: readonly Told[];
  readonly isStalled?: boolean;
  readonly recheckMs?: number;
}

/** What every concern looks at. */
export interface Situation {
  readonly observed: Observation;
  readonly agreement: Agreement;
  readonly members: readonly Member[];
  readonly template: PodTemplate;
  readonly set: SetFacts;
}

export function deletionOf({name, uid, resourceVersion}: PodFacts): Action {
  return {kind: 'delete-pod', name, uid, resourceVersion};
}

export function waiting(
  operation: Omit<Plan['operation'], 'blockedBy'> & {readonly blockedBy?: readonly string[]},
  more: Omit<Plan, 'operation' | 'actions'> = {},
): Plan {
  return {operation: {blockedBy: [], ...operation}, actions: [], ...more};
}
