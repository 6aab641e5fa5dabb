/**
 * What a server command is given, and how its words are read.
 */
import type {MapValue} from '#server/model/value.ts';
import type {Principal} from '#server/security/principal.ts';
import type {Exchange} from '../message/exchange.ts';
import {PlainFailure} from '../message/failure.ts';

/** What a command works with. */
export interface CommandCall {
  readonly exchange: Exchange;
  readonly principal: Principal;
  /** The text behind the keywords, trimmed. */
  readonly rest: string;
  /** What came beside the command itself. */
  readonly body: MapValue;
  /** How long a termination may be waited for, in milliseconds. */
  readonly waitMs: number;
}

/** Given by a command that has answered by itself. */
export const answered = Symbol('answered');

/** The fields of an answer that has more than a `result`. */
export class WholeAnswer {
  readonly fields: Readonly<Record<string, unknown>>;

  constructor(fields: Readonly<Record<string, unknown>>) {
    this.fields = fields;
  }
}

/** A command that is known but whose words are wrong. */
export function invalidCommand(syntax?: string): PlainFailure {
  const detail = syntax === undefined ? {} : {detail: `Syntax: ${syntax}`};
  return new PlainFailure(400, 'Server command not valid', detail);
}

/** The first word, and what is behind it without leading blanks. */
export function splitWord(text: string): readonly [string, string] {
  const match = /^(\S*)\s*([^]*)$/.exec(text.trim());
  return [match?.[1] ?? '', match?.[2] ?? ''];
}
