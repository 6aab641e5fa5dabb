/** Numbers and strings of Cypher: from the text of a token to its value. */
import type {Literal} from './ast-expression.ts';
import type {Cursor} from './cursor.ts';
import {TokenKind} from './lexer.ts';

const longMax = 2n ** 63n - 1n;

/** The current token, which is a number; `negative` with the sign that stood before it. */
export function parseNumber(cursor: Cursor, negative: boolean): Literal {
  const {at, raw, kind} = cursor;
  const sign = negative ? -1 : 1;
  if (kind === TokenKind.real) {
    const value = Number(raw);
    if (!Number.isFinite(value)) {
      cursor.refuse(at, 'FloatingPointOverflow', `${raw} is beyond the range of a float`);
    }
    cursor.advance();
    return {kind: 'literal', value: sign * value, isFloat: true, at};
  }
  const whole = BigInt(raw.toLowerCase());
  if (whole > (negative ? longMax + 1n : longMax)) {
    cursor.refuse(at, 'IntegerOverflow', `${raw} is beyond the range of 64-bit integers`);
  }
  cursor.advance();
  const value = BigInt(sign) * whole;
  const number = Number(value);
  return {
    kind: 'literal',
    value: Number.isSafeInteger(number) ? number : value,
    isFloat: false,
    at,
  };
}

const escapes: Readonly<Record<string, string>> = {
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};

/** The current token, which is a string. */
export function parseString(cursor: Cursor): Literal {
  const {at, raw} = cursor;
  cursor.advance();
  return {kind: 'literal', value: unescaped(raw.slice(1, -1)), isFloat: false, at};
}

function unescaped(text: string): string {
  if (!text.includes('\\')) return text;
  return text.replace(
    /\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([\s\S]))/g,
    (_, short: string | undefined, long: string | undefined, letter: string | undefined) => {
      const digits = short ?? long;
      if (digits !== undefined) return String.fromCodePoint(Number.parseInt(digits, 16));
      return escapes[letter ?? ''] ?? letter ?? '';
    },
  );
}
