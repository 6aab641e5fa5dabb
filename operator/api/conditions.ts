/**
 * Conditions of a resource in the shape of metav1.Condition, and the one rule of changing them: the
 * time of the last transition moves only when the status does.
 */
import {integer, listOf, oneOf, text, time, object} from './schema.ts';

export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  /** CamelCase, from a fixed list. */
  readonly reason: string;
  /** A sentence for a person: what is, and what to do where something is to be done. */
  readonly message: string;
  readonly observedGeneration: number;
  readonly lastTransitionTime: string;
}

export type NewCondition = Omit<Condition, 'lastTransitionTime' | 'observedGeneration'>;

export const conditionList = listOf(
  {says: 'What holds of this resource now; all types are always there.', max: 16, keys: ['type']},
  object(
    {says: 'One condition.'},
    {
      type: text({says: 'Its name.', maxLength: 64}),
      status: oneOf(['True', 'False', 'Unknown'], {says: 'Whether it holds.'}),
      reason: text({says: 'Why, in one word of a fixed list.', maxLength: 64}),
      message: text({says: 'Why, for a person.', maxLength: 4096}),
      observedGeneration: integer({
        says: 'Generation of the spec that it speaks of.',
        min: 0,
        max: Number.MAX_SAFE_INTEGER,
        format: 'int64',
      }),
      lastTransitionTime: time({says: 'When the status changed last.'}),
    },
  ),
);

/** @param now - RFC 3339. */
export function transitioned(
  before: readonly Condition[],
  after: readonly NewCondition[],
  {now, generation}: {readonly now: string; readonly generation: number},
): readonly Condition[] {
  return after.map(condition => {
    const old = before.find(({type}) => type === condition.type);
    const lastTransitionTime = old?.status === condition.status ? old.lastTransitionTime : now;
    return {...condition, observedGeneration: generation, lastTransitionTime};
  });
}
