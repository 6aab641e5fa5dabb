/**
 * Reading arguments: what a function accepts for a text, a number, a list, a map, an id.
 *
 * Texts are lenient (any value has a text), numbers and lists strict. Whatever grows with an
 * argument's value is bounded here, so that no short statement asks for gigabytes.
 */
import {Refusal} from '#server/base/errors.ts';
import {groupKey} from '#server/model/compare.ts';
import {parseDecimal} from '#server/model/decimal.ts';
import {isIntegerValue, isNumberValue, makeInteger, numberOf} from '#server/model/number.ts';
import type {NumberValue} from '#server/model/number.ts';
import {parseRid} from '#server/model/rid.ts';
import {type ListValue, type MapValue, RecordValue, Rid, type Value} from '#server/model/value.ts';
import {asItems, itemsOf, mapOf} from '../expressions/access.ts';
import {describe, plainText} from '../expressions/arithmetic.ts';
import type {CallContext} from '../context.ts';

/** Most characters of a text and most items of a list that a function makes. */
export const textLengthMax: number = 16 << 20;
export const itemCountMax = 1_000_000;
/** What takes many times longer a character than copying it is done to texts of up to so many. */
const wordyLengthMax = 500_000;

export function refuse(message: string): never {
  throw new Refusal('argument', message);
}

/** The argument at `at`; null when it is not there. */
export function argument(args: readonly Value[], at: number): Value {
  return args[at] ?? null;
}

/** The text of an argument; of one that is not given `otherwise`. */
export function textAt(args: readonly Value[], at: number, otherwise = ''): string {
  const value = args[at];
  return value === undefined || value === null ? otherwise : plainText(value);
}

/** A number, or a text that reads as one. */
export function numberAt(args: readonly Value[], at: number, name: string): NumberValue {
  const value = argument(args, at);
  if (isNumberValue(value)) return value;
  const read = typeof value === 'string' ? parseDecimal(value.trim()) : undefined;
  return read ?? refuse(`${name} needs a number, not ${describe(value)}`);
}

export function doubleAt(args: readonly Value[], at: number, name: string): number {
  return numberOf(numberAt(args, at, name));
}

/** A whole number that a double holds exactly; of one that is not given `otherwise`. */
export function integerAt(
  args: readonly Value[],
  at: number,
  name: string,
  otherwise?: number,
): number {
  const value = argument(args, at);
  if (value === null && otherwise !== undefined) return otherwise;
  const number = Math.trunc(numberOf(numberAt(args, at, name)));
  return Number.isSafeInteger(number)
    ? number
    : refuse(`${name} needs a whole number, not ${describe(value)}`);
}

/** A list (an array or a path counts as one); nothing else. */
export function listAt(args: readonly Value[], at: number, name: string): ListValue {
  const value = argument(args, at);
  return itemsOf(value) ?? refuse(`${name} needs a list, not ${describe(value)}`);
}

/** Items of a list; a single value is one item, null none. */
export function itemsAt(args: readonly Value[], at: number): ListValue {
  return asItems(argument(args, at));
}

/** A map, or the properties of a record or embedded document. */
export function mapAt(
  args: readonly Value[],
  at: number,
  name: string,
  call: CallContext,
): MapValue {
  const value = argument(args, at);
  if (value === null) return new Map();
  return mapOf(value, call.graph) ?? refuse(`${name} needs a map, not ${describe(value)}`);
}

/** Names, given one by one or in lists. */
export function namesFrom(args: readonly Value[], at: number): string[] {
  const names: string[] = [];
  for (const value of args.slice(at)) {
    for (const item of asItems(value)) names.push(plainText(item));
  }
  return names;
}

/** The one id that a value stands for: a record, an id, its text, or a list of one such. */
export function singleRid(value: Value): Rid | undefined {
  if (value instanceof Rid) return value;
  if (value instanceof RecordValue) return value.rid;
  if (typeof value === 'string') return parseRid(value);
  if (value instanceof Map) return singleRid(value.get('@rid') ?? null);
  const items = itemsOf(value);
  return items?.length === 1 ? singleRid(items[0] ?? null) : undefined;
}

export function ridAt(args: readonly Value[], at: number, name: string): Rid {
  const value = argument(args, at);
  return singleRid(value) ?? refuse(`${name} needs a record, not ${describe(value)}`);
}

/** The text of an argument whose words are looked at one by one, if there are not too many. */
export function wordsAt(args: readonly Value[], at: number): string {
  const text = textAt(args, at);
  if (text.length <= wordyLengthMax) return text;
  return refuse(
    `the words of a text of up to ${wordyLengthMax} characters can be changed, ` +
      `not of ${text.length}`,
  );
}

/** The text, unless it is too long to be made. */
export function boundedText(length: number, make: () => string): string {
  if (length > textLengthMax) {
    refuse(`the text would have ${length} characters, and ${textLengthMax} are allowed`);
  }
  return make();
}

/** Each value once, the first of equal ones. */
export function distinctItems(items: Iterable<Value>): Value[] {
  const found = new Map<string | number, Value>();
  for (const item of items) {
    const key = groupKey(item);
    if (!found.has(key)) found.set(key, item);
  }
  return [...found.values()];
}

/** A whole double as an integer, where 64 bits hold it. */
export function integerOf(double: number): number | bigint {
  return Number.isSafeInteger(double) ? double : makeInteger(BigInt(double));
}

/** Reads an argument as a bigint; a fraction is cut off. */
export function bigintAt(args: readonly Value[], at: number, name: string): bigint {
  const value = numberAt(args, at, name);
  if (isIntegerValue(value)) return BigInt(value);
  const double = Math.trunc(numberOf(value));
  return Number.isFinite(double) ? BigInt(double) : refuse(`${name} needs a whole number`);
}
