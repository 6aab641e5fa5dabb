/** Requests of those who are no protocol, and rows as values over rows as bytes. */
import {typedRows} from '#server/execution/query-result.ts';
import type {Value} from '#server/model/value.ts';
import {TypedCursor} from './connections/typed-cursor.ts';
import type {ResultCursor, RowCursor, RowsRequest, RunRequest} from './session.ts';

/** A statement of SQL as the server itself asks for it: whole, by itself, with every default. */
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

/** A request for rows as values as one for the bytes in which they come. */
export function typedRequest(request: RowsRequest): RunRequest {
  return {...request, format: typedRows, typeHints: false, profile: undefined};
}

/** Rows as values. @param cursor - Answers a `typedRequest`; it is closed with what is returned. */
export function rowsOver(cursor: ResultCursor): RowCursor {
  return new TypedCursor(cursor);
}
