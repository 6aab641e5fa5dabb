/** Types and properties: syntax tree to commands. */
import {unreachable} from '#server/base/assert.ts';
import type {Value} from '#server/model/value.ts';
import type {PropertyAttributes, SchemaCommand, TypeChange} from '#server/plan/statement.ts';
import type * as Ast from './ast.ts';
import type * as Sql from './ast-statement.ts';
import type {BindContext} from './bind-context.ts';
import {printExpression} from './printer.ts';
import {
  bucketName,
  changedCustom,
  constantOf,
  countOf,
  customOf,
  dataTypeOf,
  settingsOf,
} from './bind-constant.ts';

export function bindCreateType(context: BindContext, ast: Sql.CreateType): SchemaCommand {
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

export function bindAlterType(context: BindContext, ast: Sql.AlterType): SchemaCommand {
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

export function bindCreateProperty(context: BindContext, ast: Sql.CreateProperty): SchemaCommand {
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

export function bindAlterProperty(context: BindContext, ast: Sql.AlterProperty): SchemaCommand {
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
