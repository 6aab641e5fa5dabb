/**
 * A query ready to run, as often as wanted: made from its optimized statement alone, so that any
 * thread that is given the statement can make it.
 */
import {assert} from '#server/base/assert.ts';
import {Refusal} from '#server/base/errors.ts';
import {runToCompletion, type Cooperative} from '#server/base/cooperative.ts';
import type {Closure} from '#server/execution/closure.ts';
import type {FunctionRegistry} from '#server/execution/function-registry.ts';
import {
  columnNames,
  outputOf,
  type PreparedOutput,
  prepareOutput,
} from '#server/execution/output.ts';
import {PlanPreparation} from '#server/execution/prepare.ts';
import {PlanProfile} from '#server/execution/profile.ts';
import type {PreparedPlan} from '#server/execution/run.ts';
import {type SingleCreate, singleCreateOf} from '#server/execution/single-create.ts';
import type {Value} from '#server/model/value.ts';
import {requiredProperties} from '#server/plan/required-properties.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {asksSearchIndex} from '#server/plan/properties.ts';
import type {AnswerForm, ParameterUse, QueryStatement, Retry} from '#server/plan/statement.ts';
import {Contention} from '../statements/contention.ts';

export interface PreparedQuery {
  readonly kind: 'query';
  /** What it was made from; its plan is the optimized one. */
  readonly statement: QueryStatement;
  readonly plan: PreparedPlan;
  readonly output: PreparedOutput;
  /** Names of the columns; undefined where a row is one value. */
  readonly columns: readonly string[] | undefined;
  /** The LIMIT that the planner knows, evaluated without a row. */
  readonly limit: Closure | undefined;
  readonly timeoutMs: Closure | undefined;
  readonly onTimeout: 'error' | 'partial';
  readonly writes: boolean;
  /** The plan comes to no more than this, and need not be run where nothing looks at it. */
  readonly single: SingleCreate | undefined;
  /** Steps of work that it is likely to be; see optimizer/effort.ts. Of a write: 0. */
  readonly effort: number;
  readonly retry: Retry | undefined;
  readonly reportsStats: boolean;
  /** Nodes of the plan whose rows come from columns where they are kept. */
  readonly columnNodes: ReadonlySet<PlanNode>;
  /** It asks a search index, whose lists and graphs are kept on the network thread alone. */
  readonly searches: boolean;
  /** Names of the properties that a read asks of records; undefined: all (askedProperties). */
  readonly asked: ReadonlySet<string> | undefined;
  readonly needs: readonly ParameterUse[];
  readonly form: AnswerForm;
  /** Shared by all of its runs. */
  readonly contention: Contention;
  /** Measures its only run node by node. */
  readonly profile?: PlanProfile;
}

/** @param statement - Optimized. */
export function preparedQuery(
  statement: QueryStatement,
  functions: FunctionRegistry,
  known: Pick<PreparedQuery, 'writes' | 'effort'>,
): PreparedQuery {
  return runToCompletion(preparingOptimized(statement, functions, known));
}

/** Works like `preparedQuery`, in cooperative steps. */
export function* preparingOptimized(
  statement: QueryStatement,
  functions: FunctionRegistry,
  {writes, effort}: Pick<PreparedQuery, 'writes' | 'effort'>,
): Cooperative<PreparedQuery> {
  const {plan, limit, timeoutMs} = statement;
  const preparation = new PlanPreparation(plan, functions);
  yield;
  const parts = yield* preparingParts(plan, preparation);
  yield;
  return {
    kind: 'query',
    statement,
    ...parts,
    limit: limit && preparation.expression(limit),
    timeoutMs: timeoutMs && preparation.expression(timeoutMs),
    onTimeout: statement.onTimeout,
    writes,
    single: mayBeSingle(statement) ? singleCreateOf(plan) : undefined,
    effort,
    retry: statement.retry,
    reportsStats: statement.reportsStats ?? false,
    searches: asksSearchIndex(plan),
    asked: writes ? undefined : requiredProperties(plan),
    needs: statement.needs ?? [],
    form: statement.form,
    contention: new Contention(),
  };
}

/** Nothing is asked of it beside its plan. */
function mayBeSingle({limit, timeoutMs, reportsStats, needs}: QueryStatement): boolean {
  const isBounded = limit !== undefined || timeoutMs !== undefined;
  return !isBounded && reportsStats !== true && (needs === undefined || needs.length === 0);
}

function* preparingParts(
  plan: PlanNode,
  preparation: PlanPreparation,
): Cooperative<Pick<PreparedQuery, 'plan' | 'output' | 'columns' | 'columnNodes'>> {
  const output = outputOf(plan);
  assert(output !== undefined, "a statement's plan says what the client sees");
  const operator = preparation.prepare(plan);
  yield;
  const prepared = prepareOutput(output, preparation);
  return {
    plan: {plan, operator},
    output: prepared,
    columns: columnNames(prepared),
    columnNodes: preparation.columnNodes,
  };
}

/** The same query for one run that is measured node by node. */
export function observed(
  query: PreparedQuery,
  functions: FunctionRegistry,
): PreparedQuery & {readonly profile: PlanProfile} {
  const {plan} = query.plan;
  const profile = new PlanProfile();
  return {
    ...query,
    ...runToCompletion(preparingParts(plan, new PlanPreparation(plan, functions, {profile}))),
    profile,
    single: undefined,
  };
}

/** @throws {Refusal} `query.parameter-missing` with the place of the first one not given. */
export function requireParameters(query: PreparedQuery, given: ReadonlyMap<string, Value>): void {
  const missing = query.needs.filter(({name}) => !given.has(name));
  const [first] = missing;
  if (first === undefined) return;
  const names = missing.map(({name}) => name);
  throw new Refusal('query.parameter-missing', `Expected parameter(s): ${names.join(', ')}`, {
    place: first.place,
    detail: {type: 'ParameterMissing', reason: 'MissingParameter', names: names.join(', ')},
  });
}
