/**
 * Cypher text to tokens, in one pass over the char codes.
 *
 * No word is reserved: the lexeme of a bare word says which keyword it spells, and the parser
 * decides where it is one. Symbols are taken one by one (`<-[`, `]->`), but for those that can mean
 * nothing else. Nothing is decoded here. A lexical error ends the tokens with a `bad` one.
 */
import {baseKinds, type Tokens as TokensOf} from '../token-cursor.ts';
import {type Lexeme, lexemeOf} from './keyword.ts';

export const TokenKind = {
  ...baseKinds,
  integer: 5,
  real: 6,
  /** `$name`, `$1`, or a dollar and a name in backquotes. */
  parameter: 7,
  symbol: 8,
} as const;

export type Tokens = TokensOf<Lexeme>;

/** What is wrong with a text before it has any grammar, in the words of the openCypher suite. */
export type LexicalReason =
  | 'UnexpectedSyntax'
  | 'InvalidUnicodeCharacter'
  | 'InvalidNumberLiteral'
  | 'InvalidUnicodeLiteral';

/** Cost: linear. Memory: 9 bytes and a pointer a character of `text`. */
export function tokenize(text: string): Tokens & {readonly reason: LexicalReason} {
  return new Lexer(text).run();
}

const blank = /[\p{Zs}\s\u001c-\u001f]/u;
const namePart = /[\p{ID_Continue}\p{Sc}]/u;
const nameStart = /[\p{ID_Start}\p{Pc}]/u;

class Lexer {
  readonly #text: string;
  readonly #kinds: Uint8Array;
  readonly #starts: Uint32Array;
  readonly #ends: Uint32Array;
  readonly #lexemes: (Lexeme | '')[] = [];
  #count = 0;
  #at = 0;
  #problem = '';
  #reason: LexicalReason = 'UnexpectedSyntax';

  constructor(text: string) {
    this.#text = text;
    this.#kinds = new Uint8Array(text.length + 1);
    this.#starts = new Uint32Array(text.length + 1);
    this.#ends = new Uint32Array(text.length + 1);
  }

  run(): Tokens & {readonly reason: LexicalReason} {
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
      reason: this.#reason,
    };
  }

  #push(kind: number, start: number, end: number, lexeme: Lexeme | ''): true {
    const i = this.#count++;
    this.#kinds[i] = kind;
    this.#starts[i] = start;
    this.#ends[i] = end;
    this.#lexemes.push(lexeme);
    this.#at = end;
    return true;
  }

  #bad(start: number, problem: string, reason: LexicalReason = 'UnexpectedSyntax'): false {
    this.#push(TokenKind.bad, start, Math.min(start + 1, this.#text.length), '');
    this.#problem = problem;
    this.#reason = reason;
    return false;
  }

  #skipBlank(): boolean {
    const text = this.#text;
    let at = this.#at;
    while (at < text.length) {
      const c = text.charCodeAt(at);
      if (c === 32 || c === 10 || c === 13 || c === 9) at++;
      else if (c === 47 && text.charCodeAt(at + 1) === 47) {
        const end = text.indexOf('\n', at);
        at = end === -1 ? text.length : end + 1;
      } else if (c === 47 && text.charCodeAt(at + 1) === 42) {
        const end = text.indexOf('*/', at + 2);
        if (end === -1) return this.#bad(at, 'a comment that is never closed');
        at = end + 2;
      } else if ((c < 32 || c > 127) && blank.test(text.charAt(at))) at++;
      else break;
    }
    this.#at = at;
    return at < text.length;
  }

  #token(): boolean {
    const start = this.#at;
    const text = this.#text;
    const character = String.fromCodePoint(text.codePointAt(start) ?? 0);
    if (nameStart.test(character)) return this.#word(start);
    if (isDigit(text.charCodeAt(start))) return this.#number(start);
    switch (character) {
      case "'":
      case '"':
        return this.#string(start, character);
      case '`':
        return this.#quoted(start, start, TokenKind.quoted);
      case '$':
        return this.#parameter(start);
      case '.':
        if (isDigit(text.charCodeAt(start + 1)) && !this.#continues(start)) {
          return this.#number(start);
        }
        break;
      default:
    }
    const two = lexemeOf(text.slice(start, start + 2));
    if (two !== undefined) return this.#push(TokenKind.symbol, start, start + 2, two);
    const one = lexemeOf(character);
    if (one !== undefined) return this.#push(TokenKind.symbol, start, start + 1, one);
    const shown = `U+${(text.codePointAt(start) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
    const problem = `the character ${shown}, which means nothing here`;
    const plain = character.charCodeAt(0) < 128;
    return this.#bad(start, problem, plain ? 'UnexpectedSyntax' : 'InvalidUnicodeCharacter');
  }

  /** Whether a dot follows what a property can be taken of, or a dot of a range. */
  #continues(start: number): boolean {
    const last = this.#count - 1;
    if (last < 0 || this.#ends[last] !== start) return false;
    const kind = this.#kinds[last];
    if (kind !== TokenKind.symbol) return kind !== TokenKind.string;
    const lexeme = this.#lexemes[last];
    return lexeme === ')' || lexeme === ']' || lexeme === '}';
  }

  #nameEnd(start: number): number {
    const text = this.#text;
    let at = start;
    while (at < text.length) {
      const c = text.charCodeAt(at);
      const isAscii = (c >= 97 && c <= 122) || (c >= 65 && c <= 90) || isDigit(c) || c === 95;
      if (isAscii) {
        at++;
        continue;
      }
      if (c < 128) break;
      const character = String.fromCodePoint(text.codePointAt(at) ?? 0);
      if (!namePart.test(character)) break;
      at += character.length;
    }
    return at;
  }

  #word(start: number): boolean {
    const end = this.#nameEnd(start);
    const lexeme = lexemeOf(this.#text.slice(start, end)) ?? '';
    return this.#push(TokenKind.word, start, end, lexeme);
  }

  #parameter(start: number): boolean {
    if (this.#text.charAt(start + 1) === '`') {
      return this.#quoted(start, start + 1, TokenKind.parameter);
    }
    const end = this.#nameEnd(start + 1);
    if (end === start + 1) return this.#bad(start, "expected a name after '$'");
    return this.#push(TokenKind.parameter, start, end, '');
  }

  #quoted(start: number, open: number, kind: number): boolean {
    const text = this.#text;
    let at = open + 1;
    for (;;) {
      at = text.indexOf('`', at);
      if (at === -1) return this.#bad(start, 'a quoted name that is never closed');
      if (text.charAt(at + 1) !== '`') break;
      at += 2;
    }
    return this.#push(kind, start, at + 1, '');
  }

  #string(start: number, quote: string): boolean {
    const text = this.#text;
    for (let at = start + 1; at < text.length; at++) {
      const character = text.charAt(at);
      if (character === '\\') {
        const problem = escapeProblem(text, at);
        if (problem !== undefined) return this.#bad(at, problem, 'InvalidUnicodeLiteral');
        at++;
      } else if (character === quote) return this.#push(TokenKind.string, start, at + 1, '');
    }
    return this.#bad(start, 'a string that is never closed');
  }

  /** `12`, `0x1F`, `0o17`, `1.5`, `.5`, `1e9`; `1..3` leaves the dots alone. */
  #number(start: number): boolean {
    const text = this.#text;
    const rest = text.slice(start, start + 2).toLowerCase();
    if (rest === '0x' || rest === '0o') {
      const end = this.#nameEnd(start + 2);
      const digits = text.slice(start + 2, end);
      const known = rest === '0x' ? /^[0-9a-f]+$/i : /^[0-7]+$/;
      if (!known.test(digits)) return this.#badNumber(start);
      return this.#push(TokenKind.integer, start, end, '');
    }
    let at = this.#digitsEnd(start);
    let real = false;
    if (text.charAt(at) === '.' && isDigit(text.charCodeAt(at + 1))) {
      real = true;
      at = this.#digitsEnd(at + 1);
    }
    const exponent = /^[eE][+-]?\d/.exec(text.slice(at, at + 3));
    if (exponent !== null) {
      real = true;
      at = this.#digitsEnd(at + exponent[0].length);
    }
    if (this.#nameEnd(at) > at) return this.#badNumber(start);
    return this.#push(real ? TokenKind.real : TokenKind.integer, start, at, '');
  }

  #badNumber(start: number): false {
    return this.#bad(start, 'a number with characters that are no digits', 'InvalidNumberLiteral');
  }

  #digitsEnd(start: number): number {
    let end = start;
    while (isDigit(this.#text.charCodeAt(end))) end++;
    return end;
  }
}

function isDigit(c: number): boolean {
  return c >= 48 && c <= 57;
}

/** Why the escape at `at` is none, or undefined. */
function escapeProblem(text: string, at: number): string | undefined {
  const letter = text.charAt(at + 1);
  const wanted = letter === 'u' ? 4 : letter === 'U' ? 8 : 0;
  if (wanted === 0) return undefined;
  const digits = text.slice(at + 2, at + 2 + wanted);
  if (new RegExp(`^[0-9a-fA-F]{${wanted}}$`).test(digits)) {
    if (Number.parseInt(digits, 16) <= 0x10_ffff) return undefined;
  }
  return `\\${letter} needs ${wanted} hexadecimal digits of a character`;
}
