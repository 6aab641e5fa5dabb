/**
 * Dates by pattern: `yyyy-MM-dd HH:mm:ss.SSS`, the letters of Java's DateTimeFormatter.
 *
 * Supported: y u M d D H h k m s S n A a E e X x Z z ' (quotes) and any other character as
 * itself. Reading is strict: every character must be accounted for and the day must exist.
 */
import {Refusal} from '#server/base/errors.ts';
import {civilFromDays, dayOfWeek, daysFromCivil, isCivilDate} from './calendar.ts';
import {epochSecondsOf, nanosOf, offsetText, parseOffset, secondsPerDay} from './temporal.ts';
import {DateTimeValue, type DateValue} from './value.ts';

const patternLengthMax = 200;
const months = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
] as const;
const weekdays = [
  'Monday',
  'Tuesday',
  'Wednesday',
  'Thursday',
  'Friday',
  'Saturday',
  'Sunday',
] as const;

type Part =
  | {readonly kind: 'text'; readonly text: string}
  | {readonly kind: 'field'; readonly letter: string; readonly width: number};

/** Writes a value (in UTC, or in the value's own offset) by `pattern`. */
export function formatByPattern(value: DateTimeValue | DateValue, pattern: string): string {
  const offset = value instanceof DateTimeValue ? (value.zone?.offsetSeconds ?? 0) : 0;
  const seconds = epochSecondsOf(value) + offset;
  let text = '';
  for (const part of partsOf(pattern)) {
    text += part.kind === 'text' ? part.text : fieldText(part, seconds, nanosOf(value), offset);
  }
  return text;
}

/** Reads `text` by `pattern`; undefined when it does not match or names no existing time. */
export function parseByPattern(text: string, pattern: string): DateTimeValue | undefined {
  const read = new Map<string, number>();
  let at = 0;
  for (const part of partsOf(pattern)) {
    if (part.kind === 'text') {
      if (!text.startsWith(part.text, at)) return undefined;
      at += part.text.length;
      continue;
    }
    const end = readField(part, text, at, read);
    if (end === undefined) return undefined;
    at = end;
  }
  return at === text.length ? assemble(read) : undefined;
}

function partsOf(pattern: string): readonly Part[] {
  if (pattern.length > patternLengthMax) {
    throw new Refusal('argument', `a date pattern has at most ${patternLengthMax} characters`);
  }
  const parts: Part[] = [];
  let at = 0;
  while (at < pattern.length) {
    const letter = pattern.charAt(at);
    let end = at + 1;
    if (/[A-Za-z]/.test(letter)) {
      while (pattern.charAt(end) === letter) end++;
      if (!'yuMLdDHhkKmsSnAaEeXxZz'.includes(letter)) {
        throw new Refusal('argument', `'${letter}' means nothing in a date pattern`);
      }
      parts.push({kind: 'field', letter, width: end - at});
    } else if (letter === "'") {
      end = pattern.indexOf("'", at + 1);
      if (end < 0) throw new Refusal('argument', `a quote is left open in '${pattern}'`);
      parts.push({kind: 'text', text: end === at + 1 ? "'" : pattern.slice(at + 1, end)});
      end++;
    } else parts.push({kind: 'text', text: letter});
    at = end;
  }
  return parts;
}

function fieldText(
  {letter, width}: {readonly letter: string; readonly width: number},
  seconds: number,
  nanos: number,
  offset: number,
): string {
  const days = Math.floor(seconds / secondsPerDay);
  const second = seconds - days * secondsPerDay;
  const hour = Math.floor(second / 3600);
  const civil = civilFromDays(days);
  const padded = (value: number): string => String(value).padStart(width, '0');
  switch (letter) {
    case 'y':
    case 'u':
      return width === 2 ? String(civil.year % 100).padStart(2, '0') : padded(civil.year);
    case 'M':
    case 'L':
      return width < 3 ? padded(civil.month) : shortened(months[civil.month - 1], width);
    case 'd':
      return padded(civil.day);
    case 'D':
      return padded(days - daysFromCivil(civil.year, 1, 1) + 1);
    case 'H':
      return padded(hour);
    case 'k':
      return padded(hour === 0 ? 24 : hour);
    case 'K':
      return padded(hour % 12);
    case 'h':
      return padded(hour % 12 === 0 ? 12 : hour % 12);
    case 'm':
      return padded(Math.floor(second / 60) % 60);
    case 's':
      return padded(second % 60);
    case 'S':
      return String(nanos).padStart(9, '0').slice(0, width).padEnd(width, '0');
    case 'n':
      return padded(nanos);
    case 'A':
      return padded(second * 1000 + Math.floor(nanos / 1_000_000));
    case 'a':
      return hour < 12 ? 'AM' : 'PM';
    case 'E':
      return shortened(weekdays[dayOfWeek(days) - 1], width);
    case 'e':
      return padded(dayOfWeek(days));
    default:
      return zoneText(letter, width, offset);
  }
}

function zoneText(letter: string, width: number, offset: number): string {
  if (letter === 'z') return offset === 0 ? 'UTC' : offsetText(offset);
  if (letter === 'X' && offset === 0) return 'Z';
  const text = offset === 0 ? '+00:00' : offsetText(offset);
  if (letter === 'Z' ? width < 5 : width % 2 === 0) return text.replace(':', '');
  return width === 1 && text.endsWith(':00') ? text.slice(0, 3) : text;
}

function shortened(name: string | undefined, width: number): string {
  return (name ?? '').slice(0, width >= 4 ? undefined : 3);
}

/** Reads one field into `read` and returns the offset behind it. */
function readField(
  {letter, width}: {readonly letter: string; readonly width: number},
  text: string,
  at: number,
  read: Map<string, number>,
): number | undefined {
  if ((letter === 'M' || letter === 'L') && width >= 3) {
    return readName(months, width, text, at, index => read.set('M', index + 1));
  }
  if (letter === 'E') return readName(weekdays, width, text, at, () => undefined);
  if (letter === 'a') return readName(['AM', 'PM'], 4, text, at, index => read.set('a', index));
  if ('XxZz'.includes(letter)) {
    const match = /^(?:Z|UTC|[+-]\d\d(?::?\d\d)?)/.exec(text.slice(at, at + 6));
    if (match === null) return undefined;
    const offset = parseOffset(match[0] === 'UTC' ? 'Z' : match[0]);
    if (offset === undefined) return undefined;
    read.set('offset', offset);
    return at + match[0].length;
  }
  const digitsMax = letter === 'S' || width > 1 ? (letter === 'y' && width > 3 ? 6 : width) : 10;
  let end = at;
  while (end < text.length && end - at < digitsMax && /\d/.test(text.charAt(end))) end++;
  if (end - at < Math.min(width, digitsMax)) return undefined;
  const digits = text.slice(at, end);
  if (letter === 'S') read.set('n', Number(digits.slice(0, 9).padEnd(9, '0')));
  else if ((letter === 'y' || letter === 'u') && width === 2) read.set('y', 2000 + Number(digits));
  else read.set(letter === 'u' ? 'y' : letter === 'L' ? 'M' : letter, Number(digits));
  return end;
}

function readName(
  names: readonly string[],
  width: number,
  text: string,
  at: number,
  found: (index: number) => void,
): number | undefined {
  for (const [index, name] of names.entries()) {
    const wanted = shortened(name, width);
    if (text.slice(at, at + wanted.length).toLowerCase() !== wanted.toLowerCase()) continue;
    found(index);
    return at + wanted.length;
  }
  return undefined;
}

function assemble(read: ReadonlyMap<string, number>): DateTimeValue | undefined {
  const field = (letter: string, otherwise: number): number => read.get(letter) ?? otherwise;
  const year = field('y', 1970);
  const month = field('M', 1);
  const day = field('d', 1);
  const halfDay = read.get('h') ?? read.get('K');
  const fromHalf = halfDay === undefined ? 0 : (halfDay % 12) + 12 * field('a', 0);
  const hour = read.get('H') ?? (read.has('k') ? field('k', 0) % 24 : fromHalf);
  const minute = field('m', 0);
  const second = field('s', 0);
  if (!isCivilDate(year, month, day) || hour > 23 || minute > 59 || second > 59) return undefined;
  const days = read.has('D')
    ? daysFromCivil(year, 1, 1) + field('D', 1) - 1
    : daysFromCivil(year, month, day);
  const seconds = days * secondsPerDay + hour * 3600 + minute * 60 + second - field('offset', 0);
  const nanos = field('n', 0);
  return new DateTimeValue(seconds, nanos, nanos % 1_000_000 === 0 ? 'millisecond' : 'nanosecond');
}
