/**
 * Cron expressions of six fields, from seconds to days of the week.
 *
 * The fields are read and the next moment is computed by `cron-parser`; what that accepts beyond
 * the documented form (five fields, names such as `@daily`, `L`, `#`, `H`) is refused here, so that
 * a file means the same to every version of it.
 * Source: docs/backup.md.
 */
import {reasonOf} from '#server/base/errors.ts';
import {CronExpressionParser} from 'cron-parser';

const fieldNames = ['second', 'minute', 'hour', 'day of month', 'month', 'day of week'] as const;
const plainField = /^[\d*?,/-]+$/;
const monthField = /^([\d*?,/-]|JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC)+$/i;
const weekdayField = /^([\d*?,/-]|SUN|MON|TUE|WED|THU|FRI|SAT)+$/i;

/** Why a text is no expression, or none that ever comes due; undefined: it is one. */
export function cronFault(expression: string): string | undefined {
  const fields = expression.trim().split(/\s+/);
  if (fields.length !== fieldNames.length) {
    const names = fieldNames.join(', ');
    return `must have six fields (${names}), and '${expression}' has ${fields.length}`;
  }
  for (const [place, field] of fields.entries()) {
    const pattern = place === 4 ? monthField : place === 5 ? weekdayField : plainField;
    if (!pattern.test(field) || (field.includes('?') && field !== '?')) {
      return `has the ${fieldNames[place]} '${field}', which means nothing`;
    }
  }
  try {
    // The parser looks for a moment as far ahead as one can be: 29 February, and a weekday.
    CronExpressionParser.parse(expression, {currentDate: 0, tz: 'UTC'}).next();
    return undefined;
  } catch (error) {
    return `'${expression}' never comes due: ${reasonOf(error)}`;
  }
}

/**
 * The first moment behind `after` at which the expression comes due, both in milliseconds since
 * 1970. An hour that is skipped in spring moves to its end; one that is repeated in autumn counts
 * once for an expression that names an hour.
 */
export function nextCron(expression: string, after: number, timeZone: string): number {
  return CronExpressionParser.parse(expression, {currentDate: after, tz: timeZone})
    .next()
    .getTime();
}
