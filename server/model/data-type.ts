/**
 * The data types that a property may declare, and the conversion of a value to one of them.
 *
 * A conversion keeps the value or is refused (`value.type`, naming the property), with the
 * customary exceptions that the documented dialect has: a fraction is cut off when an integer
 * is wanted, a text that reads as the wanted type is read, digits finer than a date-time's
 * precision are cut off. Nothing ever wraps around.
 * Described in docs/sql.md.
 */
import {unreachable} from '#server/base/assert.ts';
import {Refusal} from '#server/base/errors.ts';
import {convertToArray, type NumberArrayType, numberArrayTypes} from './array-conversion.ts';
import {bytesFromBase64} from './base64.ts';
import {floatValue, isListValue, listOfArray} from './compare.ts';
import {decimalToInteger, parseDecimal} from './decimal.ts';
import {
  isIntegerValue,
  isNumberValue,
  longMax,
  longMin,
  makeDouble,
  normalInteger,
  numberOf,
  numberText,
  toDecimal,
} from './number.ts';
import {parseRid, ridText} from './rid.ts';
import {
  dateText,
  dateTimeFromEpoch,
  dateTimeText,
  epochOf,
  parseDate,
  parseDateTime,
  secondsPerDay,
  withPrecision,
} from './temporal.ts';
import {
  DateTimeValue,
  DateValue,
  Decimal,
  EmbeddedValue,
  type ListValue,
  type MapValue,
  RecordValue,
  Rid,
  type TimePrecision,
  type Value,
} from './value.ts';

export const dataTypes = [
  'BOOLEAN',
  'BYTE',
  'SHORT',
  'INTEGER',
  'LONG',
  'FLOAT',
  'DOUBLE',
  'DECIMAL',
  'STRING',
  'BINARY',
  'DATE',
  'DATETIME',
  'DATETIME_SECOND',
  'DATETIME_MICROS',
  'DATETIME_NANOS',
  'LIST',
  'MAP',
  'LINK',
  'EMBEDDED',
  ...numberArrayTypes,
  // Whatever is given, as it is: a property that is declared for its rules or an index alone.
  'ANY',
] as const;
export type DataType = (typeof dataTypes)[number];

/** What a property declares about its values. */
export interface DeclaredType {
  readonly type: DataType;
  /** A data type (elements of LIST and MAP) or a type's name (LINK, EMBEDDED and elements). */
  readonly ofType?: string | undefined;
}

const integerBounds: Partial<Record<DataType, readonly [bigint, bigint]>> = {
  BYTE: [-128n, 127n],
  SHORT: [-32_768n, 32_767n],
  INTEGER: [-2_147_483_648n, 2_147_483_647n],
  LONG: [longMin, longMax],
};

const precisions: Partial<Record<DataType, TimePrecision>> = {
  DATETIME: 'millisecond',
  DATETIME_SECOND: 'second',
  DATETIME_MICROS: 'microsecond',
  DATETIME_NANOS: 'nanosecond',
};

/** Names ignore case; undefined when there is no such data type. */
export function parseDataType(name: string): DataType | undefined {
  const upper = name.toUpperCase();
  return dataTypes.find(type => type === upper);
}

/** Whether values of the type may be declared `OF` another. */
export function takesOfType(type: DataType): boolean {
  return type === 'LIST' || type === 'MAP' || type === 'LINK' || type === 'EMBEDDED';
}

/**
 * The value as `declared` wants it. Null stays null.
 *
 * @param property - Name for the refusal's text, such as `Person.age`.
 * @throws {Refusal} `value.type`.
 */
export function convertValue(value: Value, declared: DeclaredType, property: string): Value {
  if (value === null) return null;
  const {type} = declared;
  switch (type) {
    case 'BOOLEAN':
      return toBoolean(value) ?? misfit(value, type, property);
    case 'BYTE':
    case 'SHORT':
    case 'INTEGER':
    case 'LONG':
      return toInteger(value, type) ?? misfit(value, type, property);
    case 'FLOAT':
    case 'DOUBLE':
      return toFloating(value, type) ?? misfit(value, type, property);
    case 'DECIMAL':
      return toExactDecimal(value) ?? misfit(value, type, property);
    case 'STRING':
      return textOfScalar(value) ?? misfit(value, type, property);
    case 'BINARY':
      return toBinary(value) ?? misfit(value, type, property);
    case 'DATE':
      return toDate(value) ?? misfit(value, type, property);
    case 'DATETIME':
    case 'DATETIME_SECOND':
    case 'DATETIME_MICROS':
    case 'DATETIME_NANOS':
      return toDateTime(value, precisions[type] ?? 'millisecond') ?? misfit(value, type, property);
    case 'LIST':
      if (!isListValue(value)) return misfit(value, type, property);
      return convertElements(
        Array.isArray(value) ? value : listOfArray(value as never),
        declared,
        property,
      );
    case 'MAP':
      if (value instanceof EmbeddedValue)
        return convertEntries(value.properties, declared, property);
      if (!(value instanceof Map)) return misfit(value, type, property);
      return convertEntries(value, declared, property);
    case 'LINK':
      return toLink(value) ?? misfit(value, type, property);
    case 'EMBEDDED':
      return toEmbedded(value, declared.ofType) ?? misfit(value, type, property);
    case 'ARRAY_OF_SHORTS':
    case 'ARRAY_OF_INTEGERS':
    case 'ARRAY_OF_LONGS':
    case 'ARRAY_OF_FLOATS':
    case 'ARRAY_OF_DOUBLES':
      return convertArray(value, type, property);
    case 'ANY':
      return value;
    default:
      return unreachable(type);
  }
}

const wholeNumberTypes: ReadonlySet<DataType> = new Set<DataType>([
  'BYTE',
  'SHORT',
  'INTEGER',
  'LONG',
]);
const numberTypes: ReadonlySet<DataType> = new Set<DataType>([
  ...wholeNumberTypes,
  'FLOAT',
  'DOUBLE',
  'DECIMAL',
]);

/** Whether values of the type are whole numbers: index keys hold those as they are. */
export function isWholeNumberType(type: DataType | undefined): boolean {
  return type !== undefined && wholeNumberTypes.has(type);
}

/** Whether values of the type are numbers. */
export function isNumberType(type: DataType | undefined): boolean {
  return type !== undefined && numberTypes.has(type);
}

/** Whether values of the type are equal just when their index keys are. */
export function hasExactKeys(type: DataType | undefined): boolean {
  return type === 'STRING' || type === 'BOOLEAN' || isNumberType(type);
}

/** Whether a value, as it is, can equal one of such a type; NaN equals nothing. */
export function isExactKey(value: Value, type: DataType | undefined): boolean {
  if (type === 'STRING') return typeof value === 'string';
  if (type === 'BOOLEAN') return typeof value === 'boolean';
  return isNumberValue(value) && !(typeof value === 'number' && Number.isNaN(value));
}

/** A scalar as text (STRING properties, concatenation); undefined for lists, maps, records. */
export function textOfScalar(value: Value): string | undefined {
  if (typeof value === 'string') return value;
  if (isNumberValue(value)) return numberText(value);
  if (typeof value === 'boolean') return String(value);
  if (value instanceof DateValue) return dateText(value);
  if (value instanceof DateTimeValue) return dateTimeText(value);
  return value instanceof Rid ? ridText(value) : undefined;
}

function toBoolean(value: Value): boolean | undefined {
  if (typeof value === 'boolean') return value;
  if (isNumberValue(value)) return numberOf(value) !== 0;
  const text = typeof value === 'string' ? value.trim().toLowerCase() : '';
  return text === 'true' ? true : text === 'false' ? false : undefined;
}

function toInteger(value: Value, type: DataType): number | bigint | undefined {
  const exact = exactInteger(value);
  const bounds = integerBounds[type];
  if (exact === undefined || bounds === undefined) return undefined;
  return exact < bounds[0] || exact > bounds[1] ? undefined : normalInteger(exact);
}

function exactInteger(value: Value): bigint | undefined {
  if (isIntegerValue(value)) return BigInt(value);
  if (value instanceof Decimal) return decimalToInteger(value);
  if (isNumberValue(value)) {
    const double = Math.trunc(numberOf(value));
    return Number.isFinite(double) ? BigInt(double) : undefined;
  }
  if (typeof value === 'string') {
    const text = value.trim();
    return /^[+-]?\d{1,40}$/.test(text) ? BigInt(text.replace('+', '')) : undefined;
  }
  if (value instanceof DateValue || value instanceof DateTimeValue) {
    return epochOf(value, value instanceof DateTimeValue ? value.precision : 'millisecond');
  }
  return undefined;
}

function toFloating(value: Value, type: 'FLOAT' | 'DOUBLE'): Value | undefined {
  let double: number;
  if (isNumberValue(value)) double = numberOf(value);
  else if (typeof value === 'string') {
    const text = value.trim();
    if (!/^(?:[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|NaN|[+-]?Infinity)$/.test(text))
      return undefined;
    double = Number(text);
  } else return undefined;
  const narrowed = type === 'FLOAT' ? Math.fround(double) : double;
  if (!Number.isFinite(narrowed) && (Number.isFinite(double) || value instanceof Decimal))
    return undefined;
  return type === 'FLOAT' ? floatValue(narrowed) : makeDouble(double);
}

function toExactDecimal(value: Value): Decimal | undefined {
  if (typeof value === 'string') return parseDecimal(value.trim());
  if (!isNumberValue(value)) return undefined;
  if (!(value instanceof Decimal) && !Number.isFinite(numberOf(value))) return undefined;
  return toDecimal(value);
}

function toBinary(value: Value): Uint8Array | undefined {
  if (value instanceof Uint8Array) return value;
  if (typeof value === 'string') return bytesFromBase64(value);
  if (!Array.isArray(value)) return undefined;
  const fits = value.every(
    byte => typeof byte === 'number' && byte >= -128 && byte <= 255 && Number.isInteger(byte),
  );
  return fits ? Uint8Array.from(value as number[]) : undefined;
}

/** Numbers count milliseconds since 1970-01-01. */
function toDate(value: Value): DateValue | undefined {
  if (value instanceof DateValue) return value;
  if (typeof value === 'string') return parseDate(value);
  const dateTime = value instanceof DateTimeValue ? value : toDateTime(value, 'millisecond');
  if (dateTime === undefined) return undefined;
  return new DateValue(Math.floor(dateTime.epochSeconds / secondsPerDay));
}

/** Numbers count units of the precision since 1970-01-01. */
function toDateTime(value: Value, precision: TimePrecision): DateTimeValue | undefined {
  if (value instanceof DateTimeValue) {
    return withPrecision(new DateTimeValue(value.epochSeconds, value.nanos, precision), precision);
  }
  if (value instanceof DateValue) {
    return new DateTimeValue(value.epochDays * secondsPerDay, 0, precision);
  }
  if (typeof value === 'string') {
    const text = value.trim();
    if (/^-?\d{5,19}$/.test(text)) return toDateTime(normalInteger(BigInt(text)), precision);
    return parseDateTime(text, precision);
  }
  if (!isNumberValue(value)) return undefined;
  const units = exactInteger(value);
  if (units === undefined || units < longMin || units > longMax) return undefined;
  const dateTime = dateTimeFromEpoch(units, precision);
  return Math.abs(dateTime.epochSeconds) > 31_556_889_864_403 ? undefined : dateTime;
}

function convertElements(list: ListValue, declared: DeclaredType, property: string): ListValue {
  const of = elementType(declared);
  if (of === undefined) return list;
  return list.map((element, at) => convertElement(element, of, `${property}[${at}]`));
}

function convertEntries(map: MapValue, declared: DeclaredType, property: string): MapValue {
  const of = elementType(declared);
  if (of === undefined) return map;
  const converted = new Map<string, Value>();
  for (const [key, entry] of map) {
    converted.set(key, convertElement(entry, of, `${property}.${key}`));
  }
  return converted;
}

type ElementType = DeclaredType | {readonly typeName: string};

function elementType(declared: DeclaredType): ElementType | undefined {
  if (declared.ofType === undefined) return undefined;
  const type = parseDataType(declared.ofType);
  return type === undefined ? {typeName: declared.ofType} : {type};
}

/** Elements `OF` a type's name are links to its records or embedded documents of it. */
function convertElement(value: Value, of: ElementType, property: string): Value {
  if ('type' in of) return convertValue(value, of, property);
  if (value instanceof Map || value instanceof EmbeddedValue) {
    return toEmbedded(value, of.typeName) ?? value;
  }
  return convertValue(value, {type: 'LINK', ofType: of.typeName}, property);
}

function toLink(value: Value): Rid | undefined {
  if (value instanceof Rid) return value;
  if (value instanceof RecordValue) return value.rid;
  return typeof value === 'string' ? parseRid(value) : undefined;
}

/** A map becomes a document of its own `@type`, else of the declared type. */
function toEmbedded(value: Value, ofType: string | undefined): EmbeddedValue | undefined {
  if (value instanceof EmbeddedValue) return value;
  if (!(value instanceof Map)) return undefined;
  const own = value.get('@type');
  const properties = new Map<string, Value>();
  for (const [key, entry] of value) if (!key.startsWith('@')) properties.set(key, entry);
  return new EmbeddedValue(typeof own === 'string' ? own : (ofType ?? ''), properties);
}

function convertArray(value: Value, type: NumberArrayType, property: string): Value {
  if (!isListValue(value)) return misfit(value, type, property);
  const list = Array.isArray(value) ? value : listOfArray(value as never);
  return convertToArray(list, type) ?? misfit(value, type, property);
}

function misfit(value: Value, type: DataType, property: string): never {
  throw new Refusal(
    'value.type',
    `${describe(value)} does not fit into '${property}' of type ${type}`,
    {
      detail: {property, type},
    },
  );
}

/** A short name of the value for messages. */
function describe(value: Value): string {
  if (typeof value === 'string')
    return `the text '${value.length > 60 ? `${value.slice(0, 60)}...` : value}'`;
  const text = textOfScalar(value);
  if (text !== undefined) return `the value ${text.length > 60 ? `${text.slice(0, 60)}...` : text}`;
  if (isListValue(value)) return 'a list';
  if (value instanceof Uint8Array) return 'a binary';
  if (value instanceof Map) return 'a map';
  return value instanceof RecordValue ? 'a record' : 'the value';
}
