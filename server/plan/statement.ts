/**
 * A bound statement: a plan of rows, or a command that stands outside the tree of rows.
 *
 * Commands change the schema or administer the database; the session runs them against the
 * catalog (one log entry each) and answers one row that says what was done.
 */
import type {SourceLocation} from '#server/base/errors.ts';
import type {NewTrigger} from '#server/catalog/change-routine.ts';
import type {
  Compression,
  FunctionDefinition,
  IndexKind,
  IndexedPart,
  NullStrategy,
} from '#server/catalog/definition.ts';
import type {NewView} from '#server/catalog/change-view.ts';
import type {DatabaseSettingKey} from '#server/catalog/database-settings.ts';
import type {ViewRefresh} from '#server/catalog/definition.ts';
import type {DataType} from '#server/model/data-type.ts';
import type {MapValue, RecordKind, Rid, Value} from '#server/model/value.ts';
import type {Expression} from './expression.ts';
import type {PlanNode} from './node.ts';

export type Statement =
  | QueryStatement
  | BatchedStatement
  | {
      readonly kind: 'explain';
      readonly execute: boolean;
      /** Whether a query that was executed answers its rows besides its plan. */
      readonly answersRows: boolean;
      readonly statement: Statement;
    }
  | {
      readonly kind: 'schema';
      readonly command: SchemaCommand;
      /** Commands that go before it, each an entry of the schema of its own. */
      readonly first?: readonly SchemaCommand[];
      /** What it counts as: then the answer is these counts, and no row. */
      readonly counts?: SchemaCounts;
    }
  | {readonly kind: 'user'; readonly command: UserCommand}
  /** Has the members of a cluster compare their copies of the database, and mends those. */
  | {readonly kind: 'align'}
  | {readonly kind: 'transfer'; readonly command: TransferCommand}
  | {readonly kind: 'session'; readonly command: SessionCommand};

/** Has the server write the whole database out, or read one in, beside transactions. */
export interface TransferCommand {
  readonly what: 'backup' | 'export' | 'import';
  readonly url: string | undefined;
  readonly settings: ReadonlyMap<string, Value>;
}

export interface QueryStatement {
  readonly kind: 'query';
  readonly plan: PlanNode;
  /** How many slots a row has. */
  readonly slotCount: number;
  /** LIMIT known to the planner at the top, for the row cap; an expression or none. */
  readonly limit: Expression | undefined;
  readonly timeoutMs: Expression | undefined;
  /** What a timeout gives: an error, or the rows so far. */
  readonly onTimeout: 'error' | 'partial';
  /** How a write that stands alone meets conflicts; absent: as the server does. */
  readonly retry?: Retry;
  /** Whether the answer says what the statement changed. */
  readonly reportsStats?: boolean;
  /** Parameters that must be given; of any other one that is not given, null is read. */
  readonly needs?: readonly ParameterUse[];
  readonly form: AnswerForm;
}

/** A parameter and where it was written first. */
export interface ParameterUse {
  readonly name: string;
  readonly place: SourceLocation;
}

/** How rows are shown where the languages differ. */
export interface AnswerForm {
  /** A record that is the only column of a row is shown in the row's place. */
  readonly loneRecords: boolean;
  /** A duration without months is the number of its seconds, not a text. */
  readonly durationsAsSeconds: boolean;
}

/**
 * Rows carried out in transactions of their own: those of `before`, so many at a time, go through
 * `inner`; what all of them gave is what `after` begins with. The plans but the first begin with an
 * `argument`, which stands for the rows given.
 */
export interface BatchedStatement {
  readonly kind: 'batched';
  /** Reads only. */
  readonly before: PlanNode;
  readonly inner: PlanNode;
  /** Reads only; the answer. */
  readonly after: PlanNode;
  /** Whether anybody asks what the rows gave. */
  readonly answers: boolean;
  readonly slotCount: number;
  /** Rows of one transaction, a whole number from 1 on. */
  readonly size: Expression;
  /** What becomes of the rest when a transaction fails; what was committed stays. */
  readonly onError: 'fail' | 'continue' | 'break';
  /** Runs a failed transaction again, so long at most. */
  readonly retryMs: Expression | undefined;
  /** Slots that rows bring from `before`. */
  readonly passed: readonly number[];
  /** Bound to null in the rows of a transaction that failed or was not begun. */
  readonly results: readonly number[];
  /** Holds what became of a row's transaction. */
  readonly status: number | undefined;
  readonly needs: readonly ParameterUse[];
  readonly form: AnswerForm;
}

/** What a change of the schema is counted as (docs/http.md). */
export interface SchemaCounts {
  readonly indexesAdded?: number;
  readonly indexesRemoved?: number;
  readonly constraintsAdded?: number;
  readonly constraintsRemoved?: number;
}

/** A type that a statement needs and that is not there. */
export interface MissingType {
  readonly name: string;
  readonly kind: 'vertex' | 'edge';
  /** A type of several labels extends them. */
  readonly superTypes: readonly string[];
}

/** Commands about the transaction and the session that a client has open. */
export type SessionCommand =
  | {readonly kind: 'begin' | 'commit' | 'rollback' | 'reset' | 'close'}
  /** `value` reads only and answers one row of one column, `value`. */
  | {readonly kind: 'set'; readonly name: string; readonly value: QueryStatement};

/** Commands about the server's users; only root may give them. */
export type UserCommand =
  | {
      readonly kind: 'create-user';
      readonly name: string;
      /** A text, or a parameter that is one. */
      readonly password: Expression;
      readonly ifNotExists: boolean;
      readonly orReplace: boolean;
    }
  | {
      readonly kind: 'alter-user';
      /** Undefined: whoever gives the command, who must know the old password. */
      readonly name: string | undefined;
      readonly password: Expression;
      readonly oldPassword: Expression | undefined;
      readonly ifExists: boolean;
    }
  | {readonly kind: 'drop-user'; readonly name: string; readonly ifExists: boolean};

/** What a statement says about its own conflicts. */
export interface Retry {
  /** How often it runs again. */
  readonly times: number;
  /** Pause before each; undefined: as the server does. */
  readonly waitMs: number | undefined;
}

export interface PropertyAttributes {
  readonly mandatory?: boolean;
  readonly notNull?: boolean;
  readonly readOnly?: boolean;
  readonly hidden?: boolean;
  readonly external?: boolean;
  readonly compression?: Compression | 'none';
  /** Least and greatest value, length or size; null removes it. */
  readonly min?: Value;
  readonly max?: Value;
  readonly regexp?: string | null;
  /** SQL text of the default expression. */
  readonly default?: string | null;
}

export interface IndexPart {
  readonly name: string;
  readonly by?: IndexedPart;
  readonly collate?: 'ci';
}

export type SchemaCommand =
  | {
      readonly kind: 'create-type';
      readonly recordKind: RecordKind;
      readonly name: string;
      readonly ifNotExists: boolean;
      readonly supertypes: readonly string[];
      readonly buckets: readonly string[] | undefined;
      readonly bucketCount: number | undefined;
      readonly custom: ReadonlyMap<string, Value>;
      readonly unidirectional: boolean;
      readonly lightweight: boolean;
      readonly unique: boolean;
    }
  | {
      readonly kind: 'alter-type';
      readonly name: string;
      readonly changes: readonly TypeChange[];
      /** Moves records to the buckets that their values lead to, under new ids. */
      readonly repartition?: boolean;
    }
  | {
      readonly kind: 'drop-type';
      readonly name: string;
      readonly ifExists: boolean;
      readonly unsafe: boolean;
    }
  | {
      readonly kind: 'truncate-type';
      readonly name: string;
      readonly polymorphic: boolean;
      readonly unsafe: boolean;
    }
  | {
      readonly kind: 'create-property';
      readonly type: string;
      readonly name: string;
      readonly ifNotExists: boolean;
      readonly dataType: DataType;
      readonly ofType: string | undefined;
      readonly attributes: PropertyAttributes;
      readonly custom: ReadonlyMap<string, Value>;
    }
  | {
      readonly kind: 'alter-property';
      readonly type: string;
      readonly name: string;
      readonly newName?: string;
      readonly dataType?: DataType;
      readonly ofType?: string;
      readonly attributes: PropertyAttributes;
      readonly custom: ReadonlyMap<string, Value | undefined>;
    }
  | {
      readonly kind: 'drop-property';
      readonly type: string;
      readonly name: string;
      readonly ifExists: boolean;
      readonly force: boolean;
    }
  | {
      readonly kind: 'create-index';
      readonly name: string | undefined;
      readonly ifNotExists: boolean;
      readonly type: string;
      readonly parts: readonly IndexPart[];
      readonly indexKind: IndexKind;
      readonly unique: boolean;
      readonly nullStrategy: NullStrategy;
      /** What was written. */
      readonly metadata?: MapValue | undefined;
    }
  | {
      readonly kind: 'create-manual-index';
      readonly name: string;
      readonly ifNotExists: boolean;
      /** The types of a key's parts, at least one. */
      readonly keyTypes: readonly DataType[];
      readonly indexKind: 'ordered' | 'hash';
      readonly unique: boolean;
      readonly nullStrategy: NullStrategy;
    }
  | {readonly kind: 'drop-index'; readonly name: string; readonly ifExists: boolean}
  | {readonly kind: 'rebuild-index' | 'compact-index'; readonly name: string}
  | {
      readonly kind: 'rebuild-type';
      readonly name: string;
      readonly polymorphic: boolean;
      /** Means what it means in `alter-type`. */
      readonly repartition: boolean;
    }
  | {readonly kind: 'create-bucket'; readonly name: string; readonly ifNotExists: boolean}
  | {
      readonly kind: 'alter-bucket';
      readonly name: string;
      readonly newName?: string;
      readonly custom?: ReadonlyMap<string, Value | undefined>;
    }
  | {readonly kind: 'drop-bucket'; readonly name: string; readonly ifExists: boolean}
  | {readonly kind: 'truncate-bucket'; readonly name: string; readonly unsafe: boolean}
  | {readonly kind: 'alter-database'; readonly setting: DatabaseSettingKey; readonly value: Value}
  | {readonly kind: 'create-function'; readonly definition: FunctionDefinition}
  | {readonly kind: 'drop-function'; readonly name: string}
  | {
      readonly kind: 'create-trigger';
      readonly trigger: NewTrigger;
      readonly ifNotExists: boolean;
    }
  | {readonly kind: 'drop-trigger'; readonly name: string; readonly ifExists: boolean}
  | {
      readonly kind: 'create-view';
      readonly ifNotExists: boolean;
      readonly view: NewView;
    }
  | {
      readonly kind: 'alter-view';
      readonly name: string;
      readonly refresh: ViewRefresh;
      /** Who is to own it; absent: whose it was. */
      readonly owner?: string;
    }
  | {readonly kind: 'refresh-view'; readonly name: string}
  | {readonly kind: 'drop-view'; readonly name: string; readonly ifExists: boolean}
  | CheckCommand;

/** Looks whether a database agrees with itself; what is named narrows it. */
export interface CheckCommand {
  readonly kind: 'check-database';
  readonly types: readonly string[];
  readonly buckets: readonly string[];
  readonly records: readonly Rid[];
  /** Writes what follows from what is there. */
  readonly fix: boolean;
  /** Removes what nothing refers to; only with `fix`. */
  readonly deleteOrphans: boolean;
  /** Removes files that nothing refers to; only with `fix`. */
  readonly reclaimFiles: boolean;
  /** Has the store rewritten without what was deleted; of the buckets that are named. */
  readonly compress: boolean;
}

export type TypeChange =
  | {readonly kind: 'name'; readonly name: string}
  | {readonly kind: 'add-supertype' | 'remove-supertype'; readonly name: string}
  | {readonly kind: 'add-bucket' | 'remove-bucket'; readonly name: string}
  | {
      readonly kind: 'bucket-selection';
      readonly strategy: 'round-robin' | 'thread' | 'partitioned';
      readonly properties: readonly string[];
    }
  | {readonly kind: 'custom'; readonly name: string; readonly value: Value | undefined}
  | {
      readonly kind: 'edge-trait';
      readonly trait: 'lightweight' | 'unique';
      readonly value: boolean;
    }
  | {readonly kind: 'aliases'; readonly names: readonly string[]};
