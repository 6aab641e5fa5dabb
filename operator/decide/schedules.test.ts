/** Expressions of time against a naive reading of the clock, and which archives retention keeps. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import fc from 'fast-check';
import {dateOf, nextTick, parseCron} from './cron.ts';
import {expired} from './retention.ts';

const at = (text: string): number => Date.parse(text);

const ticks: readonly (readonly [string, string, string])[] = [
  ['0 3 * * *', '2026-02-28T03:00:00Z', '2026-03-01T03:00:00Z'],
  ['*/15 * * * *', '2026-01-01T00:14:59Z', '2026-01-01T00:15:00Z'],
  ['30 0 3 * * *', '2026-01-01T03:00:29Z', '2026-01-01T03:00:30Z'],
  ['0 0 29 2 *', '2026-01-01T00:00:00Z', '2028-02-29T00:00:00Z'],
  ['0 0 * * MON', '2026-01-01T00:00:00Z', '2026-01-05T00:00:00Z'],
  ['0 0 * * 7', '2026-01-01T00:00:00Z', '2026-01-04T00:00:00Z'],
  ['0 0 13 * FRI', '2026-02-01T00:00:00Z', '2026-02-06T00:00:00Z'],
  ['0 12 1 JAN,JUL ?', '2026-01-01T12:00:00Z', '2026-07-01T12:00:00Z'],
];

for (const [text, after, expected] of ticks) {
  test(`${text} after ${after} is ${expected}`, () => {
    const cron = parseCron(text);
    assert.ok(cron);
    assert.equal(nextTick(cron, at(after)), at(expected));
  });
}

for (const text of [
  '',
  '* * *',
  '60 * * * *',
  '* 24 * * *',
  '* * 0 * *',
  '* * * 13 *',
  '*/0 * * * *',
  '5-1 * * * *',
  'x * * * *',
]) {
  test(`'${text}' is no expression`, () => assert.equal(parseCron(text), undefined));
}

test('an expression that never fires has no next tick', () => {
  const cron = parseCron('0 0 31 2 *');
  assert.ok(cron);
  assert.equal(nextTick(cron, at('2026-01-01T00:00:00Z')), undefined);
});

test('dates are those of the runtime', () => {
  fc.assert(
    fc.property(fc.integer({min: 0, max: 60_000}), day => {
      const date = new Date(day * 86_400_000);
      const expected = [date.getUTCFullYear(), date.getUTCMonth() + 1, date.getUTCDate()];
      const {year, month, dayOfMonth} = dateOf(day);
      assert.deepEqual([year, month, dayOfMonth], expected);
    }),
    {numRuns: 2_000, seed: 30},
  );
});

function archive(ms: number): string {
  const digits = new Date(ms)
    .toISOString()
    .replaceAll(/[-:.Z]/g, '')
    .replace('T', '-');
  return `shop-backup-${digits}.zip`;
}

test('a number keeps the newest', () => {
  const names = [1, 2, 3, 4].map(day => archive(at(`2026-01-0${day}T03:00:00Z`)));
  assert.deepEqual(expired(names, {maxFiles: 2, tiered: undefined}), [names[1], names[0]]);
});

test('four hundred days of hourly archives shrink to what the tiers say', () => {
  const tiered = {hourly: 24, daily: 7, weekly: 4, monthly: 12, yearly: 3};
  const begin = at('2025-01-01T00:30:00Z');
  let kept: string[] = [];
  for (let hour = 0; hour < 400 * 24; hour++) {
    kept.push(archive(begin + hour * 3_600_000));
    const gone = new Set(expired(kept, {maxFiles: undefined, tiered}));
    assert.ok(!gone.has(kept.at(-1) ?? ''));
    kept = kept.filter(name => !gone.has(name));
  }
  assert.ok(kept.length >= 24 + 7 + 3 && kept.length <= 24 + 7 + 4 + 12 + 3, `${kept.length} kept`);
});

test('what has another name is left alone', () => {
  assert.deepEqual(
    expired(['mine.zip', 'shop-backup-x.zip'], {maxFiles: 1, tiered: undefined}),
    [],
  );
});
