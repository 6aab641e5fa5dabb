/**
 * What kind of difference an exchange shows, told from its fields alone.
 *
 * A kind holds only when every single difference is of it: an answer with other words and another
 * status is no answer with other words. Record ids that are others, one for one, are no difference:
 * the tool that compares numbers ids by their first appearance in the whole run, so an id that one
 * side never shows, or gives out a second time, renumbers all later answers.
 */
import type {FieldDifference, Tolerance} from './suite.ts';

/** A record id as the tool numbers it; it leaves those of edges without a record as they are. */
const numberedId = /#(?:R\d+|\d+:-1)/g;
/** Members that hold a sentence for a person. */
const sentence = /\.(error|message)$/;

/** Undefined: no kind holds for all of the differences. */
export function shapeOf(
  diffs: readonly FieldDifference[],
  isOwnText: (difference: FieldDifference) => boolean = () => false,
): Tolerance | undefined {
  const isWorded = (diff: FieldDifference): boolean => isSentence(diff) || isOwnText(diff);
  if (diffs.every(isWorded)) return 'worded';
  if (diffs.every(diff => isFurther(diff) || isWorded(diff))) return 'further';
  if (isStricter(diffs)) return 'stricter';
  return isReordered(diffs) ? 'reordered' : undefined;
}

function isSentence({path, expected, actual}: FieldDifference): boolean {
  return sentence.test(path) && typeof expected === 'string' && typeof actual === 'string';
}

function isFurther({expected, actual}: FieldDifference): boolean {
  return expected === undefined && actual !== undefined;
}

/** 500 there, 4xx here; besides the label of the error nothing but further members. */
export function isStricter(diffs: readonly FieldDifference[]): boolean {
  const status = diffs.find(({path}) => path === '.status');
  if (status?.expected !== 500) return false;
  if (typeof status.actual !== 'number' || status.actual < 400 || status.actual > 499) return false;
  const allowed = ['.status', '.body.error', '.body.exceptionArgs', '.exceptionArgs'];
  return diffs.every(diff => allowed.includes(diff.path) || isFurther(diff));
}

/** Two elements stand in each other's place in every list that differs. */
export function isReordered(diffs: readonly FieldDifference[]): boolean {
  const lists = new Map<string, Map<string, Map<string, FieldDifference>>>();
  for (const diff of diffs) {
    const [, list, index, member] = /^(.*?)\[(\d+)\](.*)$/.exec(diff.path) ?? [];
    if (list === undefined || index === undefined || member === undefined) return false;
    const inner = /^((?:\.[^.[]+)+)\[(\d+)\](.*)$/.exec(member);
    const key = inner === null ? list : `${list}[${index}]${inner[1]}`;
    const at = inner === null ? index : (inner[2] as string);
    const elements = lists.get(key) ?? new Map<string, Map<string, FieldDifference>>();
    const members = elements.get(at) ?? new Map<string, FieldDifference>();
    members.set(inner === null ? member : (inner[3] as string), diff);
    lists.set(key, elements.set(at, members));
  }
  return [...lists.values()].every(elements => {
    const [one, other, ...more] = elements.values();
    return one !== undefined && other !== undefined && more.length === 0 && isSwap(one, other);
  });
}

function isSwap(
  one: ReadonlyMap<string, FieldDifference>,
  other: ReadonlyMap<string, FieldDifference>,
): boolean {
  const text = (value: unknown): string | undefined => JSON.stringify(value);
  return (
    one.size === other.size &&
    [...one].every(([member, {expected, actual}]) => {
      const opposite = other.get(member);
      if (opposite === undefined) return false;
      return text(expected) === text(opposite.actual) && text(actual) === text(opposite.expected);
    })
  );
}

/** Every difference is a record id, and the ids of the answer correspond one to one. */
export function isRenumbered(diffs: readonly FieldDifference[]): boolean {
  const ours = new Map<string, string>();
  const theirs = new Map<string, string>();
  for (const {expected, actual} of diffs) {
    if (typeof expected !== 'string' || typeof actual !== 'string') return false;
    const [wanted, given] = [expected.match(numberedId) ?? [], actual.match(numberedId) ?? []];
    if (wanted.length === 0) return false;
    if (expected.replace(numberedId, '#') !== actual.replace(numberedId, '#')) return false;
    for (const [index, id] of wanted.entries()) {
      const other = given[index] ?? '';
      if ((ours.get(id) ?? other) !== other || (theirs.get(other) ?? id) !== id) return false;
      ours.set(id, other);
      theirs.set(other, id);
    }
  }
  return true;
}
