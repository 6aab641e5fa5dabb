/**
 * The parser's place in the tokens: what stands here, take it, or say what was expected.
 *
 * Parsing is deterministic, so what was expected is not collected while a text may still turn out
 * right: the first run only learns at which token it fails, and a second run notes every question
 * asked at that very token. Correct statements pay nothing for good messages.
 *
 * Two guards keep any text from exhausting the stack, here and in everything that later walks the
 * tree: `enter` bounds how deep rules nest, and `grow` bounds how high a tree becomes through
 * chains that nest to the left (`1 + 1 + 1 ...`, `a.b.c ...`) although no rule recurses for them.
 */

import {assert} from '#server/base/assert.ts';
import type {Refusal} from '#server/base/errors.ts';
import {describeExpected, nearestKeyword} from './expectation.ts';
import {depthCeiling, type ParseLimits} from './limits.ts';
import {ParseStop} from './place.ts';

/** Kinds of tokens that every language has; each numbers its own from `baseKindCount` on. */
export const baseKinds = {
  end: 0,
  bad: 1,
  /** A bare word. */
  word: 2,
  /** A name in backquotes: never a keyword. */
  quoted: 3,
  string: 4,
} as const;

/** The tokens of a text, in parallel arrays. */
export interface Tokens<Lexeme extends string> {
  /** Number of tokens, the final `end` or `bad` included. */
  readonly count: number;
  readonly kinds: Uint8Array;
  /** Offsets into the text, in UTF-16 code units; `ends` are exclusive. */
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
  /** The keyword or symbol, '' for all other tokens. */
  readonly lexemes: readonly (Lexeme | '')[];
  /** Why the last token is `bad`; '' when it is `end`. */
  readonly problem: string;
}

/** A name as it is meant, and where it stands. */
export interface NameToken {
  readonly text: string;
  readonly at: number;
}

/** What a refusal says beside its place. */
export type Detail = Readonly<Record<string, string>>;

export abstract class TokenCursor<Lexeme extends string> {
  readonly text: string;
  /** Index of the current token. */
  index = 0;
  readonly #tokens: Tokens<Lexeme>;
  readonly #depthMax: number;
  readonly #columnsMax: number;
  readonly #failure: number;
  readonly #notes = new Set<string>();
  #depth = 0;
  #peak = 0;

  /** @param failure - Token at which the first run stopped; -1 in the first run. */
  constructor(options: {
    readonly text: string;
    readonly tokens: Tokens<Lexeme>;
    readonly limits: ParseLimits;
    readonly failure: number;
  }) {
    this.text = options.text;
    this.#tokens = options.tokens;
    this.#depthMax = Math.min(options.limits.depthMax, depthCeiling);
    this.#columnsMax = options.limits.columnsMax;
    this.#failure = options.failure;
  }

  /** Kind of the current token. */
  get kind(): number {
    return this.#tokens.kinds[this.index] ?? baseKinds.end;
  }

  /** Offset of the current token. */
  get at(): number {
    return this.#tokens.starts[this.index] ?? this.text.length;
  }

  /** Keyword or symbol of the current token, '' for names and literals. */
  get lexeme(): Lexeme | '' {
    return this.#tokens.lexemes[this.index] ?? '';
  }

  /** Text of the current token. */
  get raw(): string {
    return this.text.slice(this.at, this.#tokens.ends[this.index]);
  }

  /** Where the token before the current one ends; 0 at the first. */
  get endBefore(): number {
    return this.#tokens.ends[this.index - 1] ?? 0;
  }

  /** Kind of the token `ahead` after the current one. */
  kindAhead(ahead: number): number {
    return this.#tokens.kinds[this.index + ahead] ?? baseKinds.end;
  }

  lexemeAhead(ahead: number): Lexeme | '' {
    return this.#tokens.lexemes[this.index + ahead] ?? '';
  }

  /** Whether nothing stands between the token `ahead` and the one after it. */
  isJoined(ahead: number): boolean {
    const i = this.index + ahead;
    return this.#tokens.ends[i] === this.#tokens.starts[i + 1];
  }

  is(lexeme: Lexeme): boolean {
    if (this.#tokens.lexemes[this.index] === lexeme) return true;
    if (this.index === this.#failure) this.#notes.add(lexeme);
    return false;
  }

  /** Two words that belong together, such as GROUP BY. */
  isPair(first: Lexeme, second: Lexeme): boolean {
    if (this.lexeme === first && this.lexemeAhead(1) === second) return true;
    if (this.index === this.#failure) this.#notes.add(`${first} ${second}`);
    return false;
  }

  /** Works like `isPair`, without expecting it. */
  isPairAhead(first: Lexeme, second: Lexeme): boolean {
    return this.lexeme === first && this.lexemeAhead(1) === second;
  }

  /** Whether the first run stopped at the token `ahead` after the current one. */
  failsAhead(ahead: number): boolean {
    return this.index + ahead === this.#failure;
  }

  advance(): void {
    assert(this.index < this.#tokens.count - 1, 'the last token is never taken');
    this.index++;
  }

  accept(lexeme: Lexeme): boolean {
    if (!this.is(lexeme)) return false;
    this.advance();
    return true;
  }

  /** The comma behind the last of `count` columns, keys, variables or assignments. */
  acceptAnother(comma: Lexeme, count: number): boolean {
    if (!this.accept(comma)) return false;
    if (count < this.#columnsMax) return true;
    return this.reject(
      this.at,
      `more than ${this.#columnsMax} columns, keys, variables or assignments in a row: ` +
        `'svc.parser.columnsMax' says how many are read`,
    );
  }

  acceptPair(first: Lexeme, second: Lexeme): boolean {
    if (!this.isPair(first, second)) return false;
    this.advance();
    this.advance();
    return true;
  }

  expect(lexeme: Lexeme): void {
    if (!this.accept(lexeme)) this.fail();
  }

  /** Takes a bare word that the table of keywords does not hold, ignoring case. */
  acceptWord(word: string): boolean {
    if (this.kind === baseKinds.word && this.raw.toLowerCase() === word.toLowerCase()) {
      this.advance();
      return true;
    }
    this.note(word);
    return false;
  }

  /** Remembers that `what` would have been welcome here. */
  note(what: string): void {
    if (this.index === this.#failure) this.#notes.add(what);
  }

  isName(): boolean {
    return this.kind === baseKinds.word || this.kind === baseKinds.quoted;
  }

  /** Takes a name; keywords are names where nothing else is asked for. */
  name(what: string): NameToken {
    if (!this.isName()) {
      this.note(what);
      this.fail();
    }
    const name = {text: this.nameText(), at: this.at};
    this.advance();
    return name;
  }

  /** The current word or quoted name, without its quotes. */
  abstract nameText(): string;

  /** The refusal of this language for a text that it cannot read. */
  protected abstract refusal(offset: number, what: string, detail: Detail): Refusal;

  /** One level deeper; every `enter` is followed by a `leave` unless the parse fails. */
  enter(): void {
    if (++this.#depth > this.#peak) this.#peak = this.#depth;
    if (this.#depth > this.#depthMax) this.#tooDeep();
  }

  leave(): void {
    this.#depth--;
  }

  /** Starts to measure a chain; give what it returns to `chainEnd`. */
  chainStart(): number {
    const outer = this.#peak;
    this.#peak = this.#depth;
    return outer;
  }

  /** The tree parsed since `chainStart` got one level higher. */
  grow(): void {
    if (++this.#peak > this.#depthMax) this.#tooDeep();
  }

  chainEnd(outer: number): void {
    if (outer > this.#peak) this.#peak = outer;
  }

  /** Does `work`; says how many levels what it read nests. */
  measured<T>(work: () => T): {readonly made: T; readonly height: number} {
    const outer = this.chainStart();
    const made = work();
    const height = this.#peak - this.#depth;
    this.chainEnd(outer);
    return {made, height};
  }

  #tooDeep(): never {
    this.reject(this.at, `the statement nests deeper than ${this.#depthMax} levels`);
  }

  /** Refuses the text for a reason that no other token could cure. */
  reject(offset: number, message: string, detail: Detail = {}): never {
    throw this.refusal(offset, message, detail);
  }

  /** Refuses the current token. */
  fail(): never {
    if (this.#failure === -1) throw new ParseStop(this.index);
    if (this.kind === baseKinds.bad) this.reject(this.at, this.#tokens.problem);
    const found = this.#found();
    const expected = describeExpected(this.#notes);
    const near = this.kind === baseKinds.word ? nearestKeyword(this.raw, this.#notes) : undefined;
    const hint = near === undefined ? '' : `; did you mean ${near}?`;
    const message = `found ${found}, expected ${expected}${hint}`;
    throw this.refusal(this.at, message, {found, expected});
  }

  #found(): string {
    if (this.kind === baseKinds.end) return 'the end of the text';
    const raw = this.raw;
    const shown = raw.length > 40 ? `${raw.slice(0, 37)}...` : raw;
    return this.kind === baseKinds.string || this.kind === baseKinds.quoted ? shown : `'${shown}'`;
  }
}
