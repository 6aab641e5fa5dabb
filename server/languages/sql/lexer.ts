/**
 * Text to tokens, in one pass over the char codes.
 *
 * Tokens live in parallel arrays, not objects: a statement of a megabyte has hundreds of thousands
 * of them. Nothing is decoded here; the parser reads names, strings and numbers from the text when
 * it needs them. A lexical error ends the tokens with a `bad` one and its reason, so that an
 * earlier mistake of grammar is reported first.
 *
 * Comments are `-- ` up to the end of the line (the space is needed: `1--1` subtracts a negative)
 * and slash-star, which do not nest.
 */

import {baseKinds, type Tokens as TokensOf} from '../token-cursor.ts';
import type {Lexeme, SymbolText} from './keyword.ts';
import {foldHash, hashStart, keywordOf} from './keyword.ts';

/** Kinds of tokens. `symbol` and `word` are told apart by their lexeme: a keyword, or ''. */
export const TokenKind = {
  ...baseKinds,
  integer: 5,
  real: 6,
  rid: 7,
  /** `$name`. */
  variable: 8,
  /** `$1`. */
  numbered: 9,
  /** `@name`. */
  attribute: 10,
  symbol: 11,
} as const;

export type Tokens = TokensOf<Lexeme>;

/** Cost: linear. Memory: 9 bytes and a pointer a character of `text`. */
export function tokenize(text: string): Tokens {
  return new Lexer(text).run();
}

const nameStart = 1;
const digit = 2;
const space = 4;
/** Classes of the ASCII characters; beyond ASCII see `isNamePart` and `isSpace`. */
const classes: Uint8Array = (() => {
  const table = new Uint8Array(128);
  for (let c = 0; c < 128; c++) {
    const letter = (c >= 65 && c <= 90) || (c >= 97 && c <= 122) || c === 95;
    if (letter) table[c] = nameStart;
    if (c >= 48 && c <= 57) table[c] = digit;
    if (c === 32 || (c >= 9 && c <= 13)) table[c] = space;
  }
  return table;
})();

function isSpace(c: number): boolean {
  if (c < 128) return classes[c] === space;
  return c === 0xa0 || c === 0xfeff || c === 0x2028 || c === 0x2029 || c === 0x3000;
}

/** Beyond the end of the text `c` is NaN, which is no character. */
function isBeyondAscii(c: number): boolean {
  return c >= 128 && !isSpace(c);
}

function isNameStart(c: number): boolean {
  return c < 128 ? classes[c] === nameStart : isBeyondAscii(c);
}

function isNamePart(c: number): boolean {
  return c < 128 ? classes[c] === nameStart || classes[c] === digit : isBeyondAscii(c);
}

function isDigit(c: number): boolean {
  return c >= 48 && c <= 57;
}

/** Symbols that begin no longer one, by char code. */
const loneSymbols: readonly (SymbolText | undefined)[] = Array.from({length: 128}, (_, c) => {
  const lone: readonly SymbolText[] = ['(', ')', '[', ']', '{', '}', ',', ';', ':'];
  return lone.find(symbol => symbol.charCodeAt(0) === c);
});

class Lexer {
  readonly #text: string;
  readonly #kinds: Uint8Array;
  readonly #starts: Uint32Array;
  readonly #ends: Uint32Array;
  readonly #lexemes: (Lexeme | '')[] = [];
  #count = 0;
  #at = 0;
  #problem = '';

  constructor(text: string) {
    this.#text = text;
    this.#kinds = new Uint8Array(text.length + 1);
    this.#starts = new Uint32Array(text.length + 1);
    this.#ends = new Uint32Array(text.length + 1);
  }

  run(): Tokens {
    while (this.#skipBlank() && this.#token()) {
      // Each turn takes at least one character.
    }
    if (this.#problem === '') this.#push(TokenKind.end, this.#text.length, this.#text.length, '');
    return {
      count: this.#count,
      kinds: this.#kinds,
      starts: this.#starts,
      ends: this.#ends,
      lexemes: this.#lexemes,
      problem: this.#problem,
    };
  }

  #push(kind: number, start: number, end: number, lexeme: Lexeme | ''): void {
    const i = this.#count++;
    this.#kinds[i] = kind;
    this.#starts[i] = start;
    this.#ends[i] = end;
    this.#lexemes.push(lexeme);
    this.#at = end;
  }

  /** Ends the tokens. */
  #bad(start: number, end: number, problem: string): false {
    this.#push(TokenKind.bad, start, end, '');
    this.#problem = problem;
    return false;
  }

  /** Moves to the next token; false at the end or after an unfinished comment. */
  #skipBlank(): boolean {
    const text = this.#text;
    let at = this.#at;
    for (;;) {
      const c = text.charCodeAt(at);
      if (isSpace(c)) {
        at++;
      } else if (c === 47 && text.charCodeAt(at + 1) === 42) {
        const end = text.indexOf('*/', at + 2);
        if (end === -1) return this.#bad(at, text.length, 'a comment that is never closed');
        at = end + 2;
      } else if (c === 45 && this.#isLineComment(at)) {
        while (at < text.length && !isLineEnd(text.charCodeAt(at))) at++;
      } else {
        this.#at = at;
        return at < text.length;
      }
    }
  }

  /** `-- `, but not the tail of the arrow `<-- `. */
  #isLineComment(at: number): boolean {
    const text = this.#text;
    if (text.charCodeAt(at + 1) !== 45 || text.charCodeAt(at - 1) === 60) return false;
    return at + 2 >= text.length || isSpace(text.charCodeAt(at + 2));
  }

  #token(): boolean {
    const start = this.#at;
    const c = this.#text.charCodeAt(start);
    const lone = loneSymbols[c];
    if (lone !== undefined) {
      this.#push(TokenKind.symbol, start, start + 1, lone);
      return true;
    }
    if (isNameStart(c)) return this.#word(start);
    if (isDigit(c)) return this.#number(start);
    switch (c) {
      case 34:
      case 39:
        return this.#string(start, c);
      case 96:
        return this.#quoted(start);
      case 36:
        return this.#prefixed(start, TokenKind.variable, "a name after '$'");
      case 64:
        return this.#prefixed(start, TokenKind.attribute, "a name after '@'");
      case 35:
        return this.#rid(start);
      case 46:
        if (this.#startsFraction(start)) return this.#number(start);
        return this.#symbol(start, c);
      default:
        return this.#symbol(start, c);
    }
  }

  #word(start: number): boolean {
    const text = this.#text;
    let end = start;
    let hash = hashStart;
    for (let c = text.charCodeAt(end); isNamePart(c); c = text.charCodeAt(++end)) {
      hash = foldHash(hash, c);
    }
    this.#push(TokenKind.word, start, end, keywordOf(text, start, end, hash) ?? '');
    return true;
  }

  #nameEnd(start: number): number {
    let end = start;
    while (end < this.#text.length && isNamePart(this.#text.charCodeAt(end))) end++;
    return end;
  }

  #prefixed(start: number, kind: number, wanted: string): boolean {
    const end = this.#nameEnd(start + 1);
    if (end === start + 1) return this.#bad(start, end, `expected ${wanted}`);
    const digits = kind === TokenKind.variable && isDigit(this.#text.charCodeAt(start + 1));
    this.#push(digits ? TokenKind.numbered : kind, start, end, '');
    return true;
  }

  /** Strings end at their own quote, unless it is doubled or escaped by a backslash. */
  #string(start: number, quote: number): boolean {
    const text = this.#text;
    for (let at = start + 1; at < text.length; at++) {
      const c = text.charCodeAt(at);
      if (c === 92) {
        at++;
      } else if (c === quote) {
        if (text.charCodeAt(at + 1) !== quote) {
          this.#push(TokenKind.string, start, at + 1, '');
          return true;
        }
        at++;
      }
    }
    return this.#bad(start, text.length, 'a string that is never closed');
  }

  #quoted(start: number): boolean {
    const text = this.#text;
    let at = start + 1;
    for (; at < text.length; at++) {
      const c = text.charCodeAt(at);
      if (c === 92) at++;
      else if (c === 96) {
        if (text.charCodeAt(at + 1) !== 96) break;
        at++;
      }
    }
    if (at >= text.length)
      return this.#bad(start, text.length, 'a quoted name that is never closed');
    if (at === start + 1) return this.#bad(start, at + 1, 'a quoted name cannot be empty');
    this.#push(TokenKind.quoted, start, at + 1, '');
    return true;
  }

  /** `.5` is a number unless the dot follows what a property can be taken of. */
  #startsFraction(start: number): boolean {
    if (!isDigit(this.#text.charCodeAt(start + 1))) return false;
    return this.#count === 0 || this.#ends[this.#count - 1] !== start;
  }

  /** Digits, fraction, exponent, suffix; `1.asString()` and `0..5` leave their dots alone. */
  #number(start: number): boolean {
    const text = this.#text;
    if ((text.charCodeAt(start + 1) | 32) === 120) return this.#hexadecimal(start);
    let at = this.#digitsEnd(start);
    let real = false;
    if (text.charCodeAt(at) === 46 && isDigit(text.charCodeAt(at + 1))) {
      real = true;
      at = this.#digitsEnd(at + 1);
    }
    if ((text.charCodeAt(at) | 32) === 101) {
      const sign = text.charCodeAt(at + 1);
      const digits = sign === 43 || sign === 45 ? at + 2 : at + 1;
      if (isDigit(text.charCodeAt(digits))) {
        real = true;
        at = this.#digitsEnd(digits);
      }
    }
    const suffix = text.charCodeAt(at) | 32;
    // f and d make a real, l marks a long; all three may be written after an integer.
    if (suffix === 102 || suffix === 100) {
      real = true;
      at++;
    } else if (suffix === 108 && !real) at++;
    const end = this.#nameEnd(at);
    if (end > at) return this.#bad(start, end, 'a name cannot start with a digit');
    this.#push(real ? TokenKind.real : TokenKind.integer, start, at, '');
    return true;
  }

  /** `0x1F`. */
  #hexadecimal(start: number): boolean {
    const end = this.#nameEnd(start + 2);
    const digits = this.#text.slice(start + 2, end);
    if (!/^[0-9a-f]+$/i.test(digits)) {
      return this.#bad(start, end, 'a hexadecimal number has the digits 0 to 9 and A to F');
    }
    this.#push(TokenKind.integer, start, end, '');
    return true;
  }

  #digitsEnd(start: number): number {
    let end = start;
    while (isDigit(this.#text.charCodeAt(end))) end++;
    return end;
  }

  /** `#bucket:position`, each with an optional minus. */
  #rid(start: number): boolean {
    const text = this.#text;
    const bucket = start + (text.charCodeAt(start + 1) === 45 ? 2 : 1);
    const colon = this.#digitsEnd(bucket);
    const position = colon + (text.charCodeAt(colon + 1) === 45 ? 2 : 1);
    const end = this.#digitsEnd(position);
    if (colon === bucket || text.charCodeAt(colon) !== 58 || end === position) {
      return this.#bad(start, Math.max(start + 1, colon), "a record id looks like '#12:345'");
    }
    this.#push(TokenKind.rid, start, end, '');
    return true;
  }

  #symbol(start: number, c: number): boolean {
    const symbol = symbolAt(this.#text, start, c);
    if (symbol === undefined) {
      const shown = c < 32 || c === 127 ? `U+${c.toString(16).toUpperCase().padStart(4, '0')}` : '';
      const reason =
        shown === '' ? 'a character that means nothing here' : `the character ${shown}`;
      return this.#bad(start, start + 1, reason);
    }
    this.#push(TokenKind.symbol, start, start + symbol.length, symbol);
    return true;
  }
}

function isLineEnd(c: number): boolean {
  return c === 10 || c === 13;
}

const one: Readonly<Record<number, SymbolText>> = {
  37: '%',
  38: '&',
  94: '^',
  126: '~',
  43: '+',
  45: '-',
  42: '*',
  47: '/',
  61: '=',
  33: '!',
  63: '?',
  124: '|',
  46: '.',
  60: '<',
  62: '>',
};

const assigned: Readonly<Record<number, SymbolText>> = {
  43: '+=',
  45: '-=',
  42: '*=',
  47: '/=',
  61: '==',
  33: '!=',
  60: '<=',
  62: '>=',
};

/** The longest symbol at `start`, whose first char code is `c`. */
function symbolAt(text: string, start: number, c: number): SymbolText | undefined {
  const next = text.charCodeAt(start + 1);
  if (next === 61) {
    if (c === 60 && text.charCodeAt(start + 2) === 62) return '<=>';
    const symbol = assigned[c];
    if (symbol !== undefined) return symbol;
  }
  if (c === 60) return next === 62 ? '<>' : next === 60 ? '<<' : '<';
  if (c === 62) {
    if (next !== 62) return '>';
    return text.charCodeAt(start + 2) === 62 ? '>>>' : '>>';
  }
  if (c === 46 && next === 46) return text.charCodeAt(start + 2) === 46 ? '...' : '..';
  if (c === 63 && next === 63) return '??';
  if (c === 124 && next === 124) return '||';
  return one[c];
}
