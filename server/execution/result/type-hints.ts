/**
 * `@props`: what JSON loses of a row's values, as `name:code` joined by commas.
 *
 * The codes are those that clients of the documented API know: binary 8, list 9, map 10,
 * link 11, date 13, decimal 14, embedded 15, date-time 6. Source: oracle 3.2.
 */
import {isListValue} from '#server/model/compare.ts';
import {
  DateTimeValue,
  DateValue,
  Decimal,
  EmbeddedValue,
  Rid,
  type Value,
} from '#server/model/value.ts';

export function typeHints(row: ReadonlyMap<string, Value>): string {
  const hints: string[] = [];
  for (const [name, value] of row) {
    const code = codeOf(value);
    if (code !== undefined) hints.push(`${name}:${code}`);
  }
  return hints.join(',');
}

function codeOf(value: Value): number | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if (isListValue(value)) return 9;
  if (value instanceof Map) return 10;
  if (value instanceof Rid) return 11;
  if (value instanceof DateTimeValue) return 6;
  if (value instanceof DateValue) return 13;
  if (value instanceof Decimal) return 14;
  if (value instanceof EmbeddedValue) return 15;
  return value instanceof Uint8Array ? 8 : undefined;
}
