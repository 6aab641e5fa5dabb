/**
 * Puts the records of a bulk load into entries: keys, records, index keys, both sides of edges.
 *
 * Everything that can be refused is found out before the first operation of a record is written,
 * so a refused record leaves nothing behind in the entry. What needs a look at the store (unique
 * keys, vertices that the batch did not make) is noted for the commit (commit.ts).
 */
import {assert} from '#server/base/assert.ts';
import {
  adjacencyKeyBytes,
  betweenRange,
  incoming,
  edgeFlags,
  outgoing,
  putAdjacencyKey,
} from '#server/layout/adjacency-key.ts';
import {externalKey} from '#server/layout/external-key.ts';
import {nameKey} from '#server/layout/name-key.ts';
import type {RecordHeader} from '#server/layout/record.ts';
import {putRecordKey, recordKey, recordKeyBytes} from '#server/layout/record-key.ts';
import {ridText} from '#server/model/rid.ts';
import {Rid, type Value} from '#server/model/value.ts';
import {type BulkDraft, lineRefusal, withLine} from './draft.ts';
import {BulkEntry} from './entry.ts';
import {BulkKeys} from './keys.ts';
import type {BulkType} from './type.ts';
import type {Database} from '#server/engine/database.ts';
import {compressRecord} from '#server/records/compressed-values.ts';
import {selectBucket} from '#server/records/buckets.ts';
import {duplicateRefusal} from '#server/records/indexes.ts';

export interface BulkWriterOptions {
  /** Edges without properties get no record. */
  readonly lightEdges: boolean;
  /** Whether edges are found from their ends too. */
  readonly bidirectional: boolean;
  readonly entryCapacity: number;
}

/** An end of an edge, and whether this batch made it. */
export interface EdgeEnd {
  readonly rid: Rid;
  readonly isOwn: boolean;
}

export class BulkWriter {
  readonly #database: Database;
  readonly #draft: BulkDraft;
  readonly #options: BulkWriterOptions;
  readonly #keys: BulkKeys;
  #entry: BulkEntry;

  constructor(database: Database, draft: BulkDraft, options: BulkWriterOptions) {
    this.#database = database;
    this.#draft = draft;
    this.#options = options;
    this.#keys = new BulkKeys(draft);
    this.#entry = new BulkEntry(options.entryCapacity);
  }

  /** What was written since the last `take`. */
  get entry(): BulkEntry {
    return this.#entry;
  }

  /** The entry, with the names that it needs; a new one is begun. */
  take(): BulkEntry {
    const entry = this.#entry;
    for (const [id, name] of entry.newNames) entry.operations.putText(nameKey(id), name);
    if (entry.edges > 0) entry.operations.arrange();
    this.#entry = new BulkEntry(this.#options.entryCapacity);
    return entry;
  }

  /** Adds the drafted vertex. @throws {Refusal} */
  addVertex(line: number): Rid {
    const type = this.#type();
    const rid = this.#insert(type, undefined, undefined, line);
    this.#entry.vertices++;
    return rid;
  }

  /** Adds the drafted edge. @throws {Refusal} */
  addEdge(from: EdgeEnd, to: EdgeEnd, line: number): void {
    const type = this.#type();
    const {edge, name} = type.type;
    const entry = this.#entry;
    if (edge.lightweight && this.#draft.builder.count > 0) {
      throw lineRefusal(
        line,
        `'${name}' is a light edge type: its edges have no properties (line ${line})`,
      );
    }
    if (edge.unique) this.#checkUniqueEdge(type, from.rid, to.rid, line);
    const isLight = edge.lightweight || this.#mayBeLight(type);
    const rid = isLight ? this.#lightRid(type) : this.#insert(type, from.rid, to.rid, line);
    if (edge.unique) this.#noteUniqueEdge(type, {from: from.rid, to: to.rid, rid}, line);
    if (!from.isOwn) this.#noteForeign(from.rid, line);
    if (!to.isOwn) this.#noteForeign(to.rid, line);
    const oneWay = !this.#options.bidirectional && !edge.unidirectional;
    const flags = edgeFlags(isLight, oneWay);
    const {operations} = entry;
    operations.open(adjacencyKeyBytes, 1);
    putAdjacencyKey(operations.bytes, operations.keyAt, {
      vertex: from.rid,
      direction: outgoing,
      edgeTypeId: type.type.id,
      other: to.rid,
      edge: rid,
    });
    operations.bytes[operations.valueAt] = flags;
    if (!oneWay) {
      operations.open(adjacencyKeyBytes, 1);
      putAdjacencyKey(operations.bytes, operations.keyAt, {
        vertex: to.rid,
        direction: incoming,
        edgeTypeId: type.type.id,
        other: from.rid,
        edge: rid,
      });
      operations.bytes[operations.valueAt] = flags;
    }
    entry.edges++;
  }

  /** Whether an edge of another type loses nothing when it gets no record. */
  #mayBeLight({type}: BulkType): boolean {
    if (!this.#options.lightEdges || this.#draft.builder.count > 0 || type.edge.unique)
      return false;
    return type.indexes.length === 0 && type.ruledProperties.length === 0;
  }

  #type(): BulkType {
    const {type} = this.#draft;
    assert(type !== undefined, 'a draft that is added has a type');
    return type;
  }

  #insert(type: BulkType, from: Rid | undefined, to: Rid | undefined, line: number): Rid {
    const draft = this.#draft;
    const {builder, context} = draft;
    draft.checkRules(type);
    const isEdge = from !== undefined;
    const size = builder.size(isEdge, context.recordBytesMax);
    const bucket = this.#bucket(type);
    const rid = new Rid(bucket, this.#database.nextPosition(bucket));
    const entry = this.#entry;
    const {indexes} = type.type;
    if (indexes.length > 0) this.#keys.add(entry, indexes, {rid, from, to}, line);
    const {operations} = entry;
    const header: RecordHeader = {
      kind: type.type.kind,
      typeId: type.type.id,
      schemaVersion: context.catalog.version,
      recordVersion: 1,
      from,
      to,
    };
    if (type.type.compressedProperties.length > 0) this.#putCompressed(type, {rid, header, size});
    else {
      operations.open(recordKeyBytes, size);
      putRecordKey(operations.bytes, operations.keyAt, rid);
      builder.writeTo(operations.bytes, operations.valueAt, header);
    }
    entry.count(bucket);
    entry.types.add(type.type.name);
    for (const [id, name] of draft.newNames) entry.newNames.set(id, name);
    return rid;
  }

  /** Puts a record whose type compresses values: its own bytes and the values kept outside. */
  #putCompressed(
    {type}: BulkType,
    {rid, header, size}: {readonly rid: Rid; readonly header: RecordHeader; readonly size: number},
  ): void {
    const plain = Buffer.allocUnsafe(size);
    this.#draft.builder.writeTo(plain, 0, header);
    const place = {bytes: plain, offset: 0, length: size};
    const {bytes, beside} = compressRecord(place, type.compressedProperties);
    const {operations} = this.#entry;
    operations.put(recordKey(rid), bytes);
    for (const [property, pack] of beside) operations.put(externalKey(rid, property), pack);
  }

  #bucket(type: BulkType): number {
    const {bucketIds, definition} = type.type;
    if (bucketIds.length === 1) return bucketIds[0] as number;
    const properties = new Map<string, Value>();
    const {bucketSelection} = definition;
    if (bucketSelection.kind === 'partitioned') {
      for (const name of bucketSelection.properties) {
        const value = this.#draft.get(name);
        if (value !== undefined) properties.set(name, value);
      }
    }
    // An entry is a transaction.
    return selectBucket(this.#draft.context, type.type, undefined, properties, this.#entry);
  }

  #lightRid(type: BulkType): Rid {
    const bucket = type.type.bucketIds[0] as number;
    // As RecordWriter: a unique light edge always has serial 0.
    const serial = type.type.edge.unique ? 0 : this.#database.nextPosition(bucket);
    this.#entry.count(bucket);
    this.#entry.types.add(type.type.name);
    return new Rid(bucket, -1 - serial);
  }

  /** @throws {Refusal} `commit.duplicate-key` when the entry has such an edge already. */
  #checkUniqueEdge(type: BulkType, from: Rid, to: Rid, line: number): void {
    const holder = this.#entry.edgePairs.get(pairText(type, from, to));
    if (holder === undefined) return;
    const keys = `[${ridText(from)},${ridText(to)}]`;
    throw withLine(duplicateRefusal(`${type.type.name}[@out,@in]`, keys, holder), line);
  }

  #noteUniqueEdge(type: BulkType, edge: {from: Rid; to: Rid; rid: Rid}, line: number): void {
    const {id, name, edge: traits} = type.type;
    const {from, to} = edge;
    this.#entry.edgePairs.set(pairText(type, from, to), edge.rid);
    const range = betweenRange({vertex: from, direction: outgoing, edgeTypeId: id, other: to});
    const isLight = traits.lightweight;
    this.#entry.uniqueEdges.push({typeName: name, from, to, range, isLight, line});
  }

  #noteForeign(rid: Rid, line: number): void {
    const text = ridText(rid);
    const {foreignEnds} = this.#entry;
    if (!foreignEnds.has(text)) foreignEnds.set(text, {rid, line});
  }
}

function pairText(type: BulkType, from: Rid, to: Rid): string {
  return `${type.type.id} ${ridText(from)} ${ridText(to)}`;
}
