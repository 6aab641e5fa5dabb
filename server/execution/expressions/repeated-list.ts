/**
 * Lists that the rows of a statement ask again: what a LET or a sub-query found once.
 *
 * The first row that meets a list looks through it; from the second on it is prepared: a hash
 * table for membership, the list of its items' properties. Lists are immutable, so what is
 * prepared stays true; it is held as long as the list is and belongs to no run.
 */
import {EmbeddedValue, type ListValue, RecordValue, type Value} from '#server/model/value.ts';

/** Shorter lists are looked through faster than found again. */
const lengthMin = 16;

/** Answers `prepare` of a list, made once, from the second time that the list is asked for. */
export function fromSecondUse<T>(
  prepare: (list: ListValue) => T | undefined,
): (list: Value) => T | undefined {
  const prepared = new WeakMap<object, {readonly made: T | undefined} | 'seen'>();
  return value => {
    if (!Array.isArray(value) || value.length < lengthMin) return undefined;
    const known = prepared.get(value);
    if (known === undefined) {
      prepared.set(value, 'seen');
      return undefined;
    }
    if (known !== 'seen') return known.made;
    const made = prepare(value);
    prepared.set(value, {made});
    return made;
  };
}

/** Whether the items answer the same whenever they are asked: ids may lead to changed records. */
export function holdsItsItems(list: ListValue): boolean {
  return list.every(
    item => item instanceof Map || item instanceof EmbeddedValue || item instanceof RecordValue,
  );
}
