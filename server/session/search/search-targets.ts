/** Finds the indexes that a search names in the schema; refusals list what is there. */
import {indexOfKind, type RankedTarget, rankedTarget} from '#server/catalog/change-index.ts';
import type {IndexDefinition} from '#server/catalog/definition.ts';
import {type SimilarityName, textOptionsOf} from '#server/catalog/text-options.ts';
import type {ShownSchema} from '#server/catalog/shown-schema.ts';
import {refuseArgument, type TextArguments, type VectorArguments} from './search-arguments.ts';

const sparseName = 'LSM_SPARSE_VECTOR';
const denseName = 'LSM_VECTOR';

/** @throws {Refusal} `argument`. */
export function vectorIndex(
  shown: ShownSchema,
  {indexName, queryVector, queryIndices, efSearch, sparse}: VectorArguments,
): RankedTarget {
  const typeName = sparse ? sparseName : denseName;
  const {catalog} = shown;
  const names = shown.indexes
    .filter(one => catalog.families.of(one).typeName === typeName)
    .map(({name}) => name);
  const available = `Available ${typeName} indexes: [${names.join(', ')}]`;
  const target = rankedTarget(catalog, indexName, sparse ? 'sparse' : 'dense');
  if (target === undefined || !shown.isShown(target.index.typeId)) {
    return refuseArgument(`Vector index '${indexName}' does not exist. ${available}`);
  }
  const {index} = target;
  const found = catalog.families.of(index).typeName;
  if (found !== typeName) {
    refuseArgument(`Index '${indexName}' is ${found}, not ${typeName}. ${available}`);
  }
  if (sparse) {
    if (efSearch !== undefined) refuseArgument("'efSearch' applies to dense indexes only");
    if (queryIndices !== undefined && queryIndices.length !== queryVector.length) {
      refuseArgument(
        `'queryIndices' has ${queryIndices.length} entries and 'queryVector' ${queryVector.length}`,
      );
    }
    return target;
  }
  if (queryIndices !== undefined) refuseArgument("'queryIndices' needs 'sparse' to be true");
  const dimensions = Number(index.options?.get('dimensions') ?? 0);
  if (queryVector.length !== dimensions) {
    refuseArgument(
      `'queryVector' has ${queryVector.length} dimensions, but index '${indexName}' requires ` +
        `${dimensions}`,
    );
  }
  if (queryVector.every(value => value === 0)) {
    refuseArgument("Dense 'queryVector' must contain at least one non-zero value");
  }
  return target;
}

export function similarityOf(index: IndexDefinition): SimilarityName {
  return textOptionsOf(index).similarity;
}

/** The index of this name, or the only one of a type (on these properties). @throws {Refusal} */
export function textIndex(
  shown: ShownSchema,
  {indexName, typeName, properties}: Omit<TextArguments, 'queryText' | 'limit'>,
): IndexDefinition {
  if (indexName !== undefined) return textIndexNamed(shown, indexName);
  if (typeName === undefined) return refuseArgument("give 'indexName' or 'typeName'");
  const type = shown.catalog.requireType(typeName);
  const all = type.indexes.filter(({kind}) => kind === 'text');
  const wanted = properties?.toSorted().join();
  const fitting =
    wanted === undefined ? all : all.filter(index => namesOf(index).toSorted().join() === wanted);
  const [only] = fitting;
  if (only !== undefined && fitting.length === 1) return only;
  const names = all.map(({name}) => name).join(', ');
  const on = properties === undefined ? '' : ` on [${properties.join(', ')}]`;
  return refuseArgument(
    `Type '${typeName}' has ${fitting.length === 0 ? 'no' : 'more than one'} full-text index` +
      `${on}: give 'indexName'. Its full-text indexes: [${names}]`,
  );
}

function namesOf({properties}: IndexDefinition): readonly string[] {
  return properties.map(({name}) => name);
}

function textIndexNamed(shown: ShownSchema, name: string): IndexDefinition {
  const {catalog} = shown;
  const names = shown.indexes.filter(({kind}) => kind === 'text').map(one => one.name);
  const available = `Available FULL_TEXT indexes: [${names.join(', ')}]`;
  const index = indexOfKind(catalog, name, 'text');
  if (index === undefined || !shown.isShown(index.typeId)) {
    return refuseArgument(`Full-text index '${name}' does not exist. ${available}`);
  }
  if (index.kind === 'text') return index;
  return refuseArgument(
    `Index '${name}' is ${catalog.families.of(index).typeName}, not FULL_TEXT. ${available}`,
  );
}
