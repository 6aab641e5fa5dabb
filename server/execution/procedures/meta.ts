/** `db.schema` and `meta.*`: the schema as a graph, as tables and in numbers, from its counters. */
import type {CatalogType} from '#server/catalog/catalog-type.ts';
import type {PropertyDefinition} from '#server/catalog/definition.ts';
import type {MapValue, RecordKind, Value} from '#server/model/value.ts';
import {type ExecutionContext, shownSchema} from '../context.ts';
import type {FunctionFamily} from '../function-registry.ts';

function mapOf(entries: Readonly<Record<string, Value>>): MapValue {
  return new Map(Object.entries(entries));
}

function namesOf(type: CatalogType): readonly string[] {
  return [...type.properties.keys()];
}

function schemaRows(context: ExecutionContext): readonly (readonly Value[])[] {
  const rows = (kind: RecordKind, word: string): readonly (readonly Value[])[] =>
    shownSchema(context)
      .ofKind(kind)
      .map(type => [type.name, word, namesOf(type)]);
  return [...rows('vertex', 'node'), ...rows('edge', 'relationship')];
}

/** Own records of a type: those of several labels are a type of their own. */
function countOf(type: CatalogType, {graph}: ExecutionContext): number {
  return graph.countType(type.name, false);
}

function graphRow(context: ExecutionContext): readonly Value[] {
  const nodes = shownSchema(context)
    .ofKind('vertex')
    .map(type =>
      mapOf({
        _type: 'vNode',
        _id: `meta:${type.name}`,
        _labels: [type.name],
        name: type.name,
        count: countOf(type, context),
        properties: namesOf(type),
      }),
    );
  const relationships = shownSchema(context)
    .ofKind('edge')
    .map(type =>
      mapOf({
        _type: 'vRelationship',
        _id: `meta_rel:${type.name}`,
        type: type.name,
        count: countOf(type, context),
        properties: namesOf(type),
      }),
    );
  return [nodes, relationships];
}

function statsRow(context: ExecutionContext): readonly Value[] {
  const counts = (kind: RecordKind): Map<string, number> =>
    new Map(
      shownSchema(context)
        .ofKind(kind)
        .map(type => [type.name, countOf(type, context)]),
    );
  const sum = (map: Map<string, number>): number => [...map.values()].reduce((a, b) => a + b, 0);
  const labels = counts('vertex');
  const relTypes = counts('edge');
  return [
    mapOf({
      labelCount: labels.size,
      relTypeCount: relTypes.size,
      nodeCount: sum(labels),
      relCount: sum(relTypes),
      labels,
      relTypes,
    }),
  ];
}

function propertyMap({name, type, mandatory, readonly}: PropertyDefinition): MapValue {
  return mapOf({name, type, mandatory, readOnly: readonly});
}

function schemaRow(context: ExecutionContext): readonly Value[] {
  const maps = (kind: RecordKind): readonly MapValue[] =>
    shownSchema(context)
      .ofKind(kind)
      .map(type =>
        mapOf({
          name: type.name,
          type: kind,
          properties: [...type.properties.values()].map(propertyMap),
        }),
      );
  return [mapOf({nodeLabels: maps('vertex'), relationshipTypes: maps('edge')})];
}

function* propertyRows(
  context: ExecutionContext,
  kind: RecordKind,
): Generator<readonly Value[], void, undefined> {
  for (const type of shownSchema(context).ofKind(kind)) {
    for (const {name, type: dataType, mandatory} of type.properties.values()) {
      yield [type.name, name, [dataType], mandatory];
    }
  }
}

const schemaOutputs = ['name', 'type', 'properties'];

export const metaProcedures: FunctionFamily = {
  tables: {
    'db.schema': {outputs: schemaOutputs, rows: (_, context) => schemaRows(context)},
    'db.schema.visualization': {outputs: schemaOutputs, rows: (_, context) => schemaRows(context)},
    'meta.graph': {outputs: ['nodes', 'relationships'], rows: (_, context) => [graphRow(context)]},
    'meta.schema': {outputs: ['value'], rows: (_, context) => [schemaRow(context)]},
    'meta.stats': {outputs: ['value'], rows: (_, context) => [statsRow(context)]},
    'meta.nodeTypeProperties': {
      outputs: ['nodeType', 'propertyName', 'propertyTypes', 'mandatory'],
      rows: (_, context) => propertyRows(context, 'vertex'),
    },
    'meta.relTypeProperties': {
      outputs: ['relType', 'propertyName', 'propertyTypes', 'mandatory'],
      rows: (_, context) => propertyRows(context, 'edge'),
    },
  },
};
