/**
 * SQL statements to statements of the plan: the one entry to the binder.
 *
 * Dispatches to the binder of each kind; what has none yet is refused with `not-available` and
 * its name. Pure: the same text and catalog give the same plan, so plans can be kept by both.
 */

import {words} from '#server/base/words.ts';
import type {Catalog} from '#server/catalog/catalog.ts';
import {
  type DatabaseSettingKey,
  requireDatabaseSetting,
} from '#server/catalog/database-settings.ts';
import type {Expression} from '#server/plan/expression.ts';
import type {PlanNode} from '#server/plan/node.ts';
import type {Retry, Statement as PlanStatement} from '#server/plan/statement.ts';
import type * as Ast from './ast.ts';
import type {ScriptStatement, Statement} from './ast-statement.ts';
import {bindBatches, hasBatch} from './bind-batch.ts';
import type {BoundQuery, Scope} from './bind-context.ts';
import {BindContext, literal, sqlAnswers} from './bind-context.ts';
import {bindMatch} from './bind-match.ts';
import {bindConstant} from './bind-projection.ts';
import {bindCheck} from './bind-check.ts';
import {bindFindReferences} from './bind-references.ts';
import {bindRestore} from './bind-restore.ts';
import {constantOf} from './bind-constant.ts';
import {bindSchema, isSchemaStatement} from './bind-schema.ts';
import {bindSelect, bindTraverse} from './bind-select.ts';
import {bindWrite, retryOf} from './bind-write.ts';
import type {ParseLimits} from '../limits.ts';
import {parseStatement} from './parser.ts';

/**
 * Parses and binds one statement.
 *
 * @throws {Refusal} `sql.syntax`, `query.*`, `schema.*`, `not-available`; with the place.
 */
export function bindSql(text: string, catalog: Catalog, limits?: ParseLimits): PlanStatement {
  return bindStatement(text, parseStatement(text, limits), catalog);
}

const noLimits = {limit: undefined, timeout: undefined} as const;

const scriptKinds: ReadonlySet<string> = new Set<ScriptStatement['kind']>(
  words('begin commit rollback let set-global if foreach while break return sleep console'),
);

/** Whether it is control flow, which runs above plans. */
export function isScriptStatement(ast: Statement): ast is ScriptStatement {
  return scriptKinds.has(ast.kind);
}

/** Binds a parsed statement; `text` is what it was parsed from, for the places of errors. */
export function bindStatement(text: string, ast: Statement, catalog: Catalog): PlanStatement {
  const context = new BindContext(text, catalog, bindQuery);
  return bindAny(context, ast);
}

function bindAny(context: BindContext, ast: Statement): PlanStatement {
  switch (ast.kind) {
    case 'select':
    case 'match':
    case 'traverse':
      return queryOf(context, bindQuery(context, ast, undefined, ast.at), ast);
    case 'find-references':
      return queryOf(context, bindFindReferences(context, ast), noLimits);
    case 'explain':
      return {
        kind: 'explain',
        execute: ast.profile,
        answersRows: false,
        statement: bindAny(context, ast.statement),
      };
    case 'insert':
    case 'update':
    case 'delete':
    case 'truncate-record':
    case 'create-vertex':
    case 'create-edge':
    case 'move-vertex': {
      if (hasBatch(ast)) return bindBatches(context, ast);
      const timeout = ast.kind === 'update' ? ast.timeout : undefined;
      const retry = ast.kind === 'create-edge' ? retryOf(context, ast) : undefined;
      const written = bindWrite(context, ast, undefined);
      return queryOf(context, written, {limit: undefined, timeout, retry});
    }
    case 'alter-database': {
      const {at, text} = ast.setting;
      const known = (): DatabaseSettingKey => requireDatabaseSetting(text);
      const setting = context.located(at, known, 'database.operation');
      const value = constantOf(context, ast.value);
      return {kind: 'schema', command: {kind: 'alter-database', setting, value}};
    }
    case 'check-database':
      return {kind: 'schema', command: bindCheck(context, ast)};
    case 'align-database':
      return {kind: 'align'};
    case 'lock':
      return queryOf(context, bindLock(context, ast), noLimits);
    case 'restore-record':
      return queryOf(context, bindRestore(context, ast), noLimits);
    case 'transfer-database':
      return bindTransfer(context, ast);
    default:
      if (isSchemaStatement(ast)) return {kind: 'schema', command: bindSchema(context, ast)};
      return context.refuse(ast.at, `${nameOf(ast.kind)} stands only by itself or in a script`);
  }
}

function bindTransfer(
  context: BindContext,
  {what, url, settings}: Extract<Statement, {kind: 'transfer-database'}>,
): PlanStatement {
  const address = url && constantOf(context, url);
  if (url !== undefined && typeof address !== 'string') {
    return context.refuse(url.at, 'A file or an address is expected here, as a text');
  }
  const given = new Map(settings.map(({name, value}) => [name, constantOf(context, value)]));
  return {kind: 'transfer', command: {what, url: address as string | undefined, settings: given}};
}

/**
 * A row that says so: there are no locks to take. Two commits of which one would undo the other
 * never both succeed, whatever was locked, so that names are all there is to check.
 */
function bindLock(
  context: BindContext,
  {what, names}: Extract<Statement, {kind: 'lock'}>,
): BoundQuery {
  const {catalog} = context;
  for (const {at, text} of names) {
    context.located(at, () =>
      what === 'type' ? catalog.requireType(text) : catalog.requireBucket(text),
    );
  }
  const columns = [{name: 'operation', value: literal('lock')}];
  return {plan: {kind: 'unit'}, shape: {kind: 'columns', columns}, variables: new Map()};
}

/** The statement that answers the rows of `query`. */
export function queryOf(
  context: BindContext,
  query: BoundQuery,
  ast: {
    readonly limit: Ast.Expression | undefined;
    readonly timeout: Ast.Timeout | undefined;
    readonly retry?: Retry | undefined;
  },
): PlanStatement {
  const plan: PlanNode = {kind: 'project', input: query.plan, output: query.shape};
  const limit: Expression | undefined = bindConstant(context, ast.limit);
  const timeoutMs = bindConstant(context, ast.timeout?.milliseconds);
  const onTimeout = ast.timeout?.strategy === 'return' ? 'partial' : 'error';
  return {
    kind: 'query',
    plan,
    slotCount: context.slotCount,
    limit,
    timeoutMs,
    onTimeout,
    ...(ast.retry && {retry: ast.retry}),
    form: sqlAnswers,
  };
}

/** A query inside another statement, or the outermost one (no `parent`). */
export function bindQuery(
  context: BindContext,
  ast: Statement,
  parent: Scope | undefined,
  at: number,
): BoundQuery {
  switch (ast.kind) {
    case 'select':
      return bindSelect(context, ast, parent);
    case 'traverse':
      return bindTraverse(context, ast, parent);
    case 'match':
      return bindMatch(context, ast, parent);
    default:
      return context.notAvailable(at, `${nameOf(ast.kind)} inside another statement`);
  }
}

/** `create-type` reads CREATE TYPE to the user. */
function nameOf(kind: Statement['kind']): string {
  return `The statement ${kind.replaceAll('-', ' ').toUpperCase()}`;
}
