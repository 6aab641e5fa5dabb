/**
 * Statements that shape the schema: syntax tree to commands (plan/statement.ts).
 *
 * Option values are literals (or parameters are refused: a schema says what it says). What is
 * documented but belongs to a model that is not here yet is refused by its name.
 */
import {unreachable} from '#server/base/assert.ts';
import {Refusal} from '#server/base/errors.ts';
import {parseIndexKind, parseNullStrategy} from '#server/catalog/change-index.ts';
import {indexFamilies} from '#server/catalog/index-families.ts';
import {nearestNameHint} from '#server/catalog/nearest-name.ts';
import {type DataType, dataTypes, parseDataType} from '#server/model/data-type.ts';
import {makeDouble} from '#server/model/number.ts';
import type {MapValue, Value} from '#server/model/value.ts';
import type {
  IndexPart,
  PropertyAttributes,
  SchemaCommand,
  TypeChange,
} from '#server/plan/statement.ts';
import type * as Ast from './ast.ts';
import type * as Sql from './ast-statement.ts';
import type {BindContext} from './bind-context.ts';
import {bindCreateTrigger, bindDefineFunction, functionName} from './bind-routine.ts';
import {bindCreateView, bindRefresh} from './bind-view.ts';
import {printExpression} from './printer-statement.ts';

const schemaKinds: ReadonlySet<string> = new Set<Sql.SchemaStatement['kind']>([
  'create-type',
  'alter-type',
  'create-property',
  'alter-property',
  'create-index',
  'create-bucket',
  'alter-bucket',
  'drop',
  'truncate',
  'rebuild',
  'create-trigger',
  'create-view',
  'create-timeseries',
  'alter-timeseries',
  'create-graph-view',
  'alter-view',
  'refresh-view',
  'define-function',
  'drop-function',
]);

export function isSchemaStatement(ast: Sql.Statement): ast is Sql.SchemaStatement {
  return schemaKinds.has(ast.kind);
}

export function bindSchema(context: BindContext, ast: Sql.SchemaStatement): SchemaCommand {
  switch (ast.kind) {
    case 'create-type':
      return bindCreateType(context, ast);
    case 'alter-type':
      return bindAlterType(context, ast);
    case 'create-property':
      return bindCreateProperty(context, ast);
    case 'alter-property':
      return bindAlterProperty(context, ast);
    case 'create-index':
      return bindCreateIndex(context, ast);
    case 'create-bucket':
      return {kind: 'create-bucket', name: ast.name.text, ifNotExists: ast.ifNotExists};
    case 'alter-bucket':
      return bindAlterBucket(context, ast);
    case 'drop':
      return bindDrop(context, ast);
    case 'truncate':
      return bindTruncate(ast);
    case 'rebuild':
      return bindRebuild(context, ast);
    case 'create-trigger':
      return bindCreateTrigger(context, ast);
    case 'create-view':
      if (ast.what === 'materialized-view') return bindCreateView(context, ast);
      return context.notAvailable(ast.at, `CREATE ${words(ast.what)}`);
    case 'create-timeseries':
    case 'alter-timeseries':
      return context.notAvailable(ast.at, 'TIMESERIES TYPE');
    case 'create-graph-view':
      return context.notAvailable(ast.at, 'CREATE GRAPH ANALYTICAL VIEW');
    case 'alter-view':
      if (ast.what !== 'materialized-view') {
        return context.notAvailable(ast.at, `ALTER ${words(ast.what)}`);
      }
      return {
        kind: 'alter-view',
        name: ast.name.text,
        refresh: bindRefresh(context, ast.refresh),
      };
    case 'refresh-view':
      if (ast.what === 'materialized-view') return {kind: 'refresh-view', name: ast.name.text};
      return context.notAvailable(ast.at, `REFRESH ${words(ast.what)}`);
    case 'define-function':
      return bindDefineFunction(context, ast);
    case 'drop-function':
      return {kind: 'drop-function', name: functionName(ast)};
    default:
      return unreachable(ast);
  }
}

function words(kind: string): string {
  return kind.replaceAll('-', ' ').toUpperCase();
}

/** A literal's value; a bare name or keyword is its text. */
export function constantOf(context: BindContext, ast: Ast.Expression): Value {
  switch (ast.kind) {
    case 'literal':
    case 'integer':
      return ast.value;
    case 'real':
      return makeDouble(ast.value);
    case 'name':
      return ast.name;
    case 'unary':
      if (ast.operator === '-' && ast.operand.kind === 'integer') {
        return typeof ast.operand.value === 'bigint' ? -ast.operand.value : -ast.operand.value;
      }
      if (ast.operator === '-' && ast.operand.kind === 'real') {
        return makeDouble(-ast.operand.value);
      }
      break;
    case 'list':
      return ast.items.map(item => constantOf(context, item));
    case 'map':
      return new Map(ast.entries.map(({key, value}) => [key, constantOf(context, value)]));
    default:
  }
  return context.refuse(ast.at, 'A literal value is expected here');
}

function customOf(context: BindContext, items: readonly Sql.Option[]): ReadonlyMap<string, Value> {
  return new Map(items.map(({name, value}) => [name, constantOf(context, value)]));
}

/** Works like `customOf`; null removes an entry. */
function changedCustom(
  context: BindContext,
  items: readonly Sql.Option[],
): ReadonlyMap<string, Value | undefined> {
  return new Map(items.map(({name, value}) => [name, constantOf(context, value) ?? undefined]));
}

export function bucketName(context: BindContext, reference: Ast.BucketReference): string {
  if (!('kind' in reference)) return reference.text;
  if (reference.kind === 'parameter') {
    return context.refuse(reference.at, 'A schema statement names its buckets, not parameters');
  }
  const bucket = context.catalog.bucketById(Number(reference.value));
  return bucket?.name ?? String(reference.value);
}

/** A literal whole number that is not negative. */
export function countOf(context: BindContext, ast: Ast.Expression | undefined): number | undefined {
  if (ast === undefined) return undefined;
  const value = constantOf(context, ast);
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0) return value;
  return context.refuse(ast.at, 'A whole number, not negative, is expected here');
}

function bindCreateType(context: BindContext, ast: Sql.CreateType): SchemaCommand {
  // Records lie in no pages here: the number is only checked.
  countOf(context, ast.pageSize);
  return {
    kind: 'create-type',
    recordKind: ast.recordClass,
    name: ast.name.text,
    ifNotExists: ast.ifNotExists,
    supertypes: ast.parents.map(({at, text}) => {
      return context.located(at, () => context.catalog.requireType(text).name, 'query.execution');
    }),
    buckets:
      ast.bucketNames.length === 0
        ? undefined
        : ast.bucketNames.map(reference => bucketName(context, reference)),
    bucketCount: countOf(context, ast.bucketCount),
    custom: customOf(context, ast.custom),
    unidirectional: ast.unidirectional,
    lightweight: ast.lightweight,
    unique: ast.unique,
  };
}

function bindAlterType(context: BindContext, ast: Sql.AlterType): SchemaCommand {
  const settings = settingsOf(context, ast, ['repartition', 'lightweight', 'unique']);
  const {repartition = false, ...traits} = settings;
  const changes = typeChanges(context, ast.change);
  for (const trait of ['lightweight', 'unique'] as const) {
    const value = traits[trait];
    if (value !== undefined) changes.push({kind: 'edge-trait', trait, value});
  }
  return {kind: 'alter-type', name: ast.name.text, changes, repartition};
}

function typeChanges(context: BindContext, change: Sql.TypeChange): TypeChange[] {
  switch (change.kind) {
    case 'name':
      return [{kind: 'name', name: change.name.text}];
    case 'supertype':
      return change.changes.map(({sign, item}) => ({
        kind: sign === '+' ? 'add-supertype' : 'remove-supertype',
        name: item.text,
      }));
    case 'bucket':
      return change.changes.map(({sign, item}) => ({
        kind: sign === '+' ? 'add-bucket' : 'remove-bucket',
        name: bucketName(context, item),
      }));
    case 'bucket-selection':
      return [bucketSelection(context, change.strategy)];
    case 'custom':
      return change.items.map(({name, value}) => ({
        kind: 'custom',
        name,
        value: constantOf(context, value) ?? undefined,
      }));
    case 'aliases':
      return [{kind: 'aliases', names: change.names.map(name => name.text)}];
    default:
      return unreachable(change);
  }
}

/** `round-robin`, `thread`, or `partitioned('p1','p2')`, as a name, a text or a call. */
function bucketSelection(context: BindContext, ast: Ast.Expression): TypeChange {
  const text = printExpression(ast).replaceAll(/[`'"\s]/g, '');
  const [, word = '', list = ''] = /^([\w-]+)(?:\((.*)\))?$/.exec(text) ?? [];
  const strategy = word.toLowerCase();
  if (strategy === 'round-robin' || strategy === 'thread' || strategy === 'partitioned') {
    const properties = list.split(',').filter(name => name !== '');
    return {kind: 'bucket-selection', strategy, properties};
  }
  return context.syntax(
    ast.at,
    `There is no bucket selection strategy '${text}': expected round-robin, thread or ` +
      "partitioned('property')",
  );
}

const attributeNames: Readonly<Record<string, keyof PropertyAttributes>> = {
  mandatory: 'mandatory',
  notnull: 'notNull',
  readonly: 'readOnly',
  hidden: 'hidden',
  external: 'external',
  compression: 'compression',
  min: 'min',
  max: 'max',
  regexp: 'regexp',
  default: 'default',
};

function propertyAttributes(
  context: BindContext,
  options: readonly Sql.Option[],
): PropertyAttributes {
  const attributes: Record<string, Value> = {};
  for (const option of options) {
    const name = option.name.toLowerCase();
    const key = attributeNames[name];
    if (key === undefined) {
      return context.unknownAttribute(option.at, option.name, Object.keys(attributeNames));
    }
    attributes[key] = attributeValue(context, key, option);
  }
  return attributes;
}

function attributeValue(
  context: BindContext,
  key: keyof PropertyAttributes,
  option: Sql.Option,
): Value {
  if (key === 'default') {
    const isNull = option.value.kind === 'literal' && option.value.value === null;
    return isNull ? null : printExpression(option.value);
  }
  const value = constantOf(context, option.value);
  if (key === 'min' || key === 'max') return value;
  if (key === 'compression') {
    const requested = typeof value === 'string' ? value.toLowerCase() : undefined;
    if (requested === 'none' || requested === 'lz4' || requested === 'auto') return requested;
    return context.refuse(option.at, 'The property attribute compression is none, lz4 or auto');
  }
  if (key === 'regexp') {
    if (value === null || typeof value === 'string') return value;
    return context.refuse(option.at, 'The property attribute regexp is a text');
  }
  if (typeof value !== 'boolean') {
    return context.refuse(option.at, `The property attribute '${option.name}' is true or false`);
  }
  return value;
}

function dataTypeOf(context: BindContext, name: Ast.Name): DataType {
  const known = parseDataType(name.text);
  if (known !== undefined) return known;
  return context.located(name.at, () => {
    const hint = nearestNameHint(name.text, dataTypes);
    throw new Refusal('argument', `There is no data type '${name.text}'${hint}`);
  });
}

function bindCreateProperty(context: BindContext, ast: Sql.CreateProperty): SchemaCommand {
  return {
    kind: 'create-property',
    type: ast.type.text,
    name: ast.property.text,
    ifNotExists: ast.ifNotExists,
    dataType: dataTypeOf(context, ast.dataType),
    ofType: ast.ofType?.text,
    attributes: propertyAttributes(context, ast.attributes),
    custom: customOf(context, ast.custom),
  };
}

function bindAlterProperty(context: BindContext, ast: Sql.AlterProperty): SchemaCommand {
  const {change} = ast;
  const command = {
    kind: 'alter-property',
    type: ast.type.text,
    name: ast.property.text,
    attributes: {},
    custom: new Map<string, Value | undefined>(),
  } as const;
  switch (change.kind) {
    case 'name':
      return {...command, newName: change.name.text};
    case 'type':
      return {
        ...command,
        dataType: dataTypeOf(context, change.dataType),
        ...(change.ofType && {ofType: change.ofType.text}),
      };
    case 'custom':
      return {...command, custom: changedCustom(context, change.items)};
    case 'attribute':
      return {...command, attributes: propertyAttributes(context, [change.attribute])};
    default:
      return unreachable(change);
  }
}

function metadataOf(context: BindContext, ast: Ast.Expression): MapValue {
  const value = constantOf(context, ast);
  return value instanceof Map ? value : context.syntax(ast.at, 'METADATA is a map of options');
}

function bindCreateIndex(context: BindContext, ast: Sql.CreateIndex): SchemaCommand {
  const {kind, unique} = context.located(ast.indexKind.at, () =>
    parseIndexKind(ast.indexKind.text),
  );
  if (ast.metadata !== undefined && indexFamilies[kind].options === undefined) {
    context.syntax(ast.metadata.at, `Index type '${ast.indexKind.text}' takes no METADATA`);
  }
  const strategy = ast.nullStrategy;
  const nullStrategy =
    strategy === undefined
      ? 'SKIP'
      : context.located(strategy.at, () => parseNullStrategy(strategy.text));
  const {ifNotExists} = ast;
  const promise = {ifNotExists, indexKind: kind, unique, nullStrategy};
  if (ast.on === undefined) {
    if (ast.name === undefined || ast.keyTypes.length === 0) {
      return context.syntax(
        ast.at,
        'An index is ON a type and its properties, or has a name and the data types of its keys',
      );
    }
    const keyTypes = ast.keyTypes.map(type => dataTypeOf(context, type));
    if (kind !== 'ordered' && kind !== 'hash') {
      const {typeName} = indexFamilies[kind];
      return context.syntax(
        ast.at,
        `An index of type '${typeName}' is ON a type and its properties`,
      );
    }
    if (ast.metadata !== undefined) {
      return context.syntax(ast.metadata.at, 'An index without a type takes no METADATA');
    }
    return {
      kind: 'create-manual-index',
      name: ast.name.text,
      keyTypes,
      ...promise,
      indexKind: kind,
    };
  }
  return {
    kind: 'create-index',
    name: ast.name?.text,
    type: ast.on.type.text,
    parts: ast.on.properties.map(part => indexPart(context, part)),
    ...promise,
    metadata: ast.metadata && metadataOf(context, ast.metadata),
  };
}

function indexPart(context: BindContext, part: Sql.IndexedProperty): IndexPart {
  const {name, by, collation} = part;
  const collate = collation?.text.toLowerCase() ?? 'default';
  if (collation !== undefined && collate !== 'ci' && collate !== 'default') {
    const text = `Unknown collation '${collation.text}'; there are CI and DEFAULT`;
    context.refuse(collation.at, text);
  }
  return {name, ...(by && {by}), ...(collate === 'ci' && {collate})};
}

function bindAlterBucket(context: BindContext, ast: Sql.AlterBucket): SchemaCommand {
  const renames = ast.options.filter(option => option.name.toLowerCase() === 'name');
  const custom = ast.options.filter(option => !renames.includes(option));
  const [rename] = renames;
  const newName = rename && constantOf(context, rename.value);
  if (rename !== undefined && typeof newName !== 'string') {
    return context.refuse(rename.at, 'The new name of a bucket is a name');
  }
  return {
    kind: 'alter-bucket',
    name: ast.name.text,
    ...(typeof newName === 'string' && {newName}),
    ...(custom.length > 0 && {custom: changedCustom(context, custom)}),
  };
}

function bindDrop(context: BindContext, ast: Sql.Drop): SchemaCommand {
  const name = ast.name?.text ?? '*';
  const {ifExists} = ast;
  switch (ast.what) {
    case 'type':
      return {kind: 'drop-type', name, ifExists, unsafe: ast.unsafe};
    case 'property':
      return {
        kind: 'drop-property',
        type: name,
        name: ast.property?.text ?? '',
        ifExists,
        force: ast.force,
      };
    case 'index':
      return {kind: 'drop-index', name, ifExists};
    case 'bucket':
      return {kind: 'drop-bucket', name, ifExists};
    case 'trigger':
      return {kind: 'drop-trigger', name, ifExists};
    case 'materialized-view':
      return {kind: 'drop-view', name, ifExists};
    case 'continuous-aggregate':
    case 'graph-analytical-view':
    case 'timeseries-type':
      return context.notAvailable(ast.at, `DROP ${words(ast.what)}`);
    default:
      return unreachable(ast.what);
  }
}

function bindTruncate(ast: Sql.Truncate): SchemaCommand {
  const name = ast.name.text;
  switch (ast.what) {
    case 'type':
      return {kind: 'truncate-type', name, polymorphic: ast.polymorphic, unsafe: ast.unsafe};
    case 'bucket':
      return {kind: 'truncate-bucket', name, unsafe: ast.unsafe};
    default:
      return unreachable(ast.what);
  }
}

function bindRebuild(context: BindContext, ast: Sql.Rebuild): SchemaCommand {
  const name = ast.name?.text ?? '*';
  switch (ast.what) {
    case 'rebuild-index':
      settingsOf(context, ast, ['batchSize']);
      return {kind: 'rebuild-index', name};
    case 'compact-index':
      settingsOf(context, ast, []);
      return {kind: 'compact-index', name};
    case 'rebuild-type': {
      const {repartition = false} = settingsOf(context, ast, ['batchSize', 'repartition']);
      return {kind: 'rebuild-type', name, polymorphic: ast.polymorphic, repartition};
    }
    case 'rebuild-graph-view':
      return context.notAvailable(ast.at, words(ast.what));
    default:
      return unreachable(ast.what);
  }
}

type FlagSetting = 'repartition' | 'lightweight' | 'unique';

/**
 * The settings behind WITH. How many records go into one transaction (`batchSize`) is the server's
 * own affair; the others are true or false.
 */
function settingsOf(
  context: BindContext,
  {kind, settings, ...ast}: Sql.Rebuild | Sql.AlterType,
  known: readonly ('batchSize' | FlagSetting)[],
): {readonly [name in FlagSetting]?: boolean} {
  const flags: {[name in FlagSetting]?: boolean} = {};
  for (const {at, name, value} of settings) {
    const key = known.find(one => one.toLowerCase() === name.toLowerCase());
    if (key === undefined) {
      const statement = words('what' in ast ? ast.what : kind);
      const hint = known.length === 0 ? '' : `: expected one of ${known.join(', ')}`;
      return context.syntax(at, `There is no setting '${name}' of ${statement}${hint}`);
    }
    if (key === 'batchSize') {
      if ((countOf(context, value) ?? 0) < 1) context.syntax(at, 'batchSize is at least 1');
      continue;
    }
    const flag = constantOf(context, value);
    if (typeof flag !== 'boolean') context.syntax(at, `${key} is true or false`);
    else flags[key] = flag;
  }
  return flags;
}
