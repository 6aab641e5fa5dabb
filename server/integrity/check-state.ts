/**
 * What all parts of a check look through: one snapshot, the schema in force in it, and what was
 * counted so far.
 *
 * Reading a record here never throws for the bytes of the record: a damaged one is an answer. What
 * depends on a damaged record is not judged, since nobody knows what it said.
 */
import type {CatalogType} from '#server/catalog/catalog-type.ts';
import {pause, type Pause} from '#server/execution/batch.ts';
import type {Budget} from '#server/execution/budget.ts';
import {RowWalker} from '#server/indexes/row-walker.ts';
import {recordKey} from '#server/layout/record-key.ts';
import type {StoredRecord} from '#server/layout/stored-record.ts';
import type {Rid} from '#server/model/value.ts';
import type {Reader, ScanRange} from '#server/storage/store.ts';
import type {RecordContext} from '#server/records/context.ts';
import {Balance} from './balance.ts';
import type {Finding} from './finding.ts';
import {verifyRecord} from './verify-record.ts';

export type Findings = Generator<Finding | Pause, void, undefined>;

/** What of the database is looked at; undefined: all of it. */
export interface CheckScope {
  /** Records in these buckets, with their edges, entries and counters. */
  readonly bucketIds: ReadonlySet<number> | undefined;
  /** These records only, with their edges and entries. */
  readonly rids: readonly Rid[] | undefined;
}

/** Units of the budget: a row that is looked at, and a look at another key. */
const rowUnits = 2;
export const getUnits = 4;

interface Suspects {
  edges: boolean;
  members: boolean;
  readonly indexIds: Set<number>;
}

export class CheckState {
  readonly reader: Reader;
  readonly context: RecordContext;
  readonly scope: CheckScope;
  readonly budget: Budget;
  /** Records by kind, and by the bucket that counts them. */
  readonly records = {document: 0, vertex: 0, edge: 0};
  readonly recordsOfBucket = new Map<number, number>();
  /** The first position above all that were met, by bucket. */
  readonly positionOfBucket = new Map<number, number>();
  /** The dictionary; undefined where an entry says no name. */
  readonly names = new Map<number, string | undefined>();
  /** Light edges by bucket: they are counted with the keys of edges. */
  readonly lightsOfBucket = new Map<number, number>();
  /** What records demand beside them against what is there; only in whole checks. */
  readonly starts = new Balance();
  readonly ends = new Balance();
  readonly members = new Balance();
  readonly entries = new Map<number, Balance>();
  /** What has to be looked at one by one. */
  readonly suspects: Suspects = {edges: false, members: false, indexIds: new Set()};
  /** Part of a database only: it has no totals, and nothing in it comes out even. */
  readonly isNarrow: boolean;
  /** False when a part could not be read: then totals say nothing. */
  isReadable = true;
  adjacencyRows = 0;
  /** What is looked at now, and how many of its rows were. */
  part = {name: '', rows: 0};

  constructor(reader: Reader, context: RecordContext, scope: CheckScope, budget: Budget) {
    this.reader = reader;
    this.context = context;
    this.scope = scope;
    this.budget = budget;
    this.isNarrow = scope.bucketIds !== undefined || scope.rids !== undefined;
    for (const {id} of context.catalog.data.indexes) this.entries.set(id, new Balance());
    if (this.isNarrow) this.#suspectAll();
  }

  get hasSuspects(): boolean {
    const {edges, members, indexIds} = this.suspects;
    return edges || members || indexIds.size > 0;
  }

  /** A part could not be read to its end. */
  gaveUp(): void {
    this.isReadable = false;
    this.#suspectAll();
  }

  #suspectAll(): void {
    this.suspects.edges = true;
    this.suspects.members = true;
    for (const id of this.entries.keys()) this.suspects.indexIds.add(id);
  }

  /** Steps through the rows of ranges, giving way in between. */
  *rows(
    ranges: readonly ScanRange[],
    look: (walker: RowWalker) => readonly Finding[],
    keysOnly = false,
  ): Findings {
    const walker = new RowWalker(this.reader, ranges, {keysOnly});
    try {
      while (walker.next()) {
        this.part.rows += 1;
        yield* look(walker);
        if (this.budget.spend(rowUnits)) yield pause;
      }
    } finally {
      walker.close();
    }
  }

  /** A look at one key. */
  get(key: Uint8Array): Buffer | undefined {
    this.budget.spend(getUnits);
    return this.reader.get(key);
  }

  record(rid: Rid): SoundRecord {
    return soundRecord(this.reader, this.context, rid);
  }

  inScope(bucketId: number): boolean {
    return this.scope.bucketIds?.has(bucketId) ?? true;
  }

  /** Counts a record in its bucket. */
  count(bucketId: number): void {
    this.recordsOfBucket.set(bucketId, (this.recordsOfBucket.get(bucketId) ?? 0) + 1);
  }

  countLight(bucketId: number): void {
    this.lightsOfBucket.set(bucketId, (this.lightsOfBucket.get(bucketId) ?? 0) + 1);
  }

  /** Notes that a position was handed out. */
  notePosition(bucketId: number, position: number): void {
    const known = this.positionOfBucket.get(bucketId) ?? 0;
    if (position >= known) this.positionOfBucket.set(bucketId, position + 1);
  }
}

/** A record in a known bucket, none, or bytes that are no record. */
export type SoundRecord = StoredRecord | 'damaged' | undefined;

export function soundRecord(reader: Reader, context: RecordContext, rid: Rid): SoundRecord {
  if (context.catalog.bucketById(rid.bucket) === undefined) return undefined;
  const bytes = reader.get(recordKey(rid));
  if (bytes === undefined) return undefined;
  const place = {bytes, offset: 0, length: bytes.length};
  const {record} = verifyRecord(reader, context.schema, rid, place);
  if (record === undefined) return 'damaged';
  return typeOfRecord(context, record) === undefined ? 'damaged' : record;
}

/** The type of a record; undefined when it is none of the schema's, or of another kind. */
export function typeOfRecord(
  {catalog}: RecordContext,
  record: StoredRecord,
): CatalogType | undefined {
  const type = catalog.typeById(record.typeId);
  return type?.kind === record.kind ? type : undefined;
}

/** A key for people: hexadecimal, cut when it is long. */
export function keyName(key: Uint8Array): string {
  const text = Buffer.from(key.subarray(0, keyBytesShown)).toString('hex');
  return key.length > keyBytesShown ? `${text}... (${key.length} bytes)` : text;
}

const keyBytesShown = 48;
