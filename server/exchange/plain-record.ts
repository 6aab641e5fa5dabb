/**
 * What a plain object becomes, one that no format says more of: a row of CSV, an object of JSON, an
 * element of XML. The option `rows` tells whether it is a document, a vertex or an edge, others
 * which of its fields are its id or its ends, and what its properties are called.
 */
import type {MapValue, Value} from '#server/model/value.ts';
import {type ExchangedRecord, malformed} from './exchanged-record.ts';
import type {ImportOptions} from './import-options.ts';
import {endOf, idOf} from './ids.ts';

/** @throws {Refusal} `source.malformed` for an edge without ends. */
export function plainRecord(
  fields: MapValue,
  options: ImportOptions,
  place: number,
): ExchangedRecord {
  const {rows: kind, edgeFromField, edgeToField} = options;
  const isEdge = kind === 'edge';
  const key = options.typeIdProperty ?? options.idProperty;
  let id: string | undefined;
  const properties = new Map<string, Value>();
  for (const [name, value] of fields) {
    if (name.startsWith('@') || (isEdge && (name === edgeFromField || name === edgeToField))) {
      continue;
    }
    if (propertyCalled(name, options) === key) id = idOf(value);
    const property = propertyNamed(name, options);
    if (property !== undefined) properties.set(property, value);
  }
  if (!isEdge) return {kind, type: typeOfRows(options), id, properties, place};
  const from = endOf(fields.get(edgeFromField));
  const to = endOf(fields.get(edgeToField));
  if (from === undefined || to === undefined) {
    throw withoutEnd(from === undefined ? edgeFromField : edgeToField, place);
  }
  return {kind, type: options.edgeType, from, to, endsMayBeRecords: true, properties, place};
}

/** The property that a field becomes; undefined when it is left out. */
export function propertyNamed(field: string, options: ImportOptions): string | undefined {
  return options.propertiesInclude?.has(field) === false
    ? undefined
    : propertyCalled(field, options);
}

/** What the property of a field is called, whether it is left out or not. */
function propertyCalled(field: string, {mapping}: ImportOptions): string {
  return mapping?.get(field) ?? field;
}

export function typeOfRows({rows, documentType, vertexType, edgeType}: ImportOptions): string {
  if (rows === 'vertex') return vertexType;
  return rows === 'edge' ? edgeType : documentType;
}

export function withoutEnd(field: string, place: number): ReturnType<typeof malformed> {
  return malformed(place, `it has no field '${field}' (edgeFromField, edgeToField)`);
}
