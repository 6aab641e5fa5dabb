/** CREATE INDEX: syntax tree to a command. */
import {parseIndexKind, parseNullStrategy} from '#server/catalog/change-index.ts';
import type {MapValue} from '#server/model/value.ts';
import type {IndexPart, SchemaCommand} from '#server/plan/statement.ts';
import type * as Ast from './ast.ts';
import type * as Sql from './ast-statement.ts';
import type {BindContext} from './bind-context.ts';
import {constantOf, dataTypeOf} from './bind-constant.ts';

function metadataOf(context: BindContext, ast: Ast.Expression): MapValue {
  const value = constantOf(context, ast);
  return value instanceof Map ? value : context.syntax(ast.at, 'METADATA is a map of options');
}

export function bindCreateIndex(context: BindContext, ast: Sql.CreateIndex): SchemaCommand {
  const {family, unique} = context.located(ast.indexKind.at, () =>
    parseIndexKind(ast.indexKind.text, context.catalog.families),
  );
  const {kind, typeName} = family;
  if (ast.metadata !== undefined && family.options === undefined) {
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
