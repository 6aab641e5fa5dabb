/**
 * Which records a record points at, and from where: FIND REFERENCES of SQL.
 *
 * A place is written as the parts that lead there, each ended by a point: a property by its name,
 * a key of a map `<map:key>`, an item of a list `<elem>`, an end of an edge `@out` or `@in`.
 * An id is one reference, however many places hold it; a place is named once.
 */
import {groupKey, isNumberArray} from '#server/model/compare.ts';
import {EmbeddedValue, RecordValue, Rid, type Value} from '#server/model/value.ts';

interface Reference {
  readonly to: Rid;
  readonly fields: Set<string>;
}

/** A list of maps `{rid, referredBy, fields}`; of what is no record an empty one. */
export function referencesOf(record: Value): Value {
  if (!(record instanceof RecordValue)) return [];
  const found = new Map<string | number, Reference>();
  if (record.from !== undefined) note(found, record.from, '@out.');
  if (record.to !== undefined) note(found, record.to, '@in.');
  for (const [name, value] of record.properties()) collect(found, value, `${name}.`);
  return [...found.values()].map(
    ({to, fields}) =>
      new Map<string, Value>([
        ['rid', to],
        ['referredBy', record.rid],
        ['fields', [...fields]],
      ]),
  );
}

/** Values nest at most as deep as a record may. */
function collect(found: Map<string | number, Reference>, value: Value, place: string): void {
  if (value instanceof Rid) note(found, value, place);
  else if (value instanceof RecordValue) note(found, value.rid, place);
  else if (value instanceof EmbeddedValue) {
    for (const [name, item] of value.properties) collect(found, item, `${place}${name}.`);
  } else if (value instanceof Map) {
    for (const [key, item] of value) collect(found, item, `${place}<map:${key}>.`);
  } else if (Array.isArray(value) && !isNumberArray(value)) {
    for (const item of value as readonly Value[]) collect(found, item, `${place}<elem>.`);
  }
}

function note(found: Map<string | number, Reference>, to: Rid, place: string): void {
  const key = groupKey(to);
  const known = found.get(key) ?? {to, fields: new Set()};
  found.set(key, known);
  known.fields.add(place);
}
