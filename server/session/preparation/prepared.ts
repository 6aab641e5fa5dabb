/**
 * The way from a statement's text to something that runs: parse, bind, optimize, prepare.
 *
 * The result holds nothing of a run and is kept by text and catalog version
 * (statement-cache.ts). How each language is read says front-ends.ts.
 */
import {unreachable} from '#server/base/assert.ts';
import {Refusal} from '#server/base/errors.ts';
import {runToCompletion, type Cooperative} from '#server/base/cooperative.ts';
import type {Closure} from '#server/execution/closure.ts';
import {PlanPreparation} from '#server/execution/prepare.ts';
import {bindSubplans} from '#server/optimizer/bind-subplans.ts';
import {effortOf} from '#server/optimizer/effort.ts';
import {Estimates} from '#server/optimizer/estimates.ts';
import {type OptimizeOptions, optimizing} from '#server/optimizer/optimize.ts';
import {isReadOnly} from '#server/plan/properties.ts';
import {depthOf} from '#server/plan/tree.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {noStatistics, type Statistics} from '#server/plan/statistics.ts';
import type {
  BatchedStatement,
  QueryStatement,
  SessionCommand,
  Statement,
} from '#server/plan/statement.ts';
import {drainedBefore} from '#server/plan/writing-calls.ts';
import {type BindOptions, type BoundText, languageOf} from '../languages/front-ends.ts';
import {constantEvaluator} from './constant-evaluator.ts';
import {explain, explainCommand, type Explanation, type PlanFigures} from './explain.ts';
import {type PreparedQuery, preparingOptimized} from './prepared-query.ts';
import type {Routines} from '../programs/routines.ts';

export type Prepared =
  | PreparedQuery
  | PreparedSchema
  | PreparedBatched
  | Extract<Statement, {readonly kind: 'user' | 'align' | 'transfer'}>
  | PreparedSession
  | {
      readonly kind: 'explain';
      readonly execute: boolean;
      readonly answersRows: boolean;
      readonly inner: PreparedQuery;
    }
  /** EXPLAIN of what has no plan of rows. */
  | {readonly kind: 'explained-command'; readonly explanation: Explanation}
  | Exclude<BoundText, {readonly kind: 'bound'}>;

export type PreparedSchema = Extract<Statement, {readonly kind: 'schema'}>;

export interface PreparedSession {
  readonly kind: 'session';
  readonly command:
    | Exclude<SessionCommand, {readonly kind: 'set'}>
    | {readonly kind: 'set'; readonly name: string; readonly value: PreparedQuery};
}

/** Three queries and what holds them together; see BatchedStatement of plan/statement.ts. */
export interface PreparedBatched {
  readonly kind: 'batched';
  readonly statement: BatchedStatement;
  readonly before: PreparedQuery;
  readonly inner: PreparedQuery;
  readonly after: PreparedQuery;
  readonly size: Closure;
  readonly retryMs: Closure | undefined;
}

export interface PrepareOptions extends BindOptions {
  readonly statistics: Statistics;
  /** What the catalog's functions and triggers do. */
  readonly routines: Routines;
}

/** Steps of one plan, each of which reads what the one before gives; fewer where it is complex. */
const planDepthMax = 4_000;

/** @throws {Refusal} whatever parser, binder and optimizer refuse, with its place. */
export function prepareText(language: string, text: string, options: PrepareOptions): Prepared {
  return runToCompletion(preparingText(language, text, options));
}

/** Works like `prepareText`, in cooperative steps: read, bind, optimize, prepare. */
export function* preparingText(
  language: string,
  text: string,
  options: PrepareOptions,
): Cooperative<Prepared> {
  const bound = yield* languageOf(language, options.languages)(text, options);
  if (bound.kind !== 'bound') return bound;
  yield;
  return yield* preparingStatement(bound.statement, options);
}

/** The part of `prepareText` up to the bound statement. */
export function bindText(language: string, text: string, options: BindOptions): BoundText {
  return runToCompletion(languageOf(language, options.languages)(text, options));
}

export function prepareStatement(statement: Statement, options: PrepareOptions): Prepared {
  return runToCompletion(preparingStatement(statement, options));
}

function* preparingStatement(statement: Statement, options: PrepareOptions): Cooperative<Prepared> {
  switch (statement.kind) {
    case 'query':
      return yield* preparingQuery(statement, options);
    case 'schema':
    case 'user':
    case 'align':
    case 'transfer':
      return statement;
    case 'batched':
      return yield* preparingBatched(statement, options);
    case 'session': {
      const {command} = statement;
      if (command.kind !== 'set') return {kind: 'session', command};
      const value = yield* preparingQuery(command.value, options);
      return {kind: 'session', command: {...command, value}};
    }
    case 'explain': {
      const inner = yield* preparingStatement(statement.statement, options);
      const {execute, answersRows} = statement;
      if (inner.kind === 'query') return {kind: 'explain', execute, answersRows, inner};
      if (inner.kind === 'schema' && !statement.execute) {
        return {kind: 'explained-command', explanation: explainCommand(inner.command.kind)};
      }
      throw new Refusal(
        'query.execution',
        statement.execute
          ? 'PROFILE measures queries and single writes; EXPLAIN shows commands of the schema too'
          : 'EXPLAIN shows plans of queries, single writes and commands of the schema',
      );
    }
    default:
      return unreachable(statement);
  }
}

/** Rows are handed on by their slots, so none may be worked out for the answer alone. */
const slotsKept: ReadonlySet<string> = new Set(['inline-columns']);

/** What one plan binds another reads: each is asked for all that it hands on. */
function* preparingBatched(
  statement: BatchedStatement,
  options: PrepareOptions,
): Cooperative<PreparedBatched> {
  const query = (plan: PlanNode): Cooperative<PreparedQuery> =>
    preparingQuery(
      {
        kind: 'query',
        plan,
        slotCount: statement.slotCount,
        limit: undefined,
        timeoutMs: undefined,
        onTimeout: 'error',
        reportsStats: true,
        needs: statement.needs,
        form: statement.form,
      },
      {...options, without: slotsKept},
    );
  const handing = (plan: PlanNode, slots: readonly number[]): PlanNode => ({
    kind: 'project',
    input: plan,
    output: {
      kind: 'columns',
      columns: slots.map(slot => ({name: `$${slot}`, value: {kind: 'slot', slot}})),
    },
  });
  const {passed, results} = statement;
  const preparation = new PlanPreparation({kind: 'unit'}, options.functions);
  return {
    kind: 'batched',
    statement,
    before: yield* query(handing(statement.before, passed)),
    inner: yield* query(handing(statement.inner, [...passed, ...results])),
    after: yield* query(statement.after),
    size: preparation.expression(statement.size),
    retryMs: statement.retryMs && preparation.expression(statement.retryMs),
  };
}

function* preparingQuery(
  statement: QueryStatement,
  options: PrepareOptions & Pick<OptimizeOptions, 'without'>,
): Cooperative<PreparedQuery> {
  const depth = depthOf(statement.plan);
  if (depth > planDepthMax) throw tooDeep(depth);
  return yield* withinStack(depth, readying(statement, options));
}

function* readying(
  statement: QueryStatement,
  options: PrepareOptions & Pick<OptimizeOptions, 'without'>,
): Cooperative<PreparedQuery> {
  const {routines, catalog, statistics, functions} = options;
  const mayWrite = routines.mayWrite(statement.plan);
  const constant = constantEvaluator(catalog, functions);
  const optimized = yield* optimizing(statement.plan, {...options, constant});
  const drained = mayWrite ? drainedBefore(optimized, name => routines.writes(name)) : optimized;
  const plan = bindSubplans(drained);
  yield;
  const writes = mayWrite || !isReadOnly(plan);
  const effort = writes ? 0 : effortOf(plan, catalog, statistics);
  yield;
  return yield* preparingOptimized({...statement, plan}, functions, {writes, effort});
}

/**
 * Plans are walked by recursion, and how deep a stack is depends on how warm the code is.
 *
 * @throws {Refusal} `limit.depth` where it does not suffice for a plan of `depth` steps.
 */
function* withinStack<Result>(depth: number, work: Cooperative<Result>): Cooperative<Result> {
  try {
    return yield* work;
  } catch (error) {
    if (error instanceof RangeError && error.message.includes('call stack')) throw tooDeep(depth);
    throw error;
  }
}

function tooDeep(depth: number): Refusal {
  return new Refusal(
    'limit.depth',
    `the statement has ${depth} steps, each on what the one before gives, and at most ` +
      `${planDepthMax} are carried out: write several statements, or one over a list (UNWIND)`,
  );
}

/**
 * The plan of a query as people and tools read it.
 *
 * @param isGuarded - For a user who may not read everything: estimates tell of the data, so they
 *   are those of data of which nothing is known.
 */
export function explained(
  {plan: {plan}, columnNodes}: PreparedQuery,
  {catalog, statistics}: PrepareOptions,
  {isGuarded, run}: {readonly isGuarded: boolean; readonly run?: PlanFigures['run']},
): Explanation {
  const estimates = new Estimates(catalog, isGuarded ? noStatistics : statistics);
  // From the top down, so that what an inner plan is told of its row is known.
  estimates.of(plan);
  return explain(plan, {estimatedRows: node => estimates.of(node).rows, columnNodes, run});
}
