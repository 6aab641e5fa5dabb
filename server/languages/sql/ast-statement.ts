/**
 * The syntax tree of SQL, second part: statements that write, that shape the schema, that run the
 * database, and the control flow of scripts. The first part is ast.ts.
 */

import type {TransferCommand} from '#server/plan/statement.ts';
import type {TimePrecision} from '#server/model/value.ts';
import type {IndexedPart, RecordEvent, TriggerTime} from '#server/catalog/definition.ts';
import type {
  BucketReference,
  Expression,
  LetItem,
  Match,
  Name,
  Path,
  NameReference,
  Placed,
  ProjectionItem,
  Select,
  Target,
  Timeout,
  Traverse,
} from './ast.ts';

export type Statement = Query | Write | SchemaStatement | AdminStatement | ScriptStatement;
export type Query = Select | Traverse | Match;
export type Write =
  | Insert
  | Update
  | Delete
  | TruncateRecord
  | MoveVertex
  | CreateVertex
  | CreateEdge;

// Writes.

/** What a statement puts into a record. */
export type Body =
  | (Placed & {
      readonly kind: 'values';
      readonly columns: readonly Name[];
      readonly rows: readonly (readonly Expression[])[];
    })
  | (Placed & {readonly kind: 'set'; readonly items: readonly Assignment[]})
  | (Placed & {readonly kind: 'content'; readonly value: Expression})
  | (Placed & {readonly kind: 'merge'; readonly value: Expression})
  | (Placed & {readonly kind: 'from'; readonly query: Query})
  | (Placed & {readonly kind: 'nothing'});

export type AssignmentOperator = '=' | '+=' | '-=' | '*=' | '/=';

/** `target operator value`; the target is a name or a path of fields and selectors. */
export interface Assignment extends Placed {
  readonly target: Assignable;
  readonly operator: AssignmentOperator;
  readonly value: Expression;
}

export type Assignable = NameReference | Path;

export interface Insert extends Placed {
  readonly kind: 'insert';
  readonly target: Target;
  readonly bucket: BucketReference | undefined;
  readonly body: Body;
  readonly returning: readonly ProjectionItem[] | undefined;
  readonly unsafe: boolean;
}

export type UpdateOperation =
  | (Placed & {readonly kind: 'set'; readonly items: readonly Assignment[]})
  | (Placed & {readonly kind: 'add'; readonly items: readonly Assignment[]})
  | (Placed & {readonly kind: 'increment'; readonly items: readonly Assignment[]})
  | (Placed & {
      readonly kind: 'put';
      readonly items: readonly (Placed & {
        readonly target: Assignable;
        readonly key: Expression;
        readonly value: Expression;
      })[];
    })
  | (Placed & {
      readonly kind: 'remove';
      readonly items: readonly (Placed & {
        readonly target: Assignable;
        readonly value: Expression | undefined;
      })[];
    })
  | (Placed & {readonly kind: 'merge'; readonly value: Expression})
  | (Placed & {readonly kind: 'content'; readonly value: Expression});

export interface Update extends Placed {
  readonly kind: 'update';
  readonly target: Target;
  readonly operations: readonly UpdateOperation[];
  readonly upsert: boolean;
  readonly applyDefaults: boolean;
  readonly returning:
    | (Placed & {
        readonly what: 'before' | 'after' | 'count';
        readonly items: readonly ProjectionItem[];
      })
    | undefined;
  readonly where: Expression | undefined;
  readonly limit: Expression | undefined;
  readonly batch: Expression | undefined;
  readonly timeout: Timeout | undefined;
}

export interface Delete extends Placed {
  readonly kind: 'delete';
  readonly what: 'record' | 'vertex' | 'edge';
  /** Undefined only for DELETE EDGE with ends. */
  readonly target: Target | undefined;
  /** Ends of DELETE EDGE. */
  readonly from: Expression | undefined;
  readonly to: Expression | undefined;
  readonly returnBefore: boolean;
  readonly where: Expression | undefined;
  readonly limit: Expression | undefined;
  readonly batch: Expression | undefined;
  readonly unsafe: boolean;
}

/** The records of these ids go; vertices take their edges with them. */
export interface TruncateRecord extends Placed {
  readonly kind: 'truncate-record';
  readonly records: Expression;
}

export interface MoveVertex extends Placed {
  readonly kind: 'move-vertex';
  readonly source: Expression;
  readonly to: {readonly kind: 'type' | 'bucket'; readonly name: Name};
  readonly body: Body;
  readonly batch: Expression | undefined;
}

export interface CreateVertex extends Placed {
  readonly kind: 'create-vertex';
  readonly type: Name | undefined;
  readonly bucket: BucketReference | undefined;
  readonly body: Body;
  readonly returning: readonly ProjectionItem[] | undefined;
}

export interface CreateEdge extends Placed {
  readonly kind: 'create-edge';
  readonly type: Name | undefined;
  readonly bucket: BucketReference | undefined;
  readonly from: Expression;
  readonly to: Expression;
  readonly ifNotExists: boolean;
  readonly unidirectional: boolean;
  readonly body: Body;
  readonly retry: Expression | undefined;
  readonly wait: Expression | undefined;
}

// Schema.

/** `name = value` or `name value`, in the order written. */
export interface Option extends Placed {
  readonly name: string;
  readonly value: Expression;
}

export type RecordClass = 'document' | 'vertex' | 'edge';

export type SchemaStatement =
  | CreateType
  | AlterType
  | CreateProperty
  | AlterProperty
  | CreateIndex
  | CreateBucket
  | AlterBucket
  | Drop
  | Truncate
  | Rebuild
  | CreateTrigger
  | CreateView
  | CreateTimeSeries
  | AlterTimeSeries
  | CreateGraphView
  | AlterView
  | RefreshView
  | DefineFunction
  | DropFunction;

export interface CreateType extends Placed {
  readonly kind: 'create-type';
  readonly recordClass: RecordClass;
  readonly name: Name;
  readonly ifNotExists: boolean;
  readonly parents: readonly Name[];
  readonly bucketNames: readonly BucketReference[];
  readonly bucketCount: Expression | undefined;
  readonly pageSize: Expression | undefined;
  readonly custom: readonly Option[];
  readonly unidirectional: boolean;
  readonly lightweight: boolean;
  readonly unique: boolean;
}

export interface AlterType extends Placed {
  readonly kind: 'alter-type';
  readonly name: Name;
  readonly change: TypeChange;
  readonly settings: readonly Option[];
}

export type TypeChange =
  | {readonly kind: 'name'; readonly name: Name}
  | {readonly kind: 'supertype'; readonly changes: readonly Signed<Name>[]}
  | {readonly kind: 'bucket'; readonly changes: readonly Signed<BucketReference>[]}
  | {readonly kind: 'bucket-selection'; readonly strategy: Expression}
  | {readonly kind: 'custom'; readonly items: readonly Option[]}
  /** Empty: NULL, none at all. */
  | {readonly kind: 'aliases'; readonly names: readonly Name[]};

export interface Signed<T> {
  readonly sign: '+' | '-';
  readonly item: T;
}

export interface CreateProperty extends Placed {
  readonly kind: 'create-property';
  readonly type: Name;
  readonly property: Name;
  readonly ifNotExists: boolean;
  readonly dataType: Name;
  readonly ofType: Name | undefined;
  readonly attributes: readonly Option[];
  readonly custom: readonly Option[];
}

export interface AlterProperty extends Placed {
  readonly kind: 'alter-property';
  readonly type: Name;
  readonly property: Name;
  readonly change:
    | {readonly kind: 'name'; readonly name: Name}
    | {readonly kind: 'type'; readonly dataType: Name; readonly ofType: Name | undefined}
    | {readonly kind: 'custom'; readonly items: readonly Option[]}
    | {readonly kind: 'attribute'; readonly attribute: Option};
}

export interface IndexedProperty extends Placed {
  readonly name: string;
  readonly by: IndexedPart | undefined;
  readonly collation: Name | undefined;
}

export interface CreateIndex extends Placed {
  readonly kind: 'create-index';
  readonly name: Name | undefined;
  readonly ifNotExists: boolean;
  /** Undefined for a manual index. */
  readonly on: {readonly type: Name; readonly properties: readonly IndexedProperty[]} | undefined;
  readonly indexKind: Name;
  /** The key types of a manual index. */
  readonly keyTypes: readonly Name[];
  readonly nullStrategy: Name | undefined;
  readonly metadata: Expression | undefined;
  readonly engine: Name | undefined;
}

export interface CreateBucket extends Placed {
  readonly kind: 'create-bucket';
  readonly name: Name;
  readonly ifNotExists: boolean;
}

export interface AlterBucket extends Placed {
  readonly kind: 'alter-bucket';
  readonly name: Name;
  readonly options: readonly Option[];
}

export interface Drop extends Placed {
  readonly kind: 'drop';
  readonly what:
    | 'type'
    | 'property'
    | 'index'
    | 'bucket'
    | 'trigger'
    | 'materialized-view'
    | 'continuous-aggregate'
    | 'graph-analytical-view'
    | 'timeseries-type';
  /** Undefined for `DROP INDEX *`. */
  readonly name: Name | undefined;
  /** Set for DROP PROPERTY. */
  readonly property: Name | undefined;
  readonly ifExists: boolean;
  readonly unsafe: boolean;
  readonly force: boolean;
}

export interface Truncate extends Placed {
  readonly kind: 'truncate';
  readonly what: 'type' | 'bucket';
  readonly name: Name;
  readonly polymorphic: boolean;
  readonly unsafe: boolean;
}

export interface Rebuild extends Placed {
  readonly kind: 'rebuild';
  readonly what: 'rebuild-index' | 'compact-index' | 'rebuild-type' | 'rebuild-graph-view';
  /** Undefined for `*`. */
  readonly name: Name | undefined;
  readonly polymorphic: boolean;
  readonly settings: readonly Option[];
}

export interface CreateTrigger extends Placed {
  readonly kind: 'create-trigger';
  readonly name: Name;
  readonly ifNotExists: boolean;
  readonly when: TriggerTime;
  readonly event: RecordEvent;
  readonly type: Name;
  readonly language: Name;
  readonly code: string;
}

/** A number with a unit of time, such as RETENTION 30 DAYS. */
export interface Span extends Placed {
  readonly amount: Expression;
  readonly unit: 'second' | 'minute' | 'hour' | 'day';
}

/** A materialized view or a continuous aggregate. */
export interface CreateView extends Placed {
  readonly kind: 'create-view';
  readonly what: 'materialized-view' | 'continuous-aggregate';
  readonly name: Name;
  readonly ifNotExists: boolean;
  readonly query: Query;
  readonly refresh: Refresh | undefined;
  readonly buckets: Expression | undefined;
}

export type Refresh =
  | {readonly kind: 'manual'}
  | {readonly kind: 'incremental'}
  | {readonly kind: 'every'; readonly span: Span};

export interface Column extends Placed {
  readonly name: string;
  readonly dataType: Name;
}

export interface CreateTimeSeries extends Placed {
  readonly kind: 'create-timeseries';
  readonly name: Name;
  readonly ifNotExists: boolean;
  readonly timestamp: Name | undefined;
  readonly precision: TimePrecision | undefined;
  readonly tags: readonly Column[];
  readonly fields: readonly Column[];
  readonly shards: Expression | undefined;
  readonly retention: Span | undefined;
  readonly compactionInterval: Span | undefined;
}

export interface AlterTimeSeries extends Placed {
  readonly kind: 'alter-timeseries';
  readonly name: Name;
  /** Empty: DROP DOWNSAMPLING POLICY. */
  readonly tiers: readonly {readonly after: Span; readonly granularity: Span}[];
}

export interface GraphViewOptions {
  readonly vertexTypes: readonly Name[];
  readonly edgeTypes: readonly Name[];
  readonly properties: readonly Name[];
  readonly edgeProperties: readonly Name[];
  readonly updateMode: 'off' | 'synchronous' | 'asynchronous' | undefined;
  readonly compactionThreshold: Expression | undefined;
}

export interface CreateGraphView extends Placed {
  readonly kind: 'create-graph-view';
  readonly name: Name;
  readonly ifNotExists: boolean;
  readonly options: GraphViewOptions;
}

export type AlterView =
  | (Placed & {
      readonly kind: 'alter-view';
      readonly what: 'materialized-view';
      readonly name: Name;
      readonly refresh: Refresh;
    })
  | (Placed & {
      readonly kind: 'alter-view';
      readonly what: 'graph-analytical-view';
      readonly name: Name;
      readonly options: GraphViewOptions;
    });

export interface RefreshView extends Placed {
  readonly kind: 'refresh-view';
  readonly what: 'materialized-view' | 'continuous-aggregate';
  readonly name: Name;
}

export interface DefineFunction extends Placed {
  readonly kind: 'define-function';
  readonly library: Name;
  readonly name: Name;
  readonly code: string;
  readonly parameters: readonly Name[];
  readonly language: Name | undefined;
}

export interface DropFunction extends Placed {
  readonly kind: 'drop-function';
  readonly library: Name;
  readonly name: Name;
}

// Administration.

export type AdminStatement =
  | (Placed & {readonly kind: 'alter-database'; readonly setting: Name; readonly value: Expression})
  | (Placed & {readonly kind: 'align-database'})
  | CheckDatabase
  | (Placed & {
      readonly kind: 'transfer-database';
      readonly what: TransferCommand['what'];
      readonly url: Expression | undefined;
      readonly settings: readonly Option[];
    })
  | (Placed & {
      readonly kind: 'restore-record';
      readonly recordClass: RecordClass;
      readonly type: Name;
      readonly rid: Expression;
      readonly from: Expression | undefined;
      readonly to: Expression | undefined;
      readonly body: Body;
    })
  | (Placed & {
      readonly kind: 'find-references';
      readonly what: Expression;
      readonly types: readonly Name[];
    })
  | (Placed & {readonly kind: 'explain'; readonly profile: boolean; readonly statement: Statement})
  | (Placed & {
      readonly kind: 'lock';
      readonly what: 'type' | 'bucket';
      readonly names: readonly Name[];
    });

export interface CheckDatabase extends Placed {
  readonly kind: 'check-database';
  readonly types: readonly Name[];
  readonly buckets: readonly BucketReference[];
  readonly records: readonly Expression[];
  readonly fix: boolean;
  readonly deleteOrphans: boolean;
  readonly reclaim: boolean;
  readonly deep: boolean;
  readonly compress: boolean;
}

// Scripts.

export interface Script {
  readonly statements: readonly Statement[];
}

export type ScriptStatement =
  | (Placed & {
      readonly kind: 'begin';
      readonly isolation: 'read-committed' | 'repeatable-read' | undefined;
    })
  | (Placed & {
      readonly kind: 'commit';
      readonly retry: Expression | undefined;
      readonly otherwise: readonly Statement[];
      readonly then: 'fail' | 'continue' | undefined;
    })
  | (Placed & {readonly kind: 'rollback'})
  | (Placed & {
      readonly kind: 'let';
      readonly items: readonly LetStatementItem[];
    })
  | (Placed & {readonly kind: 'set-global'; readonly name: string; readonly value: Expression})
  | (Placed & {
      readonly kind: 'if';
      readonly condition: Expression;
      readonly then: readonly Statement[];
      readonly otherwise: readonly Statement[];
    })
  | (Placed & {
      readonly kind: 'foreach';
      readonly variable: string;
      readonly source: Expression;
      readonly body: readonly Statement[];
    })
  | (Placed & {
      readonly kind: 'while';
      readonly condition: Expression;
      readonly body: readonly Statement[];
    })
  | (Placed & {readonly kind: 'break'})
  | (Placed & {readonly kind: 'return'; readonly value: Expression | undefined})
  | (Placed & {readonly kind: 'sleep'; readonly milliseconds: Expression})
  | (Placed & {
      readonly kind: 'console';
      readonly level: 'log' | 'output' | 'error' | 'warn' | 'debug';
      readonly value: Expression;
    });

/** LET of a script also names the result of a statement; then the value is a Subquery. */
export type LetStatementItem = LetItem;
