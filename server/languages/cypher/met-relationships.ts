/**
 * The relationships that one MATCH has met: no other one may equal them where the pattern is a
 * trail, and a list of them shares none with what came before.
 */
import type {PathMode} from '#server/plan/node.ts';
import type {Expression, Slot} from '#server/plan/expression.ts';
import {type BindContext, operator, slotOf} from './bind-context.ts';
import {mayShare} from './bind-label.ts';

/** Types of relationships: empty for all, undefined for none that there is. */
export type Types = readonly string[] | undefined;

interface Met {
  readonly slot: Slot;
  readonly isList: boolean;
  readonly types: Types;
}

export class MetRelationships {
  readonly #context: BindContext;
  readonly #compared: Met[] = [];
  /** The slots of all, in the order they were bound. */
  readonly slots: Slot[] = [];

  constructor(context: BindContext) {
    this.#context = context;
  }

  /** The earlier relationships that one of these types could equal. */
  others(
    types: Types,
    mode: PathMode,
  ): {readonly single: readonly Slot[]; readonly lists: readonly Slot[]} {
    if (mode === 'walk') return {single: [], lists: []};
    const others = this.#compared.filter(other => mayShare(this.#context, other.types, types));
    return {
      single: others.filter(other => !other.isList).map(other => other.slot),
      lists: others.filter(other => other.isList).map(other => other.slot),
    };
  }

  /** Remembers a relationship, or a list of them, that no later one may be. */
  add(met: Met, mode: PathMode): void {
    this.slots.push(met.slot);
    if (mode !== 'walk') this.#compared.push(met);
  }

  /** Remembers a list; the terms say that it has none of those before it. */
  addList(slot: Slot, types: Types, mode: PathMode): readonly Expression[] {
    const {single, lists} = this.others(types, mode);
    this.add({slot, isList: true, types}, mode);
    return [...single, ...lists].map(other => operator('disjoint', slotOf(slot), slotOf(other)));
  }
}
