/**
 * Whether stored bytes are a record in every detail, which reading one never asks. Of a compressed
 * value (compressed-value.ts) only its frame is looked at.
 *
 * Reading looks at what is wanted and trusts the rest; here each property is decoded and each
 * body held against what its tag allows. Bytes that pass mean one thing, and reading them whole
 * throws nothing.
 */
import {Corruption} from '#server/base/errors.ts';
import {compressedValueAt} from './compressed-value.ts';
import {
  bodyOffsetAt,
  checkRecord,
  isCompressed,
  nameIdAt,
  propertyCount,
  readSlot,
  recordLayout,
} from './record.ts';
import {valueTag} from './value-tag.ts';

const strictDecoder = new TextDecoder('utf-8', {fatal: true, ignoreBOM: true});
const kindBits = 3;
const integerText = /^-?[0-9]+$/;
const doubleText = /^-?(?:[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|Infinity)$|^NaN$/;

/** What is wrong with the record in bytes [offset, offset + length); undefined when nothing is. */
export function recordFault(bytes: Uint8Array, offset: number, length: number): string | undefined {
  try {
    checkRecord(bytes, offset, length);
    if (((bytes[offset + 1] as number) & kindBits) === kindBits) return 'its kind is unknown';
    return tableFault(bytes, offset, length);
  } catch (error) {
    if (error instanceof Corruption) return error.message;
    throw error;
  }
}

function tableFault(bytes: Uint8Array, offset: number, length: number): string | undefined {
  const {table, entryBytes, tableEnd} = recordLayout(bytes, offset);
  const count = propertyCount(bytes, offset);
  const end = offset + length;
  if (count === 0) return end > tableEnd ? 'bytes follow that belong to no property' : undefined;
  if (bodyOffsetAt(bytes, table, entryBytes) !== 0) return 'its first property begins too late';
  const ids = new Set<number>();
  let folds = 0;
  for (let slot = 0; slot < count; slot++) {
    const at = table + slot * entryBytes;
    const id = nameIdAt(bytes, at);
    if (ids.has(id)) return 'it has a property twice';
    ids.add(id);
    const tag = bytes[at + 3] as number;
    if (tag === valueTag.compressed) {
      // Throws when it is none; what is in it is looked at uncompressed.
      compressedValueAt(bytes, offset, length, slot);
      folds++;
      continue;
    }
    // Throws when the body does not lie in the record.
    const value = readSlot(bytes, offset, length, slot);
    const start = tableEnd + bodyOffsetAt(bytes, at, entryBytes);
    const next = at + entryBytes;
    const bodyEnd = slot + 1 === count ? end : tableEnd + bodyOffsetAt(bytes, next, entryBytes);
    if (tag === valueTag.listJson && !Array.isArray(value)) return 'a list is none';
    if (tag === valueTag.mapJson && !(value instanceof Map)) return 'a map is none';
    const fault = bodyFault(tag, bytes.subarray(start, bodyEnd));
    if (fault !== undefined) return fault;
  }
  if (folds > 0 === isCompressed(bytes, offset)) return undefined;
  return 'its header says otherwise whether values are compressed';
}

/** What readers take as it comes: they were promised that it is well formed. */
function bodyFault(tag: number, body: Uint8Array): string | undefined {
  switch (tag) {
    case valueTag.null:
    case valueTag.false:
    case valueTag.true:
      return body.length === 0 ? undefined : 'a value without a body has one';
    case valueTag.text:
    case valueTag.textToEscape:
      return isUtf8(body) ? undefined : 'a text is not UTF-8';
    case valueTag.byte:
    case valueTag.short:
    case valueTag.integer:
    case valueTag.long:
      return matches(integerText, body) ? undefined : 'an integer has other signs than digits';
    case valueTag.float:
    case valueTag.double:
      return matches(doubleText, body) ? undefined : 'a number is not written as one';
    default:
      return undefined;
  }
}

/** Whether the bytes are UTF-8 as we write it. */
export function isUtf8(bytes: Uint8Array): boolean {
  if (bytes.every(byte => byte < 0x80)) return true;
  try {
    strictDecoder.decode(bytes);
    return true;
  } catch (error) {
    if (error instanceof TypeError) return false;
    throw error;
  }
}

function matches(pattern: RegExp, body: Uint8Array): boolean {
  return pattern.test(String.fromCharCode(...body.subarray(0, 400)));
}
