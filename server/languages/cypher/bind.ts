/**
 * The public file of Cypher's binder: a syntax tree to a statement of the plan algebra.
 *
 * Types that the query makes records of and that do not exist yet are said beside it: they are
 * made before the query runs, each an entry of the schema of its own (docs/design/0001).
 */
import type {Catalog} from '#server/catalog/catalog.ts';
import {labelsOf} from '#server/model/labels.ts';
import type {PlanNode} from '#server/plan/node.ts';
import type {Expression as BoundExpression} from '#server/plan/expression.ts';
import type {
  MissingType,
  QueryStatement,
  SessionCommand as BoundSessionCommand,
  Statement as BoundStatement,
  UserCommand as BoundUserCommand,
} from '#server/plan/statement.ts';
import type {Expression} from './ast-expression.ts';
import type {Query, SessionCommand, Statement, UserCommand} from './ast.ts';
import {batchedClause, bindBatched} from './bind-batched.ts';
import {bindExpression} from './bind-expression.ts';
import {bindDefinitions} from './bind-local-function.ts';
import {
  BindContext,
  cypherAnswers,
  emptyScope,
  nothing,
  type Scope,
  slotOf,
} from './bind-context.ts';
import {bindInnerQuery} from './bind-query.ts';
import type {Procedures} from './procedures.ts';
import {bindSchemaCommand} from './bind-schema.ts';

export interface BoundCypher {
  readonly statement: BoundStatement;
  /** Types to be made first, the simple ones before those that are made of them. */
  readonly missing: readonly MissingType[];
}

/** @throws {Refusal} `cypher.syntax` with the place and the suite's reason. */
export function bindCypher(
  text: string,
  statement: Statement,
  around: {
    readonly catalog: Catalog;
    readonly procedures: Procedures;
    readonly databaseName: string;
  },
): BoundCypher {
  const context = new BindContext(text, around);
  if (statement.kind === 'schema') {
    const bound = bindSchemaCommand(context, statement.command);
    return {statement: bound, missing: missingTypes(context)};
  }
  if (statement.kind === 'user') {
    const command = bindUserCommand(context, statement.command);
    return {statement: {kind: 'user', command}, missing: []};
  }
  if (statement.kind === 'session') {
    const command = bindSessionCommand(context, statement.command);
    return {statement: {kind: 'session', command}, missing: []};
  }
  const scope = bindDefinitions(context, statement.functions);
  const batched = batchedClause(statement.query);
  if (batched !== undefined && statement.kind === 'query') {
    const cut = bindBatched(context, scope, statement.query, batched);
    return {statement: cut, missing: missingTypes(context)};
  }
  const query = bindQuery(context, scope, statement.query);
  const bound: BoundStatement =
    statement.kind === 'explain'
      ? {kind: 'explain', execute: statement.profile, answersRows: true, statement: query}
      : query;
  return {statement: bound, missing: missingTypes(context)};
}

function bindUserCommand(context: BindContext, command: UserCommand): BoundUserCommand {
  if (command.kind === 'drop-user') return {...command, name: command.name.text};
  const secret = (ast: Expression): BoundExpression => bindExpression(context, emptyScope, ast);
  const password = secret(command.password);
  if (command.kind === 'create-user') return {...command, name: command.name.text, password};
  const {name, oldPassword} = command;
  return {
    ...command,
    name: name?.text,
    password,
    oldPassword: oldPassword && secret(oldPassword),
  };
}

function bindSessionCommand(context: BindContext, command: SessionCommand): BoundSessionCommand {
  if (command.kind !== 'set') return command;
  const value = bindExpression(context, emptyScope, command.value);
  const output = {kind: 'columns', columns: [{name: 'value', value}]} as const;
  const plan: PlanNode = {kind: 'project', input: {kind: 'unit'}, output};
  return {kind: 'set', name: command.name.text, value: statementOf(context, plan)};
}

function bindQuery(context: BindContext, scope: Scope, query: Query): QueryStatement {
  const {plan, columns} = bindInnerQuery(context, {plan: {kind: 'unit'}, scope}, query);
  // A query without RETURN answers nothing, whatever it did.
  const rows: PlanNode = columns.length > 0 ? plan : nothing({kind: 'barrier', input: plan});
  const output = columns.map(({name, slot}) => ({name, value: slotOf(slot)}));
  return statementOf(context, {
    kind: 'project',
    input: rows,
    output: {kind: 'columns', columns: output},
  });
}

function statementOf(context: BindContext, plan: PlanNode): QueryStatement {
  return {
    kind: 'query',
    plan,
    slotCount: context.slotCount,
    limit: undefined,
    timeoutMs: undefined,
    onTimeout: 'error',
    form: cypherAnswers,
    reportsStats: true,
    needs: context.needs,
  };
}

function missingTypes(context: BindContext): readonly MissingType[] {
  const types = [...context.missing].map(([name, kind]) => ({
    name,
    kind,
    superTypes: kind === 'vertex' && labelsOf(name).length > 1 ? labelsOf(name) : [],
  }));
  return [
    ...types.filter(type => type.superTypes.length === 0),
    ...types.filter(type => type.superTypes.length > 0),
  ];
}
