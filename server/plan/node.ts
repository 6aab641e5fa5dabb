/**
 * The plan algebra: what a query means, for every language. One of the core interfaces.
 *
 * A plan is an immutable tree. Rows flow upwards; a row is an array of slots, and a node's
 * output slots are its input's plus what it binds (except `project`, `aggregate` and
 * `distinct`, which say what stays). A record travels as a `RecordValue` or, until a property
 * of it is asked, as a `Rid` (late materialization); nodes that bind a record slot say which.
 *
 * The binder makes a correct plan without choosing access paths; the optimizer rewrites it
 * into one that uses indexes, order and limits; `execution/operators/` runs one node kind a
 * file. `properties.ts` derives slots, order and effects, `optimizer/estimates.ts` sizes;
 * `printer.ts` prints a stable text that tests compare and EXPLAIN shows. What the algebra has to
 * carry: docs/design/algebra.md.
 */
import type {SourceLocation} from '#server/base/errors.ts';
import type {DataType} from '#server/model/data-type.ts';
import type {Expression, Slot} from './expression.ts';

export type Direction = 'out' | 'in' | 'both';
/** What a path may meet again: anything, no edge, no vertex. */
export type PathMode = 'walk' | 'trail' | 'acyclic';

/** The same edges, seen from their other end. */
export const reversed: Readonly<Record<Direction, Direction>> = {
  out: 'in',
  in: 'out',
  both: 'both',
};

/** An edge from a vertex to itself, followed in both directions, is met each way unless once. */
export type Loops = 'once';

export interface SortKey {
  readonly by: Expression;
  readonly descending: boolean;
  /** Where null stands; the binder's choice (SQL: first when ascending, last descending). */
  readonly nulls: 'first' | 'last';
  /**
   * Order of values of different classes: as `model/compare.ts` has them, or maps, vertices, edges,
   * lists, paths, times, texts, booleans, numbers.
   */
  readonly classes?: 'structures-first';
}

/** The records of an index that are wanted where those of its own type and subtypes are not. */
export interface IndexedPart {
  readonly type: string;
  /** Whether the records of its subtypes are scanned as well. */
  readonly polymorphic: boolean;
}

/** A bound of an index range; `values` are a prefix of the index's parts. */
export interface IndexBound {
  readonly values: readonly Expression[];
  readonly inclusive: boolean;
}

/**
 * What `where` says of the ids too: a scan reads from the one to the other. Each has one value,
 * the same for all rows; one that is no id bounds nothing.
 */
export interface IdBounds {
  readonly from: IndexBound | undefined;
  readonly to: IndexBound | undefined;
}

export interface Column {
  readonly name: string;
  readonly value: Expression;
}

/** What the client sees of a row. */
export type Output =
  /** The record (or map, or plain value) in `slot` as it is. */
  | {readonly kind: 'element'; readonly slot: Slot}
  /** Named columns; a spread column puts all properties of a record or map in place. */
  | {readonly kind: 'columns'; readonly columns: readonly OutputColumn[]};

export type OutputColumn =
  | Column
  | {
      readonly spread: Expression;
      readonly except?: readonly string[];
      readonly attributes: boolean;
    };

export interface Aggregate {
  readonly slot: Slot;
  /** Name of an aggregate function of functions.ts, e.g. `count`, `sum`. */
  readonly name: string;
  readonly args: readonly Expression[];
  readonly distinct: boolean;
  /** The slot that says how many rows a row stands for; `count` without arguments reads it. */
  readonly weight?: Slot;
  readonly place?: SourceLocation;
}

export type PlanNode = SourceNode | RowNode | MultiNode | WholeNode | WriteNode;

export type SourceNode =
  /** One row without slots. */
  | {readonly kind: 'unit'}
  /** The row of the enclosing `apply`, `repeat` or sub-plan expression: its slots as they are. */
  | {readonly kind: 'argument'}
  /** Literal rows. */
  | {
      readonly kind: 'values';
      readonly slots: readonly Slot[];
      readonly rows: readonly (readonly Expression[])[];
    }
  /** Records of a type (and its subtypes when polymorphic), in storage order per bucket. */
  | {
      readonly kind: 'scan-type';
      readonly type: string;
      readonly polymorphic: boolean;
      readonly slot: Slot;
      readonly descending: boolean;
      /** Pushed down by the optimizer: evaluated on packed bytes where it can be. */
      readonly where?: Expression;
      readonly ids?: IdBounds;
      /** It looks for nulls of which there are few: columns may tell where there are none. */
      readonly fewNulls?: boolean;
    }
  | {
      readonly kind: 'scan-bucket';
      readonly buckets: readonly number[];
      /** More of them, by name or number or as lists of such: known when the statement runs. */
      readonly asked?: readonly Expression[];
      readonly slot: Slot;
      readonly descending: boolean;
      readonly where?: Expression;
      readonly ids?: IdBounds;
    }
  /** Records by id: `ids` evaluates to a Rid, a record, or a (nested) list of such; absent
   * records are dropped silently, other values pass as they are when `loose`. */
  | {
      readonly kind: 'records';
      readonly ids: Expression;
      readonly slot: Slot;
      readonly loose: boolean;
      /** A text that is no id names a type: all its records (`FROM :target`). */
      readonly typeNames?: boolean;
    }
  /** All entries equal to one full key (hash or ordered index). `keys`: each a full key; a
   * list-valued expression when `each` (IN). */
  | {
      readonly kind: 'index-point';
      readonly index: string;
      readonly keys: readonly Expression[];
      readonly each: boolean;
      readonly slot: Slot;
      /** Types of the parts: a key of another kind finds nothing, and none is converted. */
      readonly strict?: readonly (DataType | undefined)[];
      readonly only?: IndexedPart;
    }
  | {
      readonly kind: 'index-range';
      readonly index: string;
      readonly from: IndexBound | undefined;
      readonly to: IndexBound | undefined;
      readonly descending: boolean;
      readonly slot: Slot;
      /** Slots that get the values of the key's parts, which then need no record. */
      readonly parts?: readonly (Slot | undefined)[];
      readonly only?: IndexedPart;
    }
  /** Entries of an index as rows {key, rid} (SQL `FROM index:`); `at`: those under one key. */
  | {
      readonly kind: 'index-entries';
      readonly index: string;
      readonly at?: Expression;
      readonly key: Slot;
      readonly rid: Slot;
      readonly descending: boolean;
    }
  /**
   * The records that a search index finds, best first, of equal scores the lesser id. `only`: of
   * that type and its subtypes; `where`: that pass this, which does not read the score; `count`: at
   * most so many of those.
   */
  | {
      readonly kind: 'ranked';
      readonly index: string;
      readonly query: Expression;
      readonly only: string | undefined;
      readonly where?: Expression;
      readonly slot: Slot;
      readonly score: Slot;
      readonly count: Expression | undefined;
      /** What the scores are reckoned by, for EXPLAIN. */
      readonly scoring?: string | undefined;
    }
  /** A table function: yields rows with the given outputs (`schema:types`, procedures). */
  | {
      readonly kind: 'call';
      readonly procedure: string;
      readonly args: readonly Expression[];
      readonly outputs: readonly {readonly name: string; readonly slot: Slot}[];
      readonly place?: SourceLocation;
    };

export interface FrontierStep {
  readonly direction: Direction;
  /** Edge types with their subtypes; empty means every type. */
  readonly types: readonly string[];
}

export type RowNode =
  | {readonly kind: 'filter'; readonly input: PlanNode; readonly condition: Expression}
  /** Binds slots, in order (a later one may use an earlier one). */
  | {
      readonly kind: 'extend';
      readonly input: PlanNode;
      readonly bind: readonly {readonly slot: Slot; readonly value: Expression}[];
    }
  /** The end of a statement: what the client sees. */
  | {readonly kind: 'project'; readonly input: PlanNode; readonly output: Output}
  /** One row an item of a list (a map or single value counts as one item; null as none unless
   * `keepEmpty`, which yields null). */
  | {
      readonly kind: 'unnest';
      readonly input: PlanNode;
      readonly list: Expression;
      readonly slot: Slot;
      readonly keepEmpty: boolean;
    }
  /** One hop over edges. `to` and `edge` are bound as asked; order: edge type, other end. */
  | {
      readonly kind: 'follow';
      /** Gives only hops for which it is true; reads `to` and `edge` alone (the optimizer's). */
      readonly where?: Expression;
      readonly input: PlanNode;
      readonly from: Slot;
      readonly direction: Direction;
      /** Edge types with their subtypes; empty means every type. */
      readonly types: readonly string[];
      readonly to: Slot | undefined;
      readonly edge: Slot | undefined;
      readonly loops?: Loops;
      /** Slots of edges that this one may not be. */
      readonly unlike?: readonly Slot[];
    }
  /**
   * The vertices to which all the hops, one after the other, lead from any of the input's: each
   * once, by bucket and position. No other slot of the input goes on. What it costs follows the
   * edges of the vertices met, never the number of ways to them.
   */
  | {
      readonly kind: 'frontier';
      readonly input: PlanNode;
      readonly from: Slot;
      readonly steps: readonly FrontierStep[];
      readonly to: Slot;
    }
  /**
   * How many rows a `follow` would make of each row, times the row's weight; rows of which it would
   * make none drop, or go on with the weight they have (`keepEmpty`). `to` is bound for the
   * condition alone.
   */
  | {
      readonly kind: 'degree';
      readonly input: PlanNode;
      readonly from: Slot;
      readonly direction: Direction;
      /** Edge types with their subtypes; empty means every type. */
      readonly types: readonly string[];
      readonly to: Slot | undefined;
      readonly where?: Expression;
      readonly loops?: Loops;
      readonly keepEmpty?: boolean;
      readonly weight: Slot | undefined;
      readonly slot: Slot;
    }
  /** Edges between two bound ends. */
  | {
      readonly kind: 'connect';
      readonly input: PlanNode;
      readonly from: Slot;
      readonly to: Slot;
      readonly direction: Direction;
      readonly types: readonly string[];
      readonly edge: Slot | undefined;
      readonly loops?: Loops;
      /** Slots of edges that this one may not be; given with `edge` only. */
      readonly unlike?: readonly Slot[];
    }
  /** Variable length: every path (or every distinct end) within the bounds. */
  | {
      readonly kind: 'walk';
      readonly input: PlanNode;
      readonly from: Slot;
      readonly direction: Direction;
      readonly types: readonly string[];
      readonly depthMin: number;
      /** undefined: unbounded. */
      readonly depthMax: number | undefined;
      /** walk: anything repeats; trail: no edge twice; acyclic: no vertex twice; reach: each
       * end once, at its least depth (breadth first, frontier not paths). */
      readonly mode: PathMode | 'reach';
      readonly to: Slot;
      readonly edges: Slot | undefined;
      readonly path: Slot | undefined;
      readonly depth: Slot | undefined;
      /** Checked on each step with `to`, `depth` (and `edge`) bound; false ends that branch. */
      readonly edge: Slot | undefined;
      readonly condition: Expression | undefined;
    }
  /**
   * Rounds of `body`, each from the vertex where the one before ended: every way of `depthMin` to
   * `depthMax` rounds. The body's `argument` is the row with `start` bound; it binds `end`.
   */
  | {
      readonly kind: 'chain';
      readonly input: PlanNode;
      readonly body: PlanNode;
      readonly from: Slot;
      readonly start: Slot;
      readonly end: Slot;
      readonly depthMin: number;
      readonly depthMax: number | undefined;
      /** The mode of `walk`; trail looks at `bodyEdges`, acyclic at `bodyVertices`. */
      readonly mode: PathMode;
      readonly bodyEdges: readonly Slot[];
      /** The vertices but for `start`. */
      readonly bodyVertices: readonly Slot[];
      readonly to: Slot;
      /** The edges of all rounds, one after the other. */
      readonly edges: Slot;
      /** What a slot of the body held, round after round. */
      readonly lists: readonly {readonly from: Slot; readonly to: Slot}[];
    }
  /** Shortest paths between two bound ends, bidirectional; `path` is a PathValue or null. */
  | {
      readonly kind: 'shortest';
      readonly input: PlanNode;
      readonly from: Expression;
      readonly to: Expression;
      readonly direction: Direction;
      readonly types: readonly string[];
      readonly depthMax: number | undefined;
      readonly all: boolean;
      readonly path: Slot;
      /** Checked on each step with `edge` bound; false closes that step. */
      readonly edge?: Slot;
      readonly condition?: Expression;
    };

/**
 * `row`: a record, its id, or a map that says which; a row of no record is left out. Without
 * `score` the row says its score itself, or has none.
 */
export interface FusedLeg {
  readonly row: Slot;
  readonly score: Slot | undefined;
  /** A lesser score is a better one. */
  readonly isDistance: boolean;
}

export type MultiNode =
  /** Joins on equal keys (hash), without keys a product. `left` keeps left rows, nulls right. */
  | {
      readonly kind: 'join';
      readonly mode: 'inner' | 'left' | 'semi' | 'anti';
      readonly left: PlanNode;
      readonly right: PlanNode;
      readonly on: readonly {readonly left: Expression; readonly right: Expression}[];
      readonly rightSlots: readonly Slot[];
    }
  /** Runs `plan` for every row of `input` (its `argument`). `left`: a row without match passes
   * with nulls in `slots`. `collect`: one row with the list of `collect.from` in `collect.to`. */
  | {
      readonly kind: 'apply';
      readonly mode: 'inner' | 'left' | 'semi' | 'anti' | 'collect' | 'scalar' | 'for-each';
      readonly input: PlanNode;
      readonly plan: PlanNode;
      readonly slots: readonly Slot[];
      readonly collect?: {readonly from: Slot; readonly to: Slot};
    }
  /** The rows of `input`; when there is none, those of `fallback`. Both bind the same slots. */
  | {readonly kind: 'fallback'; readonly input: PlanNode; readonly fallback: PlanNode}
  /**
   * The records whose ids all inputs give, in the first one's order. Each input binds its ids to
   * the slot at its place in `ids`, and gives none twice.
   */
  | {
      readonly kind: 'intersect';
      readonly inputs: readonly PlanNode[];
      readonly ids: readonly Slot[];
      readonly slot: Slot;
    }
  /**
   * Ranked inputs as one ranking: each record that a leg gives once, best first, of equal scores
   * the lesser id. Of a leg a record counts where it is best. Records are read in that order, no
   * more than are asked for. Without a strategy ranks count (RRF), without weights all legs alike.
   */
  | {
      readonly kind: 'fuse';
      readonly inputs: readonly PlanNode[];
      /** What each input ranks by, in their order. */
      readonly legs: readonly FusedLeg[];
      readonly strategy: Expression | undefined;
      /** The constant of RRF. */
      readonly constant: Expression | undefined;
      readonly weights: Expression | undefined;
      readonly count: Expression | undefined;
      readonly slot: Slot;
      readonly score: Slot;
    }
  /** Rows of all inputs, in order; they bind the same slots. */
  | {readonly kind: 'union'; readonly inputs: readonly PlanNode[]}
  /**
   * Fixed point: starts with the rows of `input`; runs `body` on each row (its `argument`,
   * with `loop` bound to the current value) and goes on with `next` of each row it yields.
   * Every visited value is emitted in visiting order, the start included when `emitStart`.
   * Depth first visits a value's first successor before its second. `while` is checked
   * before a value is visited and expanded, with `loop`, `depth`, `path` bound.
   */
  | {
      readonly kind: 'repeat';
      readonly input: PlanNode;
      readonly body: PlanNode;
      readonly loop: Slot;
      readonly next: Slot;
      readonly depth: Slot;
      /** List of the values from the start to here. */
      readonly path: Slot | undefined;
      readonly order: 'depth-first' | 'breadth-first';
      readonly depthMin: number;
      readonly depthMax: number | undefined;
      /** A value failing it is neither emitted nor expanded... */
      readonly whileCondition: Expression | undefined;
      /** ... or, with `emitOnFail`, emitted but not expanded (MATCH). */
      readonly emitOnFail: boolean;
      /** `global`: each record once a statement (TRAVERSE); `path`: not twice on one path;
       * `start`: each record once per start row. */
      readonly unique: 'global' | 'start' | 'path' | 'none';
    };

export type WholeNode =
  /** Groups in order of first appearance. Output slots: keys and aggregates only. Without keys
   * exactly one row. */
  | {
      readonly kind: 'aggregate';
      readonly input: PlanNode;
      readonly keys: readonly {readonly slot: Slot; readonly value: Expression}[];
      readonly aggregates: readonly Aggregate[];
    }
  /** First row of each distinct tuple of `by`. */
  | {readonly kind: 'distinct'; readonly input: PlanNode; readonly by: readonly Expression[]}
  /**
   * Keeps, of the rows of each distinct tuple of `by`, those where `measure`, an integer, is least:
   * `count` of them, or with `ties` all that have one of the `count` least measures. Order: as the
   * tuples first appeared, then by measure, then as they came.
   */
  | {
      readonly kind: 'select-per-group';
      readonly input: PlanNode;
      readonly by: readonly Expression[];
      readonly measure: Expression;
      readonly count: number;
      readonly ties: boolean;
    }
  | {readonly kind: 'sort'; readonly input: PlanNode; readonly keys: readonly SortKey[]}
  /** sort + limit in a heap; made by the optimizer. */
  | {
      readonly kind: 'top';
      readonly input: PlanNode;
      readonly keys: readonly SortKey[];
      readonly count: Expression;
      readonly skip: Expression | undefined;
    }
  | {readonly kind: 'skip'; readonly input: PlanNode; readonly count: Expression}
  | {readonly kind: 'limit'; readonly input: PlanNode; readonly count: Expression}
  /** Reads its whole input before it passes the first row: what is above sees all writes
   * below, and nothing below sees a write above. */
  | {readonly kind: 'barrier'; readonly input: PlanNode};

/** What is assigned to a record; applied in order. */
export type Assignment =
  | {
      readonly kind: 'set';
      readonly name: string;
      readonly value: Expression;
      /** Null takes the property away. */
      readonly dropsNull?: boolean;
    }
  /** `a.b[0] = x`: inside a property's value. */
  | {
      readonly kind: 'set-inside';
      readonly path: readonly (string | Expression)[];
      readonly value: Expression;
    }
  /** All properties of a map or record; `replace` drops the others first. */
  | {
      readonly kind: 'content';
      readonly value: Expression;
      readonly replace: boolean;
      readonly dropsNull?: boolean;
    }
  | {readonly kind: 'remove'; readonly name: string}
  | {
      readonly kind: 'remove-inside';
      readonly path: readonly (string | Expression)[];
      readonly value: Expression | undefined;
    };

export type WriteNode =
  /** Makes a record a row. Edge: `from`/`to` evaluate to a vertex, rid or list; the product of
   * both is made unless the row has one of each. */
  | {
      readonly kind: 'create';
      readonly input: PlanNode;
      readonly what: 'document' | 'vertex' | 'edge' | 'any';
      /** Undefined: the one that the bucket belongs to, which is asked when it runs. */
      readonly type: string | undefined;
      /** An expression is asked for each record: a parameter's bucket, by name or number. */
      readonly bucket: string | Expression | undefined;
      readonly from: Expression | undefined;
      readonly to: Expression | undefined;
      /** Answers the edge there is instead of making a second one. */
      readonly ifNotExists: boolean;
      readonly unidirectional: boolean;
      readonly assignments: readonly Assignment[];
      /** The id that it had before it was deleted; absent: a new one. */
      readonly rid?: Expression;
      readonly slot: Slot;
      readonly place?: SourceLocation;
    }
  /** Changes the record in `slot` and binds it anew; `before` keeps the old one. */
  | {
      readonly kind: 'change';
      readonly input: PlanNode;
      readonly slot: Slot;
      readonly before: Slot | undefined;
      readonly assignments: readonly Assignment[];
      readonly applyDefaults: boolean;
      /** A row without a record passes as it is; else it is dropped. */
      readonly keepsRows?: boolean;
    }
  /** UPSERT: when `input` has no row, creates one of `type` from `seed` and `assignments`. */
  | {
      readonly kind: 'upsert';
      readonly input: PlanNode;
      readonly type: string;
      readonly slot: Slot;
      readonly before: Slot | undefined;
      readonly seed: readonly Column[];
      readonly assignments: readonly Assignment[];
    }
  /** Deletes the record in `slot` (a vertex with its edges); passes the old one on. */
  | {
      readonly kind: 'delete';
      readonly input: PlanNode;
      readonly slot: Slot;
      /** Refuse when the record is not of this kind (DELETE VERTEX, DELETE EDGE). */
      readonly only: 'vertex' | 'edge' | undefined;
    }
  /**
   * Deletes the records that `values` of all rows hold (records, paths, lists of them; null is
   * none), edges first; every row passes. A vertex that still has edges then is refused unless
   * `detach`, which deletes them too.
   */
  | {
      readonly kind: 'erase';
      readonly input: PlanNode;
      readonly values: readonly Expression[];
      readonly detach: boolean;
    }
  /**
   * Gives the vertex in `slot` more labels, or takes some away: its type becomes the one that has
   * just these (docs/design/0001-labels-are-types.md). Every row passes.
   */
  | {
      readonly kind: 'retype';
      readonly input: PlanNode;
      readonly slot: Slot;
      readonly add: readonly string[];
      /** Taken away before the others are added. */
      readonly remove: readonly string[] | 'all';
    };
