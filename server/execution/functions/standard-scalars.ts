/** `std.*` of texts and numbers; `plan/functions/standard.ts` says what each does. */
import {isIntegerValue, isNumberValue, makeDouble, numberOf} from '#server/model/number.ts';
import type {Value} from '#server/model/value.ts';
import type {FunctionFamily, ScalarFunction} from '../function-registry.ts';
import {describe} from '../expressions/arithmetic.ts';
import {itemsOfList, typeError} from '../expressions/strict-operators.ts';
import {absolute, randomFraction} from './general.ts';
import {replaceText} from './methods-text.ts';
import {argumentError} from './standard-values.ts';

function text(value: Value | undefined): string {
  if (typeof value === 'string') return value;
  throw typeError(`a text is needed, not ${describe(value ?? null)}`, 'InvalidArgumentValue');
}

function count(value: Value | undefined): number {
  if (!isIntegerValue(value ?? null)) {
    throw typeError(`a whole number is needed, not ${describe(value ?? null)}`);
  }
  const number = Number(value);
  if (number < 0) throw argumentError('a length cannot be negative', 'NegativeIntegerArgument');
  return number;
}

function float(value: Value | undefined): number {
  if (isNumberValue(value ?? null)) return numberOf(value as number);
  throw typeError(`a number is needed, not ${describe(value ?? null)}`, 'InvalidArgumentValue');
}

function trimmed(sides: 'both' | 'start' | 'end'): ScalarFunction {
  return ([value, characters]) => {
    const characterSet = characters === undefined ? undefined : new Set(text(characters));
    const drops = (character: string): boolean =>
      characterSet === undefined ? /\s/u.test(character) : characterSet.has(character);
    const all = [...text(value)];
    let [from, to] = [0, all.length];
    if (sides !== 'end') while (from < to && drops(all[from] ?? '')) from++;
    if (sides !== 'start') while (to > from && drops(all[to - 1] ?? '')) to--;
    return all.slice(from, to).join('');
  };
}

function split([value, separator = null]: readonly Value[]): Value {
  const separators = itemsOfList(separator)?.map(text) ?? [text(separator)];
  return separators.reduce<readonly string[]>(
    (parts, one) => parts.flatMap(part => part.split(one)),
    [text(value)],
  );
}

const normalForms = ['NFC', 'NFD', 'NFKC', 'NFKD'];

function normalized([value, form = 'NFC']: readonly Value[]): string {
  if (typeof form === 'string' && normalForms.includes(form.toUpperCase())) {
    return text(value).normalize(form.toUpperCase());
  }
  throw argumentError(
    `a normal form is one of ${normalForms.join(', ')}, not ${describe(form)}`,
    'InvalidArgumentValue',
  );
}

const floats: Readonly<Record<string, (value: number) => number>> = {
  ceil: Math.ceil,
  floor: Math.floor,
  sqrt: Math.sqrt,
  exp: Math.exp,
  log: Math.log,
  log10: Math.log10,
  sin: Math.sin,
  cos: Math.cos,
  tan: Math.tan,
  cot: value => 1 / Math.tan(value),
  asin: Math.asin,
  acos: Math.acos,
  atan: Math.atan,
  sinh: Math.sinh,
  cosh: Math.cosh,
  tanh: Math.tanh,
  degrees: value => (value * 180) / Math.PI,
  radians: value => (value * Math.PI) / 180,
  haversin: value => (1 - Math.cos(value)) / 2,
};

const roundings: Readonly<Record<string, (value: number) => number>> = {
  UP: value => Math.sign(value) * Math.ceil(Math.abs(value)),
  DOWN: Math.trunc,
  CEILING: Math.ceil,
  FLOOR: Math.floor,
  HALF_UP: value => Math.sign(value) * Math.floor(Math.abs(value) + 0.5),
  HALF_DOWN: value => Math.sign(value) * Math.ceil(Math.abs(value) - 0.5),
  HALF_EVEN: value => {
    const low = Math.floor(value);
    if (value - low !== 0.5) return Math.round(value);
    return low % 2 === 0 ? low : low + 1;
  },
};

function rounded([value, places, mode]: readonly Value[]): Value {
  const number = float(value);
  if (places === undefined) return makeDouble(Math.floor(number + 0.5));
  const round = roundings[mode === undefined ? 'HALF_UP' : text(mode).toUpperCase()];
  if (round === undefined) throw argumentError('no such way of rounding', 'InvalidArgumentValue');
  const digits = count(places);
  // The decimal text is shifted, not the float: 1.005 has no exact product with 100.
  const shifted = Number(`${number}e${digits}`);
  return makeDouble(Number(`${round(Number.isNaN(shifted) ? number : shifted)}e-${digits}`));
}

export const standardScalars: FunctionFamily = {
  scalars: {
    'std.substring': ([value, from, length]) => {
      const start = count(from);
      const end = length === undefined ? undefined : start + count(length);
      return [...text(value)].slice(start, end).join('');
    },
    'std.left': ([value, length]) => [...text(value)].slice(0, count(length)).join(''),
    'std.right': ([value, length]) => {
      const all = [...text(value)];
      return all.slice(Math.max(0, all.length - count(length))).join('');
    },
    'std.replace': ([value, found, put]) => replaceText(text(value), text(found), text(put)),
    'std.split': split,
    'std.trim': trimmed('both'),
    'std.ltrim': trimmed('start'),
    'std.rtrim': trimmed('end'),
    'std.normalize': normalized,
    'std.isNormalized': args => normalized(args) === args[0],
    'std.toUpper': ([value]) => text(value).toUpperCase(),
    'std.toLower': ([value]) => text(value).toLowerCase(),
    ...Object.fromEntries(
      Object.entries(floats).map(([name, evaluate]): [string, ScalarFunction] => [
        `std.${name}`,
        ([value]) => makeDouble(evaluate(float(value))),
      ]),
    ),
    'std.abs': ([value = null]) => {
      if (!isNumberValue(value)) throw typeError(`a number is needed, not ${describe(value)}`);
      return absolute(value);
    },
    'std.round': rounded,
    'std.sign': ([value]) => Math.sign(float(value)) + 0,
    'std.rand': (_, call) => makeDouble(randomFraction(call.random)),
    'std.e': () => Math.E,
    'std.pi': () => Math.PI,
    'std.atan2': ([y, x]) => makeDouble(Math.atan2(float(y), float(x))),
    'std.isNaN': ([value]) => Number.isNaN(float(value)),
  },
};
