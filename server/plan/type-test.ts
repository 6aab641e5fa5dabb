/** A condition that the record in a slot is of a type or a subtype of it. */
import type {Expression, Slot} from './expression.ts';

export interface TypeTest {
  readonly slot: Slot;
  readonly type: string;
  /** Whether the name counts as it is written: a label. */
  readonly isLabel: boolean;
}

export function typeTestOf(term: Expression): TypeTest | undefined {
  if (term.kind !== 'call') return undefined;
  const isLabel = term.name === 'op:ofType';
  if (!isLabel && term.name !== 'op:instanceOf') return undefined;
  const [tested, type] = term.args;
  const isItself = tested?.kind === 'attribute' && tested.attribute === 'this';
  const of = isItself ? tested.of : tested;
  if (of?.kind !== 'slot' || type?.kind !== 'literal') return undefined;
  return typeof type.value === 'string' ? {slot: of.slot, type: type.value, isLabel} : undefined;
}
