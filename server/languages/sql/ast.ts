/**
 * The syntax tree of SQL: expressions and the statements that read.
 *
 * Plain readonly unions told apart by `kind`; every node that can be wrong carries `at`, its offset
 * in the text (UTF-16 code units). The tree says what was written, not what it means: whether
 * `text.camelCase('x')` calls a function or a method of a property is the binder's question.
 *
 * Invariant: `parse(print(tree))` equals `tree` but for the offsets (printer.test.ts). Spellings
 * that mean the same are one node (`==` and `=`, `<>` and `!=`, OFFSET and SKIP).
 */

import type {Statement} from './ast-statement.ts';

/** Where a node starts. */
export interface Placed {
  readonly at: number;
}

/** A name as written, backquotes removed; names keep their case. */
export interface Name extends Placed {
  readonly text: string;
}

export type Expression =
  | Literal
  | IntegerLiteral
  | RealLiteral
  | RidLiteral
  | Parameter
  | Variable
  | NameReference
  | Attribute
  | Star
  | ListLiteral
  | MapLiteral
  | Comprehension
  | Call
  | Path
  | Unary
  | Binary
  | Compare
  | Logical
  | Is
  | Between
  | Relation
  | ContainsWhere
  | Case
  | Collate
  | Subquery;

export interface Literal extends Placed {
  readonly kind: 'literal';
  readonly value: null | boolean | string;
}

/** Exact within 64 bits: a number while it is a safe integer, else a bigint. */
export interface IntegerLiteral extends Placed {
  readonly kind: 'integer';
  readonly value: number | bigint;
  /** Written with the suffix L. */
  readonly long: boolean;
}

export interface RealLiteral extends Placed {
  readonly kind: 'real';
  readonly value: number;
  /** Written with the suffix F: single precision. */
  readonly single: boolean;
}

export interface RidLiteral extends Placed {
  readonly kind: 'rid';
  readonly bucket: number;
  readonly position: number;
}

/** `:name`, or by position from 0: `?` counts its occurrences, `$1` is position 0. */
export type Parameter =
  | (Placed & {readonly kind: 'parameter'; readonly form: 'named'; readonly name: string})
  | (Placed & {readonly kind: 'parameter'; readonly form: 'positional'; readonly index: number});

/** `$name`, without the dollar. */
export interface Variable extends Placed {
  readonly kind: 'variable';
  readonly name: string;
}

/** A property of the current record, an alias, or (where one may stand) a type. */
export interface NameReference extends Placed {
  readonly kind: 'name';
  readonly name: string;
}

export const attributeNames = [
  'rid',
  'rid_id',
  'rid_pos',
  'type',
  'cat',
  'this',
  'props',
  'out',
  'in',
] as const;
export type AttributeName = (typeof attributeNames)[number];

/** `@rid` and its like, of the current record. */
export interface Attribute extends Placed {
  readonly kind: 'attribute';
  readonly name: AttributeName;
}

/** `*` as the argument of a function. */
export interface Star extends Placed {
  readonly kind: 'star';
}

export interface ListLiteral extends Placed {
  readonly kind: 'list';
  readonly items: readonly Expression[];
}

export interface MapLiteral extends Placed {
  readonly kind: 'map';
  readonly entries: readonly MapEntry[];
}

export interface MapEntry extends Placed {
  readonly key: string;
  readonly value: Expression;
}

/** `[item FOR variable IN source WHERE condition]`. */
export interface Comprehension extends Placed {
  readonly kind: 'comprehension';
  readonly item: Expression;
  readonly variable: Name;
  readonly source: Expression;
  readonly where: Expression | undefined;
}

export interface Call extends Placed {
  readonly kind: 'call';
  readonly name: string;
  readonly distinct: boolean;
  readonly arguments: readonly Expression[];
}

/** A base and what is taken of it, from left to right. */
export interface Path extends Placed {
  readonly kind: 'path';
  readonly base: Expression;
  readonly steps: readonly [PathStep, ...PathStep[]];
}

export type PathStep =
  | (Placed & {readonly kind: 'field'; readonly name: string})
  | (Placed & {readonly kind: 'step-attribute'; readonly name: AttributeName})
  /** `$parent.$current`: a variable of an outer statement. */
  | (Placed & {readonly kind: 'step-variable'; readonly name: string})
  | (Placed & {
      readonly kind: 'method';
      readonly name: string;
      readonly arguments: readonly Expression[];
    })
  /** `[n]`, `['key']`, `[a, b]`, `[0..5]`: one selector or several. */
  | (Placed & {readonly kind: 'select'; readonly selectors: readonly Selector[]})
  /** `[condition]`: the elements for which it holds. */
  | (Placed & {readonly kind: 'where'; readonly condition: Expression})
  /** `[= v]`, `[LIKE 'a%']`, `[IN [..]]`: the elements that compare so with the value. */
  | (Placed & {
      readonly kind: 'compare-elements';
      readonly operator: CompareOperator | RelationOperator;
      readonly value: Expression;
    })
  | (Placed & {readonly kind: 'nested'; readonly items: readonly ProjectionItem[]});

export type Selector =
  | (Placed & {readonly kind: 'item'; readonly value: Expression})
  /** `from..to` excludes `to`; `from...to` and `from-to` include it. An end may be left out. */
  | (Placed & {
      readonly kind: 'range';
      readonly from: Expression | undefined;
      readonly to: Expression | undefined;
      readonly form: '..' | '...';
    });

export interface Unary extends Placed {
  readonly kind: 'unary';
  readonly operator: '-' | '+' | '~';
  readonly operand: Expression;
}

export type BinaryOperator =
  | '+'
  | '-'
  | '*'
  | '/'
  | '%'
  | '<<'
  | '>>'
  | '>>>'
  | '&'
  | '|'
  | '^'
  | '||'
  | '??';

export interface Binary extends Placed {
  readonly kind: 'binary';
  readonly operator: BinaryOperator;
  readonly left: Expression;
  readonly right: Expression;
}

export type CompareOperator = '=' | '!=' | '<' | '<=' | '>' | '>=' | '<=>';

export interface Compare extends Placed {
  readonly kind: 'compare';
  readonly operator: CompareOperator;
  readonly left: Expression;
  readonly right: Expression;
}

/** AND and OR are flat lists of two or more: a thousand alternatives are one level. */
export type Logical =
  | (Placed & {readonly kind: 'and'; readonly operands: readonly Expression[]})
  | (Placed & {readonly kind: 'or'; readonly operands: readonly Expression[]})
  | (Placed & {readonly kind: 'not'; readonly operand: Expression});

export interface Is extends Placed {
  readonly kind: 'is';
  readonly test: 'null' | 'defined';
  readonly negated: boolean;
  readonly operand: Expression;
}

export interface Between extends Placed {
  readonly kind: 'between';
  readonly negated: boolean;
  readonly operand: Expression;
  readonly low: Expression;
  readonly high: Expression;
}

export type RelationOperator =
  | 'IN'
  | 'LIKE'
  | 'ILIKE'
  | 'MATCHES'
  | 'CONTAINS'
  | 'CONTAINSALL'
  | 'CONTAINSANY'
  | 'CONTAINSKEY'
  | 'CONTAINSVALUE'
  | 'CONTAINSTEXT'
  | 'INSTANCEOF'
  | 'NEAR'
  | 'WITHIN';

/** `left NOT operator right`. */
export interface Relation extends Placed {
  readonly kind: 'relation';
  readonly operator: RelationOperator;
  readonly negated: boolean;
  readonly left: Expression;
  readonly right: Expression;
}

/** `left CONTAINS (condition on an element)`. */
export interface ContainsWhere extends Placed {
  readonly kind: 'contains-where';
  readonly operator: 'CONTAINS' | 'CONTAINSALL' | 'CONTAINSANY';
  readonly negated: boolean;
  readonly left: Expression;
  readonly condition: Expression;
}

/** The branches compare with `subject`; where there is none they are conditions. */
export interface Case extends Placed {
  readonly kind: 'case';
  readonly subject: Expression | undefined;
  readonly branches: readonly {readonly when: Expression; readonly then: Expression}[];
  readonly otherwise: Expression | undefined;
}

export interface Collate extends Placed {
  readonly kind: 'collate';
  readonly operand: Expression;
  readonly collation: Name;
}

export interface Subquery extends Placed {
  readonly kind: 'subquery';
  readonly statement: Statement;
}

/** One item of a projection, of the statement or nested in it. */
export type ProjectionItem =
  | (Placed & {readonly kind: 'all'})
  /** `!field`, or `!prefix*` in a nested projection. */
  | (Placed & {readonly kind: 'exclude'; readonly name: string; readonly prefix: boolean})
  /** `prefix*` of a nested projection: every property whose name starts so. */
  | (Placed & {readonly kind: 'prefix'; readonly name: string})
  | (Placed & {
      readonly kind: 'item';
      readonly expression: Expression;
      readonly alias: Name | undefined;
    });

/** What a statement reads from or writes to. */
export type Target =
  | (Placed & {readonly kind: 'type-target'; readonly name: string})
  | (Placed & {readonly kind: 'bucket-target'; readonly buckets: readonly BucketReference[]})
  | (Placed & {
      readonly kind: 'index-target';
      readonly name: string;
      readonly form: 'index' | 'indexvalues' | 'indexvaluesasc' | 'indexvaluesdesc';
    })
  /** `schema:types`, `schema:index:name`. */
  | (Placed & {
      readonly kind: 'schema-target';
      readonly subject: string;
      readonly name: Name | undefined;
    })
  /** A record id, a list, a parameter, a variable, a subquery, a function call. */
  | (Placed & {readonly kind: 'expression-target'; readonly expression: Expression});

/** A bucket by name, by number or by parameter. */
export type BucketReference = Name | IntegerLiteral | Parameter;

export interface LetItem extends Placed {
  readonly name: string;
  readonly value: Expression;
}

export interface OrderItem extends Placed {
  readonly expression: Expression;
  readonly direction: 'asc' | 'desc' | Parameter;
}

export interface UnwindItem extends Placed {
  readonly expression: Expression;
  readonly alias: Name | undefined;
}

export interface Timeout extends Placed {
  readonly milliseconds: Expression;
  readonly strategy: 'exception' | 'return';
}

/** The clauses after the rows have been made, shared by SELECT and MATCH. */
export interface Tail {
  readonly groupBy: readonly Expression[];
  readonly having: Expression | undefined;
  readonly orderBy: readonly OrderItem[];
  readonly unwind: readonly UnwindItem[];
  readonly skip: Expression | undefined;
  readonly limit: Expression | undefined;
  readonly timeout: Timeout | undefined;
}

export interface Select extends Placed, Tail {
  readonly kind: 'select';
  readonly distinct: boolean;
  /** Empty: the whole record. */
  readonly items: readonly ProjectionItem[];
  readonly from: Target | undefined;
  readonly lets: readonly LetItem[];
  readonly where: Expression | undefined;
  readonly parallel: boolean;
}

export interface Traverse extends Placed {
  readonly kind: 'traverse';
  /** Empty: every link, like `*`. */
  readonly items: readonly Expression[];
  readonly from: Target;
  readonly maxDepth: Expression | undefined;
  readonly while: Expression | undefined;
  readonly limit: Expression | undefined;
  readonly strategy: 'depth-first' | 'breadth-first';
  readonly timeout: Timeout | undefined;
}

export interface Match extends Placed, Tail {
  readonly kind: 'match';
  readonly patterns: readonly MatchPattern[];
  readonly distinct: boolean;
  readonly items: readonly ProjectionItem[];
}

export interface MatchPattern extends Placed {
  readonly negated: boolean;
  readonly first: MatchNode;
  readonly steps: readonly MatchStep[];
}

export interface MatchNode extends Placed {
  readonly types: readonly Name[];
  readonly bucket: BucketReference | undefined;
  readonly rid: Expression | undefined;
  readonly as: Name | undefined;
  readonly where: Expression | undefined;
  readonly while: Expression | undefined;
  readonly maxDepth: Expression | undefined;
  readonly depthAlias: Name | undefined;
  readonly pathAlias: Name | undefined;
  readonly optional: boolean;
}

export const matchMethods = [
  'out',
  'in',
  'both',
  'outE',
  'inE',
  'bothE',
  'outV',
  'inV',
  'bothV',
] as const;
export type MatchMethod = (typeof matchMethods)[number];

export type MatchStep =
  /** `.out('T'){..}`; the arrows are written as the methods out, in and both with one type. */
  | (Placed & {
      readonly kind: 'hop';
      readonly method: MatchMethod;
      readonly arrow: boolean;
      readonly types: readonly Expression[];
      readonly node: MatchNode;
    })
  /** `.( steps ){..}`: the steps as one, repeatable by `while` and `maxDepth` of the node. */
  | (Placed & {
      readonly kind: 'block';
      readonly steps: readonly MatchStep[];
      readonly node: MatchNode;
    });
