/**
 * `format('%s-%05.2f', ...)`: texts by the conversions of Java's Formatter.
 *
 * Supported: `%[position$][flags][width][.precision]` with s S d o x X f e E g b B c n %; flags
 * `-` left, `0` zeros, `+` sign, blank, `,` groups of three, `(` for negatives, `#`. Widths and
 * results are bounded. A conversion that does not fit its value is refused.
 */
import {addDecimals, decimalText, roundDecimal} from '#server/model/decimal.ts';
import {
  exactDecimal,
  isIntegerValue,
  isNumberValue,
  numberOf,
  toDecimal,
} from '#server/model/number.ts';
import {Decimal, Double, type Value} from '#server/model/value.ts';
import {describe, plainText} from '../expressions/arithmetic.ts';
import {refuse, textLengthMax} from './arguments.ts';

const widthMax = 10_000;
const conversion = /%(?:(\d+)\$)?([-#+ 0,(]*)(\d+)?(?:\.(\d+))?([a-zA-Z%])/y;

interface Conversion {
  readonly flags: string;
  readonly precision: number | undefined;
  readonly letter: string;
}

/** @throws {Refusal} `argument` for an unknown conversion or a missing or unfitting value. */
export function formatText(pattern: string, values: readonly Value[]): string {
  let text = '';
  let next = 0;
  for (let at = 0; at < pattern.length; ) {
    const percent = pattern.indexOf('%', at);
    if (percent < 0) return text + pattern.slice(at);
    text += pattern.slice(at, percent);
    conversion.lastIndex = percent;
    const match = conversion.exec(pattern);
    if (match === null) return refuse(`'${pattern.slice(percent, percent + 8)}' is no conversion`);
    at = percent + match[0].length;
    const [, position, flags = '', width, precision, letter = ''] = match;
    const spec: Conversion = {
      flags,
      precision: precision === undefined ? undefined : bounded(Number(precision)),
      letter,
    };
    let part: string;
    if (letter === '%') part = '%';
    else if (letter === 'n') part = '\n';
    else {
      const index = position === undefined ? next++ : Number(position) - 1;
      if (index < 0 || index >= values.length) refuse(`there is no value for '${match[0]}'`);
      part = converted(values[index] ?? null, spec);
    }
    text += padded(part, bounded(Number(width ?? '0')), flags);
    if (text.length > textLengthMax) refuse('the formatted text is too long');
  }
  return text;
}

function bounded(width: number): number {
  return width > widthMax ? refuse(`a width of more than ${widthMax} is not allowed`) : width;
}

function padded(part: string, width: number, flags: string): string {
  if (flags.includes('-')) return part.padEnd(width);
  if (!flags.includes('0')) return part.padStart(width);
  const sign = /^[-+ (]/.exec(part)?.[0] ?? '';
  return sign + part.slice(sign.length).padStart(width - sign.length, '0');
}

function converted(value: Value, spec: Conversion): string {
  const {letter, precision} = spec;
  switch (letter) {
    case 's':
    case 'S': {
      const text = (value === null ? 'null' : plainText(value)).slice(0, precision);
      return letter === 'S' ? text.toUpperCase() : text;
    }
    case 'b':
    case 'B': {
      const text = String(typeof value === 'boolean' ? value : value !== null);
      return letter === 'B' ? text.toUpperCase() : text;
    }
    case 'c':
      if (value === null) return 'null';
      return isIntegerValue(value)
        ? character(Number(value))
        : [...plainText(value)].slice(0, 1).join('');
    default:
      return value === null ? 'null' : numeric(value, spec);
  }
}

export function character(code: number): string {
  return code >= 0 && code <= 0x10ffff
    ? String.fromCodePoint(code)
    : refuse(`${code} is no character`);
}

function numeric(value: Value, spec: Conversion): string {
  if (!isNumberValue(value)) {
    return refuse(`'%${spec.letter}' needs a number, not ${describe(value)}`);
  }
  switch (spec.letter) {
    case 'd':
      if (!isIntegerValue(value)) refuse(`'%d' needs a whole number, not ${describe(value)}`);
      return signed(decimalText(toDecimal(value)), spec.flags);
    case 'x':
    case 'X':
    case 'o': {
      if (!isIntegerValue(value)) return refuse(`'%${spec.letter}' needs a whole number`);
      const digits = BigInt.asUintN(64, BigInt(value)).toString(spec.letter === 'o' ? 8 : 16);
      const narrow =
        value < 0 && value >= -(2 ** 31) && spec.letter !== 'o' ? digits.slice(8) : digits;
      const prefixed = spec.flags.includes('#')
        ? `0${spec.letter === 'o' ? '' : 'x'}${narrow}`
        : narrow;
      return spec.letter === 'X' ? prefixed.toUpperCase() : prefixed;
    }
    case 'f': {
      const exact = value instanceof Decimal ? value : exactDecimal(value);
      if (typeof exact === 'number') return String(exact);
      return signed(fixedText(fromShortest(value, exact), spec.precision ?? 6), spec.flags);
    }
    case 'e':
    case 'E':
    case 'g':
    case 'G': {
      const double = numberOf(value);
      const digits = spec.precision ?? 6;
      const text =
        spec.letter.toLowerCase() === 'g'
          ? double.toPrecision(Math.min(Math.max(digits, 1), 100))
          : double.toExponential(Math.min(digits, 100));
      const javaText = text.replace(/e([+-])(\d)$/, 'e$10$2');
      return signed(spec.letter < 'a' ? javaText.toUpperCase() : javaText, spec.flags);
    }
    default:
      return refuse(`'%${spec.letter}' is no conversion`);
  }
}

/** A double is rounded from its shortest text: 2.675 is meant as written. */
function fromShortest(value: Value, exact: Decimal): Decimal {
  return typeof value === 'number' || value instanceof Double ? toDecimal(value) : exact;
}

/** A number with exactly `scale` decimal places, rounded half up. */
export function fixedText(decimal: Decimal, scale: number): string {
  return decimalText(addDecimals(roundDecimal(decimal, scale), new Decimal(0n, scale)));
}

function signed(text: string, flags: string): string {
  const negative = text.startsWith('-');
  const digits = negative ? text.slice(1) : text;
  const grouped = flags.includes(',') ? groupThousands(digits) : digits;
  if (negative) return flags.includes('(') ? `(${grouped})` : `-${grouped}`;
  return flags.includes('+') ? `+${grouped}` : flags.includes(' ') ? ` ${grouped}` : grouped;
}

/** `1234567.89` as `1,234,567.89`. */
export function groupThousands(digits: string): string {
  const [whole = '', fraction] = digits.split('.');
  let grouped = '';
  for (let at = whole.length; at > 0; at -= 3) {
    grouped = whole.slice(Math.max(at - 3, 0), at) + (grouped === '' ? '' : `,${grouped}`);
  }
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}
