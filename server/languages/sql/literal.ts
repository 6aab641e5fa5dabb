/**
 * Literals: from the text of a token to its value, and back.
 *
 * Integers are exact within 64 bits and refused beyond: a number that silently changes is worse
 * than an error. A string keeps a backslash that escapes nothing (`'\d+'`, `'50\%'`), so regular
 * expressions and LIKE patterns need not be doubled.
 */

import type {Expression, IntegerLiteral, RealLiteral} from './ast.ts';
import type {Cursor} from './cursor.ts';

const longMax = 2n ** 63n - 1n;
const longMin = -(2n ** 63n);

/**
 * Takes an integer token.
 *
 * @param minusAt - Offset of the minus sign before it, if there is one.
 */
export function readInteger(c: Cursor, minusAt: number | undefined): IntegerLiteral {
  const raw = c.raw;
  const long = (raw.charCodeAt(raw.length - 1) | 32) === 108;
  const digits = long ? raw.slice(0, -1) : raw;
  const at = minusAt ?? c.at;
  let value: number | bigint;
  if (digits.length <= 15) {
    value = minusAt === undefined ? +digits : 0 - +digits;
  } else {
    // BigInt takes quadratic time for long texts; no 64-bit number has more than 19 digits.
    const significant = digits.replace(/^0+(?!x)/i, '');
    const exact = significant.length > 19 ? longMax + 2n : BigInt(significant || '0');
    value = minusAt === undefined ? exact : -exact;
    if (value > longMax || value < longMin) {
      const shown = digits.length > 40 ? `${digits.slice(0, 37)}...` : digits;
      c.reject(c.at, `the integer ${shown} does not fit into 64 bits`);
    }
    if (Number.isSafeInteger(Number(value))) value = Number(value);
  }
  c.advance();
  return {kind: 'integer', at, value, long};
}

/** Takes a token with a fraction, an exponent, or the suffix F or D. */
export function readReal(c: Cursor, minusAt: number | undefined): RealLiteral {
  const raw = c.raw;
  const single = /[fF]$/.test(raw);
  const magnitude = Number(/[fFdD]$/.test(raw) ? raw.slice(0, -1) : raw);
  if (!Number.isFinite(magnitude)) c.reject(c.at, 'the number does not fit into a double');
  const at = minusAt ?? c.at;
  c.advance();
  return {kind: 'real', at, value: minusAt === undefined ? magnitude : -magnitude, single};
}

/** Takes `#bucket:position`. */
export function readRid(c: Cursor): Expression {
  const at = c.at;
  const [bucket, position] = c.raw.slice(1).split(':').map(Number);
  if (
    bucket === undefined ||
    position === undefined ||
    bucket > 0xffff_ffff ||
    position > 0xffff_ffff_ffff ||
    bucket < -1 ||
    position < -1
  ) {
    return c.reject(at, 'the record id is out of range: bucket below 2^32, position below 2^48');
  }
  c.advance();
  return {kind: 'rid', at, bucket: bucket + 0, position: position + 0};
}

/** Takes a string token: its content without quotes and escapes. */
export function readString(c: Cursor): string {
  const raw = c.raw;
  const at = c.at;
  c.advance();
  const quote = raw.charAt(0);
  const inner = raw.slice(1, -1);
  if (!inner.includes('\\') && !inner.includes(quote)) return inner;
  return inner.replace(
    /''|""|\\u[0-9a-fA-F]{4}|\\[\s\S]/g,
    (found, offset: number) => unescape(found, quote) ?? c.reject(at + 1 + offset, badEscape),
  );
}

const badEscape = "'\\u' wants four hexadecimal digits";

const escapes: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  b: '\b',
  f: '\f',
  '\\': '\\',
  "'": "'",
  '"': '"',
  '`': '`',
  '/': '/',
};

function unescape(found: string, quote: string): string | undefined {
  if (found.charAt(0) !== '\\') return found.charAt(0) === quote ? quote : found;
  const letter = found.charAt(1);
  if (letter === 'u') {
    return found.length === 6
      ? String.fromCharCode(Number.parseInt(found.slice(2), 16))
      : undefined;
  }
  return escapes[letter] ?? found;
}

/** `value` as a string literal that reads back as itself. */
export function quoteString(value: string): string {
  const escaped = value.replace(/[\\'\n\r\t\b\f]/g, found => shown[found] ?? found);
  return `'${escaped}'`;
}

const shown: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  "'": "\\'",
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\b': '\\b',
  '\f': '\\f',
};
