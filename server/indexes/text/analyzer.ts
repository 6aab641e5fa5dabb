/**
 * Analyzers: what terms a text has, at which positions, and where in the text each stands.
 *
 * `standard` finds words by Unicode's rules and folds their case, `simple` takes runs of letters,
 * `whitespace` what stands between spaces, as it is, `keyword` the whole text, `stop` is `simple`
 * without the stop words of English. A language's name is `standard` with its stemmer; English
 * also drops its stop words and possessives. Lucene's class names are other spellings of these.
 * A dropped word leaves its position empty. Each word is brought to Unicode's composed form, and
 * a final sigma is folded like any other. Turkish has an i of its own without a dot; the stemmer of
 * German writes words without umlauts and sharp s, and so are pieces of words.
 */
import type {AnalyzerName} from '#server/catalog/text-options.ts';
import {stemmerOf, type Stemmer} from './stemmers.ts';
import {eachWord, wordUnitsMax} from './word-break.ts';

/** Gets each term, its position (from 0, with gaps) and its place [start, end) in the text. */
export type TakeTerm = (term: string, position: number, start: number, end: number) => void;

export interface Analyzer {
  readonly name: AnalyzerName;
  analyze(text: string, take: TakeTerm): void;
  /**
   * The form of a piece of a word, as prefixes and wildcards have it: case is folded where the
   * analyzer folds it; nothing is stemmed or dropped.
   */
  fold(piece: string): string;
}

const englishStopWords = new Set(
  (
    'a an and are as at be but by for if in into is it no not of on or such that the their then ' +
    'there these they this to was will with'
  ).split(' '),
);

const made = new Map<AnalyzerName, Analyzer>();

/** @param stopWords - In place of the analyzer's own. */
export function analyzerOf(name: AnalyzerName, stopWords?: ReadonlySet<string>): Analyzer {
  if (stopWords !== undefined) return makeAnalyzer(name, stopWords);
  let analyzer = made.get(name);
  if (analyzer === undefined) {
    const stops = name === 'english' || name === 'stop' ? englishStopWords : undefined;
    analyzer = makeAnalyzer(name, stops);
    made.set(name, analyzer);
  }
  return analyzer;
}

function makeAnalyzer(name: AnalyzerName, stops: ReadonlySet<string> | undefined): Analyzer {
  if (name === 'keyword') return {name, fold: same, analyze: keyword};
  if (name === 'whitespace') return {name, fold: same, analyze: dropping(betweenSpaces, stops)};
  if (name === 'simple' || name === 'stop') {
    return {name, fold: foldWord, analyze: dropping(letterRuns, stops)};
  }
  const fold = folds[name] ?? foldWord;
  const piece = pieceFolds[name] ?? fold;
  return {name, fold: piece, analyze: words(name, fold, stops)};
}

function words(
  name: AnalyzerName,
  fold: (word: string) => string,
  stops: ReadonlySet<string> | undefined,
): Analyzer['analyze'] {
  const stem = stemmerOf(name);
  const reduce = name === 'english' ? withoutPossessive : same;
  const stemmed = new Map<string, string>();
  return (text, take) => {
    let position = 0;
    eachWord(text, (start, end) => {
      const word = reduce(fold(text.slice(start, end)));
      const at = position++;
      if (stops?.has(word) === true) return;
      take(stem === undefined ? word : remembered(stemmed, word, stem), at, start, end);
    });
  };
}

const stemmedMax = 20_000;

/** Stemming costs more than looking a word up, and texts repeat their words. */
function remembered(known: Map<string, string>, word: string, stem: Stemmer): string {
  let found = known.get(word);
  if (found === undefined) {
    found = stem(word);
    if (known.size >= stemmedMax) known.clear();
    known.set(word, found);
  }
  return found;
}

function dropping(
  pieces: (text: string, take: TakeTerm) => void,
  stops: ReadonlySet<string> | undefined,
): Analyzer['analyze'] {
  if (stops === undefined) return pieces;
  return (text, take) => {
    pieces(text, (term, position, start, end) => {
      if (!stops.has(term)) take(term, position, start, end);
    });
  };
}

function keyword(text: string, take: TakeTerm): void {
  if (text !== '') take(text, 0, 0, text.length);
}

const spaceRun = /\S+/gu;
const letterRun = /\p{Letter}+/gu;

function betweenSpaces(text: string, take: TakeTerm): void {
  runs(spaceRun, text, same, take);
}

function letterRuns(text: string, take: TakeTerm): void {
  runs(letterRun, text, foldWord, take);
}

function runs(pattern: RegExp, text: string, fold: (word: string) => string, take: TakeTerm): void {
  let position = 0;
  for (const match of text.matchAll(pattern)) {
    const [run] = match;
    for (let from = 0; from < run.length; from += wordUnitsMax) {
      const piece = run.slice(from, from + wordUnitsMax);
      const start = match.index + from;
      take(fold(piece), position++, start, start + piece.length);
    }
  }
}

const beyondAscii = /[^\x00-\x7f]/u;

/** Composed, in lower case, with one sigma; a capital i with a dot becomes a plain one. */
export function foldWord(word: string): string {
  if (!beyondAscii.test(word)) return word.toLowerCase();
  const composed = word.normalize('NFC').replaceAll('\u0130', 'i');
  return composed.toLowerCase().replaceAll('\u03c2', '\u03c3');
}

/** The case of languages that have one of their own. */
const folds: Readonly<Partial<Record<AnalyzerName, (word: string) => string>>> = {
  turkish: word => foldWord(word.normalize('NFC').replaceAll('I', '\u0131')),
};

/** What pieces of words are, where stems are written in another way than words. */
const pieceFolds: typeof folds = {
  german: piece =>
    foldWord(piece).replaceAll(/[äöüß]/gu, letter => germanLetters.get(letter) ?? letter),
};

const germanLetters = new Map([
  ['ä', 'a'],
  ['ö', 'o'],
  ['ü', 'u'],
  ['ß', 'ss'],
]);

function withoutPossessive(word: string): string {
  return /['\u2019\uff07]s$/u.test(word) ? word.slice(0, -2) : word;
}

function same(word: string): string {
  return word;
}
