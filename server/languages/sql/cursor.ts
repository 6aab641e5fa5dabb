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
import type {Place} from '#server/base/errors.ts';
import {Refusal} from '#server/base/errors.ts';
import type {Name} from './ast.ts';
import type {Statement} from './ast-statement.ts';
import type {Lexeme} from './keyword.ts';
import type {Tokens} from './lexer.ts';
import {TokenKind} from './lexer.ts';

export interface ParseLimits {
  /** Levels a statement may nest: parentheses, lists, subqueries, chains of operators; <= 500. */
  readonly depthMax: number;
  /** Longest statement or script, in UTF-16 code units. */
  readonly textLengthMax: number;
}

export const defaultLimits: ParseLimits = {depthMax: 400, textLengthMax: 262_144};

/**
 * No setting allows more levels than this: a level takes up to a dozen calls, and a thread's stack
 * of about a megabyte overflows between 700 and 1,000 levels, in code not yet optimized.
 */
const depthCeiling = 500;

/** Ends the first run; never leaves parser.ts. */
export class ParseStop extends Error {
  readonly index: number;
  constructor(index: number) {
    super();
    this.index = index;
  }
}

/** Line and column from 1 of an offset in `text`. Cost: linear in the offset. */
export function placeOf(text: string, offset: number): Place {
  let line = 1;
  let lineStart = 0;
  for (let i = text.indexOf('\n'); i !== -1 && i < offset; i = text.indexOf('\n', i + 1)) {
    line++;
    lineStart = i + 1;
  }
  return {line, column: offset - lineStart + 1};
}

/** A statement's parser, handed to the cursor so that expressions can hold subqueries. */
export type StatementRule = (cursor: Cursor) => Statement;

export class Cursor {
  readonly text: string;
  readonly statementRule: StatementRule;
  /** Index of the current token. */
  index = 0;
  /** How many `?` have been met. */
  parameterCount = 0;
  readonly #tokens: Tokens;
  readonly #depthMax: number;
  readonly #failure: number;
  readonly #notes = new Set<string>();
  #depth = 0;
  #peak = 0;

  /** @param failure - Token at which the first run stopped; -1 in the first run. */
  constructor(options: {
    readonly text: string;
    readonly tokens: Tokens;
    readonly limits: ParseLimits;
    readonly statementRule: StatementRule;
    readonly failure: number;
  }) {
    this.text = options.text;
    this.#tokens = options.tokens;
    this.#depthMax = Math.min(options.limits.depthMax, depthCeiling);
    this.statementRule = options.statementRule;
    this.#failure = options.failure;
  }

  /** Kind of the current token. */
  get kind(): number {
    return this.#tokens.kinds[this.index] ?? TokenKind.end;
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

  /** Kind of the token `ahead` after the current one. */
  kindAhead(ahead: number): number {
    return this.#tokens.kinds[this.index + ahead] ?? TokenKind.end;
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

  /** As `isPair`, without expecting it. */
  isPairAhead(first: Lexeme, second: Lexeme): boolean {
    return this.lexeme === first && this.lexemeAhead(1) === second;
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
    if (this.kind === TokenKind.word && this.raw.toLowerCase() === word.toLowerCase()) {
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
    return this.kind === TokenKind.word || this.kind === TokenKind.quoted;
  }

  /** Takes a name; keywords are names where nothing else is asked for. */
  name(what: string): Name {
    if (!this.isName()) {
      this.note(what);
      this.fail();
    }
    const name = {text: this.nameText(), at: this.at};
    this.advance();
    return name;
  }

  /** The current word or quoted name, without its quotes. */
  nameText(): string {
    const raw = this.raw;
    if (this.kind !== TokenKind.quoted) return raw;
    const inner = raw.slice(1, -1);
    return inner.includes('`') || inner.includes('\\')
      ? inner.replace(/``|\\([`\\])/g, (_, escaped?: string) => escaped ?? '`')
      : inner;
  }

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

  #tooDeep(): never {
    this.reject(this.at, `the statement nests deeper than ${this.#depthMax} levels`);
  }

  /** Refuses the text for a reason that no other token could cure. */
  reject(offset: number, message: string): never {
    const place = placeOf(this.text, offset);
    throw new Refusal(
      'sql.syntax',
      `SQL syntax error at line ${place.line}, column ${place.column}: ${message}`,
      {place, detail: {line: place.line, column: place.column}},
    );
  }

  /** Refuses the current token. */
  fail(): never {
    if (this.#failure === -1) throw new ParseStop(this.index);
    if (this.kind === TokenKind.bad) this.reject(this.at, this.#tokens.problem);
    const found = this.#found();
    const expected = describeExpected(this.#notes);
    const near = this.kind === TokenKind.word ? nearest(this.raw, this.#notes) : undefined;
    const hint = near === undefined ? '' : `; did you mean ${near}?`;
    const place = placeOf(this.text, this.at);
    throw new Refusal(
      'sql.syntax',
      `SQL syntax error at line ${place.line}, column ${place.column}: ` +
        `found ${found}, expected ${expected}${hint}`,
      {place, detail: {line: place.line, column: place.column, found, expected}},
    );
  }

  #found(): string {
    if (this.kind === TokenKind.end) return 'the end of the text';
    const raw = this.raw;
    const shown = raw.length > 40 ? `${raw.slice(0, 37)}...` : raw;
    return this.kind === TokenKind.string || this.kind === TokenKind.quoted ? shown : `'${shown}'`;
  }
}

/** At most this many expectations are listed; the rest would not be read. */
const expectedMax = 14;

function describeExpected(notes: ReadonlySet<string>): string {
  const all = [...notes].map(note => (/^[A-Za-z]/.test(note) ? note : `'${note}'`));
  if (all.length === 0) return 'nothing more';
  const listed = all.slice(0, expectedMax);
  if (all.length > expectedMax) return `${listed.join(', ')} and others`;
  const last = listed.pop() ?? '';
  return listed.length === 0 ? last : `${listed.join(', ')} or ${last}`;
}

/** The expected keyword that `found` misspells, if one is close enough. */
function nearest(found: string, notes: ReadonlySet<string>): string | undefined {
  if (found.length > 30) return undefined;
  let best: string | undefined;
  let bestDistance = found.length <= 4 ? 2 : 3;
  for (const note of notes) {
    const word = note.split(' ')[0] ?? '';
    if (word !== word.toUpperCase() || !/^[A-Z]/.test(word)) continue;
    const distance = editDistance(found.toUpperCase(), word);
    if (distance < bestDistance) {
      best = note;
      bestDistance = distance;
    }
  }
  return best;
}

/** Insertions, deletions, replacements and swaps of neighbours from `a` to `b`. */
export function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({length: b.length + 1}, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let cost = Math.min(
        (last[j] ?? 0) + 1,
        (row[j - 1] ?? 0) + 1,
        (last[j - 1] ?? 0) + (same ? 0 : 1),
      );
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        cost = Math.min(cost, (beforeLast[j - 2] ?? 0) + 1);
      }
      row.push(cost);
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length] ?? 0;
}
