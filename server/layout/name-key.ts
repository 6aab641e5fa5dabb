/**
 * The dictionary of names: 0x10, id (u32) -> the name in UTF-8.
 */
import {keyAfterPrefix, namespace, putUint32, uint32At} from './namespace.ts';

export const nameKeyBytes = 5;

export function nameKey(id: number): Uint8Array {
  const key = new Uint8Array(nameKeyBytes);
  key[0] = namespace.names;
  putUint32(key, 1, id);
  return key;
}

export function isNameKey(bytes: Uint8Array): boolean {
  return bytes.length === nameKeyBytes && bytes[0] === namespace.names;
}

export function idOfNameKey(bytes: Uint8Array, offset: number): number {
  return uint32At(bytes, offset + 1);
}

/** The whole dictionary. */
export function namesRange(): {readonly start: Uint8Array; readonly end: Uint8Array} {
  const start = Uint8Array.of(namespace.names);
  return {start, end: keyAfterPrefix(start)};
}
