/**
 * Signatures of the functions of dates and times.
 *
 * `date.*` count from 1970-01-01 UTC in a unit (`ms` unless named) or take and answer texts by a
 * pattern of Java's DateTimeFormatter. `date()` of a text that is no date answers null.
 */
import type {FunctionSignature} from './functions.ts';
import {handled, scalarRow} from './signature.ts';

const clock = {needs: 'clock', deterministic: false, nulls: 'handled'} as const;

export const dateFunctions: readonly FunctionSignature[] = [
  scalarRow('date', [0, 3], 'The instant of a text, by an optional pattern and time zone.', clock),
  scalarRow('sysdate', [0, 2], 'When the statement began; as a text by a pattern and zone.', clock),
  scalarRow('duration', [2, 2], 'A length of time: how many, of which unit.'),
  scalarRow('date.add', [3, 3], 'A time moved: time, how many, unit.'),
  scalarRow('date.convert', [3, 3], 'A count of one unit as a count of another.'),
  scalarRow('date.currentTimestamp', [0, 0], 'Milliseconds since 1970 at the beginning.', clock),
  scalarRow('date.field', [2, 2], 'One field of a time: year, month, dayOfWeek, ....'),
  scalarRow('date.fields', [1, 2], 'All fields of a text by an optional pattern.'),
  scalarRow('date.format', [1, 4], 'A time as a text: time, its unit, pattern, zone.', handled),
  scalarRow('date.parse', [1, 4], 'The time of a text: text, unit, pattern, zone.', handled),
  scalarRow('date.fromISO8601', [1, 1], 'Milliseconds since 1970 of a text of ISO 8601.'),
  scalarRow('date.toISO8601', [1, 1], 'Milliseconds since 1970 as a text of ISO 8601.'),
  scalarRow('date.systemTimezone', [0, 0], 'The time zone of the server, which is UTC.'),
];
