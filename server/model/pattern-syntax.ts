/**
 * The syntax of regular expressions, as far as an automaton can run it.
 *
 * Characters, `.`, classes (`[a-z^-]`, `\d \w \s` and their opposites), groups (named and
 * unnamed, none captures), alternatives, `* + ? {n,m}` greedy, lazy or possessive (the same
 * thing when the whole text is to match), `^ $` at the ends. Escapes as in Java's expressions.
 */
import {Refusal} from '#server/base/errors.ts';

/** Code points [from, to], both included. */
export type CodeRange = readonly [number, number];

export type PatternNode =
  | {readonly kind: 'empty'}
  | {readonly kind: 'class'; readonly ranges: readonly CodeRange[]; readonly negated: boolean}
  | {readonly kind: 'sequence' | 'choice'; readonly parts: readonly PatternNode[]}
  | {
      readonly kind: 'repeat';
      readonly of: PatternNode;
      readonly min: number;
      /** undefined: without end. */
      readonly max: number | undefined;
    };

export interface ParsedPattern {
  readonly root: PatternNode;
  /** How many choices there are to take back: alternatives, repetitions of no fixed number. */
  readonly choices: number;
}

const repeatMax = 1_000;
const depthMax = 100;
const lastCodePoint = 0x10ffff;
const digits: readonly CodeRange[] = [[0x30, 0x39]];
const words: readonly CodeRange[] = [
  [0x30, 0x39],
  [0x41, 0x5a],
  [0x5f, 0x5f],
  [0x61, 0x7a],
];
const spaces: readonly CodeRange[] = [
  [0x09, 0x0d],
  [0x20, 0x20],
];
const lineEnds: readonly CodeRange[] = [
  [0x0a, 0x0a],
  [0x0d, 0x0d],
  [0x85, 0x85],
  [0x2028, 0x2029],
];
const controls: Readonly<Record<string, number>> = {t: 9, n: 10, r: 13, f: 12, a: 7, e: 27};

/** @throws {Refusal} `argument`. */
export function parsePattern(source: string): ParsedPattern {
  const parser = new PatternParser(source);
  const root = parser.choice(0);
  if (!parser.atEnd) throw parser.refusal('a ) without its (');
  return {root, choices: parser.choices};
}

class PatternParser {
  choices = 0;
  readonly #characters: readonly string[];
  #at = 0;

  constructor(source: string) {
    this.#characters = [...source];
  }

  get atEnd(): boolean {
    return this.#at >= this.#characters.length;
  }

  refusal(what: string): Refusal {
    const pattern = this.#characters.join('').slice(0, 80);
    return new Refusal('argument', `the pattern '${pattern}' has ${what} at ${this.#at + 1}`);
  }

  choice(depth: number): PatternNode {
    if (depth > depthMax) throw this.refusal('too many groups inside each other');
    const parts = [this.#sequence(depth)];
    while (this.#take('|')) parts.push(this.#sequence(depth));
    if (parts.length > 1) this.choices += 1;
    return parts.length === 1 ? (parts[0] as PatternNode) : {kind: 'choice', parts};
  }

  #sequence(depth: number): PatternNode {
    const parts: PatternNode[] = [];
    while (!this.atEnd && this.#peek() !== '|' && this.#peek() !== ')') {
      const before = this.choices;
      const atom = this.#atom(depth);
      parts.push(this.#repeated(atom, this.choices > before));
    }
    return parts.length === 1 ? (parts[0] as PatternNode) : {kind: 'sequence', parts};
  }

  /** `branches`: a repetition of it can go wrong in more than one way. */
  #repeated(atom: PatternNode, branches: boolean): PatternNode {
    let node = atom;
    for (;;) {
      const bounds = this.#quantifier();
      if (bounds === undefined) return node;
      const {min, max} = bounds;
      if (branches && max !== 1) this.choices += 2;
      else if (min !== max) this.choices += 1;
      node = {kind: 'repeat', of: node, min, max};
      // Lazy and possessive forms match the same whole texts.
      if (!this.#take('?')) this.#take('+');
    }
  }

  #quantifier(): {readonly min: number; readonly max: number | undefined} | undefined {
    if (this.#take('*')) return {min: 0, max: undefined};
    if (this.#take('+')) return {min: 1, max: undefined};
    if (this.#take('?')) return {min: 0, max: 1};
    if (this.#peek() !== '{') return undefined;
    const text = this.#characters.slice(this.#at, this.#at + 16).join('');
    const match = /^\{(\d+)(?:(,)(\d*))?\}/.exec(text);
    if (match === null) throw this.refusal('a { that is no repetition');
    this.#at += match[0].length;
    const min = Number(match[1]);
    const max = match[2] === undefined ? min : match[3] === '' ? undefined : Number(match[3]);
    if (min > repeatMax || (max !== undefined && (max > repeatMax || max < min))) {
      throw this.refusal(`a repetition that is not from 0 to ${repeatMax}`);
    }
    return {min, max};
  }

  #atom(depth: number): PatternNode {
    const character = this.#next();
    switch (character) {
      case '(':
        return this.#group(depth);
      case '[':
        return this.#class();
      case '.':
        return {kind: 'class', ranges: lineEnds, negated: true};
      case '^':
        if (this.#at === 1) return {kind: 'empty'};
        throw this.refusal('a ^ that is not at its beginning');
      case '$':
        if (this.atEnd) return {kind: 'empty'};
        throw this.refusal('a $ that is not at its end');
      case '\\':
        return this.#escape();
      case '*':
      case '+':
      case '?':
        throw this.refusal(`a ${character} with nothing to repeat`);
      default:
        return single(character);
    }
  }

  #group(depth: number): PatternNode {
    if (this.#take('?')) {
      const named = this.#take('<') || (this.#take('P') && this.#take('<'));
      if (named) {
        if (this.#peek() === '=' || this.#peek() === '!') throw this.refusal('a look around');
        while (this.#next() !== '>');
      } else if (!this.#take(':')) throw this.refusal('a group that is not supported');
    }
    const inner = this.choice(depth + 1);
    if (!this.#take(')')) throw this.refusal('a ( without its )');
    return inner;
  }

  #class(): PatternNode {
    const negated = this.#take('^');
    const ranges: CodeRange[] = [];
    for (let first = true; first || this.#peek() !== ']'; first = false) {
      const character = this.#next();
      if (character === '[' || (character === '&' && this.#peek() === '&')) {
        throw this.refusal('a class inside a class');
      }
      const from = character === '\\' ? this.#classEscape(ranges) : codeOf(character);
      if (from === undefined) continue;
      const isRange = this.#peek() === '-' && this.#characters[this.#at + 1] !== ']';
      if (!isRange) {
        ranges.push([from, from]);
        continue;
      }
      this.#next();
      const end = this.#next();
      const to = end === '\\' ? this.#classEscape(ranges) : codeOf(end);
      if (to === undefined || to < from) throw this.refusal('a range that runs backwards');
      ranges.push([from, to]);
    }
    this.#next();
    return {kind: 'class', ranges, negated};
  }

  /** One character, or undefined when a whole class was added. */
  #classEscape(into: CodeRange[]): number | undefined {
    const node = this.#escape();
    if (node.kind !== 'class') throw this.refusal('an escape that is no character');
    const [only] = node.ranges;
    if (!node.negated && node.ranges.length === 1 && only !== undefined && only[0] === only[1]) {
      return only[0];
    }
    into.push(...(node.negated ? opposite(node.ranges) : node.ranges));
    return undefined;
  }

  #escape(): PatternNode {
    const character = this.#next();
    const lower = character.toLowerCase();
    const negated = character !== lower;
    if (lower === 'd') return {kind: 'class', ranges: digits, negated};
    if (lower === 'w') return {kind: 'class', ranges: words, negated};
    if (lower === 's') return {kind: 'class', ranges: spaces, negated};
    if (character === 'x') return this.#codePoint(2);
    if (character === 'u') return this.#codePoint(4);
    const control = controls[character];
    if (control !== undefined) return {kind: 'class', ranges: [[control, control]], negated: false};
    if (/[1-9k]/.test(character)) throw this.refusal('a back reference');
    if (/[a-zA-Z0]/.test(character)) throw this.refusal(`an escape \\${character}`);
    return single(character);
  }

  #codePoint(length: number): PatternNode {
    let text = '';
    for (let at = 0; at < length; at++) text += this.#next();
    if (!/^[0-9a-fA-F]+$/.test(text)) throw this.refusal('an escape without its digits');
    const code = Number.parseInt(text, 16);
    return {kind: 'class', ranges: [[code, code]], negated: false};
  }

  #peek(): string | undefined {
    return this.#characters[this.#at];
  }

  #next(): string {
    const character = this.#characters[this.#at];
    if (character === undefined) throw this.refusal('an end where more should follow');
    this.#at++;
    return character;
  }

  #take(character: string): boolean {
    if (this.#peek() !== character) return false;
    this.#at++;
    return true;
  }
}

function single(character: string): PatternNode {
  const code = codeOf(character);
  return {kind: 'class', ranges: [[code, code]], negated: false};
}

function codeOf(character: string): number {
  return character.codePointAt(0) ?? 0;
}

/** The code points in none of the ranges, which are in order. */
function opposite(ranges: readonly CodeRange[]): CodeRange[] {
  const others: CodeRange[] = [];
  let from = 0;
  for (const [start, end] of ranges) {
    if (start > from) others.push([from, start - 1]);
    from = end + 1;
  }
  if (from <= lastCodePoint) others.push([from, lastCodePoint]);
  return others;
}
