/**
 * Adjacency keys inside a transaction: both sides of an edge are written and removed together.
 */
import type {CatalogType} from '#server/catalog/catalog-type.ts';
import {EdgeCursor, edgeRanges} from '#server/indexes/edge-cursor.ts';
import {RowWalker} from '#server/indexes/row-walker.ts';
import {
  adjacencyKey,
  betweenRange,
  edgeOf,
  incoming,
  edgeFlags,
  outgoing,
} from '#server/layout/adjacency-key.ts';
import {recordKey} from '#server/layout/record-key.ts';
import type {StoredRecord} from '#server/layout/stored-record.ts';
import {ridsEqual, ridText} from '#server/model/rid.ts';
import {Rid} from '#server/model/value.ts';
import type {CreatedRecords} from './created-records.ts';
import {duplicateRefusal} from './indexes.ts';
import type {Transaction} from '#server/transactions/transaction-contract.ts';

export interface EdgeEnds {
  readonly edge: Rid;
  readonly typeId: number;
  readonly from: Rid;
  readonly to: Rid;
}

const smallBufferBytes = 1 << 10;

export class EdgeKeys {
  private readonly transaction: Transaction;
  private readonly created: CreatedRecords;

  constructor(transaction: Transaction, created: CreatedRecords) {
    this.transaction = transaction;
    this.created = created;
  }

  /** The id of a light edge (model/rid.ts). */
  lightRid(bucket: number, serial: number): Rid {
    return new Rid(bucket, -1 - serial);
  }

  /** The commit fails when an end is deleted meanwhile, and a delete of it when we commit first. */
  pinEnds(from: Rid, to: Rid): void {
    this.pin(from);
    if (!ridsEqual(from, to)) this.pin(to);
  }

  private pin(vertex: Rid): void {
    if (this.created.has(vertex)) return;
    this.transaction.require({kind: 'present', key: recordKey(vertex)});
  }

  put(edge: EdgeEnds & {readonly light: boolean; readonly oneWay: boolean}): void {
    const value = Uint8Array.of(edgeFlags(edge.light, edge.oneWay));
    const {outKey, inKey} = keysOf(edge);
    this.transaction.put(outKey, value);
    if (!edge.oneWay) this.transaction.put(inKey, value);
  }

  /** Removes the keys of an edge that has a record. */
  removeOf(record: StoredRecord): void {
    const {from, to} = record;
    if (from === undefined || to === undefined) return;
    const {outKey, inKey} = keysOf({edge: record.rid, typeId: record.typeId, from, to});
    this.transaction.delete(outKey);
    this.transaction.delete(inKey);
  }

  /** Removes a light edge; false when it is gone already. */
  removeLight(edge: Omit<EdgeEnds, 'edge'> & {readonly rid: Rid}): boolean {
    const {outKey, inKey} = keysOf({...edge, edge: edge.rid});
    if (this.transaction.get(outKey) === undefined) return false;
    this.transaction.require({kind: 'unchanged', key: outKey});
    this.transaction.delete(outKey);
    this.transaction.delete(inKey);
    return true;
  }

  /**
   * Refuses, for UNIQUE edge types, a second edge from one vertex to another, and guards against
   * one that is being made at the same time.
   */
  checkUnique(type: CatalogType, from: Rid, to: Rid): void {
    if (!type.edge.unique) return;
    const parts = {vertex: from, direction: outgoing, edgeTypeId: type.id, other: to} as const;
    const range = betweenRange(parts);
    const options = {bufferBytes: smallBufferBytes, rowsMax: 1};
    const walker = new RowWalker(this.transaction, [range], options);
    const found = walker.next()
      ? edgeOf(walker.bytes, walker.keyStart, type.edge.lightweight)
      : undefined;
    walker.close();
    if (found !== undefined) {
      const keys = `[${ridText(from)},${ridText(to)}]`;
      throw duplicateRefusal(`${type.name}[@out,@in]`, keys, found);
    }
    this.transaction.require({kind: 'range-untouched', ...range});
  }

  /**
   * Every edge of a vertex, a loop twice, as of now, in turns (`pauses`): the caller deletes while
   * it walks. To be closed.
   */
  ofVertex(vertex: Rid): EdgeCursor {
    const ranges = edgeRanges([vertex], 'both', undefined);
    return new EdgeCursor(this.transaction, ranges, {
      types: undefined,
      distinct: true,
      pauses: true,
    });
  }
}

function keysOf({edge, typeId, from, to}: EdgeEnds): {
  readonly outKey: Uint8Array;
  readonly inKey: Uint8Array;
} {
  return {
    outKey: adjacencyKey({vertex: from, direction: outgoing, edgeTypeId: typeId, other: to, edge}),
    inKey: adjacencyKey({vertex: to, direction: incoming, edgeTypeId: typeId, other: from, edge}),
  };
}
