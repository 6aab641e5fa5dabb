/**
 * A request's body as a JSON object, and its fields by type.
 *
 * The model's own parser reads it, so 64-bit integers and 5.0 arrive as they were written. A
 * failure says where: line and column of the body.
 */
import {Refusal} from '#server/base/errors.ts';
import type {JsonParser} from '#server/model/json-parser.ts';
import {parseInTurns} from '#server/model/json-pieces.ts';
import type {MapValue, Value} from '#server/model/value.ts';
import {PlainFailure} from './failure.ts';

/** @throws {PlainFailure} 400 for anything but one JSON object. */
export function parseBody(parser: JsonParser, bytes: Uint8Array): MapValue {
  try {
    return objectOf(parser.parse(bytes));
  } catch (error) {
    throw placed(error, bytes);
  }
}

/**
 * Works like `parseBody` for a large body, of which others need not wait for more than a piece.
 *
 * @param rest - Resolves when others have had their turn.
 */
export async function parseLargeBody(
  parser: JsonParser,
  bytes: Uint8Array,
  rest: () => Promise<void>,
): Promise<MapValue> {
  try {
    return objectOf(await parseInTurns(parser, bytes, rest));
  } catch (error) {
    throw placed(error, bytes);
  }
}

function objectOf(value: Value): MapValue {
  if (value instanceof Map) return value;
  if (Array.isArray(value)) {
    throw new PlainFailure(400, 'The request payload must be a JSON object', {
      detail: 'This endpoint does not accept a top-level JSON array',
    });
  }
  throw invalidPayload('it is a single value');
}

/** The refusal of a document, with the line and column of its place. */
function placed(error: unknown, bytes: Uint8Array): unknown {
  if (!(error instanceof Refusal) || error.code === 'limit.body') return error;
  return invalidPayload(`${error.message}${placeIn(bytes, error.detail['position'])}`);
}

/** A text field; undefined when absent or null. @throws {Refusal} `request.field`. */
export function textField(body: MapValue, name: string): string | undefined {
  const value = body.get(name) ?? undefined;
  if (value === undefined || typeof value === 'string') return value;
  throw new Refusal('request.field', `Field '${name}' must be a string`);
}

/** A boolean field; undefined when absent or null. @throws {Refusal} `request.field`. */
export function booleanField(body: MapValue, name: string): boolean | undefined {
  const value = body.get(name) ?? undefined;
  if (value === undefined || typeof value === 'boolean') return value;
  throw new Refusal('request.field', `Field '${name}' must be true or false`);
}

/** An integer field in 32 bits. @throws {Refusal} `request.field`. */
export function integerField(body: MapValue, name: string): number | undefined {
  const value = body.get(name) ?? undefined;
  if (value === undefined) return undefined;
  if (typeof value === 'number' && isInt32(value)) return value;
  throw new Refusal('request.field', `Field '${name}' must be an integer in 32 bits`);
}

/** Maps as objects, at every depth; null as absent. */
export function plainValue(value: Value | undefined): unknown {
  if (value === null || value === undefined) return undefined;
  if (Array.isArray(value)) return value.map(entry => plainValue(entry as Value));
  if (!(value instanceof Map)) return value;
  return Object.fromEntries(
    Array.from(value as MapValue, ([key, entry]) => [key, plainValue(entry)]),
  );
}

export function isInt32(value: number): boolean {
  return Number.isInteger(value) && value >= -(2 ** 31) && value < 2 ** 31;
}

/** Refuses fields that are none of `names`. @throws {Refusal} `request.field`. */
export function checkFields(body: MapValue, names: readonly string[]): void {
  for (const name of body.keys()) {
    if (names.includes(name)) continue;
    const known = names.map(known => `'${known}'`).join(', ');
    throw new Refusal('request.field', `Unknown field '${name.slice(0, 80)}': expected ${known}`);
  }
}

function invalidPayload(what: string): PlainFailure {
  return new PlainFailure(400, 'Invalid JSON payload', {
    detail: `The request body must be a valid JSON object: ${what}`,
  });
}

const newline = 0x0a;

function placeIn(bytes: Uint8Array, position: unknown): string {
  if (typeof position !== 'number') return '';
  let line = 1;
  let lineStart = 0;
  for (let at = 0; at < position && at < bytes.length; at++) {
    if (bytes[at] !== newline) continue;
    line++;
    lineStart = at + 1;
  }
  return ` at line ${line} column ${position - lineStart + 1}`;
}
