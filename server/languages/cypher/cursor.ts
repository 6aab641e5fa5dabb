/**
 * The parser's place in the tokens of a Cypher text; token-cursor.ts says how it moves.
 *
 * Refusals carry the words of the openCypher suite in their detail: `type` (SyntaxError, ...) and
 * `reason` (UndefinedVariable, ...).
 */
import {Refusal} from '#server/base/errors.ts';
import type {ParseLimits} from '../limits.ts';
import {placeOf} from '../place.ts';
import {type Detail, TokenCursor} from '../token-cursor.ts';
import type {Query} from './ast.ts';
import type {Lexeme} from './keyword.ts';
import {type LexicalReason, TokenKind, type Tokens} from './lexer.ts';

/** A query's parser, handed to the cursor so that expressions can hold sub-queries. */
export type QueryRule = (cursor: Cursor) => Query;

export class Cursor extends TokenCursor<Lexeme> {
  readonly queryRule: QueryRule;
  readonly #lexicalReason: LexicalReason;

  /** @param options - `failure`: token at which the first run stopped; -1 in the first run. */
  constructor(options: {
    readonly text: string;
    readonly tokens: Tokens & {readonly reason: LexicalReason};
    readonly limits: ParseLimits;
    readonly queryRule: QueryRule;
    readonly failure: number;
  }) {
    super(options);
    this.queryRule = options.queryRule;
    this.#lexicalReason = options.tokens.reason;
  }

  override nameText(): string {
    const raw = this.raw;
    return this.kind === TokenKind.quoted ? raw.slice(1, -1).replaceAll('``', '`') : raw;
  }

  /** Takes a keyword of several words, if all of them stand here. */
  acceptWords(...words: readonly Lexeme[]): boolean {
    const all = words.every((word, ahead) => this.lexemeAhead(ahead) === word);
    if (!all) {
      this.note(words.join(' '));
      return false;
    }
    for (const _ of words) this.advance();
    return true;
  }

  /** Refuses for one of the suite's reasons. */
  refuse(offset: number, reason: string, message: string): never {
    return this.reject(offset, message, {reason});
  }

  protected override refusal(offset: number, what: string, detail: Detail): Refusal {
    const reason = detail['reason'] ?? this.#lexicalReason;
    return syntaxRefusal(this.text, offset, what, {...detail, reason});
  }
}

/** A text that is no Cypher, or means nothing. */
export function syntaxRefusal(
  text: string,
  offset: number,
  what: string,
  detail: Detail & {readonly reason: string},
): Refusal {
  const place = placeOf(text, offset);
  const {line, column} = place;
  return new Refusal(
    'cypher.syntax',
    `Cypher syntax error at line ${line}, column ${column}: ${what}`,
    {place, detail: {line, column, type: 'SyntaxError', ...detail}},
  );
}
