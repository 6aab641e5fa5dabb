/**
 * What one commit of a bulk load will write, and under which conditions.
 */
import type {IndexDefinition} from '#server/catalog/definition.ts';
import {valuesOfEntry} from '#server/layout/index-key.ts';
import type {DataType} from '#server/model/data-type.ts';
import type {Rid, Value} from '#server/model/value.ts';
import {BucketChanges} from '#server/transactions/bucket-changes.ts';
import {PackedOperations} from '#server/transactions/bulk-operations.ts';

/** A key that no other record may have. */
export class UniqueKey {
  readonly index: IndexDefinition;
  readonly declared: readonly (DataType | undefined)[];
  /** The key, one character a byte. */
  readonly text: string;
  readonly rid: Rid;
  readonly line: number;

  constructor(parts: Omit<UniqueKey, 'bytes' | 'values'>) {
    this.index = parts.index;
    this.declared = parts.declared;
    this.text = parts.text;
    this.rid = parts.rid;
    this.line = parts.line;
  }

  get bytes(): Buffer {
    return Buffer.from(this.text, 'latin1');
  }

  /** The indexed values, for people. */
  get values(): readonly Value[] {
    const {bytes, declared} = this;
    const row = {bytes, keyStart: 0, keyEnd: bytes.length, end: bytes.length};
    return valuesOfEntry({unique: true, declared}, row);
  }
}

/** An end of an edge that must be there; `line` where this batch did not make it. */
export interface ForeignEnd {
  readonly rid: Rid;
  readonly line: number | undefined;
}

/** An edge of a type that allows only one from one vertex to another. */
export interface UniqueEdge {
  readonly typeName: string;
  readonly from: Rid;
  readonly to: Rid;
  readonly range: {readonly start: Uint8Array; readonly end: Uint8Array};
  readonly isLight: boolean;
  readonly line: number;
}

export class BulkEntry {
  readonly operations: PackedOperations;
  /** The id under which it is applied once, and what is kept with it; undefined: it has none. */
  request: {readonly id: string; readonly note: Uint8Array} | undefined;
  /** Names that no commit has stored yet, by id. */
  readonly newNames = new Map<number, string>();
  readonly buckets = new BucketChanges();
  readonly uniqueKeys: UniqueKey[] = [];
  readonly uniqueEdges: UniqueEdge[] = [];
  /** Edges of unique types by type and ends. */
  readonly edgePairs = new Map<string, Rid>();
  /** The ends that are named by text, keyed by the text of the vertex's id. */
  readonly foreignEnds = new Map<string, ForeignEnd>();
  /** The bucket to which the entry keeps, keyed by type (bucket selection `thread`). */
  readonly bucketsKept = new Map<number, number>();
  /** Names of the types whose records are in it. */
  readonly types = new Set<string>();
  vertices = 0;
  edges = 0;

  constructor(capacity: number) {
    this.operations = new PackedOperations(capacity);
  }

  get records(): number {
    return this.vertices + this.edges;
  }

  count(bucketId: number): void {
    const change = this.buckets.of(bucketId);
    change.countDelta += 1;
    change.takesPositions = true;
  }
}
