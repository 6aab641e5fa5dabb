/**
 * The syntax tree of openCypher: clauses and patterns; expressions are in ast-expression.ts.
 *
 * Immutable; every node carries the offset `at` of its first character in UTF-16 code units, so
 * that a message can point. The tree says what was written, not what it means: variables are not
 * resolved, labels are not looked up.
 */
import type {BatchedStatement} from '#server/plan/statement.ts';
import type {Direction, PathMode} from '#server/plan/node.ts';
import type {Expression, MapLiteral, Parameter} from './ast-expression.ts';

/** A name as it is meant: without backquotes. */
export interface Name {
  readonly text: string;
  readonly at: number;
}

export type Statement =
  | {
      readonly kind: 'query';
      readonly functions: readonly FunctionDefinition[];
      readonly query: Query;
    }
  | {
      readonly kind: 'explain';
      readonly profile: boolean;
      readonly functions: readonly FunctionDefinition[];
      readonly query: Query;
    }
  | {readonly kind: 'schema'; readonly command: SchemaCommand}
  | {readonly kind: 'user'; readonly command: UserCommand}
  | {readonly kind: 'session'; readonly command: SessionCommand};

/** DEFINE FUNCTION: known to the definitions and the query behind it. */
export interface FunctionDefinition {
  readonly name: Name;
  readonly parameters: readonly TypedName[];
  readonly result: ValueType | undefined;
  /** An expression, or a query whose only row has the value (null without one). */
  readonly body:
    | {readonly kind: 'value'; readonly value: Expression}
    | {readonly kind: 'rows'; readonly query: Query};
  /** How many levels the body nests. */
  readonly height: number;
}

export interface TypedName {
  readonly name: Name;
  readonly type: ValueType | undefined;
}

/** A name of a type in upper case, and whether null is none of its values. */
export interface ValueType {
  readonly name: Name;
  readonly notNull: boolean;
}

/** Commands about the transaction and the session of a client. */
export type SessionCommand =
  | {readonly kind: 'begin' | 'commit' | 'rollback' | 'reset' | 'close'}
  | {readonly kind: 'set'; readonly name: Name; readonly value: Expression};

/** Single queries joined by UNION; all of one kind. */
export interface Query {
  readonly parts: readonly SingleQuery[];
  /** Undefined for a lone part. */
  readonly union: 'all' | 'distinct' | undefined;
  readonly at: number;
}

export interface SingleQuery {
  readonly clauses: readonly Clause[];
  readonly at: number;
}

export type Clause =
  | MatchClause
  | UnwindClause
  | ProjectionClause
  | CallClause
  | SubqueryClause
  | LoadCsvClause
  | UseClause
  | CreateClause
  | MergeClause
  | SetClause
  | RemoveClause
  | DeleteClause
  | ForeachClause;

export interface MatchClause {
  readonly kind: 'match';
  readonly optional: boolean;
  /** REPEATABLE ELEMENTS: a relationship may be met again. */
  readonly repeats: boolean;
  readonly patterns: readonly Pattern[];
  readonly where: Expression | undefined;
  readonly at: number;
}

export interface UnwindClause {
  readonly kind: 'unwind';
  readonly list: Expression;
  readonly name: Name;
  readonly at: number;
}

/** WITH and RETURN. */
export interface ProjectionClause {
  readonly kind: 'with' | 'return';
  readonly distinct: boolean;
  /** `*`: every variable in scope, before the items. */
  readonly star: boolean;
  readonly items: readonly ProjectionItem[];
  readonly orderBy: readonly SortItem[];
  readonly skip: Expression | undefined;
  readonly limit: Expression | undefined;
  /** WITH only. */
  readonly where: Expression | undefined;
  readonly at: number;
}

export interface ProjectionItem {
  readonly value: Expression;
  readonly alias: Name | undefined;
  /** The text of the expression: the column's name when there is no alias. */
  readonly text: string;
}

export interface SortItem {
  readonly value: Expression;
  readonly descending: boolean;
}

/** CALL of a procedure. */
export interface CallClause {
  readonly kind: 'call';
  readonly procedure: Name;
  /** Undefined: the arguments are parameters named as the procedure's (`CALL p` alone). */
  readonly args: readonly Expression[] | undefined;
  /** Undefined: no YIELD; star: YIELD *. */
  readonly yields: readonly YieldItem[] | 'star' | undefined;
  readonly where: Expression | undefined;
  /** A row without answers passes with nulls. */
  readonly optional: boolean;
  readonly at: number;
}

/** USE: names the database that the query is sent to. */
export interface UseClause {
  readonly kind: 'use';
  readonly name: Name;
  readonly at: number;
}

export interface YieldItem {
  readonly column: Name;
  readonly alias: Name | undefined;
}

/** CALL {...}: a sub-query for every row. */
export interface SubqueryClause {
  readonly kind: 'subquery';
  readonly query: Query;
  /** CALL (a, b) {...}; 'star' for CALL (*); undefined: the query's first WITH says. */
  readonly imports: readonly Name[] | 'star' | undefined;
  readonly optional: boolean;
  /** IN TRANSACTIONS. */
  readonly batches?: SubqueryBatches;
  readonly at: number;
}

export interface SubqueryBatches {
  /** OF n ROWS. */
  readonly size: Expression | undefined;
  readonly onError: BatchedStatement['onError'];
  /** ON ERROR RETRY [FOR n SECONDS]; seconds. */
  readonly retry: Expression | undefined;
  /** REPORT STATUS AS name. */
  readonly status: Name | undefined;
  readonly at: number;
}

export interface LoadCsvClause {
  readonly kind: 'load-csv';
  readonly withHeaders: boolean;
  readonly from: Expression;
  readonly name: Name;
  readonly separator: Expression | undefined;
  readonly at: number;
}

export interface CreateClause {
  readonly kind: 'create';
  readonly patterns: readonly Pattern[];
  readonly at: number;
}

export interface MergeClause {
  readonly kind: 'merge';
  readonly pattern: Pattern;
  readonly onCreate: readonly SetItem[];
  readonly onMatch: readonly SetItem[];
  readonly at: number;
}

export interface SetClause {
  readonly kind: 'set';
  readonly items: readonly SetItem[];
  readonly at: number;
}

export type SetItem =
  | {
      readonly kind: 'property';
      readonly of: Expression;
      /** A text in brackets may be computed: `n[$key] = 1`. */
      readonly name: Name | Expression;
      readonly value: Expression;
      readonly at: number;
    }
  /** `n = {...}` and `n += {...}`. */
  | {
      readonly kind: 'properties';
      readonly name: Name;
      readonly value: Expression;
      readonly adds: boolean;
      readonly at: number;
    }
  | {
      readonly kind: 'labels';
      readonly name: Name;
      readonly labels: readonly Name[];
      readonly at: number;
    };

export interface RemoveClause {
  readonly kind: 'remove';
  readonly items: readonly RemoveItem[];
  readonly at: number;
}

export type RemoveItem =
  | {
      readonly kind: 'property';
      readonly of: Expression;
      readonly name: Name | Expression;
      readonly at: number;
    }
  | {
      readonly kind: 'labels';
      readonly name: Name;
      readonly labels: readonly Name[];
      readonly at: number;
    };

export interface DeleteClause {
  readonly kind: 'delete';
  readonly detach: boolean;
  readonly values: readonly Expression[];
  readonly at: number;
}

export interface ForeachClause {
  readonly kind: 'foreach';
  readonly name: Name;
  readonly list: Expression;
  readonly clauses: readonly Clause[];
  readonly at: number;
}

/** A chain of nodes and relationships, maybe named, maybe the shortest of its kind. */
export interface Pattern {
  readonly name: Name | undefined;
  /** `shortestPath(...)`, `allShortestPaths(...)`. */
  readonly shortest: 'one' | 'all' | undefined;
  /** Which of the paths between two nodes count; undefined: every one. */
  readonly selector: PathSelector | undefined;
  /** What may be met again on the path; undefined: as TRAIL. */
  readonly mode: PathMode | undefined;
  /** The condition of a path in parentheses: `SHORTEST 1 ((a)-->+(b) WHERE ...)`. */
  readonly where: Expression | undefined;
  readonly start: NodePattern;
  readonly hops: readonly PatternHop[];
  readonly at: number;
}

/** `any`: so many of them; `shortest`: the shortest; `groups`: all of the so many least lengths. */
export interface PathSelector {
  readonly kind: 'any' | 'shortest' | 'groups';
  readonly count: number;
}

export type PatternHop =
  | {
      readonly kind: 'hop';
      readonly relationship: RelationshipPattern;
      readonly node: NodePattern;
    }
  /** `((a)-[r]->(b) WHERE ...){1,3}` and the node behind it. */
  | {
      readonly kind: 'repeated';
      readonly start: NodePattern;
      readonly hops: readonly PatternHop[];
      readonly where: Expression | undefined;
      readonly min: number;
      readonly max: number | undefined;
      readonly node: NodePattern;
      readonly at: number;
    };

export interface NodePattern {
  readonly name: Name | undefined;
  readonly labels: LabelExpression | undefined;
  readonly properties: MapLiteral | Parameter | undefined;
  readonly where: Expression | undefined;
  readonly at: number;
}

export interface RelationshipPattern {
  readonly name: Name | undefined;
  /** The direction as written: `-->`, `<--`, `--`, `<-->` (both). */
  readonly direction: Direction;
  readonly types: LabelExpression | undefined;
  /** `*`, `*1..2`; undefined: exactly one. */
  readonly length: {readonly min: number | undefined; readonly max: number | undefined} | undefined;
  readonly properties: MapLiteral | Parameter | undefined;
  readonly where: Expression | undefined;
  readonly at: number;
}

/** Labels and what joins them: `:A:B` and `:A&B`, `:A|B`, `:!A`, `:%`. */
export type LabelExpression =
  | {readonly kind: 'label'; readonly name: Name}
  | {readonly kind: 'and' | 'or'; readonly terms: readonly LabelExpression[]}
  | {readonly kind: 'not'; readonly of: LabelExpression}
  | {readonly kind: 'any'; readonly at: number};

/** Commands that change the schema or say what it is. */
export type SchemaCommand =
  | {
      readonly kind: 'create-index';
      /** `ordered` with no word, `RANGE` and `TEXT`; else a family's word, in upper case. */
      readonly family: string;
      readonly name: Name | undefined;
      readonly entity: 'node' | 'relationship';
      readonly label: Name;
      readonly properties: readonly Name[];
      readonly ifNotExists: boolean;
      /** What OPTIONS says, which search indexes take. */
      readonly options: MapLiteral | undefined;
      readonly at: number;
    }
  | {
      readonly kind: 'create-constraint';
      readonly name: Name | undefined;
      readonly entity: 'node' | 'relationship';
      readonly label: Name;
      readonly properties: readonly Name[];
      readonly rule: 'unique' | 'key' | 'not-null' | {readonly type: Name; readonly of?: Name};
      readonly ifNotExists: boolean;
      readonly at: number;
    }
  | {
      readonly kind: 'drop';
      readonly what: 'index' | 'constraint';
      readonly name: Name;
      readonly ifExists: boolean;
      readonly at: number;
    };

/** Commands about users; passwords are texts or parameters. */
export type UserCommand =
  | {
      readonly kind: 'create-user';
      readonly name: Name;
      readonly password: Expression;
      readonly ifNotExists: boolean;
      readonly orReplace: boolean;
    }
  | {
      readonly kind: 'alter-user';
      /** Undefined: the current one. */
      readonly name: Name | undefined;
      readonly password: Expression;
      readonly oldPassword: Expression | undefined;
      readonly ifExists: boolean;
    }
  | {readonly kind: 'drop-user'; readonly name: Name; readonly ifExists: boolean};
