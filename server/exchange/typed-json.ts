/**
 * Values as JSON from which they come back as they were: what JSON has is written as it is, every
 * other type as an object with one field that begins with `$`. A map that has such a field itself
 * is written as `$map`.
 *
 * Whole numbers, and doubles by their point, are told apart as everywhere in the model's JSON.
 */
import {base64Text, bytesFromBase64} from '#server/model/base64.ts';
import {decimalText, parseDecimal} from '#server/model/decimal.ts';
import {doubleText, jsonString} from '#server/model/json.ts';
import {parseRid, ridText} from '#server/model/rid.ts';
import {
  DateTimeValue,
  DateValue,
  Decimal,
  Double,
  DurationValue,
  EmbeddedValue,
  PointValue,
  Rid,
  type MapValue,
  type TimePrecision,
  TimeValue,
  type Value,
} from '#server/model/value.ts';
import {Refusal} from '#server/base/errors.ts';

export function typedJson(value: Value): string {
  if (value === null || typeof value === 'boolean') return String(value);
  if (typeof value === 'string') return jsonString(value);
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  if (Array.isArray(value)) return `[${value.map(item => typedJson(item as Value)).join()}]`;
  if (value instanceof Map) return mapJson(value as MapValue);
  if (value instanceof Double) {
    if (Number.isFinite(value.value)) return doubleText(value.value);
    return marked('double', jsonString(String(value.value)));
  }
  if (value instanceof Rid) return marked('rid', jsonString(ridText(value)));
  if (value instanceof Decimal) return marked('decimal', jsonString(decimalText(value)));
  if (value instanceof Uint8Array) return marked('bytes', jsonString(base64Text(value)));
  if (value instanceof DateValue) return marked('date', String(value.epochDays));
  if (value instanceof DateTimeValue) {
    const {epochSeconds, nanos, precision, local, zone} = value;
    const fields = {epochSeconds, nanos, precision, ...(local && {local}), ...(zone && {zone})};
    return marked('datetime', JSON.stringify(fields));
  }
  if (value instanceof TimeValue) {
    const {secondOfDay, nanos, offsetSeconds} = value;
    return marked('time', JSON.stringify({secondOfDay, nanos, offsetSeconds}));
  }
  if (value instanceof DurationValue) {
    const {months, days, seconds, nanos} = value;
    return marked('duration', JSON.stringify([months, days, seconds, nanos]));
  }
  if (value instanceof PointValue) {
    const {srid, coordinates} = value;
    return marked('point', JSON.stringify({srid, coordinates}));
  }
  if (value instanceof EmbeddedValue) {
    const {typeName, properties} = value;
    return marked('embedded', `[${jsonString(typeName)},${mapJson(properties)}]`);
  }
  for (const [name, array] of numberArrays) {
    if (value instanceof array) return marked(name, `[${[...value].map(numberJson).join()}]`);
  }
  throw new Refusal('query.execution', 'a value that is no stored one cannot be written');
}

/** @returns Undefined for what `typedJson` never writes. */
export function fromTypedJson(json: Value): Value | undefined {
  if (Array.isArray(json)) {
    const items = json.map(item => fromTypedJson(item as Value));
    return items.includes(undefined) ? undefined : (items as Value[]);
  }
  if (!(json instanceof Map)) return json;
  const map = json as MapValue;
  const [first] = map.keys();
  if (map.size === 1 && first?.startsWith('$') === true) {
    return unmarked(first.slice(1), map.get(first) ?? null);
  }
  return mapFrom(map);
}

const numberArrays = new Map<
  string,
  | Int16ArrayConstructor
  | Int32ArrayConstructor
  | BigInt64ArrayConstructor
  | Float32ArrayConstructor
  | Float64ArrayConstructor
>([
  ['int16', Int16Array],
  ['int32', Int32Array],
  ['int64', BigInt64Array],
  ['float32', Float32Array],
  ['float64', Float64Array],
]);

function mapJson(map: MapValue): string {
  const entries = Array.from(map, ([key, item]) => `${jsonString(key)}:${typedJson(item)}`);
  const text = `{${entries.join()}}`;
  const isLikeMark = map.size === 1 && [...map.keys()][0]?.startsWith('$') === true;
  return isLikeMark ? marked('map', text) : text;
}

function marked(name: string, json: string): string {
  return `{"$${name}":${json}}`;
}

function numberJson(value: number | bigint): string {
  return typeof value === 'bigint' || Number.isFinite(value) ? String(value) : `"${value}"`;
}

function mapFrom(map: MapValue): MapValue | undefined {
  const read = new Map<string, Value>();
  for (const [key, item] of map) {
    const value = fromTypedJson(item);
    if (value === undefined) return undefined;
    read.set(key, value);
  }
  return read;
}

function unmarked(name: string, json: Value): Value | undefined {
  if (json instanceof Map) return unmarkedMap(name, json as MapValue);
  if (typeof json === 'string') return unmarkedText(name, json);
  if (name === 'date') return typeof json === 'number' ? new DateValue(json) : undefined;
  if (!Array.isArray(json)) return undefined;
  if (name === 'duration') {
    const [months = 0, days = 0, seconds = 0, nanos = 0] = json.map(numberOf);
    return new DurationValue(months, days, seconds, nanos);
  }
  if (name === 'embedded') {
    const [typeName, properties] = json as readonly Value[];
    if (typeof typeName !== 'string' || !(properties instanceof Map)) return undefined;
    const read = mapFrom(properties as MapValue);
    return read === undefined ? undefined : new EmbeddedValue(typeName, read);
  }
  const array = numberArrays.get(name);
  if (array === undefined) return undefined;
  if (array === BigInt64Array) return BigInt64Array.from(json, item => BigInt(String(item)));
  const plain = array as Exclude<typeof array, BigInt64ArrayConstructor>;
  const numbers: Value = plain.from(json.map(numberOf));
  return numbers;
}

function unmarkedText(name: string, text: string): Value | undefined {
  switch (name) {
    case 'double':
      return new Double(Number(text));
    case 'rid':
      return parseRid(text);
    case 'decimal':
      return parseDecimal(text);
    case 'bytes':
      return bytesFromBase64(text);
    default:
      return undefined;
  }
}

function unmarkedMap(name: string, map: MapValue): Value | undefined {
  const number = (field: string): number => numberOf(map.get(field) ?? 0);
  switch (name) {
    case 'map':
      return mapFrom(map);
    case 'datetime': {
      const precision = map.get('precision') as TimePrecision;
      const zone = map.get('zone');
      const options = {
        local: map.get('local') === true,
        ...(zone instanceof Map && {zone: zoneOf(zone as MapValue)}),
      };
      return new DateTimeValue(number('epochSeconds'), number('nanos'), precision, options);
    }
    case 'time': {
      const offset = map.get('offsetSeconds');
      const offsetSeconds = offset === undefined ? undefined : numberOf(offset);
      return new TimeValue(number('secondOfDay'), number('nanos'), offsetSeconds);
    }
    case 'point': {
      const coordinates = map.get('coordinates');
      if (!Array.isArray(coordinates)) return undefined;
      return new PointValue(number('srid'), coordinates.map(numberOf));
    }
    default:
      return undefined;
  }
}

function zoneOf(map: MapValue): {readonly offsetSeconds: number; readonly region?: string} {
  const region = map.get('region');
  const offsetSeconds = numberOf(map.get('offsetSeconds') ?? 0);
  return {offsetSeconds, ...(typeof region === 'string' && {region})};
}

function numberOf(value: unknown): number {
  return value instanceof Double ? value.value : Number(value);
}
