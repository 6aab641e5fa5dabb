/**
 * CREATE FULLTEXT INDEX, CREATE VECTOR INDEX and what else families of indexes have words for: the
 * search indexes of SQL, in the words of Cypher.
 *
 * Families may share a word and differ in the number of properties: a vector index on one is dense,
 * on two (the dimensions and their weights) sparse. `OPTIONS {indexConfig: {...}}` holds the keys
 * of METADATA, for some of which the language has words of its own. A property that nobody declared
 * is declared as what the index needs.
 */
import {sameIndex} from '#server/catalog/change-index.ts';
import type {IndexKind} from '#server/catalog/definition.ts';
import type {DataType} from '#server/model/data-type.ts';
import type {MapValue, Value} from '#server/model/value.ts';
import type {SchemaCommand as BoundCommand} from '#server/plan/statement.ts';
import type {SchemaCommand} from './ast.ts';
import type {Expression, MapLiteral} from './ast-expression.ts';
import type {BindContext} from './bind-context.ts';
import {valueOf} from './bind-expression.ts';

type CreateIndex = Extract<SchemaCommand, {kind: 'create-index'}>;

/** The family of the word, and the types of its properties, the last one of all behind it. */
function familyOf(
  context: BindContext,
  {family: word, properties, at}: CreateIndex,
): readonly [IndexKind, readonly DataType[]] {
  const {families} = context.catalog;
  const family = families.ofCypherWord(word, properties.length);
  if (family?.cypher !== undefined) return [family.kind, family.cypher.types];
  const known = new Set(families.all.flatMap(({cypher}) => (cypher ? [cypher.word] : [])));
  const words = ['RANGE', 'TEXT', ...known].join(', ');
  return context.refuse(at, 'UnexpectedSyntax', `there is no ${word} INDEX: it is one of ${words}`);
}

export interface SearchIndex {
  readonly kind: IndexKind;
  readonly command: BoundCommand;
  /** The type of each property that is to be declared. */
  readonly typeOf: (at: number) => DataType;
  /** There is one on the same properties, or of the same name. */
  readonly isThere: boolean;
}

/** @throws {Refusal} for options that are no constants, and keys that OPTIONS does not have. */
export function bindSearchIndex(context: BindContext, command: CreateIndex): SearchIndex {
  const {catalog} = context;
  const [kind, types] = familyOf(context, command);
  const type = catalog.type(command.label.text);
  const properties = command.properties.map(({text}) => ({name: text, ignoreCase: false}));
  const twin = type && sameIndex(catalog, type, {properties, kind});
  const named = command.name && catalog.index(command.name.text);
  return {
    kind,
    isThere: (twin ?? named) !== undefined,
    typeOf: at => types[at] ?? types.at(-1) ?? 'ANY',
    command: {
      kind: 'create-index',
      name: command.name?.text,
      ifNotExists: false,
      type: command.label.text,
      parts: properties.map(({name}) => ({name})),
      indexKind: kind,
      unique: false,
      nullStrategy: 'SKIP',
      metadata: command.options && metadataOf(context, command.options),
    },
  };
}

function metadataOf(context: BindContext, options: MapLiteral): MapValue {
  const metadata = new Map<string, Value>();
  for (const {key, value} of options.entries) {
    if (key.text !== 'indexConfig' || value.kind !== 'map') {
      context.refuse(
        key.at,
        'UnexpectedSyntax',
        'OPTIONS of a search index is {indexConfig: {...}}, with the keys of METADATA',
      );
    }
    for (const [name, given] of constantMap(context, value)) {
      const rule = words.get(name);
      metadata.set(rule?.key ?? name, rule?.value?.(given) ?? given);
    }
  }
  return metadata;
}

/** Keys of Neo4j's indexes. */
const words: ReadonlyMap<
  string,
  {readonly key: string; readonly value?: (given: Value) => Value | undefined}
> = new Map([
  ['fulltext.analyzer', {key: 'analyzer'}],
  ['vector.dimensions', {key: 'dimensions'}],
  ['vector.similarity_function', {key: 'similarity'}],
  ['vector.quantization.enabled', {key: 'quantization', value: quantization}],
  ['vector.hnsw.m', {key: 'maxConnections'}],
  ['vector.hnsw.ef_construction', {key: 'beamWidth'}],
]);

function quantization(given: Value): Value | undefined {
  if (given === true) return 'INT8';
  return given === false ? 'NONE' : undefined;
}

function constantMap(context: BindContext, {entries}: MapLiteral): ReadonlyMap<string, Value> {
  return new Map(entries.map(({key, value}) => [key.text, constant(context, value)]));
}

function constant(context: BindContext, ast: Expression): Value {
  switch (ast.kind) {
    case 'literal':
      return valueOf(ast);
    case 'list':
      return ast.items.map(item => constant(context, item));
    case 'map':
      return constantMap(context, ast);
    case 'unary': {
      const of = ast.operator === '-' ? constant(context, ast.of) : null;
      if (typeof of === 'number') return -of;
      return context.refuse(ast.at, 'UnexpectedSyntax', 'an option of an index is a constant');
    }
    default:
      return context.refuse(ast.at, 'UnexpectedSyntax', 'an option of an index is a constant');
  }
}
