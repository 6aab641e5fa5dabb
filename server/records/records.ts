/**
 * Creates, changes and deletes documents, vertices and edges inside a transaction.
 *
 * Each call reads under the transaction's snapshot and own writes, checks what the schema demands,
 * and leaves behind puts, deletes and the preconditions under which they hold: a changed or
 * deleted record unchanged since it was read, the ends of a new edge present, a deleted vertex
 * without new edges. A refusal in the middle may leave part of the writes behind, so the caller
 * rolls back to its savepoint.
 * Invariants: K1 (adjacency-key.ts) and X1 (indexes.ts).
 */
import {assert} from '#server/base/assert.ts';
import {Refusal} from '#server/base/errors.ts';
import {utf8Bytes} from '#server/base/utf8.ts';
import type {CatalogType} from '#server/catalog/catalog-type.ts';
import type {AdjacencyRow} from '#server/indexes/edge-cursor.ts';
import {externalKey} from '#server/layout/external-key.ts';
import {nameKey} from '#server/layout/name-key.ts';
import type {RecordHeader} from '#server/layout/record.ts';
import {recordKey, recordKeyText} from '#server/layout/record-key.ts';
import {LightEdge, StoredRecord} from '#server/layout/stored-record.ts';
import {writeValue} from '#server/layout/stored-value.ts';
import {ridsEqual, ridText} from '#server/model/rid.ts';
import {type MapValue, Rid, type RecordKind} from '#server/model/value.ts';
import type {RecordChanges} from './record-changes.ts';
import {partitionOf, requirePlace, requireSamePartition, selectBucket} from './buckets.ts';
import type {RecordContext} from './context.ts';
import {EdgeKeys} from './edges.ts';
import type {IndexMaintenance} from './indexes.ts';
import {addMember, removeMember} from './members.ts';
import {compressRecord} from './compressed-values.ts';
import {loadLate, loadRecord} from './read.ts';
import {
  checkComplete,
  checkRules,
  convertProperties,
  missingProperty,
  withDefaults,
} from './rules.ts';
import type {Transaction} from '#server/transactions/transaction-contract.ts';
import {type RecordTally, WriterNotes} from './writer-notes.ts';

export interface NewRecordRequest {
  readonly typeName: string;
  /** Default: chosen by the type's bucket selection. */
  readonly bucketName?: string | undefined;
  readonly properties: MapValue;
  /** The id that it had before it was deleted; default: a new one. */
  readonly rid?: Rid | undefined;
}

export interface NewEdgeRequest extends NewRecordRequest {
  readonly from: Rid;
  readonly to: Rid;
  /** Nothing is written at the end, unless the type is followed from both sides all the same. */
  readonly unidirectional?: boolean;
}

/** Goes on as long as it is asked to. */
export interface EdgeRemoval {
  /** Removes a few edges more, some milliseconds' worth; false when none is left. */
  next(): boolean;
  close(): void;
}

const nameLengthMax = 1_024;
/** Edges removed in one turn. */
const edgesPerTurn = 256;

/** One per transaction and catalog; what it knows of the transaction goes on to the next. */
export class RecordWriter {
  private readonly transaction: Transaction;
  private readonly context: RecordContext;
  private readonly indexes: IndexMaintenance;
  private edgeKeys: EdgeKeys | undefined;
  private readonly notes: WriterNotes;
  /** The vertex whose edges were removed last, and how many edges were made until then. */
  private bare: {readonly vertex: Rid; readonly edgesMade: number} | undefined;

  /** @param earlier - The transaction's writer under a catalog that this one's extends. */
  constructor(transaction: Transaction, context: RecordContext, earlier?: RecordWriter) {
    this.notes = earlier?.notes ?? new WriterNotes();
    this.transaction = transaction;
    this.context = context;
    this.indexes = context.workspace.indexes;
  }

  private get edges(): EdgeKeys {
    this.edgeKeys ??= new EdgeKeys(this.transaction, this.notes.created);
    return this.edgeKeys;
  }

  /** What it made and deleted so far, and what writers before it did. */
  get tally(): RecordTally {
    return this.notes.tally;
  }

  get changes(): RecordChanges {
    return this.notes.changes;
  }

  /** A record of a document or vertex type. */
  createRecord(requested: NewRecordRequest): StoredRecord {
    const type = this.context.catalog.requireType(requested.typeName);
    if (type.kind === 'edge') {
      throw new Refusal(
        'query.semantic',
        `'${type.name}' is an edge type: its records need two ends (CREATE EDGE)`,
      );
    }
    const properties = this.prepare(type, requested.properties);
    const rid = this.ridFor(type, requested, properties);
    return this.insert(type, rid, properties, {kind: type.kind});
  }

  createDocument(requested: NewRecordRequest): StoredRecord {
    this.requireKind(requested.typeName, 'document');
    return this.createRecord(requested);
  }

  createVertex(requested: NewRecordRequest): StoredRecord {
    this.requireKind(requested.typeName, 'vertex');
    return this.createRecord(requested);
  }

  /** An edge between two vertices; light when its type is. */
  createEdge(requested: NewEdgeRequest): StoredRecord | LightEdge {
    const type = this.requireKind(requested.typeName, 'edge');
    this.requireVertex(requested.from);
    this.requireVertex(requested.to);
    if (type.edge.lightweight) return this.createLightEdge(type, requested);
    const properties = this.prepare(type, requested.properties);
    const rid = this.ridFor(type, requested, properties);
    const {from, to} = requested;
    this.edges.checkUnique(type, from, to);
    this.edges.pinEnds(from, to);
    const record = this.insert(type, rid, properties, {kind: 'edge', from, to});
    this.edges.put({
      edge: rid,
      typeId: type.id,
      from,
      to,
      light: false,
      oneWay: isOneWay(type, requested),
    });
    return record;
  }

  /**
   * Puts `properties` in the place of the record's own and answers the record as it is then;
   * undefined when there is none.
   */
  replace(
    rid: Rid,
    properties: MapValue,
    options: {readonly applyDefaults?: boolean} = {},
  ): StoredRecord | undefined {
    const old = loadRecord(this.transaction, this.context.schema, rid);
    if (old === undefined) return undefined;
    const type = this.typeOf(old);
    const {catalog, defaults} = this.context;
    const converted = convertProperties(catalog, type, properties);
    const next =
      options.applyDefaults === true ? withDefaults(catalog, type, converted, defaults) : converted;
    const before = old.properties();
    checkRules(type, next, before);
    requireSamePartition(type, before, next);
    this.requireFresh(type, rid);
    this.changes.add(type.id, rid);
    const {kind, from, to} = old;
    const record = this.store(type, rid, next, {kind, from, to}, old.version + 1);
    this.noteMissing(type, rid, next);
    this.indexes.update(this.transaction, type, rid, {
      before: {from, to, get: name => before.get(name)},
      after: {from, to, get: name => next.get(name)},
    });
    return record;
  }

  /**
   * Gives a vertex another type; its id, its bucket and its edges stay. Undefined when it is gone.
   *
   * @throws {Refusal} when its properties break a rule of the new type.
   */
  retype(rid: Rid, typeName: string): StoredRecord | undefined {
    const old = loadRecord(this.transaction, this.context.schema, rid);
    if (old === undefined) return undefined;
    const before = this.typeOf(old);
    const type = this.requireKind(typeName, 'vertex');
    if (type === before) return old;
    const properties = convertProperties(this.context.catalog, type, old.properties());
    checkRules(type, properties, old.properties());
    this.requireUnchanged(rid);
    this.changes.add(before.id, rid);
    this.changes.add(type.id, rid);
    const record = this.store(type, rid, properties, {kind: 'vertex'}, old.version + 1);
    this.noteMissing(type, rid, properties);
    removeMember(this.transaction, before, rid);
    addMember(this.transaction, type, rid);
    const ends = {from: undefined, to: undefined};
    this.indexes.remove(this.transaction, before, rid, {...ends, get: name => old.get(name)});
    this.indexes.insert(this.transaction, type, rid, {
      ...ends,
      get: name => properties.get(name),
    });
    return record;
  }

  /**
   * Puts a record into the bucket that its values lead to, under a new id; false where it lies
   * there, or is gone. Nobody's links follow it.
   */
  relocate(rid: Rid): boolean {
    const old = loadRecord(this.transaction, this.context.schema, rid);
    if (old === undefined) return false;
    const type = this.typeOf(old);
    const properties = old.properties();
    const bucket = partitionOf(type, properties);
    if (bucket === undefined || bucket === rid.bucket) return false;
    this.removeRecord(old);
    const {kind, from, to} = old;
    this.insert(type, this.newRid(bucket), properties, {kind, from, to});
    return true;
  }

  /** Sets and removes single properties, which keep their places; new ones come last. */
  change(
    rid: Rid,
    delta: {readonly set: MapValue; readonly remove: readonly string[]},
  ): StoredRecord | undefined {
    const old = loadRecord(this.transaction, this.context.schema, rid);
    if (old === undefined) return undefined;
    const properties = old.properties();
    for (const name of delta.remove) properties.delete(name);
    for (const [name, value] of delta.set) properties.set(name, value);
    return this.replace(rid, properties);
  }

  /** Deletes a record, a vertex with its edges; false when it is gone already. */
  delete(rid: Rid): boolean {
    const record = loadLate(this.transaction, this.context.schema, rid);
    if (record === undefined) return false;
    if (record.kind === 'vertex' && !this.isBare(rid)) {
      const removal = this.removeEdges(rid);
      while (removal.next());
      removal.close();
    }
    if (record.kind === 'edge') this.edges.removeOf(record);
    this.removeRecord(record);
    return true;
  }

  /**
   * Deletes the edges of a vertex that will be deleted, some at a time; the commit fails when
   * another transaction attaches one. Memory follows what was written so far.
   */
  removeEdges(vertex: Rid): EdgeRemoval {
    if (!this.notes.created.has(vertex)) {
      this.transaction.require({kind: 'unpinned', key: recordKey(vertex)});
    }
    const cursor = this.edges.ofVertex(vertex);
    return {
      next: () => {
        const rows = cursor.next(edgesPerTurn);
        for (const row of rows ?? []) this.deleteRow(vertex, row);
        if (rows === undefined) this.bare = {vertex, edgesMade: this.tally.made.edge};
        return rows !== undefined;
      },
      close: () => cursor.close(),
    };
  }

  /** Whether its edges were just removed: to look again means to sort what was removed. */
  private isBare(vertex: Rid): boolean {
    const {bare} = this;
    return (
      bare !== undefined &&
      ridsEqual(bare.vertex, vertex) &&
      bare.edgesMade === this.tally.made.edge
    );
  }

  /** Deletes an edge, with or without a record; false when it is gone already. */
  deleteEdge(edge: StoredRecord | LightEdge): boolean {
    if (!(edge instanceof LightEdge)) return this.delete(edge.rid);
    const removed = this.edges.removeLight(edge);
    if (removed) this.countLightEdgeGone(edge);
    return removed;
  }

  /**
   * Call at the end of a statement: one may make a record first and set its properties then.
   *
   * @throws {Refusal} `value.validation` when a record does not have what it must have.
   */
  requireComplete(): void {
    const {incomplete} = this.notes;
    if (incomplete === undefined) return;
    for (const [key, rid] of incomplete) {
      incomplete.delete(key);
      const record = loadRecord(this.transaction, this.context.schema, rid);
      if (record !== undefined) checkComplete(this.typeOf(record), record);
    }
  }

  /** Call when the transaction is committed: its names need not travel again. */
  committed(): void {
    const {newNames} = this.notes;
    if (newNames === undefined) return;
    for (const [id, name] of newNames) this.context.names.learn(id, name);
    this.notes.newNames = undefined;
  }

  private createLightEdge(type: CatalogType, requested: NewEdgeRequest): LightEdge {
    for (const name of requested.properties.keys()) {
      if (name.startsWith('@')) continue;
      throw new Refusal(
        'query.execution',
        `'${type.name}' is a light edge type: its edges have no properties ('${name}')`,
      );
    }
    const {from, to} = requested;
    const bucket = type.bucketIds[0];
    assert(bucket !== undefined, 'every type has a bucket');
    const {unique} = type.edge;
    // A unique light edge always has serial 0, so that two makers of it write the same key.
    const rid = this.edges.lightRid(bucket, unique ? 0 : this.transaction.nextPosition(bucket));
    this.edges.checkUnique(type, from, to);
    this.edges.pinEnds(from, to);
    const oneWay = isOneWay(type, requested);
    this.edges.put({edge: rid, typeId: type.id, from, to, light: true, oneWay});
    this.transaction.count(bucket, 1);
    this.tally.made.edge += 1;
    this.changes.add(type.id, rid);
    return new LightEdge({rid, typeId: type.id, from, to}, this.context.schema);
  }

  /** Converts, fills in defaults and checks the properties of a new record. */
  private prepare(type: CatalogType, wished: MapValue): MapValue {
    const {catalog, defaults} = this.context;
    const converted = convertProperties(catalog, type, wished);
    const properties = withDefaults(catalog, type, converted, defaults);
    checkRules(type, properties);
    return properties;
  }

  private noteMissing(type: CatalogType, rid: Rid, properties: MapValue): void {
    if (missingProperty(type, properties) === undefined) return;
    this.notes.incomplete ??= new Map();
    this.notes.incomplete.set(ridText(rid), rid);
  }

  private ridFor(type: CatalogType, requested: NewRecordRequest, properties: MapValue): Rid {
    if (requested.rid !== undefined) return this.formerRid(type, requested.rid, properties);
    return this.newRid(
      selectBucket(this.context, type, requested.bucketName, properties, this.notes),
    );
  }

  private newRid(bucket: number): Rid {
    const rid = new Rid(bucket, this.transaction.nextPosition(bucket));
    this.notes.created.add(rid);
    return rid;
  }

  /**
   * An id of the type's that was given before and has no record now. Nobody else may take it until
   * the commit. A position of the bucket is used up, which tells those given from those to come.
   */
  private formerRid(type: CatalogType, rid: Rid, properties: MapValue): Rid {
    const text = ridText(rid);
    if (!type.bucketIds.includes(rid.bucket)) {
      throw new Refusal(
        'query.execution',
        `${text} lies in no bucket of type '${type.name}', so it was none of its records`,
      );
    }
    requirePlace(this.context, type, rid.bucket, properties);
    const isGiven = rid.position >= 0 && rid.position < this.transaction.nextPosition(rid.bucket);
    if (!isGiven) throw new Refusal('query.execution', `no record has had the id ${text} yet`);
    const key = recordKey(rid);
    if (loadLate(this.transaction, this.context.schema, rid) !== undefined) {
      throw new Refusal('database.operation', `${text} is the id of a record that is there`);
    }
    this.transaction.require({kind: 'unchanged', key});
    return rid;
  }

  private insert(
    type: CatalogType,
    rid: Rid,
    properties: MapValue,
    header: Pick<RecordHeader, 'kind' | 'from' | 'to'>,
  ): StoredRecord {
    const record = this.store(type, rid, properties, header, 1);
    this.noteMissing(type, rid, properties);
    this.tally.made[header.kind] += 1;
    this.changes.add(type.id, rid);
    addMember(this.transaction, type, rid);
    const {from, to} = header;
    this.indexes.insert(this.transaction, type, rid, {from, to, get: name => properties.get(name)});
    return record;
  }

  private store(
    type: CatalogType,
    rid: Rid,
    properties: MapValue,
    {kind, from, to}: Pick<RecordHeader, 'kind' | 'from' | 'to'>,
    recordVersion: number,
  ): StoredRecord {
    const {catalog, recordBytesMax: bytesMax, schema} = this.context;
    const {builder} = this.context.workspace;
    builder.clear();
    for (const [name, value] of properties) {
      builder.open(this.nameId(name));
      builder.close(writeValue(builder.bodies, value, type.properties.get(name)?.type));
    }
    const length = builder.size(kind === 'edge', bytesMax);
    const {version: schemaVersion} = catalog;
    const header = {kind, typeId: type.id, schemaVersion, recordVersion, from, to};
    if (catalog.data.foldsValues === true) {
      const bytes = Buffer.allocUnsafe(length);
      builder.writeTo(bytes, 0, header);
      const record = new StoredRecord(rid, bytes, schema);
      this.putCompressed(type, record);
      return record;
    }
    const {chunk, from: offset} = this.transaction.room(recordKeyText(rid), length);
    builder.writeTo(chunk, offset, header);
    return new StoredRecord(rid, chunk, schema, {offset, length});
  }

  /**
   * Puts the record as it is to be stored, and what lies beside it. What lay beside it before goes,
   * but for values that are still the same: those are not written again.
   */
  private putCompressed(type: CatalogType, record: StoredRecord): void {
    const {transaction} = this;
    const {rid} = record;
    const before = this.propertiesBeside(rid);
    const {bytes, beside} = compressRecord(record, type.compressedProperties);
    for (const property of before) {
      if (!beside.has(property)) transaction.delete(externalKey(rid, property));
    }
    for (const [property, pack] of beside) {
      const key = externalKey(rid, property);
      const isSame = before.includes(property) && transaction.get(key)?.equals(pack) === true;
      if (!isSame) transaction.put(key, pack);
    }
    transaction.put(recordKey(rid), bytes);
  }

  /** Which values of the record as it is stored now lie beside it, by the ids of their names. */
  private propertiesBeside(rid: Rid): readonly number[] {
    if (this.context.catalog.data.foldsValues !== true) return [];
    return loadLate(this.transaction, this.context.schema, rid)?.propertiesBeside() ?? [];
  }

  /** A name that no commit has stored yet travels in every transaction that uses it. */
  private nameId(name: string): number {
    const known = this.context.names.storedId(name);
    if (known !== undefined) return known;
    if (name.length > nameLengthMax) {
      throw new Refusal('argument', `a property's name has at most ${nameLengthMax} characters`);
    }
    // Two of those would be the same name once they are stored.
    if (!name.isWellFormed()) {
      throw new Refusal(
        'argument',
        `'${name.toWellFormed()}', the name of a property, has half a character (a surrogate)`,
      );
    }
    const {id, isNew} = this.context.names.idOf(name);
    if (isNew) {
      this.transaction.put(nameKey(id), utf8Bytes(name));
      this.notes.newNames ??= new Map();
      this.notes.newNames.set(id, name);
    }
    return id;
  }

  private removeRecord(record: StoredRecord): void {
    const {rid, from, to} = record;
    const type = this.context.catalog.typeById(record.typeId);
    this.requireUnchanged(rid);
    const beside = this.propertiesBeside(rid);
    this.transaction.delete(recordKey(rid));
    this.tally.deleted[record.kind] += 1;
    this.changes.add(record.typeId, rid);
    if (type === undefined) this.transaction.count(rid.bucket, -1);
    else {
      removeMember(this.transaction, type, rid);
      this.indexes.remove(this.transaction, type, rid, {from, to, get: name => record.get(name)});
    }
    // Last: the keys of indexes are told by values that may lie there.
    for (const property of beside) this.transaction.delete(externalKey(rid, property));
  }

  private countLightEdgeGone({rid, typeId}: Pick<LightEdge, 'rid' | 'typeId'>): void {
    this.transaction.count(rid.bucket, -1);
    this.tally.deleted.edge += 1;
    this.changes.add(typeId, rid);
  }

  private deleteRow(vertex: Rid, row: AdjacencyRow): void {
    if (!row.light) {
      this.delete(row.edge);
      return;
    }
    const [from, to] = row.outgoing ? [vertex, row.other] : [row.other, vertex];
    // A loop is met twice; the second time it is gone.
    if (!this.edges.removeLight({rid: row.edge, typeId: row.typeId, from, to})) return;
    this.countLightEdgeGone({rid: row.edge, typeId: row.typeId});
  }

  /** Optimistic locking: the commit fails when somebody wrote the record meanwhile. */
  private requireUnchanged(rid: Rid): void {
    if (this.notes.created.has(rid)) return;
    this.transaction.require({kind: 'unchanged', key: recordKey(rid)});
  }

  /**
   * The last write wins without the stale read check, but never over a deleted record, and not
   * where index entries follow from values that a whole record takes along, or values lie beside.
   */
  private requireFresh(type: CatalogType, rid: Rid): void {
    const isChecked =
      this.context.staleReadCheck !== false ||
      type.indexes.length > 0 ||
      type.compressedProperties.length > 0;
    if (isChecked) this.requireUnchanged(rid);
    else if (!this.notes.created.has(rid)) {
      this.transaction.require({kind: 'present', key: recordKey(rid)});
    }
  }

  private requireKind(typeName: string, kind: RecordKind): CatalogType {
    const type = this.context.catalog.requireType(typeName);
    if (type.kind === kind) return type;
    throw new Refusal(
      'query.execution',
      `type '${type.name}' is no ${kind} type but a ${type.kind} type`,
    );
  }

  private requireVertex(rid: Rid): void {
    const record = loadLate(this.transaction, this.context.schema, rid);
    if (record === undefined) {
      throw new Refusal('record.not-found', `Record ${ridText(rid)} not found`, {
        detail: {rid: ridText(rid), args: ridText(rid)},
      });
    }
    if (record.kind !== 'vertex') {
      throw new Refusal('query.semantic', `${ridText(rid)} is no vertex, so no edge can end there`);
    }
  }

  private typeOf(record: StoredRecord): CatalogType {
    const type = this.context.catalog.typeById(record.typeId);
    if (type !== undefined) return type;
    throw new Refusal('schema.unknown-type', `the type of ${ridText(record.rid)} was dropped`);
  }
}

/** Edges of a unidirectional type are followed from their ends too: each has both keys. */
function isOneWay(type: CatalogType, {unidirectional}: NewEdgeRequest): boolean {
  return unidirectional === true && !type.edge.unidirectional;
}
