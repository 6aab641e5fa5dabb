/** Procedures that list what a schema has: labels, types of edges, declared properties. */
import {isLabel} from '#server/model/labels.ts';
import type {RecordKind} from '#server/model/value.ts';
import {type CallContext, shownSchema} from '../context.ts';
import type {FunctionFamily, TableFunction} from '../function-registry.ts';

function names(output: string, namesOf: (call: CallContext) => Iterable<string>): TableFunction {
  return {
    outputs: [output],
    rows: (_, call) => [...new Set(namesOf(call))].sort().map(name => [name]),
  };
}

function typesOf(call: CallContext, kind: RecordKind): readonly string[] {
  return shownSchema(call)
    .ofKind(kind)
    .map(type => type.name);
}

export const catalogProcedures: FunctionFamily = {
  tables: {
    'db.labels': names('label', call => typesOf(call, 'vertex').filter(isLabel)),
    'db.relationshipTypes': names('relationshipType', call => typesOf(call, 'edge')),
    'db.propertyKeys': names('propertyKey', call =>
      shownSchema(call).types.flatMap(type => [...type.properties.keys()]),
    ),
  },
};
