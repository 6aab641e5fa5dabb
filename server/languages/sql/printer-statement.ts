/**
 * Syntax tree to SQL: every statement, and scripts. Expressions and queries are in printer.ts.
 */

import {unreachable} from '#server/base/assert.ts';
import type {Expression, Name} from './ast.ts';
import type {
  AdminStatement,
  AlterProperty,
  AlterType,
  Assignment,
  Body,
  CreateEdge,
  CreateIndex,
  CreateProperty,
  CreateTimeSeries,
  CreateType,
  Delete,
  Drop,
  GraphViewOptions,
  Insert,
  Option,
  Rebuild,
  Refresh,
  SchemaStatement,
  Script,
  ScriptStatement,
  Signed,
  Span,
  Statement,
  Truncate,
  Update,
  UpdateOperation,
  Write,
} from './ast-statement.ts';
import {quoteString} from './literal.ts';
import {ExpressionPrinter, join, printName, printNames} from './printer.ts';

const p = new ExpressionPrinter(printStatement);

/** `expression` as text that parses to an equal tree. */
export function printExpression(expression: Expression): string {
  return p.print(expression);
}

export function printScript(script: Script): string {
  return printStatements(script.statements);
}

/** `statement` as text that parses to an equal tree. */
export function printStatement(statement: Statement): string {
  switch (statement.kind) {
    case 'select':
      return p.select(statement);
    case 'traverse':
      return p.traverse(statement);
    case 'match':
      return p.match(statement);
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
      return printSchema(statement);
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

// Schema.

function printSchema(s: SchemaStatement): string {
  switch (s.kind) {
    case 'create-type':
      return printCreateType(s);
    case 'alter-type':
      return join(
        `ALTER TYPE ${printName(s.name.text)}`,
        printTypeChange(s),
        printSettings(s.settings),
      );
    case 'create-property':
      return printCreateProperty(s);
    case 'alter-property':
      return `ALTER PROPERTY ${printPath(s.type, s.property)} ${printPropertyChange(s.change)}`;
    case 'create-index':
      return printCreateIndex(s);
    case 'create-bucket':
      return join('CREATE BUCKET', printName(s.name.text), s.ifNotExists && 'IF NOT EXISTS');
    case 'alter-bucket': {
      const [first] = s.options;
      const own = first?.name === 'NAME' && `NAME ${p.print(first.value)}`;
      return join(
        `ALTER BUCKET ${printName(s.name.text)}`,
        own === false ? `CUSTOM ${printOptions(s.options)}` : own,
      );
    }
    case 'drop':
      return printDrop(s);
    case 'truncate':
      return printTruncate(s);
    case 'rebuild':
      return printRebuild(s);
    default:
      return printView(s);
  }
}

function printOptions(options: readonly Option[]): string {
  return options.map(each => `${quoteString(each.name)} = ${p.print(each.value)}`).join(', ');
}

function printSettings(options: readonly Option[]): string {
  return options.length === 0 ? '' : `WITH ${printOptions(options)}`;
}

function printPath(type: Name, property: Name): string {
  return `${printName(type.text)}.${printName(property.text)}`;
}

function printCreateType(s: CreateType): string {
  return join(
    `CREATE ${s.recordClass.toUpperCase()} TYPE ${printName(s.name.text)}`,
    s.ifNotExists && 'IF NOT EXISTS',
    s.parents.length > 0 && `EXTENDS ${printNames(s.parents)}`,
    s.bucketNames.length > 0 && `BUCKET ${s.bucketNames.map(each => p.bucket(each)).join(', ')}`,
    p.clause('BUCKETS', s.bucketCount),
    p.clause('PAGESIZE', s.pageSize),
    s.custom.length > 0 && `CUSTOM ${printOptions(s.custom)}`,
    s.unidirectional && 'UNIDIRECTIONAL',
    s.lightweight && 'LIGHTWEIGHT',
    s.unique && 'UNIQUE',
  );
}

function printTypeChange(s: AlterType): string {
  const change = s.change;
  switch (change.kind) {
    case 'name':
      return `NAME ${printName(change.name.text)}`;
    case 'supertype':
      return `SUPERTYPE ${signed(change.changes, each => printName(each.text))}`;
    case 'bucket':
      return `BUCKET ${signed(change.changes, each => p.bucket(each))}`;
    case 'bucket-selection':
      return `BUCKETSELECTIONSTRATEGY ${p.print(change.strategy)}`;
    case 'custom':
      return `CUSTOM ${printOptions(change.items)}`;
    case 'aliases':
      return `ALIASES ${change.names.length === 0 ? 'NULL' : printNames(change.names)}`;
    default:
      return unreachable(change);
  }
}

function signed<T>(changes: readonly Signed<T>[], print: (item: T) => string): string {
  return changes.map(each => each.sign + print(each.item)).join(', ');
}

function printCreateProperty(s: CreateProperty): string {
  const attributes = s.attributes.map(each => `${printName(each.name)} ${p.print(each.value)}`);
  return join(
    `CREATE PROPERTY ${printPath(s.type, s.property)}`,
    s.ifNotExists && 'IF NOT EXISTS',
    printDataType(s.dataType, s.ofType),
    attributes.length > 0 && `(${attributes.join(', ')})`,
    s.custom.length > 0 && `CUSTOM ${printOptions(s.custom)}`,
  );
}

function printDataType(dataType: Name, ofType: Name | undefined): string {
  const name = printName(dataType.text);
  return ofType === undefined ? name : `${name} OF ${printName(ofType.text)}`;
}

function printPropertyChange(change: AlterProperty['change']): string {
  switch (change.kind) {
    case 'name':
      return `NAME ${printName(change.name.text)}`;
    case 'type':
      return `TYPE ${printDataType(change.dataType, change.ofType)}`;
    case 'custom':
      return `CUSTOM ${printOptions(change.items)}`;
    case 'attribute':
      return `${printName(change.attribute.name)} ${p.print(change.attribute.value)}`;
    default:
      return unreachable(change);
  }
}

function printCreateIndex(s: CreateIndex): string {
  const properties = s.on?.properties.map(each =>
    join(
      each.name.startsWith('@') ? each.name : each.name.split('.').map(printName).join('.'),
      each.by !== undefined && `BY ${each.by.toUpperCase()}`,
      each.collation !== undefined && `COLLATE ${printName(each.collation.text)}`,
    ),
  );
  return join(
    'CREATE INDEX',
    s.name !== undefined && printName(s.name.text),
    s.ifNotExists && 'IF NOT EXISTS',
    s.on !== undefined && `ON ${printName(s.on.type.text)} (${properties?.join(', ') ?? ''})`,
    printName(s.indexKind.text),
    printNames(s.keyTypes),
    s.nullStrategy !== undefined && `NULL_STRATEGY ${printName(s.nullStrategy.text)}`,
    p.clause('METADATA', s.metadata),
    s.engine !== undefined && `ENGINE ${printName(s.engine.text)}`,
  );
}

function printDrop(s: Drop): string {
  const what = s.what.toUpperCase().replaceAll('-', ' ');
  const name = s.name === undefined ? '*' : printName(s.name.text);
  return join(
    `DROP ${what} ${s.property === undefined ? name : `${name}.${printName(s.property.text)}`}`,
    s.ifExists && 'IF EXISTS',
    s.unsafe && 'UNSAFE',
    s.force && 'FORCE',
  );
}

function printTruncate(s: Truncate): string {
  return join(
    `TRUNCATE ${s.what.toUpperCase()}`,
    printName(s.name.text),
    s.polymorphic && 'POLYMORPHIC',
    s.unsafe && 'UNSAFE',
  );
}

function printRebuild(s: Rebuild): string {
  const words = {
    'rebuild-index': 'REBUILD INDEX',
    'compact-index': 'COMPACT INDEX',
    'rebuild-type': 'REBUILD TYPE',
    'rebuild-graph-view': 'REBUILD GRAPH ANALYTICAL VIEW',
  };
  return join(
    words[s.what],
    s.name === undefined ? '*' : printName(s.name.text),
    s.polymorphic && 'POLYMORPHIC',
    printSettings(s.settings),
  );
}

type ViewStatement = Extract<
  SchemaStatement,
  {
    kind:
      | 'create-trigger'
      | 'create-view'
      | 'create-timeseries'
      | 'alter-timeseries'
      | 'create-graph-view'
      | 'alter-view'
      | 'refresh-view'
      | 'define-function'
      | 'drop-function';
  }
>;

function printView(s: ViewStatement): string {
  switch (s.kind) {
    case 'create-trigger':
      return join(
        `CREATE TRIGGER ${printName(s.name.text)}`,
        s.ifNotExists && 'IF NOT EXISTS',
        `${s.when.toUpperCase()} ${s.event.toUpperCase()} ON TYPE ${printName(s.type.text)}`,
        `EXECUTE ${printName(s.language.text)} ${quoteString(s.code)}`,
      );
    case 'create-view':
      return join(
        `CREATE ${viewWords(s.what)} ${printName(s.name.text)}`,
        s.ifNotExists && 'IF NOT EXISTS',
        `AS (${printStatement(s.query)})`,
        s.refresh !== undefined && printRefresh(s.refresh),
        p.clause('BUCKETS', s.buckets),
      );
    case 'create-timeseries':
      return printTimeSeries(s);
    case 'alter-timeseries': {
      const tiers = s.tiers.map(
        tier => `AFTER ${printSpan(tier.after)} GRANULARITY ${printSpan(tier.granularity)}`,
      );
      const change = tiers.length === 0 ? 'DROP DOWNSAMPLING POLICY' : 'ADD DOWNSAMPLING POLICY';
      return join(`ALTER TIMESERIES TYPE ${printName(s.name.text)} ${change}`, ...tiers);
    }
    case 'create-graph-view':
      return join(
        `CREATE GRAPH ANALYTICAL VIEW ${printName(s.name.text)}`,
        s.ifNotExists && 'IF NOT EXISTS',
        printGraphOptions(s.options),
      );
    case 'alter-view':
      return join(
        `ALTER ${viewWords(s.what)} ${printName(s.name.text)}`,
        s.what === 'materialized-view' ? printRefresh(s.refresh) : printGraphOptions(s.options),
      );
    case 'refresh-view':
      return `REFRESH ${viewWords(s.what)} ${printName(s.name.text)}`;
    case 'define-function':
      return join(
        `DEFINE FUNCTION ${printPath(s.library, s.name)} ${quoteString(s.code)}`,
        s.parameters.length > 0 && `PARAMETERS [${printNames(s.parameters)}]`,
        s.language !== undefined && `LANGUAGE ${printName(s.language.text)}`,
      );
    case 'drop-function':
      return `DELETE FUNCTION ${printPath(s.library, s.name)}`;
    default:
      return unreachable(s);
  }
}

function viewWords(what: string): string {
  return what.toUpperCase().replaceAll('-', ' ');
}

function printSpan(span: Span): string {
  return `${p.print(span.amount)} ${span.unit.toUpperCase()}S`;
}

function printRefresh(refresh: Refresh): string {
  return refresh.kind === 'every'
    ? `REFRESH EVERY ${printSpan(refresh.span)}`
    : `REFRESH ${refresh.kind.toUpperCase()}`;
}

function printTimeSeries(s: CreateTimeSeries): string {
  const columns = (list: CreateTimeSeries['tags']): string =>
    list.map(each => `${printName(each.name)} ${printName(each.dataType.text)}`).join(', ');
  return join(
    `CREATE TIMESERIES TYPE ${printName(s.name.text)}`,
    s.ifNotExists && 'IF NOT EXISTS',
    s.timestamp !== undefined && `TIMESTAMP ${printName(s.timestamp.text)}`,
    s.precision !== undefined && `PRECISION ${s.precision.toUpperCase()}`,
    s.tags.length > 0 && `TAGS (${columns(s.tags)})`,
    s.fields.length > 0 && `FIELDS (${columns(s.fields)})`,
    p.clause('SHARDS', s.shards),
    s.retention !== undefined && `RETENTION ${printSpan(s.retention)}`,
    s.compactionInterval !== undefined && `COMPACTION_INTERVAL ${printSpan(s.compactionInterval)}`,
  );
}

function printGraphOptions(s: GraphViewOptions): string {
  return join(
    s.vertexTypes.length > 0 && `VERTEX TYPES (${printNames(s.vertexTypes)})`,
    s.edgeTypes.length > 0 && `EDGE TYPES (${printNames(s.edgeTypes)})`,
    s.properties.length > 0 && `PROPERTIES (${printNames(s.properties)})`,
    s.edgeProperties.length > 0 && `EDGE PROPERTIES (${printNames(s.edgeProperties)})`,
    s.updateMode !== undefined && `UPDATE MODE ${s.updateMode.toUpperCase()}`,
    p.clause('COMPACTION THRESHOLD', s.compactionThreshold),
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
        printSettings(s.settings),
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
