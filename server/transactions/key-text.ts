/** Keys as text, and sets of such keys. */
import {bufferOf} from '#server/platform/buffer-of.ts';

/** Up to here one call over the bytes costs a quarter of making a Buffer of them. */
const callBytesMax = 256;

/** Bytes [start, end) as such a text. */
export function keyTextOf(bytes: Uint8Array, start: number, end: number): string {
  return Buffer.isBuffer(bytes)
    ? bytes.toString('latin1', start, end)
    : keyText(bytes.subarray(start, end));
}

/** A key as text: one character a byte, so that text order is byte order. */
export function keyText(key: Uint8Array): string {
  if (Buffer.isBuffer(key)) return key.toString('latin1');
  if (key.length <= callBytesMax) return Reflect.apply(String.fromCharCode, undefined, key);
  return bufferOf(key).toString('latin1');
}

/** A set of keys, or a map by keys. */
export interface KeyTexts {
  readonly size: number;
  has(key: string): boolean;
  keys(): Iterable<string>;
}
