/**
 * What a schema is made of, as plain data: types, properties, buckets, indexes, functions,
 * triggers.
 *
 * These are what is stored (encode.ts) and changed (change-*.ts); `catalog.ts` adds what can be
 * computed from them. References are by id, so that a rename touches one definition.
 */
import type {DataType} from '#server/model/data-type.ts';
import type {MapValue, RecordKind, Value} from '#server/model/value.ts';

/** `auto`: where it pays; `lz4`: whatever gets shorter. What codec it is, the stored bytes say. */
export type Compression = 'auto' | 'lz4';

export interface PropertyDefinition {
  readonly name: string;
  /** Id of the name in the database's dictionary: what records store. */
  readonly id: number;
  readonly type: DataType;
  /** A data type or a type's name; see DeclaredType of model/data-type.ts. */
  readonly ofType?: string;
  readonly mandatory: boolean;
  readonly notNull: boolean;
  readonly readonly: boolean;
  readonly hidden: boolean;
  /** Its values lie under keys of their own, beside the records. */
  readonly external?: true;
  /** How its values are to be compressed; absent: not. */
  readonly compression?: Compression;
  /** Least value, length or size; a number or the text of a date. */
  readonly min?: Value;
  readonly max?: Value;
  readonly regexp?: string;
  /** Text of the expression that gives the value of a record created without one. */
  readonly defaultText?: string;
  readonly custom: MapValue;
}

export type BucketSelection =
  | {readonly kind: 'round-robin'}
  /** A transaction keeps to one bucket. */
  | {readonly kind: 'thread'}
  | {
      readonly kind: 'partitioned';
      readonly properties: readonly string[];
      /** Every record of its own buckets lies where its values lead; else it may lie elsewhere. */
      readonly settled?: true;
    };

export interface EdgeTraits {
  /** No record, no properties: only adjacency keys. */
  readonly lightweight: boolean;
  /** The type allows at most one edge from one vertex to another. */
  readonly unique: boolean;
  /** Found from its start only: nothing is written at its end. */
  readonly unidirectional: boolean;
}

/** When a materialized view comes up to date by itself. */
export type ViewRefresh =
  | {readonly kind: 'manual'}
  /** Every commit that concerns the view changes it. */
  | {readonly kind: 'incremental'}
  | {readonly kind: 'periodic'; readonly everyMs: number};

/** What makes a type a materialized view: its records are the rows of a query. */
export interface ViewDefinition {
  /** SQL text. */
  readonly query: string;
  /** The types that it names. */
  readonly sourceTypeIds: readonly number[];
  /** Whether it reads records of types that it does not name: along edges, through links. */
  readonly readsOthers: boolean;
  /** Whether each of its rows comes from one record of one type. */
  readonly isSimple: boolean;
  readonly refresh: ViewRefresh;
  /** Who made it, and may read what it shows. Absent: root, or a release that kept nobody. */
  readonly owner?: string;
}

export interface TypeDefinition {
  readonly id: number;
  readonly name: string;
  readonly kind: RecordKind;
  readonly superTypeIds: readonly number[];
  /** Own properties, in order of creation. */
  readonly properties: readonly PropertyDefinition[];
  readonly bucketIds: readonly number[];
  readonly aliases: readonly string[];
  readonly bucketSelection: BucketSelection;
  readonly edge: EdgeTraits;
  readonly custom: MapValue;
  readonly view?: ViewDefinition;
}

export interface BucketDefinition {
  readonly id: number;
  readonly name: string;
  readonly custom: MapValue;
}

/** Names a family of indexes; the rows of index-families.ts say what each can. */
export type IndexKind = string;
/** What of a map or a list is indexed: its keys, its values, or the items. */
export type IndexedPart = 'key' | 'value' | 'item';
export type NullStrategy = 'SKIP' | 'ERROR' | 'INDEX';

export interface IndexProperty {
  /** A property's name; `@in` and `@out` on edge types. */
  readonly name: string;
  /** Which part of a MAP (key, value) or LIST (item) gives the keys; absent: the value itself. */
  readonly by?: IndexedPart;
  /** COLLATE CI: texts that differ in case only are one key. */
  readonly ignoreCase: boolean;
}

export interface IndexDefinition {
  readonly id: number;
  readonly name: string;
  /** The type whose records, and those of its subtypes, are indexed. */
  readonly typeId: number;
  readonly properties: readonly IndexProperty[];
  readonly kind: IndexKind;
  readonly unique: boolean;
  readonly nullStrategy: NullStrategy;
  /**
   * Writes keep every index up to date; only a ready one may be read. What is built anew
   * (`rebuilding`) keeps its promise meanwhile: new unique keys are refused until it is ready.
   */
  readonly state: 'building' | 'rebuilding' | 'ready';
  /** What its METADATA says beside the defaults of its family; absent: nothing. */
  readonly options?: MapValue;
  /** Its entries are the records of its type, made by hand; see manual-index.ts. */
  readonly manual?: true;
}

/** A function of the database's own; statements of every language call it by its name. */
export interface FunctionDefinition {
  /** The name with its library: `lib.fn`. */
  readonly name: string;
  readonly language: 'sql' | 'opencypher' | 'js';
  readonly parameters: readonly string[];
  readonly code: string;
}

export type TriggerTime = 'before' | 'after';
export type RecordEvent = 'create' | 'read' | 'update' | 'delete';

/** What runs before or after something happens to a record of a type or of a subtype. */
export interface TriggerDefinition {
  readonly name: string;
  readonly typeId: number;
  readonly when: TriggerTime;
  readonly event: RecordEvent;
  readonly language: 'sql' | 'js';
  readonly code: string;
  /**
   * Who made it, with whose rights it runs. Absent: a release that kept nobody made it, and it runs
   * with the rights of whoever it is fired by.
   */
  readonly owner?: string;
}

/** What the languages of triggers are called in statements and in the tables of the schema. */
export const triggerLanguages = {sql: 'SQL', js: 'JAVASCRIPT'} as const satisfies Record<
  TriggerDefinition['language'],
  string
>;

/** The whole schema of one database. Ids are never used again. */
export interface CatalogData {
  /** Grows by one with every change. */
  readonly version: number;
  readonly typeIdNext: number;
  readonly bucketIdNext: number;
  readonly indexIdNext: number;
  readonly types: readonly TypeDefinition[];
  readonly buckets: readonly BucketDefinition[];
  readonly indexes: readonly IndexDefinition[];
  readonly functions: readonly FunctionDefinition[];
  readonly triggers: readonly TriggerDefinition[];
  /** Its own values of settings, by key; see database-settings.ts. */
  readonly settings: MapValue;
  /** Some property is external or compressed, or was. The name is a stored one. */
  readonly foldsValues?: true;
}

export const emptyCatalogData: CatalogData = {
  version: 0,
  typeIdNext: 1,
  bucketIdNext: 1,
  indexIdNext: 1,
  types: [],
  buckets: [],
  indexes: [],
  functions: [],
  triggers: [],
  settings: new Map(),
};
