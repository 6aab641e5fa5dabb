/**
 * Methods that turn a value into another type, and tell its type.
 *
 * A text that does not read as the wanted number is refused; one that is no date, record id or
 * map answers null, as it does in the reference.
 */
import {Refusal} from '#server/base/errors.ts';
import {readUtf8} from '#server/base/utf8.ts';
import {isListValue, isNumberArray} from '#server/model/compare.ts';
import {convertValue, type DataType, isNumberType, parseDataType} from '#server/model/data-type.ts';
import {categoryOf} from '#server/model/json.ts';
import {parseJsonText} from '#server/model/json-parser.ts';
import {isIntegerValue, makeInteger} from '#server/model/number.ts';
import {parseRid, ridNumber} from '#server/model/rid.ts';
import {
  DateTimeValue,
  DateValue,
  Decimal,
  Double,
  EmbeddedValue,
  RecordValue,
  Rid,
  type Value,
} from '#server/model/value.ts';
import {asItems, itemsOf, propertiesOf} from '../expressions/access.ts';
import {plainText} from '../expressions/arithmetic.ts';
import type {CallContext} from '../context.ts';
import {argument, distinctItems, refuse, singleRid, textAt} from './arguments.ts';
import type {FunctionFamily, ScalarFunction} from '../function-registry.ts';

/** The value as a data type; texts are read, booleans are 1 and 0. */
export function convertTo(value: Value, type: DataType, name: string): Value {
  const number = typeof value === 'boolean' && isNumberType(type) ? Number(value) : value;
  try {
    return convertValue(number, {type}, name);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const code = isNumberType(type) ? 'number.format' : 'argument';
    throw new Refusal(code, error.message, {cause: error});
  }
}

function conversion(type: DataType, name: string): ScalarFunction {
  return ([value = null]) => convertTo(value, type, name);
}

/** A text without JSON's quotes: bytes are read as UTF-8. */
export function asText(value: Value): string {
  return value instanceof Uint8Array ? readUtf8(value, 0, value.length) : plainText(value);
}

/** A record with its attributes and properties as a map; a map as it is. */
export function recordAsMap(value: Value, call: CallContext): Value {
  const record = value instanceof Rid ? (call.graph.record(value) ?? null) : value;
  if (record instanceof EmbeddedValue) {
    const type: [string, Value][] = record.typeName === '' ? [] : [['@type', record.typeName]];
    return new Map([...type, ...record.properties]);
  }
  if (!(record instanceof RecordValue)) return record;
  const map = new Map<string, Value>([
    ['@rid', record.rid],
    ['@type', record.typeName],
    ['@cat', categoryOf[record.kind]],
  ]);
  if (record.from !== undefined) map.set('@out', record.from);
  if (record.to !== undefined) map.set('@in', record.to);
  for (const [name, property] of propertiesOf(record)) map.set(name, property);
  return map;
}

/** A text is read as JSON; anything else is what JSON would show of it. */
function asJson(value: Value, call: CallContext, name = 'asJSON'): Value {
  if (typeof value === 'string') return jsonOfText(value, name);
  const items = itemsOf(value);
  if (items !== undefined) return items.map(item => (item === null ? null : jsonBelow(item, call)));
  return recordAsMap(value, call);
}

function jsonOfText(text: string, name: string): Value {
  try {
    return parseJsonText(text);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw new Refusal(error.code, `${name}() needs a text of JSON: ${error.message}`);
  }
}

/** Works like `asJson`, below the top: texts stay texts. */
function jsonBelow(value: Value, call: CallContext): Value {
  return typeof value === 'string' ? value : asJson(value, call);
}

function asBoolean(value: Value): Value {
  return typeof value === 'string'
    ? value.trim().toLowerCase() === 'true'
    : convertTo(value, 'BOOLEAN', 'asBoolean()');
}

function asMap(value: Value, call: CallContext): Value {
  if (value instanceof Map) return value;
  if (value instanceof EmbeddedValue) return value.properties;
  const record = recordAsMap(value, call);
  return record instanceof Map ? record : null;
}

const integerMax = 2 ** 31 - 1;

/** The data type that a value has; numbers by what they hold. */
export function typeNameOf(value: Value): string {
  if (typeof value === 'string') return 'STRING';
  if (typeof value === 'boolean') return 'BOOLEAN';
  if (isIntegerValue(value)) {
    return value >= -integerMax - 1 && value <= integerMax ? 'INTEGER' : 'LONG';
  }
  if (typeof value === 'number' || value instanceof Double) return 'DOUBLE';
  if (value instanceof Decimal) return 'DECIMAL';
  if (value instanceof DateValue) return 'DATE';
  if (value instanceof DateTimeValue) return 'DATETIME';
  if (value instanceof Uint8Array) return 'BINARY';
  if (value instanceof Rid || value instanceof RecordValue) return 'LINK';
  if (value instanceof EmbeddedValue) return 'EMBEDDED';
  if (value instanceof Map) return 'MAP';
  return isListValue(value) ? 'LIST' : 'ANY';
}

const javaNames: Readonly<Record<string, string>> = {
  STRING: 'java.lang.String',
  BOOLEAN: 'java.lang.Boolean',
  INTEGER: 'java.lang.Integer',
  LONG: 'java.lang.Long',
  DOUBLE: 'java.lang.Double',
  DECIMAL: 'java.math.BigDecimal',
  DATE: 'java.time.LocalDate',
  DATETIME: 'java.time.LocalDateTime',
  BINARY: '[B',
  LINK: 'com.arcadedb.database.RID',
  EMBEDDED: 'com.arcadedb.database.ImmutableEmbeddedDocument',
  MAP: 'java.util.LinkedHashMap',
  LIST: 'java.util.ArrayList',
};

function javaName(value: Value): string {
  if (isNumberArray(value)) {
    if (value instanceof Float32Array) return '[F';
    if (value instanceof Float64Array) return '[D';
    if (value instanceof BigInt64Array) return '[J';
    return value instanceof Int16Array ? '[S' : '[I';
  }
  return javaNames[typeNameOf(value)] ?? 'java.lang.Object';
}

export const conversionMethods: FunctionFamily = {
  scalars: {
    '.asBoolean': ([value = null]) => asBoolean(value),
    '.asByte': conversion('BYTE', 'asByte()'),
    '.asShort': conversion('SHORT', 'asShort()'),
    '.asInteger': conversion('INTEGER', 'asInteger()'),
    '.asLong': conversion('LONG', 'asLong()'),
    '.asFloat': conversion('FLOAT', 'asFloat()'),
    '.asDouble': conversion('DOUBLE', 'asDouble()'),
    '.asDecimal': conversion('DECIMAL', 'asDecimal()'),
    '.asString': ([value = null]) => asText(value),
    '.asJSON': ([value = null], call) => asJson(value, call),
    '.toJSON': ([value = null], call) => asJson(value, call, 'toJSON'),
    '.asList': ([value = null]) => asItems(value),
    '.asSet': ([value = null]) => distinctItems(asItems(value)),
    '.asMap': ([value = null], call) => asMap(value, call),
    '.asCypherRID': ([value = null]) => {
      const rid = singleRid(value);
      return rid === undefined ? null : makeInteger(ridNumber(rid));
    },
    '.asRID': ([value = null]) =>
      typeof value === 'string' ? (parseRid(value) ?? null) : (singleRid(value) ?? null),
    '.asRecord': ([value = null], call) => {
      if (value instanceof RecordValue) return value;
      const rid = singleRid(value);
      return rid === undefined ? null : (call.graph.record(rid) ?? null);
    },
    '.convert': args => {
      const name = textAt(args, 1);
      const type = parseDataType(name) ?? refuse(`there is no data type '${name.slice(0, 40)}'`);
      return convertTo(argument(args, 0), type, 'convert()');
    },
    '.type': ([value = null]) => typeNameOf(value),
    '.javaType': ([value = null]) => javaName(value),
  },
};
