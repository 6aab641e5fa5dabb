/**
 * The escapes of a JSON text, resolved in bytes: one pass, one array, however many there are.
 *
 * An escape is never shorter than the UTF-8 bytes that it stands for, so the result fits into the
 * length of the source. `\uD83D\uDE00` is one character; a surrogate without its other half
 * becomes U+FFFD. Source: RFC 8259, section 7.
 */

const plain: ReadonlyMap<number, number> = new Map([
  [0x22, 0x22],
  [0x5c, 0x5c],
  [0x2f, 0x2f],
  [0x62, 0x08],
  [0x66, 0x0c],
  [0x6e, 0x0a],
  [0x72, 0x0d],
  [0x74, 0x09],
]);
const replacement = 0xfffd;

/**
 * The bytes [from, to) without escapes, in an array of their own; other bytes are as they were.
 *
 * @returns the offset of a backslash that begins no escape of JSON.
 */
export function unescapeJson(bytes: Uint8Array, from: number, to: number): Uint8Array | number {
  const out = new Uint8Array(to - from);
  let length = 0;
  for (let at = from; at < to; ) {
    const byte = bytes[at] as number;
    if (byte !== 0x5c) {
      out[length++] = byte;
      at++;
      continue;
    }
    const letter = at + 1 < to ? (bytes[at + 1] as number) : 0;
    if (letter !== 0x75) {
      const meant = plain.get(letter);
      if (meant === undefined) return at;
      out[length++] = meant;
      at += 2;
      continue;
    }
    const unit = hexUnit(bytes, at + 2, to);
    if (unit < 0) return at;
    at += 6;
    let code = unit;
    if (isHighHalf(unit) || isLowHalf(unit)) {
      const low = isHighHalf(unit) ? unitAt(bytes, at, to) : -1;
      if (isLowHalf(low)) {
        code = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
        at += 6;
      } else code = replacement;
    }
    length = writeCodePoint(out, length, code);
  }
  return out.subarray(0, length);
}

/** Bytes of the escape at `at`: of both halves of a character; 2 of one that is none of JSON. */
export function escapeLength(bytes: Uint8Array, at: number): number {
  const unit = unitAt(bytes, at);
  if (unit < 0) return 2;
  const isPair = isHighHalf(unit) && isLowHalf(unitAt(bytes, at + 6));
  return isPair ? 12 : 6;
}

/** The unit that is escaped at `at`; -1 for anything else. */
function unitAt(bytes: Uint8Array, at: number, end = bytes.length): number {
  return bytes[at] === 0x5c && bytes[at + 1] === 0x75 ? hexUnit(bytes, at + 2, end) : -1;
}

function isHighHalf(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

function isLowHalf(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}

/** Four hexadecimal digits at `at`; -1 for anything else. */
function hexUnit(bytes: Uint8Array, at: number, end: number): number {
  if (at + 4 > end) return -1;
  let unit = 0;
  for (let offset = 0; offset < 4; offset++) {
    const byte = bytes[at + offset] as number;
    const letter = byte | 0x20;
    const digit =
      byte >= 0x30 && byte <= 0x39
        ? byte - 0x30
        : letter >= 0x61 && letter <= 0x66
          ? letter - 87
          : -1;
    if (digit < 0) return -1;
    unit = unit * 16 + digit;
  }
  return unit;
}

function writeCodePoint(out: Uint8Array, at: number, code: number): number {
  if (code < 0x80) {
    out[at] = code;
    return at + 1;
  }
  if (code < 0x800) {
    out[at] = 0xc0 | (code >> 6);
    out[at + 1] = 0x80 | (code & 0x3f);
    return at + 2;
  }
  if (code < 0x10000) {
    out[at] = 0xe0 | (code >> 12);
    out[at + 1] = 0x80 | ((code >> 6) & 0x3f);
    out[at + 2] = 0x80 | (code & 0x3f);
    return at + 3;
  }
  out[at] = 0xf0 | (code >> 18);
  out[at + 1] = 0x80 | ((code >> 12) & 0x3f);
  out[at + 2] = 0x80 | ((code >> 6) & 0x3f);
  out[at + 3] = 0x80 | (code & 0x3f);
  return at + 4;
}
