/**
 * Parameters of a statement: JSON to values, typed markers included.
 *
 * A list, or an object with the keys "0", "1", ..., is positional; any other object is by name.
 * `{"$bytes": base64}` is a binary, `{"$int8": [..]}` a list of signed bytes; both are objects of
 * that single key, at any depth. Nesting is bounded at 32.
 */
import {Refusal} from '#server/base/errors.ts';
import type {MapValue, Value} from '#server/model/value.ts';
import type {Parameters} from '#server/session/session.ts';

const depthMax = 32;
const none: Parameters = new Map();

/** @throws {Refusal} `request.field`, `limit.depth`. */
export function parseParameters(value: Value | undefined): Parameters {
  if (value === undefined || value === null) return none;
  if (value instanceof Map) return convertedMap(value, 1);
  if (!Array.isArray(value)) {
    throw new Refusal('request.field', "Field 'params' must be an object or an array");
  }
  const positional = new Map<string, Value>();
  for (const entry of value) positional.set(String(positional.size), converted(entry, 1));
  return positional;
}

function converted(value: Value, depth: number): Value {
  if (typeof value !== 'object' || value === null) return value;
  if (depth > depthMax) {
    throw new Refusal('limit.depth', `Parameters are nested more than ${depthMax} levels deep`);
  }
  if (Array.isArray(value)) return value.map(entry => converted(entry, depth + 1));
  if (!(value instanceof Map)) return value;
  if (value.size === 1) {
    const bytes = value.get('$bytes');
    if (bytes !== undefined) return binary(bytes);
    const int8 = value.get('$int8');
    if (int8 !== undefined) return signedBytes(int8);
  }
  return convertedMap(value, depth + 1);
}

function convertedMap(map: MapValue, depth: number): MapValue {
  // Most maps hold plain values only and stay as they are.
  let result: Map<string, Value> | undefined;
  for (const [name, value] of map) {
    if (typeof value !== 'object' || value === null) continue;
    const changed = converted(value, depth);
    if (changed === value) continue;
    result ??= new Map(map);
    result.set(name, changed);
  }
  return result ?? map;
}

const base64Pattern = /^[A-Za-z0-9+/_-]*={0,2}$/;

function binary(value: Value): Uint8Array {
  const text = typeof value === 'string' ? value : '*';
  const unpadded = text.replace(/=+$/, '').length;
  if (!base64Pattern.test(text) || unpadded % 4 === 1) {
    const message = "Parameter '$bytes' is not valid base64 (standard or URL-safe)";
    throw new Refusal('request.field', message);
  }
  return new Uint8Array(Buffer.from(text, 'base64'));
}

function signedBytes(value: Value): Value {
  const fits = (entry: Value): boolean =>
    typeof entry === 'number' && Number.isInteger(entry) && entry >= -128 && entry <= 127;
  if (Array.isArray(value) && value.every(fits)) return value;
  const message = "Parameter '$int8' must be a list of integers from -128 to 127";
  throw new Refusal('request.field', message);
}
