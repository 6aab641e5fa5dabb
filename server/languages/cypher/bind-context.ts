/**
 * What binding a query needs everywhere: the catalog, fresh slots, refusals, and scopes.
 *
 * A scope is the variables at one point of a query, each with its slot and what is known of its
 * values. Scopes are values; a clause that adds names makes a new one. Binding is pure.
 */
import type {Refusal, SourceLocation} from '#server/base/errors.ts';
import type {Catalog} from '#server/catalog/catalog.ts';
import type {Value} from '#server/model/value.ts';
import type {Expression, Slot} from '#server/plan/expression.ts';
import type {PlanNode} from '#server/plan/node.ts';
import type {AnswerForm, ParameterUse} from '#server/plan/statement.ts';
import {placeOf} from '../place.ts';
import type {FunctionDefinition, Name} from './ast.ts';
import type * as Ast from './ast-expression.ts';
import {syntaxRefusal} from './cursor.ts';
import type {Procedures} from './procedures.ts';
import type {Kind} from './value-kind.ts';

export interface Variable {
  readonly slot: Slot;
  readonly kind: Kind;
}

/** A function of the query, and what its body sees beside its parameters. */
export interface LocalFunction {
  readonly definition: FunctionDefinition;
  readonly scope: Scope;
}

export interface Scope {
  readonly variables: ReadonlyMap<string, Variable>;
  /** Asked first about every expression; grouping answers for keys and aggregates. */
  readonly intercept: ((ast: Ast.Expression) => Expression | undefined) | undefined;
  /** Whether a pattern may stand for whether it can be found. */
  readonly allowsPatterns: boolean;
  /** Where the rows of LOAD CSV come from. */
  readonly csv: {readonly file: Slot; readonly line: Slot} | undefined;
  /** Functions of the query itself, by name in lower case. */
  readonly functions: ReadonlyMap<string, LocalFunction>;
  /** Whether something was deleted before: then a record may be gone. */
  readonly hasDeleted: boolean;
}

export const emptyScope: Scope = {
  variables: new Map(),
  intercept: undefined,
  allowsPatterns: true,
  csv: undefined,
  functions: new Map(),
  hasDeleted: false,
};

export function withVariables(scope: Scope, names: Iterable<readonly [string, Variable]>): Scope {
  return {...scope, variables: new Map([...scope.variables, ...names])};
}

/** How often bodies of the query's own functions are put in place of calls, and how deep. */
const insertionsMax = 1_000;
const insertedLevelsMax = 250;

/** One query being bound. */
export class BindContext {
  readonly text: string;
  readonly catalog: Catalog;
  readonly procedures: Procedures;
  /** The database that the query is sent to. */
  readonly databaseName: string;
  /** Names of types that the query makes records of and that do not exist. */
  readonly #missing = new Map<string, 'vertex' | 'edge'>();
  readonly #parameters = new Map<string, ParameterUse>();
  #slots = 0;
  #insertions = 0;
  #insertedLevels = 0;

  constructor(
    text: string,
    around: {
      readonly catalog: Catalog;
      readonly procedures: Procedures;
      readonly databaseName: string;
    },
  ) {
    this.text = text;
    this.catalog = around.catalog;
    this.procedures = around.procedures;
    this.databaseName = around.databaseName;
  }

  newSlot(): Slot {
    return this.#slots++;
  }

  get slotCount(): number {
    return this.#slots;
  }

  get missing(): ReadonlyMap<string, 'vertex' | 'edge'> {
    return this.#missing;
  }

  /** Remembers that records of a type will be made. */
  needType(name: string, kind: 'vertex' | 'edge'): void {
    if (this.catalog.type(name) === undefined) this.#missing.set(name, kind);
  }

  /** A parameter that has to be given when the query runs. */
  parameter(name: string, at: number): Expression {
    if (!this.#parameters.has(name)) this.#parameters.set(name, {name, place: this.place(at)});
    return {kind: 'parameter', name};
  }

  /** The parameters met so far, in written order. */
  get needs(): readonly ParameterUse[] {
    return [...this.#parameters.values()];
  }

  /** Binds the body of a function, `levels` high, where it is called. */
  within<T>(levels: number, at: number, bind: () => T): T {
    this.#insertions += 1;
    this.#insertedLevels += levels;
    if (this.#insertions > insertionsMax || this.#insertedLevels > insertedLevelsMax) {
      this.refuse(
        at,
        'UnexpectedSyntax',
        `the query's own functions are called ${insertionsMax} times and nest ` +
          `${insertedLevelsMax} levels at most, calls inside of them counted each time`,
      );
    }
    const bound = bind();
    this.#insertedLevels -= levels;
    return bound;
  }

  place(at: number): SourceLocation {
    return placeOf(this.text, at);
  }

  /** Refuses a name that stands for something already. */
  alreadyBound(at: number, name: string): never {
    return this.refuse(at, 'VariableAlreadyBound', `'${name}' is bound already`);
  }

  /** @throws {Refusal} VariableAlreadyBound when the scope has the name. */
  requireNew({variables}: Scope, {text, at}: Name): void {
    if (variables.has(text)) this.alreadyBound(at, text);
  }

  /** Refuses for one of the suite's reasons. */
  refuse(at: number, reason: string, message: string): never {
    throw this.refusal(at, reason, message);
  }

  refusal(at: number, reason: string, message: string, type = 'SyntaxError'): Refusal {
    return syntaxRefusal(this.text, at, message, {reason, type});
  }
}

/** A plan and what its rows' names are. */
export interface Bound {
  readonly plan: PlanNode;
  readonly scope: Scope;
}

// Short names for the expressions that binding makes all the time.

export function literal(value: Value): Expression {
  return {kind: 'literal', value};
}

export function slotOf(slot: Slot): Expression {
  return {kind: 'slot', slot};
}

export function operator(name: string, ...args: readonly Expression[]): Expression {
  return {kind: 'call', name: `op:${name}`, args};
}

export function conjunction(terms: readonly Expression[]): Expression | undefined {
  const [only, ...more] = terms;
  return only === undefined || more.length === 0 ? only : {kind: 'and', terms};
}

export function filtered(input: PlanNode, terms: readonly Expression[]): PlanNode {
  const condition = conjunction(terms);
  return condition === undefined ? input : {kind: 'filter', input, condition};
}

/** How every query of the language answers. */
export const cypherAnswers: AnswerForm = {loneRecords: true, durationsAsSeconds: false};

/** No rows, whatever comes in. */
export function nothing(input: PlanNode): PlanNode {
  return {kind: 'filter', input, condition: literal(false)};
}
