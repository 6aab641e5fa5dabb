/**
 * Words of a text by the rules of UAX 29, as Lucene's standard tokenizer finds them.
 *
 * Letters and digits run together; an apostrophe or a full stop between letters, a comma or a
 * full stop between digits, and underscores anywhere belong to the word; combining marks and
 * format characters belong to what stands before them. What is no word is passed over. A word
 * longer than `wordUnitsMax` is cut into pieces of that length, so that no key grows beyond.
 */
import {wordClass, wordClassOf, type WordClass} from './word-classes.ts';

/** UTF-16 units of one word; Lucene's default. */
export const wordUnitsMax = 255;

/** Gets each word's place [start, end) in UTF-16 units, in order. */
export type TakeWord = (start: number, end: number) => void;

/** Cost: one pass, linear in the characters. */
export function eachWord(text: string, take: TakeWord): void {
  const {length} = text;
  for (let at = 0; at < length; ) {
    const first = codePointAt(text, at);
    const kind = wordClassOf(first);
    const next = at + units(first);
    if (!startsWord(kind)) {
      at = next;
      continue;
    }
    const end = wordEnd(text, next, kind);
    if (kind !== wordClass.extendNumLet || hasMore(text, next, end)) cut(text, at, end, take);
    at = end;
  }
}

/** A word is cut where no pair of surrogates is torn. */
function cut(text: string, start: number, end: number, take: TakeWord): void {
  let from = start;
  while (end - from > wordUnitsMax) {
    let to = from + wordUnitsMax;
    if (isTrailing(text.charCodeAt(to))) to -= 1;
    take(from, to);
    from = to;
  }
  take(from, end);
}

function startsWord(kind: WordClass): boolean {
  switch (kind) {
    case wordClass.letter:
    case wordClass.hebrew:
    case wordClass.number:
    case wordClass.extendNumLet:
    case wordClass.ideograph:
    case wordClass.katakana:
    case wordClass.southEastAsian:
    case wordClass.emoji:
      return true;
    default:
      return false;
  }
}

/** The end of the word whose first character, of class `first`, ends at `from`. */
function wordEnd(text: string, from: number, first: WordClass): number {
  if (first === wordClass.ideograph || first === wordClass.emoji) return marksEnd(text, from);
  let last: WordClass = first;
  let at = from;
  for (;;) {
    at = marksEnd(text, at);
    if (at >= text.length) return at;
    const point = codePointAt(text, at);
    const kind = wordClassOf(point);
    if (joins(last, kind)) {
      last = kind;
      at += units(point);
      continue;
    }
    const behind = joinedByMiddle(text, at + units(point), last, kind);
    if (behind === undefined) return at;
    const inner = codePointAt(text, behind);
    last = wordClassOf(inner);
    at = behind + units(inner);
  }
}

/** WB4: what extends a character belongs to it. */
function marksEnd(text: string, from: number): number {
  let at = from;
  while (at < text.length) {
    const point = codePointAt(text, at);
    const kind = wordClassOf(point);
    if (kind !== wordClass.extend && kind !== wordClass.joiner) return at;
    at += units(point);
  }
  return at;
}

/** WB5, 8 to 10, 13 to 13b: no boundary between the two. */
function joins(last: WordClass, next: WordClass): boolean {
  if (next === wordClass.extendNumLet) return last !== wordClass.southEastAsian;
  if (isWordLetter(last) || last === wordClass.number) {
    return isWordLetter(next) || next === wordClass.number;
  }
  if (last === wordClass.katakana) return next === wordClass.katakana;
  if (last === wordClass.southEastAsian) return next === wordClass.southEastAsian;
  if (last !== wordClass.extendNumLet) return false;
  return isWordLetter(next) || next === wordClass.number || next === wordClass.katakana;
}

/**
 * WB6, 7, 7b, 7c, 11 and 12: a middle character of class `middle`, which ends at `from`, belongs
 * to the word when the right kind follows; answers where that begins.
 */
function joinedByMiddle(
  text: string,
  from: number,
  last: WordClass,
  middle: WordClass,
): number | undefined {
  const at = marksEnd(text, from);
  if (at >= text.length) return undefined;
  const next = wordClassOf(codePointAt(text, at));
  const isMidNumLet = middle === wordClass.midNumLet;
  if (isWordLetter(last) && isWordLetter(next)) {
    if (isMidNumLet || middle === wordClass.midLetter) return at;
    const isHebrew = last === wordClass.hebrew && next === wordClass.hebrew;
    return isHebrew && middle === wordClass.doubleQuote ? at : undefined;
  }
  if (last !== wordClass.number || next !== wordClass.number) return undefined;
  return isMidNumLet || middle === wordClass.midNumber ? at : undefined;
}

function isWordLetter(kind: WordClass): boolean {
  return kind === wordClass.letter || kind === wordClass.hebrew;
}

/** Underscores alone are no word. */
function hasMore(text: string, from: number, end: number): boolean {
  for (let at = from; at < end; at += 1) {
    const kind = wordClassOf(text.charCodeAt(at));
    if (kind !== wordClass.extendNumLet && kind !== wordClass.extend) return true;
  }
  return false;
}

function codePointAt(text: string, at: number): number {
  const unit = text.charCodeAt(at);
  return unit < 0xd800 || unit > 0xdbff ? unit : (text.codePointAt(at) ?? unit);
}

function units(codePoint: number): number {
  return codePoint > 0xffff ? 2 : 1;
}

function isTrailing(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}
