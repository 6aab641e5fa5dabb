/**
 * Statements that tools run: the answer as `{records, count}`, and refusals in the words of tools.
 *
 * The session holds a statement to what the configuration permits, wherever what it does turns up:
 * in its plan, in a function or trigger, at a step of a script.
 */
import {Refusal} from '#server/base/errors.ts';
import type {Value} from '#server/model/value.ts';
import type {ResultCursor, RunRequest} from '#server/session/session.ts';
import {statementRequest} from '#server/session/statement-request.ts';
import {integer, text, withDefault} from './arguments.ts';
import {isPermission, notPermitted, type Permission, permissionNames} from './permissions.ts';
import type {ToolCall} from './tool.ts';
import {ToolRefusal} from './tool-refusal.ts';

export const databaseArgument = text('The name of a database, as list_databases gives it');

/** Always written by a careful client; who leaves it out means Cypher. */
export const languageArgument = {
  ...withDefault(text("The language: 'cypher', 'sql' or 'sqlscript'"), 'cypher'),
  isRequired: true,
};

export const limitArgument = withDefault(integer('Most records of the answer', 1, 100_000), 1_000);

/** What a tool runs; what is left out is as the server itself asks. */
export interface ToolStatement extends Partial<RunRequest> {
  readonly database: string;
  readonly text: string;
  /** Bytes of records that the answer has already. */
  readonly bytesBefore?: number;
}

export interface Records {
  /** JSON objects with commas between them. */
  readonly rows: string;
  readonly count: number;
}

/** @throws {ToolRefusal} what the agent can correct. @throws {Refusal} */
export async function recordsOf(call: ToolCall, statement: ToolStatement): Promise<Records> {
  const {database, text: words, bytesBefore = 0, ...rest} = statement;
  const request = {...statementRequest(database, words), ...call.context, ...rest};
  try {
    const cursor = await call.service.run(call.principal, request);
    try {
      return {rows: await rowsOf(cursor, call, bytesBefore), count: cursor.summary.returned};
    } finally {
      cursor.close();
    }
  } catch (error) {
    throw inWordsOfTools(error);
  }
}

/** The payload of most tools. */
export async function answerOf(call: ToolCall, statement: ToolStatement): Promise<string> {
  const {rows, count} = await recordsOf(call, statement);
  return `{"records":[${rows}],"count":${count}}`;
}

/** What the configuration permits in a database, and `more`. */
export function permittedIn(
  call: ToolCall,
  database: string,
  ...more: readonly Permission[]
): ReadonlySet<Permission> {
  const permitted = permissionNames.filter(permission => call.allows(permission, database));
  return new Set([...permitted, ...more]);
}

/** A name of a type or property as statements take it. @throws {ToolRefusal} */
export function quoted(name: string, argument: string): string {
  if (name === '' || /[`\\]/.test(name)) {
    throw new ToolRefusal(`'${argument}' must not be empty nor hold a backtick or a backslash`);
  }
  return `\`${name}\``;
}

/** Numbered parameters. */
export class StatementParameters {
  readonly values = new Map<string, Value>();

  /** The words that stand for the value. */
  add(value: Value): string {
    const name = `p${this.values.size}`;
    this.values.set(name, value);
    return `$${name}`;
  }
}

/** Refusals that are about what the agent wrote are shown in every mode of the server. */
export function inWordsOfTools(error: unknown): unknown {
  if (!(error instanceof Refusal)) return error;
  const {effect} = error.detail;
  if (error.code === 'security.denied' && isPermission(effect)) return notPermitted(effect);
  if (error.code === 'argument') return new ToolRefusal(error.message);
  return error;
}

async function rowsOf(cursor: ResultCursor, call: ToolCall, bytesBefore: number): Promise<string> {
  const {whole} = cursor;
  const pieces: Buffer[] = [];
  let bytes = bytesBefore;
  const take = (piece: Buffer): void => {
    bytes += piece.length;
    requireSize(call, bytes, cursor.summary.wrote);
    pieces.push(piece);
  };
  if (whole !== undefined) {
    take(whole);
    return whole.toString('utf8');
  }
  for (let piece = await cursor.next(); piece !== undefined; piece = await cursor.next()) {
    // The buffer is the cursor's again from its next call on.
    take(Buffer.from(piece));
  }
  return Buffer.concat(pieces).toString('utf8');
}

/** @throws {ToolRefusal} where an answer with so many bytes of records is too large. */
export function requireSize({administration}: ToolCall, bytes: number, wrote = false): void {
  const bytesMax = administration.settings().get('svc.mcp.answerSizeMax');
  if (bytes <= bytesMax) return;
  const done = wrote ? 'The command was carried out, but its' : 'The';
  throw new ToolRefusal(
    `${done} answer is larger than ${bytesMax} bytes (svc.mcp.answerSizeMax): ask for fewer ` +
      "properties or records, or give a smaller 'limit'",
  );
}
