/**
 * Classes of code points for word boundaries (UAX 29, table 3), found by Unicode properties.
 *
 * JavaScript knows no Word_Break property, so a class follows from script, category and the lists
 * of single characters that the table gives; a code point is looked at once and remembered.
 * Texts in scripts without spaces follow Lucene's standard tokenizer: an ideograph or a Hiragana
 * character is a word, Katakana and Hangul run together, South-East Asian letters stay together.
 */

export const wordClass = {
  none: 0,
  letter: 1,
  number: 2,
  extend: 3,
  extendNumLet: 4,
  midLetter: 5,
  midNumber: 6,
  midNumLet: 7,
  ideograph: 8,
  katakana: 9,
  southEastAsian: 10,
  hebrew: 11,
  doubleQuote: 12,
  emoji: 13,
  joiner: 14,
} as const;

export type WordClass = (typeof wordClass)[keyof typeof wordClass];

const midLetters = new Set(':\u00b7\u0387\u055f\u05f4\u2027\ufe13\ufe55\uff1a');
const midNumbers = new Set(
  ',;\u037e\u0589\u060c\u060d\u066c\u07f8\u2044\ufe10\ufe14\ufe50\ufe54\uff0c\uff1b',
);
const midNumLets = new Set(".'\u2018\u2019\u2024\ufe52\uff07\uff0e");
const katakanaMore = new Set('\u3031\u3032\u3033\u3034\u3035\u309b\u309c\u30a0\u30fc\uff70');

const isExtend = /^[\p{Mark}\p{Emoji_Modifier}\u200c\p{Format}]$/u;
const isNumber = /^\p{Decimal_Number}$/u;
const isConnector = /^[\p{Connector_Punctuation}\u202f]$/u;
const isHiragana = /^\p{Script=Hiragana}$/u;
const isKatakana = /^\p{Script=Katakana}$/u;
const isIdeograph = /^\p{Ideographic}$/u;
const isHebrew = /^\p{Script=Hebrew}$/u;
const isSouthEastAsian =
  /^[\p{Script=Thai}\p{Script=Lao}\p{Script=Myanmar}\p{Script=Khmer}\p{Script=Tai_Le}]$/u;
const isAlphabetic = /^\p{Alphabetic}$/u;
const isEmoji = /^\p{Extended_Pictographic}$/u;

/** One more than the class, by code point of the basic plane; 0: not looked at yet. */
const known = new Uint8Array(0x10000);

/** Cost: a lookup; a dozen tests of a regular expression the first time. */
export function wordClassOf(codePoint: number): WordClass {
  if (codePoint > 0xffff) return classOf(codePoint);
  const found = known[codePoint] as number;
  if (found !== 0) return (found - 1) as WordClass;
  const made = classOf(codePoint);
  known[codePoint] = made + 1;
  return made;
}

function classOf(codePoint: number): WordClass {
  const text = String.fromCodePoint(codePoint);
  if (codePoint === 0x22) return wordClass.doubleQuote;
  if (codePoint === 0x200d) return wordClass.joiner;
  if (midNumLets.has(text)) return wordClass.midNumLet;
  if (midLetters.has(text)) return wordClass.midLetter;
  if (midNumbers.has(text)) return wordClass.midNumber;
  if (isNumber.test(text)) return wordClass.number;
  if (isConnector.test(text)) return wordClass.extendNumLet;
  if (katakanaMore.has(text) || isKatakana.test(text)) return wordClass.katakana;
  if (isExtend.test(text)) return wordClass.extend;
  if (isHiragana.test(text) || isIdeograph.test(text)) return wordClass.ideograph;
  if (isSouthEastAsian.test(text)) return wordClass.southEastAsian;
  if (isHebrew.test(text) && isAlphabetic.test(text)) return wordClass.hebrew;
  if (isAlphabetic.test(text)) return wordClass.letter;
  return isEmoji.test(text) ? wordClass.emoji : wordClass.none;
}
