/**
 * UTF-8 without allocation for the short strings that keys, names and cells are.
 *
 * Strings of up to a few dozen characters are cheaper in a loop of ours than through a call
 * into the platform; longer ones go to TextEncoder and TextDecoder, which are part of the
 * language's host everywhere. A lone surrogate becomes U+FFFD, as the encoding standard says.
 */

const shortLengthMax = 48;
const encoder = new TextEncoder();
const lenientDecoder = new TextDecoder('utf-8', {ignoreBOM: true});

/** Bytes that `text` takes in UTF-8. Cost: one pass. */
export function utf8Length(text: string): number {
  let length = text.length;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit < 0x80) continue;
    if (unit < 0x800) length += 1;
    else if (isHighSurrogate(unit) && isLowSurrogate(text.charCodeAt(at + 1))) {
      length += 2;
      at++;
    } else length += 2;
  }
  return length;
}

/**
 * Writes `text` at `offset` and returns the offset behind it.
 * The caller has made room: 3 bytes a UTF-16 unit always suffice.
 */
export function writeUtf8(text: string, into: Uint8Array, offset: number): number {
  if (text.length > shortLengthMax) {
    return offset + encoder.encodeInto(text, into.subarray(offset)).written;
  }
  let to = offset;
  for (let at = 0; at < text.length; at++) {
    let code = text.charCodeAt(at);
    if (code < 0x80) {
      into[to++] = code;
      continue;
    }
    if (code < 0x800) {
      into[to++] = 0xc0 | (code >> 6);
      into[to++] = 0x80 | (code & 0x3f);
      continue;
    }
    if (isSurrogate(code)) {
      const next = text.charCodeAt(at + 1);
      if (isHighSurrogate(code) && isLowSurrogate(next)) {
        at++;
        code = 0x10000 + ((code - 0xd800) << 10) + (next - 0xdc00);
        into[to++] = 0xf0 | (code >> 18);
        into[to++] = 0x80 | ((code >> 12) & 0x3f);
        into[to++] = 0x80 | ((code >> 6) & 0x3f);
        into[to++] = 0x80 | (code & 0x3f);
        continue;
      }
      code = 0xfffd;
    }
    into[to++] = 0xe0 | (code >> 12);
    into[to++] = 0x80 | ((code >> 6) & 0x3f);
    into[to++] = 0x80 | (code & 0x3f);
  }
  return to;
}

/** The UTF-8 bytes of `text` in an array of their own. */
export function utf8Bytes(text: string): Uint8Array {
  return encoder.encode(text);
}

/** Reads bytes [start, end) that were written by us or checked before; never throws. */
export function readUtf8(bytes: Uint8Array, start: number, end: number): string {
  if (end - start <= shortLengthMax) {
    let text = '';
    for (let at = start; at < end; at++) {
      const byte = bytes[at] as number;
      if (byte >= 0x80) return lenientDecoder.decode(bytes.subarray(start, end));
      text += String.fromCharCode(byte);
    }
    return text;
  }
  return lenientDecoder.decode(bytes.subarray(start, end));
}

/** Orders strings by code point, which is the order of their UTF-8 bytes. */
export function compareText(left: string, right: string): number {
  const length = Math.min(left.length, right.length);
  for (let at = 0; at < length; at++) {
    const a = left.charCodeAt(at);
    const b = right.charCodeAt(at);
    if (a === b) continue;
    // Surrogates stand for code points above U+FFFF, so they sort behind every other unit.
    const aHigh = isSurrogate(a);
    if (aHigh !== isSurrogate(b)) return aHigh ? 1 : -1;
    return a < b ? -1 : 1;
  }
  return left.length === right.length ? 0 : left.length < right.length ? -1 : 1;
}

/** Bytes [start, end) in an array of their own (`slice` of a Buffer would share them). */
export function copyBytes(bytes: Uint8Array, start = 0, end = bytes.length): Uint8Array {
  return new Uint8Array(bytes.subarray(start, end));
}

/**
 * Orders byte strings as unsigned bytes, the shorter first among equals; of `right` bytes
 * [start, end). Keys are short: a loop over them takes a tenth of what a call of the runtime's own
 * comparison does.
 */
export function compareBytes(
  left: Uint8Array,
  right: Uint8Array,
  start = 0,
  end = right.length,
): number {
  const size = end - start;
  const length = Math.min(left.length, size);
  for (let at = 0; at < length; at++) {
    const difference = (left[at] as number) - (right[start + at] as number);
    if (difference !== 0) return difference < 0 ? -1 : 1;
  }
  return left.length === size ? 0 : left.length < size ? -1 : 1;
}

function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff;
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}
