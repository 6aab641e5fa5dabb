/**
 * The parser's place in the tokens of a SQL text; token-cursor.ts says how it moves.
 */

import {Refusal} from '#server/base/errors.ts';
import type {ParseLimits} from '../limits.ts';
import {placeOf} from '../place.ts';
import {type Detail, TokenCursor} from '../token-cursor.ts';
import type {Statement} from './ast-statement.ts';
import type {Lexeme} from './keyword.ts';
import type {Tokens} from './lexer.ts';
import {TokenKind} from './lexer.ts';

/** A statement's parser, handed to the cursor so that expressions can hold subqueries. */
export type StatementRule = (cursor: Cursor) => Statement;

export class Cursor extends TokenCursor<Lexeme> {
  readonly statementRule: StatementRule;
  /** How many `?` have been met. */
  parameterCount = 0;

  /** @param options - `failure`: token at which the first run stopped; -1 in the first run. */
  constructor(options: {
    readonly text: string;
    readonly tokens: Tokens;
    readonly limits: ParseLimits;
    readonly statementRule: StatementRule;
    readonly failure: number;
  }) {
    super(options);
    this.statementRule = options.statementRule;
  }

  /** The current word or quoted name, without its quotes. */
  override nameText(): string {
    const raw = this.raw;
    if (this.kind !== TokenKind.quoted) return raw;
    const inner = raw.slice(1, -1);
    return inner.includes('`') || inner.includes('\\')
      ? inner.replace(/``|\\([`\\])/g, (_, escaped?: string) => escaped ?? '`')
      : inner;
  }

  protected override refusal(offset: number, what: string, detail: Detail): Refusal {
    const place = placeOf(this.text, offset);
    const {line, column} = place;
    const message = `SQL syntax error at line ${line}, column ${column}: ${what}`;
    return new Refusal('sql.syntax', message, {place, detail: {line, column, ...detail}});
  }
}
