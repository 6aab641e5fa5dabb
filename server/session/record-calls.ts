/**
 * Single records by id, and many of one type, for whoever has properties and no text: rights,
 * triggers, retries, transactions and read consistency are those of any statement.
 */
import {assert} from '#server/base/assert.ts';
import {Refusal} from '#server/base/errors.ts';
import {type MapValue, RecordValue, type Rid, type Value} from '#server/model/value.ts';
import {operationText, type RecordOperation} from '#server/plan/record-statements.ts';
import type {Principal} from '#server/security/principal.ts';
import type {LoadCounts, LoadedRecord, RequestContext, RowsRequest, Service} from './session.ts';
import {statementRequest} from './statement-request.ts';

/** Where a call belongs: its database, its transaction, and what else a request may carry. */
export type RecordScope = RequestContext &
  Pick<RowsRequest, 'database'> &
  Partial<Pick<RowsRequest, 'transactionId' | 'requestId'>>;

/** Ends of an edge that is to be made. */
export interface EdgeEnds {
  readonly from: Rid;
  readonly to: Rid;
}

export interface MadeRecord {
  readonly rid: Rid;
  /** Log index that the commit reached. */
  readonly commitIndex: number;
}

/** The calls of one principal. Each is a statement of its own, or one of its transaction. */
export class RecordCalls {
  readonly #service: Service;
  readonly #principal: Principal;
  readonly #scope: RecordScope;

  constructor(service: Service, principal: Principal, scope: RecordScope) {
    this.#service = service;
    this.#principal = principal;
    this.#scope = scope;
  }

  /** The record; undefined when there is none. @throws {Refusal} */
  async get(rid: Rid): Promise<RecordValue | undefined> {
    return (await this.#run({kind: 'get'}, {rid}, {readOnly: true}))[0];
  }

  /**
   * Makes a record; undefined when a trigger forbids it.
   *
   * @param ends - Of an edge.
   * @throws {Refusal}
   */
  async insert(
    type: string,
    properties: MapValue,
    ends?: EdgeEnds,
  ): Promise<RecordValue | undefined> {
    return (await this.insertMany(type, [properties], ends))[0];
  }

  /** Makes records, all of them or none, in one transaction. @throws {Refusal} */
  insertMany(
    type: string,
    records: readonly MapValue[],
    ends?: EdgeEnds,
  ): Promise<readonly RecordValue[]> {
    return this.#run({kind: 'insert', type}, {records: [...records], ...ends});
  }

  /**
   * Makes records as they come, as `Service.loadRecords` does, and counts them.
   *
   * @throws {Refusal} those before the one that failed are there.
   */
  async load(
    records: AsyncIterable<LoadedRecord> | Iterable<LoadedRecord>,
    portionMax?: number,
  ): Promise<LoadCounts> {
    if (this.#scope.transactionId !== undefined) {
      throw new Refusal('argument', 'a load commits its portions itself: insert many instead');
    }
    const load = await this.#service.loadRecords(this.#principal, {...this.#scope, portionMax});
    try {
      for await (const record of records) {
        const waiting = load.add(record);
        if (waiting !== undefined) await waiting;
      }
      return await load.finish();
    } finally {
      load.close();
    }
  }

  /**
   * Changes a record: `merge` keeps the properties that are not given. Undefined: there is none.
   *
   * @throws {Refusal}
   */
  async update(
    rid: Rid,
    properties: MapValue,
    how: 'merge' | 'replace',
  ): Promise<RecordValue | undefined> {
    return (await this.#run({kind: how}, {rid, records: [properties]}))[0];
  }

  /** Whether there was such a record, which is gone now. @throws {Refusal} */
  async delete(rid: Rid): Promise<boolean> {
    return (await this.#run({kind: 'delete'}, {rid})).length > 0;
  }

  async #run(
    operation: RecordOperation,
    parameters: Readonly<Record<string, Value>>,
    more: Partial<Pick<RowsRequest, 'readOnly' | 'requestId'>> = {},
  ): Promise<readonly RecordValue[]> {
    const {database} = this.#scope;
    const given = new Map(Object.entries(parameters));
    const request = statementRequest(database, operationText(operation), given);
    const cursor = await this.#service.rows(this.#principal, {
      ...request,
      ...this.#scope,
      language: 'record',
      ...more,
      operation,
      limit: 0,
    });
    try {
      const records: RecordValue[] = [];
      for (let rows = await cursor.next(rowsMax); rows.length > 0; ) {
        for (const [record] of rows) {
          assert(record instanceof RecordValue, 'an operation on records answers records');
          records.push(record);
        }
        rows = rows.length < rowsMax ? [] : await cursor.next(rowsMax);
      }
      return records;
    } finally {
      cursor.close();
    }
  }
}

const rowsMax = 1_000;

/** Durable when it resolves; undefined when a trigger forbids it. @throws {Refusal} */
export async function insertRecord(
  service: Service,
  principal: Principal,
  requested: RecordScope & {readonly type: string; readonly properties: MapValue},
): Promise<MadeRecord | undefined> {
  const {type, properties, ...scope} = requested;
  const made = await new RecordCalls(service, principal, scope).insert(type, properties);
  return made && {rid: made.rid, commitIndex: service.appliedIndex};
}
