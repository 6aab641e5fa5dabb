/** A statement of SQL as the server itself asks for it: whole, by itself, with every default. */
import type {Value} from '#server/model/value.ts';
import type {RunRequest} from './session.ts';

export function statementRequest(
  database: string,
  text: string,
  parameters: ReadonlyMap<string, Value> = new Map(),
): RunRequest {
  return {
    database,
    language: 'sql',
    text,
    parameters,
    readOnly: false,
    limit: undefined,
    format: 'record',
    typeHints: false,
    profile: undefined,
    transactionId: undefined,
    retries: undefined,
    requestId: undefined,
    tag: undefined,
    signal: undefined,
  };
}
