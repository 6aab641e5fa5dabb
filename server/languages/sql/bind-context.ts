/**
 * What binding a statement needs everywhere: the catalog, fresh slots, places, and scopes.
 *
 * A scope says what names mean at one point of a statement: the current record, names that stand
 * before its properties (columns of a sub-query, nodes of a MATCH, aliases, loop variables), the
 * variables that `$x` reads, and the scope around it. Scopes are values; a clause that adds names
 * makes a new one. Binding is pure: it never looks at data.
 */
import type {SourceLocation} from '#server/base/errors.ts';
import {Refusal, type RefusalCode} from '#server/base/errors.ts';
import type {Catalog} from '#server/catalog/catalog.ts';
import type {Value} from '#server/model/value.ts';
import type {Expression, Slot} from '#server/plan/expression.ts';
import type {OutputColumn, PlanNode} from '#server/plan/node.ts';
import type {AnswerForm} from '#server/plan/statement.ts';
import type * as Ast from './ast.ts';
import type {Statement} from './ast-statement.ts';

export interface Source {
  readonly plan: PlanNode;
  readonly scope: Scope;
  /** What `SELECT FROM` answers of it. */
  readonly shape: Shape;
  /** What names mean in WHERE, where that differs. */
  readonly conditions?: Scope;
  /** The plan for rows that a condition holds for, where that is another one. */
  readonly where?: ((condition: Expression) => PlanNode) | undefined;
}

/** A write of records that are there, to be done at once or in transactions of their own. */
export interface WriteSteps {
  /** The records it is about, in `slot`. */
  readonly rows: PlanNode;
  readonly slot: Slot;
  /** What `rows` were chosen by. */
  readonly condition: Expression | undefined;
  readonly write: (rows: PlanNode) => PlanNode;
  /** Undefined: how many were written. */
  readonly answer: ((written: PlanNode) => BoundQuery) | undefined;
}

/** What a bound query answers. */
export type Shape =
  /** The record (or any value) in `slot`. */
  | {readonly kind: 'element'; readonly slot: Slot}
  | {readonly kind: 'columns'; readonly columns: readonly OutputColumn[]};

/** A query as rows: a plan without its final `project`, and what to make of its slots. */
export interface BoundQuery {
  readonly plan: PlanNode;
  readonly shape: Shape;
  /** Context variables that a query around may read of its rows: `$depth` of a TRAVERSE. */
  readonly variables: ReadonlyMap<string, Expression>;
}

export interface Scope {
  /** The current record: base of bare names, `@this`; undefined where there is none. */
  readonly record: Expression | undefined;
  /** Names (and `@attributes`) that stand before the record's properties. */
  readonly names: ReadonlyMap<string, Expression>;
  /** `names` is all there is: any other name is null. */
  readonly closed: boolean;
  /** `$x` by name, without the dollar. */
  readonly variables: ReadonlyMap<string, Expression>;
  /** The scope of the statement around this one: `$parent`. */
  readonly parent: Scope | undefined;
  /** Asked first about every expression; grouping answers for keys and aggregates. */
  readonly intercept: ((ast: Ast.Expression) => Expression | undefined) | undefined;
}

const none: ReadonlyMap<string, Expression> = new Map();

/** A scope without names; `record` is the current record, if there is one. */
export function makeScope(
  record: Expression | undefined,
  parent: Scope | undefined,
  more: Partial<Pick<Scope, 'names' | 'closed' | 'variables'>> = {},
): Scope {
  return {
    record,
    parent,
    names: more.names ?? none,
    closed: more.closed ?? false,
    variables: more.variables ?? none,
    intercept: undefined,
  };
}

/** `scope` with more names before those it has. */
export function withNames(scope: Scope, names: Iterable<readonly [string, Expression]>): Scope {
  return {...scope, names: new Map([...scope.names, ...names])};
}

export type QueryBinder = (
  context: BindContext,
  statement: Statement,
  parent: Scope | undefined,
  at: number,
) => BoundQuery;

/** One statement being bound. Owned by one call of `bindStatement`. */
export class BindContext {
  readonly text: string;
  readonly catalog: Catalog;
  readonly #bindQuery: QueryBinder;
  #slots = 0;
  #lineStarts: readonly number[] | undefined;

  /** @param bindQuery - Binds the queries that stand inside expressions and targets. */
  constructor(text: string, catalog: Catalog, bindQuery: QueryBinder) {
    this.text = text;
    this.catalog = catalog;
    this.#bindQuery = bindQuery;
  }

  /** A slot that nothing else of the statement uses. */
  newSlot(): Slot {
    return this.#slots++;
  }

  /** How many slots a row of the statement has so far. */
  get slotCount(): number {
    return this.#slots;
  }

  bindQuery(statement: Statement, parent: Scope | undefined, at: number): BoundQuery {
    return this.#bindQuery(this, statement, parent, at);
  }

  /** Line and column of an offset. */
  place(at: number): SourceLocation {
    this.#lineStarts ??= lineStartsOf(this.text);
    let low = 0;
    let high = this.#lineStarts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#lineStarts[middle] ?? 0) <= at) low = middle;
      else high = middle - 1;
    }
    return {line: low + 1, column: at - (this.#lineStarts[low] ?? 0) + 1};
  }

  /** Refuses what is well formed but means nothing. */
  refuse(at: number, message: string): never {
    throw new Refusal('query.semantic', message, this.#placed(at));
  }

  /** Refuses what is documented but not here yet, by its name. */
  notAvailable(at: number, name: string): never {
    throw new Refusal('not-available', `${name} is not available yet`, {
      ...this.#placed(at),
      detail: {name},
    });
  }

  /** Refuses a word that the grammar would have refused, had it known the list. */
  syntax(at: number, message: string): never {
    throw new Refusal('sql.syntax', message, this.#placed(at));
  }

  /** Refuses what could be carried out if it were put in another way. */
  impossible(at: number, message: string): never {
    throw new Refusal('query.execution', message, this.#placed(at));
  }

  /** Refuses an attribute of a definition that does not exist. */
  unknownAttribute(at: number, name: string, known: readonly string[]): never {
    this.impossible(at, `There is no attribute '${name}': expected one of ${known.join(', ')}`);
  }

  /**
   * Runs `look`, adding the place to a refusal that has none (look-ups in the catalog).
   *
   * @param code - What it is refused as, where that is not what the catalog says.
   */
  located<T>(at: number, look: () => T, code?: RefusalCode): T {
    try {
      return look();
    } catch (error) {
      if (!(error instanceof Refusal) || error.place !== undefined) throw error;
      throw new Refusal(code ?? error.code, error.message, {
        detail: error.detail,
        place: this.place(at),
        cause: error,
      });
    }
  }

  #placed(at: number): {readonly place: SourceLocation} {
    return {place: this.place(at)};
  }
}

function lineStartsOf(text: string): readonly number[] {
  const starts = [0];
  for (let i = text.indexOf('\n'); i !== -1; i = text.indexOf('\n', i + 1)) starts.push(i + 1);
  return starts;
}

/** A row always has its columns; a duration is a number as far as it can be one. */
export const sqlAnswers: AnswerForm = {loneRecords: false, durationsAsSeconds: true};

// Short names for the expressions that binding makes all the time.

export function literal(value: Value): Expression {
  return {kind: 'literal', value};
}

export function slotOf(slot: Slot): Expression {
  return {kind: 'slot', slot};
}

export function not(of: Expression): Expression {
  return {kind: 'not', of};
}

export function operator(name: string, ...args: readonly Expression[]): Expression {
  return {kind: 'call', name: `op:${name}`, args};
}

/** A property of a record; over a list, of each item. */
export function property(of: Expression, name: string): Expression {
  return {kind: 'property', of, name, each: true};
}

/** `yields` with `slot` bound to `value`: a comprehension over the one value. */
export function letIn(slot: Slot, value: Expression, yields: Expression): Expression {
  const list: Expression = {kind: 'list', items: [value]};
  return {kind: 'comprehension', mode: 'first', list, item: slot, yields};
}

/** Whether reading the value again costs next to nothing. */
export function isCheap(value: Expression): boolean {
  if (value.kind === 'slot' || value.kind === 'literal' || value.kind === 'parameter') return true;
  return (value.kind === 'property' || value.kind === 'attribute') && value.of.kind === 'slot';
}
