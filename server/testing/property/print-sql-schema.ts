/** Syntax tree to SQL: statements that change the schema, and the views and triggers on it. */
import {unreachable} from '#server/base/assert.ts';
import type {Name} from '#server/languages/sql/ast.ts';
import type {
  AlterProperty,
  AlterType,
  CreateIndex,
  CreateProperty,
  CreateTimeSeries,
  CreateType,
  Drop,
  GraphViewOptions,
  Option,
  Rebuild,
  Refresh,
  SchemaStatement,
  Signed,
  Span,
  Truncate,
} from '#server/languages/sql/ast-statement.ts';
import {quoteString} from '#server/languages/sql/literal.ts';
import {
  type ExpressionPrinter,
  join,
  printName,
  printNames,
} from '#server/languages/sql/printer.ts';

/** Prints a change of the schema; `p` prints the expressions and queries in it. */
export function printSchema(s: SchemaStatement, p: ExpressionPrinter): string {
  switch (s.kind) {
    case 'create-type':
      return printCreateType(s, p);
    case 'alter-type':
      return join(
        `ALTER TYPE ${printName(s.name.text)}`,
        printTypeChange(s, p),
        printSettings(s.settings, p),
      );
    case 'create-property':
      return printCreateProperty(s, p);
    case 'alter-property':
      return `ALTER PROPERTY ${printPath(s.type, s.property)} ${printPropertyChange(s.change, p)}`;
    case 'create-index':
      return printCreateIndex(s, p);
    case 'create-bucket':
      return join('CREATE BUCKET', printName(s.name.text), s.ifNotExists && 'IF NOT EXISTS');
    case 'alter-bucket': {
      const [first] = s.options;
      const own = first?.name === 'NAME' && `NAME ${p.print(first.value)}`;
      return join(
        `ALTER BUCKET ${printName(s.name.text)}`,
        own === false ? `CUSTOM ${printOptions(s.options, p)}` : own,
      );
    }
    case 'drop':
      return printDrop(s);
    case 'truncate':
      return printTruncate(s);
    case 'rebuild':
      return printRebuild(s, p);
    default:
      return printView(s, p);
  }
}

function printOptions(options: readonly Option[], p: ExpressionPrinter): string {
  return options.map(each => `${quoteString(each.name)} = ${p.print(each.value)}`).join(', ');
}

/** `WITH a = 1, ...`, or nothing. */
export function printSettings(options: readonly Option[], p: ExpressionPrinter): string {
  return options.length === 0 ? '' : `WITH ${printOptions(options, p)}`;
}

function printPath(type: Name, property: Name): string {
  return `${printName(type.text)}.${printName(property.text)}`;
}

function printCreateType(s: CreateType, p: ExpressionPrinter): string {
  return join(
    `CREATE ${s.recordClass.toUpperCase()} TYPE ${printName(s.name.text)}`,
    s.ifNotExists && 'IF NOT EXISTS',
    s.parents.length > 0 && `EXTENDS ${printNames(s.parents)}`,
    s.bucketNames.length > 0 && `BUCKET ${s.bucketNames.map(each => p.bucket(each)).join(', ')}`,
    p.clause('BUCKETS', s.bucketCount),
    p.clause('PAGESIZE', s.pageSize),
    s.custom.length > 0 && `CUSTOM ${printOptions(s.custom, p)}`,
    s.unidirectional && 'UNIDIRECTIONAL',
    s.lightweight && 'LIGHTWEIGHT',
    s.unique && 'UNIQUE',
  );
}

function printTypeChange(s: AlterType, p: ExpressionPrinter): string {
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
      return `CUSTOM ${printOptions(change.items, p)}`;
    case 'aliases':
      return `ALIASES ${change.names.length === 0 ? 'NULL' : printNames(change.names)}`;
    default:
      return unreachable(change);
  }
}

function signed<T>(changes: readonly Signed<T>[], print: (item: T) => string): string {
  return changes.map(each => each.sign + print(each.item)).join(', ');
}

function printCreateProperty(s: CreateProperty, p: ExpressionPrinter): string {
  const attributes = s.attributes.map(each => `${printName(each.name)} ${p.print(each.value)}`);
  return join(
    `CREATE PROPERTY ${printPath(s.type, s.property)}`,
    s.ifNotExists && 'IF NOT EXISTS',
    printDataType(s.dataType, s.ofType),
    attributes.length > 0 && `(${attributes.join(', ')})`,
    s.custom.length > 0 && `CUSTOM ${printOptions(s.custom, p)}`,
  );
}

function printDataType(dataType: Name, ofType: Name | undefined): string {
  const name = printName(dataType.text);
  return ofType === undefined ? name : `${name} OF ${printName(ofType.text)}`;
}

function printPropertyChange(change: AlterProperty['change'], p: ExpressionPrinter): string {
  switch (change.kind) {
    case 'name':
      return `NAME ${printName(change.name.text)}`;
    case 'type':
      return `TYPE ${printDataType(change.dataType, change.ofType)}`;
    case 'custom':
      return `CUSTOM ${printOptions(change.items, p)}`;
    case 'attribute':
      return `${printName(change.attribute.name)} ${p.print(change.attribute.value)}`;
    default:
      return unreachable(change);
  }
}

function printCreateIndex(s: CreateIndex, p: ExpressionPrinter): string {
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

function printRebuild(s: Rebuild, p: ExpressionPrinter): string {
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
    printSettings(s.settings, p),
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

function printView(s: ViewStatement, p: ExpressionPrinter): string {
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
        `AS ${p.inBrackets(s.query)}`,
        s.refresh !== undefined && printRefresh(s.refresh, p),
        p.clause('BUCKETS', s.buckets),
      );
    case 'create-timeseries':
      return printTimeSeries(s, p);
    case 'alter-timeseries': {
      const tiers = s.tiers.map(
        tier => `AFTER ${printSpan(tier.after, p)} GRANULARITY ${printSpan(tier.granularity, p)}`,
      );
      const change = tiers.length === 0 ? 'DROP DOWNSAMPLING POLICY' : 'ADD DOWNSAMPLING POLICY';
      return join(`ALTER TIMESERIES TYPE ${printName(s.name.text)} ${change}`, ...tiers);
    }
    case 'create-graph-view':
      return join(
        `CREATE GRAPH ANALYTICAL VIEW ${printName(s.name.text)}`,
        s.ifNotExists && 'IF NOT EXISTS',
        printGraphOptions(s.options, p),
      );
    case 'alter-view':
      return join(
        `ALTER ${viewWords(s.what)} ${printName(s.name.text)}`,
        s.what === 'materialized-view'
          ? printRefresh(s.refresh, p)
          : printGraphOptions(s.options, p),
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

function printSpan(span: Span, p: ExpressionPrinter): string {
  return `${p.print(span.amount)} ${span.unit.toUpperCase()}S`;
}

function printRefresh(refresh: Refresh, p: ExpressionPrinter): string {
  return refresh.kind === 'every'
    ? `REFRESH EVERY ${printSpan(refresh.span, p)}`
    : `REFRESH ${refresh.kind.toUpperCase()}`;
}

function printTimeSeries(s: CreateTimeSeries, p: ExpressionPrinter): string {
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
    s.retention !== undefined && `RETENTION ${printSpan(s.retention, p)}`,
    s.compactionInterval !== undefined &&
      `COMPACTION_INTERVAL ${printSpan(s.compactionInterval, p)}`,
  );
}

function printGraphOptions(s: GraphViewOptions, p: ExpressionPrinter): string {
  return join(
    s.vertexTypes.length > 0 && `VERTEX TYPES (${printNames(s.vertexTypes)})`,
    s.edgeTypes.length > 0 && `EDGE TYPES (${printNames(s.edgeTypes)})`,
    s.properties.length > 0 && `PROPERTIES (${printNames(s.properties)})`,
    s.edgeProperties.length > 0 && `EDGE PROPERTIES (${printNames(s.edgeProperties)})`,
    s.updateMode !== undefined && `UPDATE MODE ${s.updateMode.toUpperCase()}`,
    p.clause('COMPACTION THRESHOLD', s.compactionThreshold),
  );
}
