/**
 * Equality and order between two values that are not null.
 *
 * Values of one class compare as `model/compare.ts` says. Between classes a text meets a
 * number, an instant, a record id or a boolean half way: it is read as one, and where it
 * cannot be, the two are different and not comparable.
 */
import {classify, compareTotal} from '#server/model/compare.ts';
import {parseDecimal} from '#server/model/decimal.ts';
import {compareNumbers, type NumberValue, numberOf} from '#server/model/number.ts';
import {ridOfText} from '#server/model/rid.ts';
import {dateTimeFromEpoch, parseDateTime} from '#server/model/temporal.ts';
import {type DateTimeValue, RecordValue, type Value} from '#server/model/value.ts';

export function areEqual(left: Value, right: Value): boolean {
  if (left === right) return true;
  if (typeof left === typeof right && (typeof left === 'string' || typeof left === 'boolean')) {
    return false;
  }
  return order(left, right, 'equality') === 0;
}

/** Negative, zero, positive; undefined when the two are not comparable. */
export function orderOf(left: Value, right: Value): number | undefined {
  if (typeof left === 'number' && typeof right === 'number') {
    return left < right ? -1 : left > right ? 1 : compareNumbers(left, right);
  }
  return order(left, right, 'order');
}

function order(left: Value, right: Value, requested: 'equality' | 'order'): number | undefined {
  const a = classify(left);
  const b = classify(right);
  if (a.of === b.of) {
    if (requested === 'order' && (a.of === 'map' || a.of === 'point' || a.of === 'path')) {
      return undefined;
    }
    return compareTotal(left, right);
  }
  if (b.of === 'text') return compareWithText(left, b.value);
  if (a.of === 'text') {
    const reversed = compareWithText(right, a.value);
    return reversed === undefined ? undefined : -reversed;
  }
  if (a.of === 'instant' && b.of === 'number') {
    const moment = instant(b.value);
    return moment === undefined ? undefined : compareTotal(left, moment);
  }
  if (a.of === 'number' && b.of === 'instant') {
    const moment = instant(a.value);
    return moment === undefined ? undefined : compareTotal(moment, right);
  }
  // A single record is its own list of one (SQL: `$path[0] = @this`, `out() = #1:0`).
  if (requested === 'equality' && a.of === 'list' && b.of === 'rid') return oneOf(a.value, right);
  if (requested === 'equality' && a.of === 'rid' && b.of === 'list') return oneOf(b.value, left);
  return undefined;
}

function oneOf(list: readonly Value[], value: Value): number | undefined {
  return list.length === 1 && compareTotal(list[0] as Value, value) === 0 ? 0 : undefined;
}

/** The instant so many milliseconds after 1970; NaN and infinities are none. */
function instant(number: NumberValue): DateTimeValue | undefined {
  if (typeof number === 'bigint') return dateTimeFromEpoch(number, 'millisecond');
  const millis = numberOf(number);
  if (!Number.isFinite(millis)) return undefined;
  return dateTimeFromEpoch(BigInt(Math.trunc(millis)), 'millisecond');
}

function compareWithText(left: Value, text: string): number | undefined {
  const known = classify(left);
  switch (known.of) {
    case 'number': {
      const number = parseDecimal(text.trim());
      return number === undefined ? undefined : compareNumbers(known.value, number);
    }
    case 'instant': {
      const moment = parseDateTime(text, 'nanosecond');
      return moment === undefined ? undefined : compareTotal(left, moment);
    }
    case 'rid': {
      const rid = ridOfText(text);
      return rid === undefined
        ? undefined
        : compareTotal(left instanceof RecordValue ? left.rid : left, rid);
    }
    case 'boolean':
      if (text !== 'true' && text !== 'false') return undefined;
      return Number(known.value) - Number(text === 'true');
    default:
      return undefined;
  }
}
