/**
 * One record made by a statement of its own, for whoever has properties and no text: rights,
 * triggers and retries are those of any statement.
 */
import {assert} from '#server/base/assert.ts';
import {parseJsonText} from '#server/model/json-parser.ts';
import {parseRid} from '#server/model/rid.ts';
import type {MapValue, Rid} from '#server/model/value.ts';
import type {Principal} from '#server/security/principal.ts';
import type {Service} from './session.ts';
import {statementRequest} from './statement-request.ts';

export interface MadeRecord {
  readonly rid: Rid;
  /** Log index that the commit reached. */
  readonly commitIndex: number;
}

/** Durable when it resolves; undefined when a trigger forbids it. @throws {Refusal} */
export async function insertRecord(
  service: Service,
  principal: Principal,
  requested: {readonly database: string; readonly type: string; readonly properties: MapValue},
): Promise<MadeRecord | undefined> {
  const {database, type, properties} = requested;
  const text = `INSERT INTO \`${type}\` CONTENT :record`;
  const parameters = new Map([['record', properties]]);
  const cursor = await service.run(principal, statementRequest(database, text, parameters));
  try {
    const row = cursor.whole ?? (await cursor.next());
    if (row === undefined || row.length === 0) return undefined;
    const record = parseJsonText(row.toString('utf8'));
    const id = record instanceof Map ? record.get('@rid') : undefined;
    const rid = typeof id === 'string' ? parseRid(id) : undefined;
    assert(rid !== undefined, 'an INSERT answers its record');
    return {rid, commitIndex: service.appliedIndex};
  } finally {
    cursor.close();
  }
}
