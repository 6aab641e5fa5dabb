/**
 * The proleptic Gregorian calendar in integers: days since 1970-01-01 to year, month, day.
 *
 * Counts whole eras of 400 years (146,097 days) and years that begin in March, so that the
 * leap day is the last day of a year. Exact for every year that `yearMax` allows.
 */

export const yearMax = 999_999;
const daysPerEra = 146_097;
const daysToEpoch = 719_468;

export interface CivilDate {
  readonly year: number;
  /** 1 to 12. */
  readonly month: number;
  /** 1 to 31. */
  readonly day: number;
}

export function daysFromCivil(year: number, month: number, day: number): number {
  const shifted = month <= 2 ? year - 1 : year;
  const era = Math.floor(shifted / 400);
  const yearOfEra = shifted - era * 400;
  const monthFromMarch = (month + 9) % 12;
  const dayOfYear = Math.floor((153 * monthFromMarch + 2) / 5) + day - 1;
  const leapDays = Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100);
  return era * daysPerEra + yearOfEra * 365 + leapDays + dayOfYear - daysToEpoch;
}

export function civilFromDays(epochDays: number): CivilDate {
  const shifted = epochDays + daysToEpoch;
  const era = Math.floor(shifted / daysPerEra);
  const dayOfEra = shifted - era * daysPerEra;
  const yearOfEra = Math.floor(
    (dayOfEra -
      Math.floor(dayOfEra / 1460) +
      Math.floor(dayOfEra / 36_524) -
      Math.floor(dayOfEra / 146_096)) /
      365,
  );
  const leapDays = Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100);
  const dayOfYear = dayOfEra - (365 * yearOfEra + leapDays);
  const monthFromMarch = Math.floor((5 * dayOfYear + 2) / 153);
  const day = dayOfYear - Math.floor((153 * monthFromMarch + 2) / 5) + 1;
  const month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9;
  return {year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day};
}

export function isLeapYear(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
}

export function daysInMonth(year: number, month: number): number {
  if (month === 2) return isLeapYear(year) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

/** Whether the calendar has such a day: 2024-02-30 is none. */
export function isCivilDate(year: number, month: number, day: number): boolean {
  return (
    Math.abs(year) <= yearMax &&
    month >= 1 &&
    month <= 12 &&
    day >= 1 &&
    day <= daysInMonth(year, month)
  );
}

/** 1 = Monday to 7 = Sunday. */
export function dayOfWeek(epochDays: number): number {
  return ((((epochDays + 3) % 7) + 7) % 7) + 1;
}
