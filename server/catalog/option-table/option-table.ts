/**
 * Options of an index (METADATA) by a table: type, bounds, default, and the refusals by name.
 */
import {Refusal} from '#server/base/errors.ts';
import {jsonText} from '#server/model/json.ts';
import {Double, type MapValue, type Value} from '#server/model/value.ts';
import {nearestNameHint} from '../nearest-name.ts';

export type OptionRule =
  | {readonly kind: 'boolean'; readonly default: boolean}
  | {
      readonly kind: 'whole' | 'number';
      readonly default: number;
      readonly min: number;
      readonly max: number;
    }
  /** One of some words, whatever their case; kept as written here. */
  | {readonly kind: 'word'; readonly default: string; readonly words: readonly string[]}
  /** A text that `read` makes the stored form of; undefined: it is none. */
  | {
      readonly kind: 'text';
      readonly default: string | undefined;
      readonly read: (text: string) => string | undefined;
      readonly known: readonly string[];
    }
  | {readonly kind: 'texts'; readonly default: undefined};

/** The rules of options keyed by option; keys are case sensitive. */
export type OptionTable = ReadonlyMap<string, OptionRule>;

/** @throws {Refusal} `argument`, with the known keys or what the value may be. */
export function readOptions(family: string, table: OptionTable, given: MapValue): MapValue {
  for (const key of given.keys()) {
    if (table.has(key)) continue;
    const known = [...table.keys()];
    throw new Refusal(
      'argument',
      `Unknown METADATA key '${key}' of a ${family} index${nearestNameHint(key, known)}. ` +
        `Allowed: ${known.join(', ')}`,
    );
  }
  const read = new Map<string, Value>();
  for (const [key, rule] of table) {
    const value = given.get(key);
    if (value === undefined || value === null) continue;
    const kept = readOption(key, rule, value);
    if (kept !== rule.default) read.set(key, kept);
  }
  return read;
}

function readOption(key: string, rule: OptionRule, value: Value): Value {
  switch (rule.kind) {
    case 'boolean':
      if (typeof value === 'boolean') return value;
      throw refused(key, 'is true or false', value);
    case 'whole':
    case 'number': {
      const number = value instanceof Double ? value.value : value;
      const isInside = typeof number === 'number' && number >= rule.min && number <= rule.max;
      if (isInside && (rule.kind === 'number' || Number.isInteger(number))) return number;
      const what = rule.kind === 'whole' ? 'a whole number' : 'a number';
      throw refused(key, `is ${what} from ${rule.min} to ${rule.max}`, value);
    }
    case 'word': {
      const wanted = typeof value === 'string' ? value.toUpperCase() : undefined;
      const word = rule.words.find(one => one.toUpperCase() === wanted);
      if (word !== undefined) return word;
      throw refused(key, `is one of ${rule.words.join(', ')}`, value);
    }
    case 'text': {
      const text = typeof value === 'string' ? rule.read(value) : undefined;
      if (text !== undefined) return text;
      throw refused(key, `is one of ${rule.known.join(', ')}`, value);
    }
    case 'texts': {
      const isList = Array.isArray(value) && value.every(item => typeof item === 'string');
      if (isList) return value;
      throw refused(key, 'is a list of texts', value);
    }
  }
}

function refused(key: string, what: string, value: Value): Refusal {
  const shown = typeof value === 'string' ? `'${value}'` : jsonText(value);
  return new Refusal('argument', `METADATA '${key}' ${what}, not ${shown.slice(0, 100)}`);
}
