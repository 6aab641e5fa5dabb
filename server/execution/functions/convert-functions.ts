/**
 * `convert.*` and `number.format`. What cannot be converted to a number, boolean or map is null;
 * malformed JSON is refused with its place.
 */
import {Refusal} from '#server/base/errors.ts';
import type {DataType} from '#server/model/data-type.ts';
import {roundDecimal} from '#server/model/decimal.ts';
import {jsonText} from '#server/model/json.ts';
import {parseJsonText} from '#server/model/json-parser.ts';
import {toDecimal} from '#server/model/number.ts';
import {Decimal, type Value} from '#server/model/value.ts';
import type {FunctionFamily} from '../function-registry.ts';
import {argument, distinctItems, itemsAt, numberAt, refuse, textAt} from './arguments.ts';
import {asText, convertTo, recordAsMap} from './methods-conversion.ts';
import {fixedText, groupThousands} from './text-format.ts';

/** Converts to the data type; null where the value does not fit. */
function orNull(value: Value, type: DataType): Value {
  try {
    return convertTo(value, type, 'convert');
  } catch (error) {
    if (error instanceof Refusal) return null;
    throw error;
  }
}

function toInteger(value: Value): Value {
  const double = typeof value === 'string' ? orNull(value, 'DECIMAL') : value;
  return double === null ? null : orNull(double, 'LONG');
}

const patternMax = 100;

/**
 * A number by a pattern: `0` a digit, `#` a digit where there is one, `,` groups of three, `.`
 * the point, `%` a percentage; whatever stands around is kept.
 */
function formatNumber(args: readonly Value[]): string {
  const locale = textAt(args, 2, 'en');
  if (!/^en\b|^en_/i.test(locale)) refuse(`numbers are printed in English, not '${locale}'`);
  const pattern = textAt(args, 1, '#,##0.###');
  const match = /^([^#0.,]*)([#,]*[0,]*)(?:\.(0*)(#*))?([^#0.,]*)$/.exec(pattern);
  if (match === null || pattern.length > patternMax) {
    return refuse(`'${pattern.slice(0, patternMax)}' is no pattern of a number, such as #,##0.00`);
  }
  const [, before = '', whole = '', least = '', more = '', after = ''] = match;
  let number = toDecimal(numberAt(args, 0, 'number.format'));
  if (after.includes('%')) number = new Decimal(number.unscaled * 100n, number.scale);
  const rounded = roundDecimal(number, least.length + more.length);
  const text = fixedText(rounded, least.length + more.length);
  const [digits = '', fraction = ''] = text.replace('-', '').split('.');
  const kept = fraction.slice(0, least.length) + fraction.slice(least.length).replace(/0+$/, '');
  const wholeMin = whole.replace(/[^0]/g, '').length;
  const filled = (digits === '0' && wholeMin === 0 && kept !== '' ? '' : digits).padStart(
    wholeMin,
    '0',
  );
  const grouped = whole.includes(',') ? groupThousands(filled) : filled;
  const sign = rounded.unscaled < 0n ? '-' : '';
  return `${sign}${before}${grouped}${kept === '' ? '' : `.${kept}`}${after}`;
}

const wordsOfTruth: Readonly<Record<string, boolean>> = {
  yes: true,
  no: false,
  '1': true,
  '0': false,
};

function toBoolean(value: Value): Value {
  if (typeof value !== 'string') return orNull(value, 'BOOLEAN');
  return wordsOfTruth[value.toLowerCase()] ?? orNull(value, 'BOOLEAN');
}

export const convertFunctions: FunctionFamily = {
  scalars: {
    'convert.toJson': args => jsonText(argument(args, 0)),
    'convert.toMap': (args, call) => {
      const value = argument(args, 0);
      const map = typeof value === 'string' ? parseJsonText(value) : recordAsMap(value, call);
      return map instanceof Map ? map : null;
    },
    'convert.toList': args => itemsAt(args, 0),
    'convert.toSet': args => distinctItems(itemsAt(args, 0)),
    'convert.toString': args => asText(argument(args, 0)),
    'convert.toInteger': args => toInteger(argument(args, 0)),
    'convert.toFloat': args => orNull(argument(args, 0), 'DOUBLE'),
    'convert.toBoolean': args => toBoolean(argument(args, 0)),
    'convert.fromJsonMap': args => {
      const map = parseJsonText(textAt(args, 0));
      return map instanceof Map ? map : refuse('the JSON is not an object');
    },
    'convert.fromJsonList': args => {
      const list = parseJsonText(textAt(args, 0));
      return Array.isArray(list) ? list : refuse('the JSON is not an array');
    },
    'number.format': formatNumber,
  },
};
