/**
 * Syntax tree to SQL: every statement, and scripts, so that what is parsed can be parsed again and
 * compared. Expressions and queries are printed by the language itself (languages/sql/printer.ts),
 * changes of the schema by print-sql-schema.ts.
 */

import {unreachable} from '#server/base/assert.ts';
import type {
  AdminStatement,
  Assignment,
  Body,
  CreateEdge,
  Delete,
  Insert,
  Script,
  ScriptStatement,
  Statement,
  Update,
  UpdateOperation,
  Write,
} from '#server/languages/sql/ast-statement.ts';
import {ExpressionPrinter, join, printName, printNames} from '#server/languages/sql/printer.ts';
import {printSchema, printSettings} from './print-sql-schema.ts';

const p = new ExpressionPrinter(printStatement);

export function printScript(script: Script): string {
  return printStatements(script.statements);
}

/** `statement` as text that parses to an equal tree. */
export function printStatement(statement: Statement): string {
  switch (statement.kind) {
    case 'select':
    case 'traverse':
    case 'match':
      return p.statement(statement);
    case 'insert':
    case 'update':
    case 'delete':
    case 'truncate-record':
    case 'move-vertex':
    case 'create-vertex':
    case 'create-edge':
      return printWrite(statement);
    case 'alter-database':
    case 'align-database':
    case 'check-database':
    case 'transfer-database':
    case 'restore-record':
    case 'find-references':
    case 'explain':
    case 'lock':
      return printAdmin(statement);
    case 'begin':
    case 'commit':
    case 'rollback':
    case 'let':
    case 'set-global':
    case 'if':
    case 'foreach':
    case 'while':
    case 'break':
    case 'return':
    case 'sleep':
    case 'console':
      return printControl(statement);
    default:
      return printSchema(statement, p);
  }
}

// Writes.

function printWrite(s: Write): string {
  switch (s.kind) {
    case 'insert':
      return printInsert(s);
    case 'update':
      return printUpdate(s);
    case 'delete':
      return printDelete(s);
    case 'truncate-record':
      return `TRUNCATE RECORD ${p.print(s.records)}`;
    case 'move-vertex':
      return join(
        `MOVE VERTEX ${p.print(s.source)}`,
        `TO ${s.to.kind.toUpperCase()}:${printName(s.to.name.text)}`,
        printBody(s.body),
        p.clause('BATCH', s.batch),
      );
    case 'create-vertex':
      return join(
        'CREATE VERTEX',
        s.type !== undefined && printName(s.type.text),
        s.bucket !== undefined && `BUCKET ${p.bucket(s.bucket)}`,
        printBody(s.body),
        s.returning !== undefined && `RETURN ${p.projection(s.returning)}`,
      );
    case 'create-edge':
      return printCreateEdge(s);
    default:
      return unreachable(s);
  }
}

function printInsert(s: Insert): string {
  const query = s.body.kind === 'from' && printBody(s.body);
  return join(
    `INSERT INTO ${p.target(s.target)}`,
    s.bucket !== undefined && `BUCKET ${p.bucket(s.bucket)}`,
    query === false && printBody(s.body),
    s.returning !== undefined && `RETURN ${p.projection(s.returning)}`,
    query,
    s.unsafe && 'UNSAFE',
  );
}

function printBody(body: Body): string {
  switch (body.kind) {
    case 'values': {
      const rows = body.rows.map(row => `(${p.list(row)})`);
      return `(${printNames(body.columns)}) VALUES ${rows.join(', ')}`;
    }
    case 'set':
      return `SET ${printAssignments(body.items)}`;
    case 'content':
      return `CONTENT ${p.print(body.value)}`;
    case 'merge':
      return `MERGE ${p.print(body.value)}`;
    case 'from':
      return `FROM (${printStatement(body.query)})`;
    case 'nothing':
      return '';
    default:
      return unreachable(body);
  }
}

function printAssignments(items: readonly Assignment[]): string {
  return items
    .map(each => `${p.print(each.target)} ${each.operator} ${p.print(each.value)}`)
    .join(', ');
}

function printOperation(operation: UpdateOperation): string {
  switch (operation.kind) {
    case 'set':
    case 'add':
    case 'increment':
      return `${operation.kind.toUpperCase()} ${printAssignments(operation.items)}`;
    case 'put': {
      const items = operation.items.map(
        each => `${p.print(each.target)} = ${p.print(each.key)}, ${p.print(each.value)}`,
      );
      return `PUT ${items.join(', ')}`;
    }
    case 'remove': {
      const items = operation.items.map(each =>
        each.value === undefined
          ? p.print(each.target)
          : `${p.print(each.target)} = ${p.print(each.value)}`,
      );
      return `REMOVE ${items.join(', ')}`;
    }
    case 'merge':
    case 'content':
      return `${operation.kind.toUpperCase()} ${p.print(operation.value)}`;
    default:
      return unreachable(operation);
  }
}

function printUpdate(s: Update): string {
  return join(
    `UPDATE ${p.target(s.target)}`,
    ...s.operations.map(printOperation),
    s.upsert && 'UPSERT',
    s.applyDefaults && 'APPLY DEFAULTS',
    s.returning !== undefined && `RETURN ${s.returning.what.toUpperCase()}`,
    s.returning !== undefined && p.projection(s.returning.items),
    p.clause('WHERE', s.where),
    p.clause('LIMIT', s.limit),
    p.clause('BATCH', s.batch),
    p.timeout(s.timeout),
  );
}

function printDelete(s: Delete): string {
  const target = s.target === undefined ? '' : p.target(s.target);
  return join(
    'DELETE',
    s.what !== 'record' && s.what.toUpperCase(),
    s.what === 'edge' ? target : `FROM ${target}`,
    s.from !== undefined && `FROM ${p.operand(s.from)}`,
    s.to !== undefined && `TO ${p.operand(s.to)}`,
    s.returnBefore && 'RETURN BEFORE',
    p.clause('WHERE', s.where),
    p.clause('LIMIT', s.limit),
    p.clause('BATCH', s.batch),
    s.unsafe && 'UNSAFE',
  );
}

function printCreateEdge(s: CreateEdge): string {
  return join(
    'CREATE EDGE',
    s.type !== undefined && printName(s.type.text),
    s.bucket !== undefined && `BUCKET ${p.bucket(s.bucket)}`,
    `FROM ${p.operand(s.from)} TO ${p.operand(s.to)}`,
    s.ifNotExists && 'IF NOT EXISTS',
    printBody(s.body),
    s.unidirectional && 'UNIDIRECTIONAL',
    p.clause('RETRY', s.retry),
    p.clause('WAIT', s.wait),
  );
}

// Administration and scripts.

function printAdmin(s: AdminStatement): string {
  switch (s.kind) {
    case 'alter-database':
      return `ALTER DATABASE ${printName(s.setting.text)} ${p.print(s.value)}`;
    case 'align-database':
      return 'ALIGN DATABASE';
    case 'check-database':
      return join(
        'CHECK DATABASE',
        s.types.length > 0 && `TYPE ${printNames(s.types)}`,
        s.buckets.length > 0 && `BUCKET ${s.buckets.map(each => p.bucket(each)).join(', ')}`,
        s.records.length > 0 && `RECORD ${p.list(s.records)}`,
        s.fix && 'FIX',
        s.deleteOrphans && 'DELETE ORPHANS',
        s.reclaim && 'RECLAIM UNREFERENCED FILES',
        s.deep && 'DEEP',
        s.compress && 'COMPRESS',
      );
    case 'transfer-database':
      return join(
        `${s.what.toUpperCase()} DATABASE`,
        s.url !== undefined && p.print(s.url),
        printSettings(s.settings, p),
      );
    case 'restore-record':
      return join(
        `RESTORE ${s.recordClass.toUpperCase()} ${printName(s.type.text)} RID ${p.print(s.rid)}`,
        p.clause('FROM', s.from),
        p.clause('TO', s.to),
        printBody(s.body),
      );
    case 'find-references':
      return join(
        `FIND REFERENCES ${p.print(s.what)}`,
        s.types.length > 0 && `[${printNames(s.types)}]`,
      );
    case 'explain':
      return `${s.profile ? 'PROFILE' : 'EXPLAIN'} ${printStatement(s.statement)}`;
    case 'lock':
      return `LOCK ${s.what.toUpperCase()} ${printNames(s.names)}`;
    default:
      return unreachable(s);
  }
}

function printStatements(statements: readonly Statement[]): string {
  return statements.map(statement => `${printStatement(statement)};`).join(' ');
}

function printBlock(statements: readonly Statement[]): string {
  return statements.length === 0 ? '{ }' : `{ ${printStatements(statements)} }`;
}

function printControl(s: ScriptStatement): string {
  switch (s.kind) {
    case 'begin':
      return s.isolation === undefined
        ? 'BEGIN'
        : `BEGIN ISOLATION ${s.isolation.toUpperCase().replace('-', '_')}`;
    case 'commit': {
      const hasElse = s.otherwise.length > 0 || s.then !== undefined;
      return join(
        'COMMIT',
        p.clause('RETRY', s.retry),
        hasElse && `ELSE ${printBlock(s.otherwise)}`,
        s.then !== undefined && `AND ${s.then.toUpperCase()}`,
      );
    }
    case 'rollback':
      return 'ROLLBACK';
    case 'let':
      return `LET ${p.lets(s.items)}`;
    case 'set-global':
      return `SET GLOBAL $${s.name} = ${p.print(s.value)}`;
    case 'if': {
      const otherwise = s.otherwise.length === 0 ? '' : ` ELSE ${printBlock(s.otherwise)}`;
      return `IF (${p.print(s.condition)}) ${printBlock(s.then)}${otherwise}`;
    }
    case 'foreach':
      return `FOREACH ($${s.variable} IN ${p.print(s.source)}) ${printBlock(s.body)}`;
    case 'while':
      return `WHILE (${p.print(s.condition)}) ${printBlock(s.body)}`;
    case 'break':
      return 'BREAK';
    case 'return':
      return s.value === undefined ? 'RETURN' : `RETURN ${p.print(s.value)}`;
    case 'sleep':
      return `SLEEP ${p.print(s.milliseconds)}`;
    case 'console':
      return `CONSOLE.${s.level} ${p.print(s.value)}`;
    default:
      return unreachable(s);
  }
}
