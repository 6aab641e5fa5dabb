/**
 * `text.*`: letters and cases, padding, searching, replacing. Results are bounded.
 */
import {utf8Length} from '#server/base/utf8.ts';
import type {Value} from '#server/model/value.ts';
import {asItems} from '../expressions/access.ts';
import {plainText} from '../expressions/arithmetic.ts';
import type {CallContext} from '../context.ts';
import type {FunctionFamily} from '../function-registry.ts';
import {bigintAt, boundedText, integerAt, listAt, refuse, textAt, wordsAt} from './arguments.ts';
import {randomFraction} from './general.ts';
import {joinItems} from './methods-collections.ts';
import {capitalizeWords, replaceText, splitText} from './methods-text.ts';
import {formatText} from './text-format.ts';
import {
  hammingDistance,
  jaroWinkler,
  levenshteinDistance,
  levenshteinSimilarity,
  sorensenDice,
} from './text-distances.ts';
import {replaceByPattern} from './text-patterns.ts';

/** Words of a text: parts of letters and digits, cut before an upper case letter too. */
function wordsOf(text: string): string[] {
  return (
    text
      .replace(/([\p{Ll}\d])(\p{Lu})/gu, '$1 $2')
      .match(/[\p{L}\p{N}]+/gu)
      ?.map(word => word.toLowerCase()) ?? []
  );
}

function upperFirst(text: string): string {
  const [first = ''] = text;
  return first.toUpperCase() + text.slice(first.length);
}

function lowerFirst(text: string): string {
  const [first = ''] = text;
  return first.toLowerCase() + text.slice(first.length);
}

function pad(args: readonly Value[], side: 'left' | 'right'): string {
  const text = textAt(args, 0);
  const length = integerAt(args, 1, 'a length');
  const filler = textAt(args, 2, ' ');
  if (filler === '') return text;
  return boundedText(length, () =>
    side === 'left' ? text.padStart(length, filler) : text.padEnd(length, filler),
  );
}

const alphabet: Readonly<Record<string, string>> = {
  'A-Z': 'ABCDEFGHIJKLMNOPQRSTUVWXYZ',
  'a-z': 'abcdefghijklmnopqrstuvwxyz',
  '0-9': '0123456789',
};
const randomLengthMax = 10_000;

function randomText(args: readonly Value[], {random}: CallContext): string {
  const length = integerAt(args, 0, 'a length');
  if (length < 0 || length > randomLengthMax) {
    refuse(`a random text has 0 to ${randomLengthMax} characters`);
  }
  const valid = textAt(args, 1, 'A-Za-z0-9').replace(
    /A-Z|a-z|0-9/g,
    range => alphabet[range] ?? range,
  );
  if (valid === '') refuse('a random text needs characters to choose from');
  let text = '';
  for (let at = 0; at < length; at++) {
    text += valid.charAt(Math.floor(randomFraction(random) * valid.length));
  }
  return text;
}

function indexOf(args: readonly Value[]): number {
  const text = textAt(args, 0);
  const from = integerAt(args, 2, 'text.indexOf', 0);
  const to = integerAt(args, 3, 'text.indexOf', -1);
  return (to < 0 ? text : text.slice(0, to)).indexOf(textAt(args, 1), from);
}

/** Gives at most `limit` parts; the last one keeps what is left. */
function split(args: readonly Value[]): string[] {
  const separator = textAt(args, 1);
  const parts = splitText(textAt(args, 0), separator);
  const limit = integerAt(args, 2, 'text.split', 0);
  if (limit <= 0 || parts.length <= limit) return parts;
  return [...parts.slice(0, limit - 1), parts.slice(limit - 1).join(separator)];
}

function code(args: readonly Value[]): Value {
  const text = textAt(args, 0);
  const at = integerAt(args, 1, 'text.code', 0);
  return at >= 0 && at < text.length ? text.charCodeAt(at) : null;
}

function hexValue(args: readonly Value[]): string {
  const value = bigintAt(args, 0, 'text.hexValue');
  return (value < 0n ? BigInt.asUintN(64, value) : value).toString(16);
}

function slug(args: readonly Value[]): string {
  const plain = wordsAt(args, 0).normalize('NFD').replace(/\p{M}/gu, '');
  return (plain.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).join(textAt(args, 1, '-'));
}

export const textFunctions: FunctionFamily = {
  scalars: {
    'text.byteCount': args => {
      const charset = textAt(args, 1, 'UTF-8');
      return /^utf-?8$/i.test(charset)
        ? utf8Length(textAt(args, 0))
        : refuse(`bytes are counted in UTF-8, not in '${charset.slice(0, 40)}'`);
    },
    'text.camelCase': args => lowerFirst(wordsOf(wordsAt(args, 0)).map(upperFirst).join('')),
    'text.upperCamelCase': args => wordsOf(wordsAt(args, 0)).map(upperFirst).join(''),
    'text.snakeCase': args => wordsOf(wordsAt(args, 0)).join('_'),
    'text.capitalize': args => upperFirst(textAt(args, 0)),
    'text.capitalizeAll': args => capitalizeWords(wordsAt(args, 0)),
    'text.decapitalize': args => lowerFirst(textAt(args, 0)),
    'text.decapitalizeAll': args =>
      wordsAt(args, 0).replace(/(^|\s)(\S)/gu, (_, before: string, letter: string) => {
        return before + letter.toLowerCase();
      }),
    'text.charAt': args => textAt(args, 0)[integerAt(args, 1, 'text.charAt')] ?? null,
    'text.code': code,
    'text.format': ([pattern = null, ...values]) => {
      if (pattern === null) return null;
      // A list for a single conversion is that conversion's value; for several it holds theirs.
      const [only] = values;
      const many = (plainText(pattern).match(/%[^%n]/g) ?? []).length > 1;
      return formatText(
        plainText(pattern),
        values.length === 1 && many ? asItems(only ?? null) : values,
      );
    },
    'text.hexValue': hexValue,
    'text.indexOf': indexOf,
    'text.join': args => joinItems(listAt(args, 0, 'text.join'), textAt(args, 1)),
    'text.split': split,
    'text.lpad': args => pad(args, 'left'),
    'text.rpad': args => pad(args, 'right'),
    'text.random': randomText,
    'text.regexReplace': args =>
      replaceByPattern(textAt(args, 0), textAt(args, 1), textAt(args, 2)),
    'text.replace': args => replaceText(textAt(args, 0), textAt(args, 1), textAt(args, 2)),
    'text.slug': slug,
    'text.levenshteinDistance': (args, call) =>
      levenshteinDistance(textAt(args, 0), textAt(args, 1), call),
    'text.levenshteinSimilarity': (args, call) =>
      levenshteinSimilarity(textAt(args, 0), textAt(args, 1), call),
    'text.jaroWinklerDistance': (args, call) => jaroWinkler(textAt(args, 0), textAt(args, 1), call),
    'text.hammingDistance': args => hammingDistance(textAt(args, 0), textAt(args, 1)),
    'text.sorensenDiceSimilarity': args => sorensenDice(textAt(args, 0), textAt(args, 1)),
  },
};
