/** The expressions of openCypher's syntax tree; see ast.ts. */
import type {LabelExpression, Name, Pattern, Query} from './ast.ts';

export type Expression =
  | Literal
  | Parameter
  | {readonly kind: 'variable'; readonly name: string; readonly at: number}
  | ListLiteral
  | MapLiteral
  | Property
  /** `value[key]`. */
  | {
      readonly kind: 'item';
      readonly of: Expression;
      readonly key: Expression;
      readonly at: number;
    }
  /** `value[from..to]`. */
  | {
      readonly kind: 'slice';
      readonly of: Expression;
      readonly from: Expression | undefined;
      readonly to: Expression | undefined;
      readonly at: number;
    }
  | Call
  | {readonly kind: 'count-star'; readonly at: number}
  | Unary
  | Binary
  | Comparison
  | {
      readonly kind: 'has-labels';
      readonly of: Expression;
      readonly labels: LabelExpression;
      readonly at: number;
    }
  | {
      readonly kind: 'is-null';
      readonly of: Expression;
      readonly negated: boolean;
      readonly at: number;
    }
  | Case
  | ListComprehension
  | PatternComprehension
  | Quantifier
  | {
      readonly kind: 'reduce';
      readonly accumulator: Name;
      readonly initial: Expression;
      readonly item: Name;
      readonly list: Expression;
      readonly step: Expression;
      readonly at: number;
    }
  | MapProjection
  /** A pattern where a boolean is asked: whether it can be found. */
  | {readonly kind: 'pattern'; readonly pattern: Pattern; readonly at: number}
  | Subquery;

export interface Literal {
  readonly kind: 'literal';
  readonly value: null | boolean | number | bigint | string;
  /** A number written with a dot or an exponent. */
  readonly isFloat: boolean;
  readonly at: number;
}

export interface Parameter {
  readonly kind: 'parameter';
  readonly name: string;
  readonly at: number;
}

export interface ListLiteral {
  readonly kind: 'list';
  readonly items: readonly Expression[];
  readonly at: number;
}

export interface MapLiteral {
  readonly kind: 'map';
  readonly entries: readonly {readonly key: Name; readonly value: Expression}[];
  readonly at: number;
}

export interface Property {
  readonly kind: 'property';
  readonly of: Expression;
  readonly name: Name;
  readonly at: number;
}

export interface Call {
  readonly kind: 'call';
  /** The name with its namespace, as written. */
  readonly name: string;
  readonly distinct: boolean;
  readonly args: readonly Expression[];
  readonly at: number;
}

export interface Unary {
  readonly kind: 'unary';
  readonly operator: 'not' | '-' | '+';
  readonly of: Expression;
  readonly at: number;
}

export type BinaryOperator =
  | 'or'
  | 'xor'
  | 'and'
  | '+'
  | '-'
  | '*'
  | '/'
  | '%'
  | '^'
  | '||'
  | 'in'
  | 'starts-with'
  | 'ends-with'
  | 'contains'
  | '=~';

export interface Binary {
  readonly kind: 'binary';
  readonly operator: BinaryOperator;
  readonly left: Expression;
  readonly right: Expression;
  readonly at: number;
}

export type ComparisonOperator = '=' | '<>' | '<' | '<=' | '>' | '>=';

/** `a < b <= c`: each pair of neighbours compared, all of them true. */
export interface Comparison {
  readonly kind: 'comparison';
  readonly first: Expression;
  readonly rest: readonly {readonly operator: ComparisonOperator; readonly value: Expression}[];
  readonly at: number;
}

export interface Case {
  readonly kind: 'case';
  /** CASE value WHEN ...; undefined for conditions. */
  readonly value: Expression | undefined;
  readonly branches: readonly {readonly when: Expression; readonly then: Expression}[];
  readonly otherwise: Expression | undefined;
  readonly at: number;
}

export interface ListComprehension {
  readonly kind: 'list-comprehension';
  readonly item: Name;
  readonly list: Expression;
  readonly where: Expression | undefined;
  readonly yields: Expression | undefined;
  readonly at: number;
}

export interface PatternComprehension {
  readonly kind: 'pattern-comprehension';
  readonly pattern: Pattern;
  readonly where: Expression | undefined;
  readonly yields: Expression;
  readonly at: number;
}

export interface Quantifier {
  readonly kind: 'quantifier';
  readonly mode: 'any' | 'all' | 'none' | 'single';
  readonly item: Name;
  readonly list: Expression;
  readonly where: Expression | undefined;
  readonly at: number;
}

export interface MapProjection {
  readonly kind: 'map-projection';
  readonly of: Name;
  readonly entries: readonly MapProjectionEntry[];
  readonly at: number;
}

export type MapProjectionEntry =
  | {readonly kind: 'all'}
  | {readonly kind: 'property'; readonly name: Name}
  | {readonly kind: 'variable'; readonly name: Name}
  | {readonly kind: 'value'; readonly name: Name; readonly value: Expression};

/** EXISTS {}, COUNT {}, COLLECT {}: a whole query, or patterns with a condition. */
export interface Subquery {
  readonly kind: 'subquery';
  readonly mode: 'exists' | 'count' | 'collect';
  readonly query: Query;
  readonly at: number;
}
