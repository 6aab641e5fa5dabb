/**
 * The only parts of a JavaScript host, beyond the language, that pure folders may use. They are
 * type-checked with these names instead of Node's (tsconfig.pure.json), so that a timer, a buffer
 * or the process cannot even be named there.
 */

interface TextEncoder {
  encode(text?: string): Uint8Array<ArrayBuffer>;
  encodeInto(text: string, into: Uint8Array): {read: number; written: number};
}
declare const TextEncoder: new () => TextEncoder;

interface TextDecoder {
  decode(bytes?: Uint8Array | ArrayBuffer): string;
}
declare const TextDecoder: new (
  label?: string,
  options?: {fatal?: boolean; ignoreBOM?: boolean},
) => TextDecoder;
