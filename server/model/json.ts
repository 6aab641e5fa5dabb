/**
 * Values as JSON text.
 *
 * Integers and decimals keep all their digits, a double keeps its point (5.0), dates are texts
 * in the database's formats, record ids are `#b:p`, binaries are base64, NaN and the infinities
 * (which JSON lacks) are null. A record inside a value is an object with `@rid`, `@type`, its
 * properties and `@cat` last; edges have `@in` and `@out` as well.
 */
import {classify} from './compare.ts';
import {base64Text} from './base64.ts';
import {decimalText} from './decimal.ts';
import {pointParts} from './point.ts';
import {ridText} from './rid.ts';
import {formatByPattern} from './temporal-pattern.ts';
import {dateText, dateTimeText, durationText, secondsOf, timeText} from './temporal.ts';
import {
  DateTimeValue,
  DateValue,
  Decimal,
  Double,
  DurationValue,
  EmbeddedValue,
  type MapValue,
  PathValue,
  PointValue,
  type RecordKind,
  RecordValue,
  Rid,
  TimeValue,
  type Value,
} from './value.ts';

/** Formats of a database that differ from the usual ones (temporal.ts); patterns. */
export interface JsonFormat {
  readonly datePattern?: string;
  readonly dateTimePattern?: string;
  /** A duration without months is the number of its seconds. */
  readonly durationsAsSeconds?: boolean;
}

/** `@cat` of a record: v, e or d. */
export const categoryOf: Readonly<Record<RecordKind, string>> = {
  vertex: 'v',
  edge: 'e',
  document: 'd',
};

/** The value as JSON. Cost: one pass; strings that need no escape are not copied twice. */
export function jsonText(value: Value | undefined, format: JsonFormat = {}): string {
  if (typeof value === 'string') return jsonString(value);
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : 'null';
  if (value === null || value === undefined) return 'null';
  if (typeof value === 'boolean') return value ? 'true' : 'false';
  if (typeof value === 'bigint') return value.toString();
  if (Array.isArray(value)) return listText(value, format);
  if (value instanceof Rid) return `"${ridText(value)}"`;
  if (value instanceof Map) return `{${entriesText(value, format)}}`;
  if (value instanceof Double) return doubleText(value.value);
  if (value instanceof Decimal) return decimalText(value);
  if (value instanceof DateValue) {
    const {datePattern} = format;
    return jsonString(
      datePattern === undefined ? dateText(value) : formatByPattern(value, datePattern),
    );
  }
  if (value instanceof DateTimeValue) {
    const {dateTimePattern} = format;
    const plain = dateTimePattern === undefined || value.local || value.zone !== undefined;
    return jsonString(plain ? dateTimeText(value) : formatByPattern(value, dateTimePattern));
  }
  if (value instanceof RecordValue) return recordText(value, format);
  if (value instanceof EmbeddedValue) return embeddedText(value, format);
  if (value instanceof Uint8Array) return `"${base64Text(value)}"`;
  if (value instanceof TimeValue) return `"${timeText(value)}"`;
  if (value instanceof DurationValue) {
    const isNumber = format.durationsAsSeconds === true && value.months === 0;
    return isNumber ? doubleText(secondsOf(value)) : `"${durationText(value)}"`;
  }
  if (value instanceof PointValue) return `{${entriesText(pointParts(value))}}`;
  if (value instanceof PathValue) return pathText(value, format);
  const known = classify(value);
  return known.of === 'list' ? listText(known.value, format) : 'null';
}

const needsEscape = /["\\\u0000-\u001f\ud800-\udfff]/;

/** A text in quotes, escaped where JSON asks for it. */
export function jsonString(text: string): string {
  return needsEscape.test(text) ? JSON.stringify(text) : `"${text}"`;
}

/** `"a":1,"b":2`: the inside of an object. */
export function entriesText(map: MapValue, format: JsonFormat = {}): string {
  let text = '';
  for (const [key, value] of map) {
    text += `${text === '' ? '' : ','}${jsonString(key)}:${jsonText(value, format)}`;
  }
  return text;
}

/** An integral double keeps its point, so that it reads back as a double. */
export function doubleText(double: number): string {
  if (!Number.isFinite(double)) return 'null';
  if (double === 0) return Object.is(double, -0) ? '-0.0' : '0.0';
  const text = String(double);
  return Number.isInteger(double) && !text.includes('e') ? `${text}.0` : text;
}

function listText(list: readonly Value[], format: JsonFormat): string {
  let text = '[';
  for (let at = 0; at < list.length; at++) {
    if (at > 0) text += ',';
    text += jsonText(list[at], format);
  }
  return `${text}]`;
}

/** Nodes and relationships apart, each in the order of the path. */
function pathText({elements}: PathValue, format: JsonFormat): string {
  const nodes = elements.filter((_, at) => at % 2 === 0);
  const relationships = elements.filter((_, at) => at % 2 === 1);
  return (
    `{"_type":"path","nodes":${listText(nodes, format)},` +
    `"relationships":${listText(relationships, format)},"length":${relationships.length}}`
  );
}

function recordText(record: RecordValue, format: JsonFormat): string {
  let text = `{"@rid":"${ridText(record.rid)}","@type":${jsonString(record.typeName)}`;
  if (record.from !== undefined && record.to !== undefined) {
    text += `,"@in":"${ridText(record.to)}","@out":"${ridText(record.from)}"`;
  }
  for (const [name, value] of record.properties()) {
    text += `,${jsonString(name)}:${jsonText(value, format)}`;
  }
  return `${text},"@cat":"${categoryOf[record.kind]}"}`;
}

/** Prints it as a record inside a value: its type first, its category last. */
function embeddedText({typeName, properties}: EmbeddedValue, format: JsonFormat): string {
  const entries = entriesText(properties, format);
  if (typeName === '') return `{${entries}}`;
  return `{"@type":${jsonString(typeName)}${entries === '' ? '' : `,${entries}`},"@cat":"d"}`;
}
