/**
 * The part of DER (X.690) that certificates are written in. Values are bytes, put together from the
 * inside out.
 */

const constructed = 0x20;
const tags = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  oid: 0x06,
  utf8: 0x0c,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x10 | constructed,
  set: 0x11 | constructed,
} as const;

export function sequence(...parts: readonly Buffer[]): Buffer {
  return value(tags.sequence, ...parts);
}

export function set(...parts: readonly Buffer[]): Buffer {
  return value(tags.set, ...parts);
}

/** @param bytes - Big-endian, not negative. */
export function integer(bytes: Buffer): Buffer {
  const start = bytes.findIndex(byte => byte !== 0);
  const rest = start < 0 ? Buffer.from([0]) : bytes.subarray(start);
  // A first bit that is set would make it negative.
  const sign = (rest[0] ?? 0) >= 0x80 ? [Buffer.from([0])] : [];
  return value(tags.integer, ...sign, rest);
}

export function boolean(is: boolean): Buffer {
  return value(tags.boolean, Buffer.from([is ? 0xff : 0]));
}

/** @param text - `2.5.29.17`. */
export function oid(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number);
  const bytes = [first * 40 + second, ...rest.flatMap(base128)];
  return value(tags.oid, Buffer.from(bytes));
}

export function utf8(text: string): Buffer {
  return value(tags.utf8, Buffer.from(text, 'utf8'));
}

/** Whole bytes, or with the last `unused` bits of them without a meaning. */
export function bitString(bytes: Buffer, unused = 0): Buffer {
  return value(tags.bitString, Buffer.from([unused]), bytes);
}

export function octetString(bytes: Buffer): Buffer {
  return value(tags.octetString, bytes);
}

/** @param ms - Milliseconds since 1970; written in whole seconds, from 2050 on in the long form. */
export function time(ms: number): Buffer {
  const digits = `${new Date(ms).toISOString().replaceAll(/[-:T]|\.\d+Z$/g, '')}Z`;
  const isLong = new Date(ms).getUTCFullYear() >= 2050;
  return isLong
    ? value(tags.generalizedTime, Buffer.from(digits))
    : value(tags.utcTime, Buffer.from(digits.slice(2)));
}

/** `[number]`, around whole values (EXPLICIT). */
export function explicit(number: number, ...parts: readonly Buffer[]): Buffer {
  return value(0x80 | constructed | number, ...parts);
}

/** `[number]`, in the place of the tag of a value that is bytes (IMPLICIT). */
export function implicit(number: number, bytes: Buffer): Buffer {
  return value(0x80 | number, bytes);
}

function value(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag]), length(content.length), content]);
}

function length(bytes: number): Buffer {
  if (bytes < 0x80) return Buffer.from([bytes]);
  const digits: number[] = [];
  for (let rest = bytes; rest > 0; rest = Math.floor(rest / 256)) digits.unshift(rest % 256);
  return Buffer.from([0x80 | digits.length, ...digits]);
}

function base128(number: number): readonly number[] {
  const digits = [number % 128];
  for (let rest = Math.floor(number / 128); rest > 0; rest = Math.floor(rest / 128)) {
    digits.unshift(0x80 | (rest % 128));
  }
  return digits;
}
