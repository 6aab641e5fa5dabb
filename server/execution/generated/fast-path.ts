/**
 * What generated code does in place with two plain numbers or texts, before it asks the operation.
 *
 * Only where the plain answer is the operation's own: sums and products of small integers, which
 * cannot overflow unseen, those that are no integers, which one of two doubles makes alone, and
 * comparisons of numbers that are not NaN.
 */
import type {Call} from '../expressions/operation.ts';

interface Operands {
  readonly left: string | undefined;
  readonly right: string | undefined;
  /** The operation itself. */
  readonly slow: string;
  /** A variable to keep something in. */
  temporary(): string;
}

const comparisons: Readonly<Record<string, string>> = {
  'op:less': '<',
  'op:lessOrEqual': '<=',
  'op:greater': '>',
  'op:greaterOrEqual': '>=',
  'op:before': '<',
  'op:notAfter': '<=',
  'op:after': '>',
  'op:notBefore': '>=',
  'op:equal': '===',
  'op:same': '===',
  'op:notEqual': '!==',
  'op:differs': '!==',
};

const sums: Readonly<Record<string, string>> = {
  'op:add': '+',
  'op:plus': '+',
  'op:subtract': '-',
  'op:minus': '-',
};

const products: ReadonlySet<string> = new Set(['op:multiply', 'op:times']);

/** Undefined: nothing is shorter than the operation. */
export function fastPath({name, args}: Call, operands: Operands): string | undefined {
  const {left, right} = operands;
  const constant = args[1]?.kind === 'literal' ? args[1].value : undefined;
  if (left === undefined || right === undefined) return undefined;
  const sides = {...operands, left, right};
  const sign = comparisons[name];
  if (typeof constant === 'string') return sign && comparedWithText(sign, sides);
  if (constant !== undefined && typeof constant !== 'number') return undefined;
  if (sign !== undefined) return compared(sign, sides, constant === undefined);
  return computed(name, sides);
}

type Sides = Required<{[Name in keyof Operands]: NonNullable<Operands[Name]>}>;

const areNumbers = ({left, right}: Sides): string =>
  `typeof ${left} === 'number' && typeof ${right} === 'number'`;

const isEquality = (sign: string): boolean => sign.endsWith('==');

function comparedWithText(sign: string, {left, right, slow}: Sides): string | undefined {
  if (!isEquality(sign)) return undefined;
  return `typeof ${left} === 'string' ? ${left} ${sign} ${right} : ${slow}`;
}

function compared(sign: string, sides: Sides, mayBeTexts: boolean): string {
  const {left, right, slow} = sides;
  const areOrdered = `${areNumbers(sides)} && ${left} === ${left} && ${right} === ${right}`;
  const inPlace = `${areOrdered} ? ${left} ${sign} ${right} : ${slow}`;
  if (!isEquality(sign) || !mayBeTexts) return inPlace;
  const areTexts = `typeof ${left} === 'string' && typeof ${right} === 'string'`;
  return `${areTexts} ? ${left} ${sign} ${right} : ${inPlace}`;
}

function computed(name: string, sides: Sides): string | undefined {
  const {left, right, slow, temporary} = sides;
  const areSmall = `(${left} | 0) === ${left} && (${right} | 0) === ${right}`;
  if (name === 'op:modulo') {
    const isPlain = `${areNumbers(sides)} && ${areSmall} && ${left} >= 0 && ${right} > 0`;
    return `${isPlain} ? ${left} % ${right} : ${slow}`;
  }
  const sign = products.has(name) ? '*' : sums[name];
  if (sign === undefined) return undefined;
  const result = temporary();
  // A product of zero may be -0, which is no integer of ours.
  const small = sign === '*' ? `(${result} | 0) === ${result} && ${result} !== 0` : 'true';
  const isAnswer = `!Number.isInteger(${result}) || (${areSmall} && ${small})`;
  const isPlain = `${areNumbers(sides)} && (${result} = ${left} ${sign} ${right}, ${isAnswer})`;
  return `${isPlain} ? ${result} : ${slow}`;
}
