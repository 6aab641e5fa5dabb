/**
 * What a server command is given, and how its words are read.
 */
import type {Principal} from '#server/security/principal.ts';
import type {Exchange} from '../message/exchange.ts';
import {PlainFailure} from '../message/failure.ts';

/** What a command works with. */
export interface CommandCall {
  readonly exchange: Exchange;
  readonly principal: Principal;
  /** The text behind the keywords, trimmed. */
  readonly rest: string;
  /** How long a termination may be waited for, in milliseconds. */
  readonly waitMs: number;
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
