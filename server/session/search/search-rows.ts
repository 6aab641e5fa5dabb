/** A statement of a search: its rows as JSON text. */
import type {MapValue, Value} from '#server/model/value.ts';
import type {Principal} from '#server/security/principal.ts';
import type {RequestContext, Service} from '../session.ts';
import {statementRequest} from '../statement-request.ts';

/** Who searches, where, and with what arguments. */
export interface SearchCall {
  readonly service: Service;
  readonly principal: Principal;
  readonly database: string;
  readonly given: MapValue;
  readonly transactionId: string | undefined;
  readonly context: RequestContext;
}

export interface SearchRows {
  /** JSON objects with commas between them. */
  readonly rows: string;
  readonly count: number;
}

/** A name as a text of SQL. */
export function quotedName(name: string): string {
  return `'${name.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

/** Reads alone: a statement that writes is refused. */
export async function searchRows(
  {service, principal, database, transactionId, context}: SearchCall,
  text: string,
  parameters: Iterable<readonly [string, Value]>,
): Promise<SearchRows> {
  const cursor = await service.run(principal, {
    ...statementRequest(database, text, new Map(parameters)),
    ...context,
    readOnly: true,
    transactionId,
  });
  try {
    const pieces: Buffer[] = [];
    if (cursor.whole !== undefined) pieces.push(Buffer.from(cursor.whole));
    else {
      for (let piece = await cursor.next(); piece !== undefined; piece = await cursor.next()) {
        pieces.push(Buffer.from(piece));
      }
    }
    const rows = Buffer.concat(pieces).toString('utf8');
    return {rows, count: cursor.summary.returned};
  } finally {
    cursor.close();
  }
}
