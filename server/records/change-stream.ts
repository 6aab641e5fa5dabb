/**
 * The committed changes of one database's records, a transaction after the other, for as many
 * readers as there are: each with the record before and after.
 *
 * Every member of a cluster has the same stream, since it is made from the entries of the log
 * (transactions/committed-entries.ts); a position is the index of an entry and means the same on
 * all members. Changes are kept in one list that is bounded in bytes. A reader walks through it at
 * his own pace; whoever falls behind its beginning is told that he has lost changes, and whoever
 * was away goes on at his position while the list reaches back so far.
 *
 *     list   [ 101 ] [ 102 ] [ 105 ]          105 is the newest, bytesMax holds three
 *     readers    a ------ b ------ c          a loses his place with the next transaction
 *
 * The list lives as long as somebody reads, and a while longer. Nothing is kept, and nothing is
 * paid for an entry, while nobody does.
 * Why: docs/design/0045-change-events.md.
 */
import {Refusal} from '#server/base/errors.ts';
import {Catalog} from '#server/catalog/catalog.ts';
import {decodeCatalogData} from '#server/catalog/encode.ts';
import type {NameAllocator} from '#server/catalog/names.ts';
import type {Database} from '#server/engine/database.ts';
import {RowWalker} from '#server/indexes/row-walker.ts';
import {
  adjacencyKeyBytes,
  directionOf,
  isAdjacencyKey,
  isLightEdge,
  outgoing,
  readAdjacencyKey,
} from '#server/layout/adjacency-key.ts';
import {allRecords, isRecordKey, ridOfRecordKey} from '#server/layout/record-key.ts';
import {LightEdge, StoredRecord} from '#server/layout/stored-record.ts';
import type {RecordValue, Rid} from '#server/model/value.ts';
import type {Reader} from '#server/storage/store.ts';
import type {CommittedEntries, CommittedEntry} from '#server/transactions/committed-entries.ts';
import {eachOperation} from '#server/transactions/entry.ts';
import {catalogKey} from '#server/transactions/system-keys.ts';
import {CompressedValueReader} from './compressed-values.ts';
import {CatalogSchema} from './context.ts';

export type ChangeKind = 'create' | 'update' | 'delete';

/** One record that a transaction made, changed or deleted; a record is told of once in it. */
export interface RecordChange {
  readonly kind: ChangeKind;
  readonly rid: Rid;
  /** The type that the record has now, or had when it was deleted. */
  readonly typeName: string;
  /** Undefined for a new one. */
  readonly before: RecordValue | undefined;
  /** Undefined for a deleted one. */
  readonly after: RecordValue | undefined;
}

/** What one transaction changed, in the order in which it is in the log. */
export interface ChangedRecords {
  /** Index of its entry in the log: where to go on behind it. */
  readonly position: number;
  readonly changes: readonly RecordChange[];
}

/** Reads the changes behind `position`. Always `close` it (idempotent). */
export interface ChangeReader {
  /** The last transaction that was given, or the place at which it began. */
  readonly position: number;
  /**
   * The next transaction; a promise where it has to be waited for. Ask one at a time.
   *
   * @throws {Refusal} `changes.lost` for a reader that was too slow, and whatever else ended it.
   */
  next(): ChangedRecords | Promise<ChangedRecords>;
  close(): void;
}

/** Calls `task` once after so many milliseconds; the returned function cancels it. */
type After = (delayMs: number, task: () => void) => () => void;

export interface ChangeStreamLimits {
  /** `svc.changes.bytesMax`. */
  readonly bytesMax: number;
  /** `svc.changes.resumeTimeout`. */
  readonly resumeMs: number;
}

/** A link of the list; the first one is the place before the oldest change. */
interface Link {
  readonly records: ChangedRecords;
  readonly bytes: number;
  next: Link | undefined;
}

const changeBytes = 200;

export class ChangeStream {
  readonly #database: Database;
  readonly #names: NameAllocator;
  readonly #after: After;
  readonly #limits: () => ChangeStreamLimits;
  readonly #readers = new Set<StreamReader>();
  #entries: CommittedEntries | undefined;
  #started: Promise<CommittedEntries> | undefined;
  #schema: CatalogSchema;
  #oldest: Link = linkAt(0);
  #newest: Link = this.#oldest;
  #bytes = 0;
  #cancelStop: (() => void) | undefined;

  constructor(
    database: Database,
    names: NameAllocator,
    after: After,
    limits: () => ChangeStreamLimits,
  ) {
    this.#database = database;
    this.#names = names;
    this.#after = after;
    this.#limits = limits;
    this.#schema = new CatalogSchema(new Catalog(), names);
  }

  /** Bytes that are kept for readers, about. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Begins to read behind the transaction at `from`; undefined: behind what is committed now.
   * Where this member has not come so far yet, what is before `from` is passed over.
   *
   * @throws {Refusal} `changes.lost` where the list does not reach back so far, `database.fenced`.
   */
  async read(from?: number): Promise<ChangeReader> {
    this.#cancelStop?.();
    this.#cancelStop = undefined;
    const entries = await this.#start();
    if (this.#entries !== entries) throw endedBy(undefined);
    if (from !== undefined && from < this.#oldest.records.position) {
      this.#stopLater();
      throw lost(`changes behind position ${from} are not kept any more`);
    }
    let at = from === undefined ? this.#newest : this.#oldest;
    while (at.next !== undefined && at.next.records.position <= (from ?? 0)) at = at.next;
    const reader = new StreamReader(at, from ?? at.records.position, () => {
      this.#readers.delete(reader);
      this.#stopLater();
    });
    this.#readers.add(reader);
    return reader;
  }

  /** Ends all readers: the database is closed, or goes away. */
  close(): void {
    this.#entries?.end();
    this.#cancelStop?.();
  }

  #start(): Promise<CommittedEntries> {
    this.#started ??= this.#begin().catch((error: unknown) => {
      this.#started = undefined;
      throw endedBy(error);
    });
    return this.#started;
  }

  async #begin(): Promise<CommittedEntries> {
    const entries = this.#database.committedEntries({
      consume: entry => this.#consume(entry),
      ended: error => this.#ended(entries, error),
    });
    this.#entries = entries;
    try {
      await entries.start((position, state) => {
        this.#useCatalog(state);
        this.#restart(position);
      });
    } catch (error) {
      entries.end(error);
      throw error;
    }
    return entries;
  }

  #ended(entries: CommittedEntries, error: unknown): void {
    if (this.#entries !== entries) return;
    this.#entries = undefined;
    this.#started = undefined;
    this.#restart(0);
    const reason = endedBy(error);
    for (const reader of this.#readers) reader.end(reason);
    this.#readers.clear();
  }

  #restart(position: number): void {
    this.#oldest = linkAt(position);
    this.#newest = this.#oldest;
    this.#bytes = 0;
  }

  #stopLater(): void {
    if (this.#readers.size > 0 || this.#cancelStop !== undefined) return;
    this.#cancelStop = this.#after(this.#limits().resumeMs, () => {
      this.#cancelStop = undefined;
      if (this.#readers.size === 0) this.#entries?.end();
    });
  }

  #useCatalog(state: Reader): void {
    const bytes = state.get(catalogKey);
    const catalog = new Catalog(decodeCatalogData(bytes));
    this.#schema = new CatalogSchema(catalog, this.#names);
  }

  #consume(committed: CommittedEntry): void {
    const before = this.#schema;
    if (committed.entry.newSchemaVersion !== undefined) this.#useCatalog(committed.after);
    const {bytesMax} = this.#limits();
    const found = new EntryChanges(committed, {before, after: this.#schema}, bytesMax);
    if (!found.collect()) return this.#lose(committed.index);
    if (found.changes.length === 0) return;
    const link: Link = {
      records: {position: committed.index, changes: found.changes},
      bytes: found.bytes,
      next: undefined,
    };
    this.#newest.next = link;
    this.#newest = link;
    this.#bytes += link.bytes;
    this.#shrink(bytesMax);
    for (const reader of this.#readers) reader.wake();
  }

  /** Forgets the oldest changes, and ends the readers that have not read them. */
  #shrink(bytesMax: number): void {
    while (this.#bytes > bytesMax && this.#oldest.next !== undefined) {
      this.#oldest = this.#oldest.next;
      this.#bytes -= this.#oldest.bytes;
    }
    this.#endThoseBefore(this.#oldest.records.position);
  }

  /** The transaction at `position` cannot be told. */
  #lose(position: number): void {
    this.#restart(position);
    this.#endThoseBefore(position);
  }

  #endThoseBefore(position: number): void {
    for (const reader of this.#readers) {
      if (!reader.isBehind(position)) continue;
      this.#readers.delete(reader);
      const {bytesMax} = this.#limits();
      reader.end(
        lost(
          `the reader is behind position ${position}, and ${bytesMax} bytes of changes are kept`,
        ),
      );
    }
    this.#stopLater();
  }
}

function linkAt(position: number): Link {
  return {records: {position, changes: []}, bytes: 0, next: undefined};
}

function lost(detail: string): Refusal {
  return new Refusal(
    'changes.lost',
    `${detail}: read the records anew and subscribe again, or raise svc.changes.bytesMax`,
  );
}

function endedBy(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  const reason = error instanceof Error ? error.message : 'the database was closed';
  return new Refusal('changes.lost', `the changes end here (${reason}): subscribe again`);
}

class StreamReader implements ChangeReader {
  /** What was given last; undefined once it has ended. */
  #at: Link | undefined;
  #position: number;
  #reason: Refusal | undefined;
  #waiting: PromiseWithResolvers<ChangedRecords> | undefined;
  readonly #closed: () => void;

  constructor(at: Link, position: number, closed: () => void) {
    this.#at = at;
    this.#position = position;
    this.#closed = closed;
  }

  get position(): number {
    return this.#position;
  }

  next(): ChangedRecords | Promise<ChangedRecords> {
    const records = this.#take();
    if (records !== undefined) return records;
    if (this.#at === undefined) throw this.#reason ?? endedBy(undefined);
    this.#waiting ??= Promise.withResolvers();
    return this.#waiting.promise;
  }

  close(): void {
    if (this.#at === undefined) return;
    this.end(new Refusal('changes.lost', 'the reader was closed'));
    this.#closed();
  }

  /** Whether changes up to `position` are some that it has not given. */
  isBehind(position: number): boolean {
    const at = this.#at?.records.position ?? Infinity;
    return Math.max(at, this.#position) < position;
  }

  wake(): void {
    if (this.#waiting === undefined) return;
    const records = this.#take();
    if (records === undefined) return;
    this.#waiting.resolve(records);
    this.#waiting = undefined;
  }

  end(reason: Refusal): void {
    this.#at = undefined;
    this.#reason = reason;
    this.#waiting?.promise.catch(() => {});
    this.#waiting?.reject(reason);
    this.#waiting = undefined;
  }

  /** The next transaction, when it is there. */
  #take(): ChangedRecords | undefined {
    while (this.#at?.next !== undefined) {
      this.#at = this.#at.next;
      const {records} = this.#at;
      if (records.position <= this.#position) continue;
      this.#position = records.position;
      return records;
    }
    return undefined;
  }
}

interface Schemas {
  readonly before: CatalogSchema;
  readonly after: CatalogSchema;
}

/** The changes of records in one entry. */
class EntryChanges {
  readonly changes: RecordChange[] = [];
  bytes: number;
  readonly #committed: CommittedEntry;
  readonly #schemas: Schemas;
  readonly #bytesMax: number;
  readonly #keys = new Set<string>();

  constructor(committed: CommittedEntry, schemas: Schemas, bytesMax: number) {
    this.#committed = committed;
    this.#schemas = schemas;
    this.#bytesMax = bytesMax;
    this.bytes = committed.entry.operations.length;
  }

  /** Finds the changes; false when they cannot be told, or take more than is kept. */
  collect(): boolean {
    for (const operation of eachOperation(this.#committed.entry)) {
      if (operation.kind === 'delete-range') this.#emptied(operation);
      else if (isRecordKey(operation.key, 0)) this.#record(operation.key);
      else if (isAdjacencyKey(operation.key, 0)) this.#edge(operation.key);
      if (this.bytes > this.#bytesMax) return false;
    }
    return true;
  }

  /** Every record between two keys that was there. */
  #emptied({start, end}: {readonly start: Uint8Array; readonly end: Uint8Array}): void {
    const from = Buffer.compare(start, allRecords.start) > 0 ? start : allRecords.start;
    const to = Buffer.compare(end, allRecords.end) < 0 ? end : allRecords.end;
    if (Buffer.compare(from, to) >= 0) return;
    const walker = new RowWalker(this.#committed.before, [{start: from, end: to}]);
    try {
      while (this.bytes <= this.#bytesMax && walker.next()) {
        this.#record(Buffer.from(walker.bytes.subarray(walker.keyStart, walker.keyEnd)));
      }
    } finally {
      walker.close();
    }
  }

  #record(key: Uint8Array): void {
    if (!this.#isNew(key)) return;
    const {before, after} = this.#committed;
    const rid = ridOfRecordKey(key, 0);
    this.#add(
      rid,
      this.#stored(before, rid, before.get(key), this.#schemas.before),
      this.#stored(after, rid, after.get(key), this.#schemas.after),
    );
  }

  /** A light edge has no record: its outgoing key is all there is of it. */
  #edge(key: Uint8Array): void {
    if (directionOf(key, 0) !== outgoing || !this.#isNew(key)) return;
    const was = this.#committed.before.get(key);
    const is = this.#committed.after.get(key);
    const isLight = [was, is].some(flags => flags !== undefined && isLightEdge(flags, 0));
    if (!isLight || (was !== undefined && is !== undefined)) return;
    const {vertex, other, edge, edgeTypeId} = readAdjacencyKey(key, 0, true);
    const ends = {rid: edge, typeId: edgeTypeId, from: vertex, to: other};
    this.bytes += adjacencyKeyBytes;
    this.#add(
      edge,
      was && new LightEdge(ends, this.#schemas.before),
      is && new LightEdge(ends, this.#schemas.after),
    );
  }

  #isNew(key: Uint8Array): boolean {
    const text = Buffer.from(key).toString('latin1');
    return this.#keys.size < this.#keys.add(text).size;
  }

  #stored(
    reader: Reader,
    rid: Rid,
    bytes: Buffer | undefined,
    schema: CatalogSchema,
  ): StoredRecord | undefined {
    if (bytes === undefined) return undefined;
    const stored = new StoredRecord(rid, bytes, schema);
    const record = new CompressedValueReader(reader).decompress(stored);
    this.bytes += record.length;
    return record;
  }

  #add(rid: Rid, before: RecordValue | undefined, after: RecordValue | undefined): void {
    const {typeName} = after ?? before ?? {};
    if (typeName === undefined) return;
    this.bytes += changeBytes;
    const kind = before === undefined ? 'create' : after === undefined ? 'delete' : 'update';
    this.changes.push({kind, rid, typeName, before, after});
  }
}
