/** Ids as sources write them: texts, or whole numbers as they read. */
import {jsonText} from '#server/model/json.ts';
import {ridText} from '#server/model/rid.ts';
import {Rid, type Value} from '#server/model/value.ts';

/** Undefined for what is no id. */
export function idOf(value: Value | undefined): string | undefined {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'bigint' ? String(value) : undefined;
}

/** The id of an edge's end; the empty text names nothing. */
export function endOf(value: Value | undefined): string | undefined {
  const id = value instanceof Rid ? ridText(value) : idOf(value);
  return id === '' ? undefined : id;
}

/** Texts as they are, everything else as JSON. */
export function plainText(value: Value | undefined): string {
  return typeof value === 'string' ? value : jsonText(value);
}
