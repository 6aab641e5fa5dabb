/** A reason with its message, and the condition that it makes. */
import type {NewCondition} from '#operator/api/conditions.ts';
import type {ConditionType, Reason} from '#operator/api/reasons.ts';

export type Judged = readonly [reason: Reason, message: string];

export function conditionOf(
  type: ConditionType,
  status: NewCondition['status'],
  [reason, message]: Judged,
): NewCondition {
  return {type, status, reason, message};
}
