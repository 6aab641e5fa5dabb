/**
 * Scalars over the slots of a row: what every language's expressions compile to.
 *
 * Languages differ by the operators their binder chooses (the `op:` functions
 * of functions/operators.ts), never by a mode read at run time; all of those are functions of the
 * one table in `functions.ts`. A sub-plan appears only as `subplan`; the optimizer turns it
 * into `apply` and then, where it can, into joins.
 *
 * Logic is three-valued: null is unknown; a filter passes only true.
 */
import type {SourceLocation} from '#server/base/errors.ts';
import type {Value} from '#server/model/value.ts';
import type {PlanNode} from './node.ts';

/** Number of a variable in a row, given by the binder; dense from 0 in one statement. */
export type Slot = number;

export type Expression =
  | {readonly kind: 'literal'; readonly value: Value}
  /** A parameter, named or by position (from 0, as a decimal string: "0"); absent reads as null. */
  | {readonly kind: 'parameter'; readonly name: string}
  | {readonly kind: 'slot'; readonly slot: Slot}
  /**
   * A property of a record, embedded document or map; missing or not such a thing: null.
   * `each`: over a list it answers the list of the items' properties (SQL).
   */
  | {
      readonly kind: 'property';
      readonly of: Expression;
      readonly name: string;
      readonly each: boolean;
    }
  /** Whether the property exists (IS DEFINED). */
  | {readonly kind: 'defined'; readonly of: Expression; readonly name: string}
  | {readonly kind: 'attribute'; readonly of: Expression; readonly attribute: Attribute}
  /** A function of the table in functions.ts; `place` for its errors. */
  | {
      readonly kind: 'call';
      readonly name: string;
      readonly args: readonly Expression[];
      readonly place?: SourceLocation;
      /** Prints the expression as it was written, for a refusal while it runs. */
      readonly written?: () => string;
    }
  /** A function of the database's own, by its name in the catalog. */
  | {
      readonly kind: 'routine';
      readonly name: string;
      readonly args: readonly Expression[];
      readonly place?: SourceLocation;
    }
  /** Evaluated left to right, stops at the first false (and) or true (or). */
  | {readonly kind: 'and' | 'or'; readonly terms: readonly Expression[]}
  | {readonly kind: 'not'; readonly of: Expression}
  | {readonly kind: 'is-null'; readonly of: Expression}
  /** The first branch whose `when` is true; null without one. */
  | {
      readonly kind: 'case';
      readonly branches: readonly {readonly when: Expression; readonly then: Expression}[];
      readonly otherwise: Expression | undefined;
    }
  | {readonly kind: 'list'; readonly items: readonly Expression[]}
  | {readonly kind: 'map'; readonly entries: readonly MapEntry[]}
  /**
   * Goes over the items of `list`, with `item` (and `index`) bound: filter by `where`, then
   * `yields`. `mode` list keeps the results, `any`/`all`/`none`/`single` ask of `where`,
   * `first` takes one.
   */
  | {
      readonly kind: 'comprehension';
      readonly mode: 'list' | 'any' | 'all' | 'none' | 'single' | 'first';
      readonly list: Expression;
      readonly item: Slot;
      readonly index?: Slot;
      readonly where?: Expression;
      readonly yields?: Expression;
    }
  | {
      readonly kind: 'reduce';
      readonly list: Expression;
      readonly item: Slot;
      readonly accumulator: Slot;
      readonly initial: Expression;
      readonly step: Expression;
    }
  /**
   * A plan run for this row (its `argument` source is the row): whether it has a row, how
   * many, the list of `slot` over its rows, or `slot` of its only row (null without one).
   */
  | {
      readonly kind: 'subplan';
      readonly mode: 'exists' | 'count' | 'collect' | 'scalar';
      readonly plan: PlanNode;
      readonly slot: Slot;
      /** False: the plan depends on nothing of the row and is evaluated once a query. */
      readonly correlated: boolean;
    };

/** `spread` puts all properties of a record or map in place (SQL `*`), less `except`. */
export type MapEntry =
  | {readonly key: string; readonly value: Expression}
  | {readonly spread: Expression; readonly except?: readonly string[]};

/**
 * `rid` of a record (a Rid as it is), `type` name, `category` ('v','e','d'), `out`/`in` ends
 * of an edge, `this` the record itself, `properties` its map, `rid-bucket`, `rid-position`.
 */
export type Attribute =
  | 'rid'
  | 'type'
  | 'category'
  | 'out'
  | 'in'
  | 'this'
  | 'properties'
  | 'rid-bucket'
  | 'rid-position';
