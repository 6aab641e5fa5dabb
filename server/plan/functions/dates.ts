/**
 * Signatures of the functions of dates and times.
 *
 * `date.*` count from 1970-01-01 UTC in a unit (`ms` unless named) or take and answer texts by a
 * pattern of Java's DateTimeFormatter. `date()` of a text that is no date answers null.
 */
import type {FunctionSignature} from '../functions.ts';
import {handled, scalarRow} from '../signature.ts';

const clock = {needs: 'clock', deterministic: false, nulls: 'handled'} as const;

export const dateFunctions: readonly FunctionSignature[] = [
  scalarRow(
    'date(text?, pattern?, zone?)',
    'The instant of a text, by an optional pattern and time zone.',
    ["date('06/05/2024', 'dd/MM/yyyy')", '"2024-05-06 00:00:00"'],
    clock,
  ),
  scalarRow(
    'sysdate(pattern?, zone?)',
    'When the statement began; as a text by a pattern and zone.',
    ["sysdate('yyyy').length()", '4'],
    clock,
  ),
  scalarRow('duration(count, unit)', 'A length of time: how many, of which unit.', [
    "duration(90, 'minute')",
    '5400.0',
  ]),
  scalarRow('date.add(time, count, unit)', 'A time moved: time, how many, unit.', [
    "date.add(0, 1, 'd')",
    '86400000',
  ]),
  scalarRow('date.convert(count, from, to)', 'A count of one unit as a count of another.', [
    "date.convert(86400000, 'ms', 'd')",
    '1',
  ]),
  scalarRow(
    'date.currentTimestamp()',
    'Milliseconds since 1970 at the beginning.',
    ['date.currentTimestamp() > 0', 'true'],
    clock,
  ),
  scalarRow('date.field(time, field)', 'One field of a time: year, month, dayOfWeek, ....', [
    "date.field(date('2024-12-30'), 'year')",
    '2024',
  ]),
  scalarRow('date.fields(text, pattern?)', 'All fields of a text by an optional pattern.', [
    "date.fields('2024-02-03', 'yyyy-MM-dd').dayOfYear",
    '34',
  ]),
  scalarRow(
    'date.format(time, unit?, pattern?, zone?)',
    'A time as a text: time, its unit, pattern, zone.',
    ["date.format(0, 'ms', 'yyyy-MM-dd')", '"1970-01-01"'],
    handled,
  ),
  scalarRow(
    'date.parse(text, unit?, pattern?, zone?)',
    'The time of a text: text, unit, pattern, zone.',
    ["date.parse('2024-01-02', 'ms', 'yyyy-MM-dd')", '1704153600000'],
    handled,
  ),
  scalarRow('date.fromISO8601(text)', 'Milliseconds since 1970 of a text of ISO 8601.', [
    "date.fromISO8601('1970-01-01T00:00:01Z')",
    '1000',
  ]),
  scalarRow('date.toISO8601(time)', 'Milliseconds since 1970 as a text of ISO 8601.', [
    'date.toISO8601(1500)',
    '"1970-01-01T00:00:01.500Z"',
  ]),
  scalarRow('date.systemTimezone()', 'The time zone of the server, which is UTC.', [
    'date.systemTimezone()',
    '"UTC"',
  ]),
];
