/**
 * Methods of texts. Positions count UTF-16 code units from 0, as everywhere in the dialect; any
 * receiver that is not a text is asked by its text.
 */
import {equalValues} from '#server/model/compare.ts';
import type {Value} from '#server/model/value.ts';
import {itemsOf} from '../expressions/access.ts';
import {plainText} from '../expressions/arithmetic.ts';
import {
  argument,
  boundedText,
  integerAt,
  itemCountMax,
  refuse,
  textAt,
  wordsAt,
} from './arguments.ts';
import type {FunctionFamily} from '../function-registry.ts';
import {replaceByPattern} from './text-patterns.ts';

/** Every occurrence replaced; the result is bounded. */
export function replaceText(text: string, what: string, by: string): string {
  const occurrences = what === '' ? text.length + 1 : text.split(what).length - 1;
  return boundedText(text.length + occurrences * by.length, () => text.replaceAll(what, () => by));
}

/** The parts between separators; every character is a part where the separator is empty. */
export function splitText(text: string, separator: string): string[] {
  const parts = text.split(separator, itemCountMax + 1);
  return parts.length > itemCountMax
    ? refuse(`the text has more than ${itemCountMax} parts`)
    : parts;
}

/** The first letter of each word in upper case. */
export function capitalizeWords(text: string): string {
  return text.replace(/(^|\s)(\S)/gu, (_, before: string, letter: string) => {
    return before + letter.toUpperCase();
  });
}

function position(args: readonly Value[], last: boolean): number {
  const items = itemsOf(argument(args, 0));
  const wanted = argument(args, 1);
  if (items !== undefined) {
    const isWanted = (item: Value): boolean => equalValues(item, wanted);
    return last ? items.findLastIndex(isWanted) : items.findIndex(isWanted);
  }
  const text = textAt(args, 0);
  if (last) return text.lastIndexOf(plainText(wanted), integerAt(args, 2, 'lastIndexOf', Infinity));
  return text.indexOf(plainText(wanted), integerAt(args, 2, 'indexOf', 0));
}

function normalize(args: readonly Value[]): string {
  const form = textAt(args, 1, 'NFD').toUpperCase();
  if (form !== 'NFD' && form !== 'NFC' && form !== 'NFKD' && form !== 'NFKC') {
    refuse(`there is no Unicode form '${form.slice(0, 20)}', only NFC, NFD, NFKC and NFKD`);
  }
  const text = wordsAt(args, 0).normalize(form);
  return args.length > 2
    ? replaceByPattern(text, textAt(args, 2), '')
    : text.replace(/\p{M}/gu, '');
}

export const textMethods: FunctionFamily = {
  scalars: {
    '.append': args => {
      const value = argument(args, 0);
      if (value === null || argument(args, 1) === null) return value;
      const [text, more] = [plainText(value), textAt(args, 1)];
      return boundedText(text.length + more.length, () => text + more);
    },
    '.prefix': args => {
      const value = argument(args, 0);
      if (value === null || argument(args, 1) === null) return value;
      const [text, more] = [plainText(value), textAt(args, 1)];
      return boundedText(text.length + more.length, () => more + text);
    },
    '.capitalize': args => capitalizeWords(wordsAt(args, 0).toLowerCase()),
    '.charAt': args => textAt(args, 0)[integerAt(args, 1, 'charAt')] ?? null,
    '.indexOf': args => position(args, false),
    '.lastIndexOf': args => position(args, true),
    '.left': args => textAt(args, 0).slice(0, Math.max(integerAt(args, 1, 'left'), 0)),
    '.right': args => {
      const text = textAt(args, 0);
      return text.slice(Math.max(text.length - Math.max(integerAt(args, 1, 'right'), 0), 0));
    },
    '.length': ([value = null]) => plainText(value).length,
    '.normalize': normalize,
    '.replace': args => replaceText(textAt(args, 0), textAt(args, 1), textAt(args, 2)),
    '.split': args => splitText(textAt(args, 0), textAt(args, 1)),
    '.subString': args => {
      const from = Math.max(integerAt(args, 1, 'subString'), 0);
      const to = integerAt(args, 2, 'subString', Number.MAX_SAFE_INTEGER);
      return textAt(args, 0).slice(from, Math.max(to, from));
    },
    '.toLowerCase': args => textAt(args, 0).toLowerCase(),
    '.toUpperCase': args => textAt(args, 0).toUpperCase(),
    '.trim': args => textAt(args, 0).trim(),
    '.trimPrefix': args => {
      const [text, prefix] = [textAt(args, 0), textAt(args, 1)];
      return text.startsWith(prefix) ? text.slice(prefix.length) : text;
    },
    '.trimSuffix': args => {
      const [text, suffix] = [textAt(args, 0), textAt(args, 1)];
      return text.endsWith(suffix) ? text.slice(0, text.length - suffix.length) : text;
    },
  },
};
