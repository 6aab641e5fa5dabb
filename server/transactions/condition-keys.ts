/**
 * The keys on which the writes of a transaction depend, by what nobody else may do to them.
 *
 * A transaction that goes on to a newer state asks whether one of the commits that this brings
 * along touched any of them: few commits against many keys, where its own commit asks for each
 * condition by itself. Filled when somebody asks, from the conditions that came since.
 * Why: docs/design/0015-overtaken-statements.md.
 */
import type {Precondition} from './commit.ts';
import {keyText} from './key-text.ts';

export class ConditionKeys {
  /** Nobody may write them. */
  readonly unchanged = new Set<string>();
  /** Nobody may delete them. */
  readonly present = new Set<string>();
  /** Nobody may attach an edge to them. */
  readonly unpinned = new Set<string>();
  #taken = 0;

  /** Takes the conditions behind those taken before. Ranges belong to changes of the schema. */
  take(conditions: readonly Precondition[]): void {
    for (; this.#taken < conditions.length; this.#taken += 1) {
      const condition = conditions[this.#taken];
      if (condition === undefined || condition.kind === 'range-untouched') continue;
      this[condition.kind].add(condition.text ?? keyText(condition.key));
    }
  }
}
