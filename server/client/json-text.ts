/**
 * JSON to and from text without losing 64-bit integers.
 *
 * `JSON.parse` rounds integers beyond 2^53. The server stores LONG values exactly, so the client
 * reads such a number as a `bigint`, and writes a `bigint` as a bare number. Texts that hold no
 * long run of digits take the plain, fast way.
 */

interface SourceContext {
  readonly source?: string;
}
type Reviver = (key: string, value: unknown, context: SourceContext) => unknown;

/** What the runtime's JSON object offers beyond the library types of the compiler. */
interface ExactJson {
  parse(text: string, reviver: Reviver): unknown;
  rawJSON(text: string): object;
}
const exactJson = JSON as unknown as ExactJson;

const longDigits = /\d{16}/;
const integer = /^-?\d+$/;

/**
 * Parses `text`; an integer that a double cannot hold becomes a `bigint`.
 *
 * @throws {SyntaxError} when the text is no JSON.
 */
export function parseJson(text: string): unknown {
  if (!longDigits.test(text)) return JSON.parse(text);
  return exactJson.parse(text, (_key, value, context) => {
    if (typeof value !== 'number' || Number.isSafeInteger(value)) return value;
    const source = context.source;
    return source !== undefined && integer.test(source) ? BigInt(source) : value;
  });
}

/** Writes `value` as JSON; a `bigint` is written as a bare integer. */
export function printJson(value: unknown, indent?: number): string {
  return JSON.stringify(
    value,
    (_key, inner: unknown) =>
      typeof inner === 'bigint' ? exactJson.rawJSON(inner.toString()) : inner,
    indent,
  );
}
