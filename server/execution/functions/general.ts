/**
 * Functions without a family: choices, identity, and the mathematics and texts without a prefix.
 *
 * The binder turns `if`, `coalesce` and `ifnull` into constructs of the algebra, which evaluate
 * only what is needed; the functions here serve calls that are made in other ways.
 */
import {base64Text, bytesFromBase64} from '#server/model/base64.ts';
import {compareText, utf8Bytes} from '#server/base/utf8.ts';
import {isIntegerValue, makeDouble, makeInteger, negateNumber} from '#server/model/number.ts';
import {numberOf, type NumberValue} from '#server/model/number.ts';
import {ridOfNumber} from '#server/model/rid.ts';
import {Decimal, type Value} from '#server/model/value.ts';
import type {Random} from '#server/platform/clock.ts';
import {itemsOf} from '../expressions/access.ts';
import {plainText} from '../expressions/arithmetic.ts';
import {
  argument,
  bigintAt,
  boundedText,
  integerAt,
  integerOf,
  numberAt,
  refuse,
  textAt,
} from './arguments.ts';
import type {FunctionFamily} from '../function-registry.ts';
import {formatText} from './text-format.ts';

/** The release that this server is compatible with; `version()` answers it. */
export const serverVersion = '26.11.1';

export function isEmpty(value: Value): boolean {
  if (value === null || value === '') return true;
  if (value instanceof Map) return value.size === 0;
  return itemsOf(value)?.length === 0;
}

/** A random (version 4) UUID. */
export function randomUuid(random: Random): string {
  const digits = [...uuidBytes(random)].map(byte => byte.toString(16).padStart(2, '0')).join('');
  const parts = [0, 8, 12, 16, 20].map((from, at, all) => digits.slice(from, all[at + 1] ?? 32));
  return parts.join('-');
}

export function uuidBytes(random: Random): Uint8Array {
  const bytes = new Uint8Array(16);
  random.fill(bytes);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes;
}

/** A fraction from 0 to below 1, of 53 random bits. */
export function randomFraction(random: Random): number {
  return (random.u32() * 2 ** 21 + (random.u32() >>> 11)) / 2 ** 53;
}

export function absolute(value: NumberValue): NumberValue {
  if (value instanceof Decimal) return value.unscaled < 0n ? negateNumber(value) : value;
  if (isIntegerValue(value)) return value < 0 ? negateNumber(value) : value;
  return makeDouble(Math.abs(numberOf(value)));
}

/** Integers to a power from 0 stay integers where 64 bits hold them. */
function power(base: NumberValue, exponent: NumberValue): NumberValue {
  if (isIntegerValue(base) && isIntegerValue(exponent) && exponent >= 0) {
    const double = Number(base) ** Number(exponent);
    if (Math.abs(double) < 2 ** 62) return makeInteger(BigInt(base) ** BigInt(exponent));
    return makeDouble(double);
  }
  return makeDouble(numberOf(base) ** numberOf(exponent));
}

function squareRoot(value: NumberValue): NumberValue {
  const root = Math.sqrt(numberOf(value));
  return isIntegerValue(value) && Number.isSafeInteger(root) ? root : makeDouble(root);
}

function randomInt(args: readonly Value[], random: Random): Value {
  const low = args.length > 1 ? integerAt(args, 0, 'randomInt') : 0;
  const high = integerAt(args, args.length - 1, 'randomInt');
  if (high <= low) refuse(`randomInt needs a bound above ${low}, not ${high}`);
  return integerOf(low + Math.floor(randomFraction(random) * (high - low)));
}

function base64Form(args: readonly Value[]): 'base64' | 'base64url' {
  const form = textAt(args, 1).toLowerCase();
  if (form === 'base64' || form === 'base64url') return form;
  return refuse(`the form is base64 or base64url, not '${form.slice(0, 40)}'`);
}

function encode(args: readonly Value[]): string {
  const value = argument(args, 0);
  const bytes = value instanceof Uint8Array ? value : utf8Bytes(plainText(value));
  const text = boundedText(Math.ceil(bytes.length / 3) * 4, () => base64Text(bytes));
  if (base64Form(args) === 'base64') return text;
  return text.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}

function decode(args: readonly Value[]): Uint8Array {
  const text = textAt(args, 0).replaceAll('-', '+').replaceAll('_', '/').replace(/=+$/, '');
  base64Form(args);
  const padded = text.padEnd(Math.ceil(text.length / 4) * 4, '=');
  return bytesFromBase64(padded) ?? refuse('the text is not base64');
}

export const generalFamily: FunctionFamily = {
  scalars: {
    if: ([condition = null, yes = null, no = null]) => (condition === true ? yes : no),
    coalesce: args => args.find(value => value !== null) ?? null,
    ifnull: ([value = null, otherwise = null, given]) =>
      value === null ? otherwise : (given ?? value),
    ifempty: ([value = null, otherwise = null]) => (isEmpty(value) ? otherwise : value),
    uuid: (_, {random}) => randomUuid(random),
    version: () => serverVersion,
    abs: args => absolute(numberAt(args, 0, 'abs')),
    pow: args => power(numberAt(args, 0, 'pow'), numberAt(args, 1, 'pow')),
    sqrt: args => squareRoot(numberAt(args, 0, 'sqrt')),
    cypherRID: args =>
      ridOfNumber(bigintAt(args, 0, 'cypherRID')) ?? refuse('the number is no id of a record'),
    randomInt: (args, {random}) => randomInt(args, random),
    format: ([pattern = null, ...values]) =>
      pattern === null ? null : formatText(plainText(pattern), values),
    strcmpci: args => {
      const [left, right] = [argument(args, 0), argument(args, 1)];
      if (left === null || right === null) return left === right ? 0 : left === null ? -1 : 1;
      return Math.sign(compareText(plainText(left).toLowerCase(), plainText(right).toLowerCase()));
    },
    encode,
    decode,
  },
};
