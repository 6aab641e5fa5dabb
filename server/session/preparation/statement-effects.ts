/**
 * What a statement may do, found in its bound plan and never in its text: an upper bound, functions
 * that it calls and triggers that it fires included.
 *
 * To read means to show what is stored. A write that finds its records by a condition and answers
 * at most how many there were does not, so that a right to change opens no right to look; one
 * that answers records, or works a query out, does. A statement that does nothing else reads.
 *
 * A script is looked at twice: as a whole before it begins, as far as its statements can be bound
 * then, and statement by statement as it runs, because what they are bound to may be made by those
 * before them. What is refused then is not written, since the transaction ends.
 * Why: docs/design/0047-effects-of-statements.md.
 */
import {unreachable} from '#server/base/assert.ts';
import {Refusal} from '#server/base/errors.ts';
import type * as Ast from '#server/languages/sql/ast.ts';
import type {Statement as SqlStatement} from '#server/languages/sql/ast-statement.ts';
import {bindParsedExpression} from '#server/languages/sql/bind-lone.ts';
import {bindStatement} from '#server/languages/sql/bind-statement.ts';
import type {Expression, Slot} from '#server/plan/expression.ts';
import {functionSignature} from '#server/plan/function-table.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {effectsOf as planEffects} from '#server/plan/properties.ts';
import type {BatchedStatement, SchemaCommand, Statement} from '#server/plan/statement.ts';
import {expressionsOf, visitExpression, visitPlan} from '#server/plan/tree.ts';
import type {Effect, RunRequest} from '../session.ts';
import type {Prepared, PrepareOptions} from './prepared.ts';

type Bound = Pick<PrepareOptions, 'catalog' | 'routines'>;
type Effects = readonly Effect[];

const known = new WeakMap<Prepared, ReadonlySet<Effect>>();

/** @param text - What it was prepared from. */
export function effectsOf(prepared: Prepared, text: string, bound: Bound): ReadonlySet<Effect> {
  const kept = known.get(prepared);
  if (kept !== undefined) return kept;
  const effects = new Set(ofPrepared(prepared, text, bound));
  if (effects.size === 0) effects.add('read');
  known.set(prepared, effects);
  return effects;
}

/** The effects of a statement inside a script, which may be none. */
export function requireStepPermitted(
  {permitted}: Pick<RunRequest, 'permitted'>,
  statement: Statement,
  bound: Bound,
): void {
  if (permitted !== undefined) requirePermitted(permitted, ofStatement(statement, bound));
}

/** @throws {Refusal} `security.denied` for the first effect that is not permitted. */
export function requirePermitted(permitted: ReadonlySet<Effect>, effects: Iterable<Effect>): void {
  for (const effect of effects) {
    if (permitted.has(effect)) continue;
    throw new Refusal(
      'security.denied',
      `the statement may ${words[effect]}, which is not permitted where it comes from`,
      {detail: {effect}},
    );
  }
}

const words: Readonly<Record<Effect, string>> = {
  read: 'show records',
  insert: 'make records',
  update: 'change records',
  delete: 'delete records',
  schema: 'change the schema',
  admin: 'administer the database',
};

function ofPrepared(prepared: Prepared, text: string, bound: Bound): Effects {
  switch (prepared.kind) {
    case 'query':
      return ofPlan(prepared.statement.plan, bound);
    case 'batched':
      return ofBatched(prepared.statement, bound);
    case 'explain':
      return prepared.execute ? ofPlan(prepared.inner.statement.plan, bound) : ['read'];
    case 'explained-command':
      return ['read'];
    case 'needs-types':
      return ['schema', ...ofStatement(prepared.statement, bound)];
    case 'script':
      return new ScriptEffects(text, bound).ofBlock(prepared.script.statements);
    case 'session':
      return prepared.command.kind === 'set'
        ? ofPlan(prepared.command.value.statement.plan, bound)
        : [];
    default:
      return ofStatement(prepared, bound);
  }
}

function ofStatement(statement: Statement, bound: Bound): Effects {
  switch (statement.kind) {
    case 'query':
      return ofPlan(statement.plan, bound);
    case 'batched':
      return ofBatched(statement, bound);
    case 'explain':
      return statement.execute ? ofStatement(statement.statement, bound) : ['read'];
    case 'schema':
      return [...(statement.first ?? []), statement.command].flatMap(schemaEffects);
    case 'user':
    case 'align':
      return ['admin'];
    case 'transfer':
      return statement.command.what === 'import'
        ? ['admin', 'schema', 'insert', 'update']
        : ['admin', 'read'];
    case 'session':
      return statement.command.kind === 'set' ? ofPlan(statement.command.value.plan, bound) : [];
    default:
      return unreachable(statement);
  }
}

/** The effects of a change of the schema on what the schema is, and on the records it concerns. */
export function schemaEffects(command: SchemaCommand): Effects {
  switch (command.kind) {
    case 'drop-type':
    case 'truncate-type':
    case 'drop-bucket':
    case 'truncate-bucket':
      return ['schema', 'delete'];
    case 'alter-database':
    case 'check-database':
      return ['admin'];
    case 'create-function':
      return command.definition.language === 'js' ? ['schema', 'admin'] : ['schema'];
    case 'create-trigger':
      return command.trigger.language === 'js' ? ['schema', 'admin'] : ['schema'];
    default:
      return ['schema'];
  }
}

function ofPlan(plan: PlanNode, bound: Bound): Effects {
  return [...writesOf([plan], bound), ...(showsRecords(plan) ? (['read'] as const) : [])];
}

function ofBatched({before, inner, after}: BatchedStatement, bound: Bound): Effects {
  const plans = [before, inner, after];
  const isShown = plans.some(worksOut) || !answersCounts(after, countsIn(inner));
  return [...writesOf(plans, bound), ...(isShown ? (['read'] as const) : [])];
}

function writesOf(plans: readonly PlanNode[], {routines}: Bound): Effects {
  return plans.flatMap(plan => {
    const {creates, changes, deletes} = routines.writesOf(plan);
    return [
      ...(creates ? (['insert'] as const) : []),
      ...(changes ? (['update'] as const) : []),
      ...(deletes ? (['delete'] as const) : []),
    ];
  });
}

/** Whether the answer of a plan, or what it writes, may hold what is stored. */
function showsRecords(plan: PlanNode): boolean {
  const {reads, readsAny, creates, createsAny, changesAny, deletesAny} = planEffects(plan);
  if (reads.size === 0 && !readsAny) return false;
  const isWrite = creates.size > 0 || createsAny || changesAny || deletesAny;
  return !isWrite || worksOut(plan) || !answersCounts(plan);
}

/** Whether an expression of it asks for records other than those of its rows. */
function worksOut(plan: PlanNode): boolean {
  let asks = false;
  visitPlan(plan, node => {
    for (const expression of expressionsOf(node)) {
      visitExpression(expression, part => {
        asks ||= asksForRecords(part);
      });
    }
  });
  return asks;
}

function asksForRecords(expression: Expression): boolean {
  if (expression.kind === 'subplan' || expression.kind === 'routine') return true;
  if (expression.kind !== 'call') return false;
  const needs = functionSignature(expression.name)?.needs;
  return needs === 'graph' || needs === 'database';
}

/** Whether rows are not told but counted, if that; `counted`: slots that hold such counts. */
function answersCounts(plan: PlanNode, counted: ReadonlySet<Slot> = new Set()): boolean {
  if (plan.kind !== 'project' || plan.output.kind !== 'columns') return false;
  const counts = countsIn(plan.input, counted);
  return plan.output.columns.every(
    column => 'value' in column && column.value.kind === 'slot' && counts.has(column.value.slot),
  );
}

/** Slots that hold how many rows there were, or the sum of such counts. */
function countsIn(plan: PlanNode, counted: ReadonlySet<Slot> = new Set()): ReadonlySet<Slot> {
  const counts = new Set<Slot>();
  visitPlan(plan, node => {
    if (node.kind !== 'aggregate' || node.keys.length > 0) return;
    for (const {name, args, slot} of node.aggregates) {
      const [only, ...more] = args;
      const isSum = name === 'std.sum' && only?.kind === 'slot' && counted.has(only.slot);
      if ((name === 'count' && only === undefined) || (isSum && more.length === 0)) {
        counts.add(slot);
      }
    }
  });
  return counts;
}

/** The effects of a script's statements, wherever in it they stand. */
class ScriptEffects {
  readonly #text: string;
  readonly #bound: Bound;

  constructor(text: string, bound: Bound) {
    this.#text = text;
    this.#bound = bound;
  }

  ofBlock(statements: readonly SqlStatement[]): Effects {
    return statements.flatMap(statement => this.#of(statement));
  }

  #of(ast: SqlStatement): Effects {
    switch (ast.kind) {
      case 'begin':
      case 'rollback':
      case 'break':
        return [];
      case 'commit':
        return [...this.#value(ast.retry), ...this.ofBlock(ast.otherwise)];
      case 'let':
        return ast.items.flatMap(({value}) => this.#value(value));
      case 'set-global':
        return ['admin', ...this.#value(ast.value)];
      case 'if':
        return [
          ...this.#value(ast.condition),
          ...this.ofBlock(ast.then),
          ...this.ofBlock(ast.otherwise),
        ];
      case 'foreach':
        return [...this.#value(ast.source), ...this.ofBlock(ast.body)];
      case 'while':
        return [...this.#value(ast.condition), ...this.ofBlock(ast.body)];
      case 'return':
      case 'console':
        return this.#value(ast.value);
      case 'sleep':
        return this.#value(ast.milliseconds);
      default:
        return this.#statement(ast);
    }
  }

  #value(ast: Ast.Expression | undefined): Effects {
    if (ast === undefined) return [];
    if (ast.kind === 'subquery') return this.#statement(ast.statement);
    try {
      const value = bindParsedExpression(this.#text, ast, this.#bound.catalog);
      const output = {kind: 'columns', columns: [{name: 'value', value}]} as const;
      return ofPlan({kind: 'project', input: {kind: 'unit'}, output}, this.#bound);
    } catch (error) {
      if (error instanceof Refusal) return [];
      throw error;
    }
  }

  #statement(ast: SqlStatement): Effects {
    try {
      return ofStatement(bindStatement(this.#text, ast, this.#bound.catalog), this.#bound);
    } catch (error) {
      if (error instanceof Refusal) return plainEffects(ast);
      throw error;
    }
  }
}

/** The effects that a statement has by what it is; it names what does not exist yet. */
function plainEffects(ast: SqlStatement): Effects {
  switch (ast.kind) {
    case 'insert':
    case 'create-vertex':
    case 'create-edge':
    case 'restore-record':
      return ['insert'];
    case 'update':
      return ast.upsert ? ['insert', 'update'] : ['update'];
    case 'move-vertex':
      return ['update'];
    case 'delete':
    case 'truncate-record':
      return ['delete'];
    case 'select':
    case 'match':
    case 'traverse':
    case 'find-references':
    case 'explain':
    case 'lock':
      return ['read'];
    case 'alter-database':
    case 'check-database':
    case 'align-database':
    case 'transfer-database':
      return ['admin'];
    default:
      return ['schema'];
  }
}
