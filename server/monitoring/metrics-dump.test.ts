/** When metrics are written into the log, and what a line tells. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {resolveSettings} from '#server/base/setting-values.ts';
import {ManualTimers} from '#server/testing/time/manual-timers.ts';
import {DurationHistogram} from './duration-histogram.ts';
import {MetricsDump} from './metrics-dump.ts';

function world() {
  const timers = new ManualTimers();
  const lines: unknown[] = [];
  const histogram = new DurationHistogram();
  histogram.add(500);
  histogram.add(1_500);
  const dump = new MetricsDump({
    timers,
    logger: {log: (_level, _event, fields) => void lines.push(fields?.['metrics'])},
    figures: () => ({
      svc_ha_term: 3,
      svc_events_total: [
        {labels: ['info'], value: 2},
        {labels: ['warning'], value: 5},
      ],
      svc_http_requests_seconds: [{labels: ['GET', '/', '200', ''], value: histogram}],
      svc_http_requests_seconds_max: [{labels: ['GET', '/', '200', ''], value: 1.5}],
    }),
  });
  const follow = (values: Readonly<Record<string, string>>): void =>
    dump.follow(resolveSettings([{name: 'test', values}]).settings);
  return {timers, lines, dump, follow};
}

test('no line is written unless somebody wants one', () => {
  const {timers, lines, dump, follow} = world();
  follow({});
  timers.advance(3_600_000);
  dump.end();
  assert.deepEqual(lines, []);
});

test('a line every so many seconds, at the end too, until it is switched off', () => {
  const {timers, lines, dump, follow} = world();
  follow({'svc.dumpMetricsEvery': '10'});
  timers.advance(35_000);
  assert.equal(lines.length, 3);
  assert.deepEqual(lines[0], {
    svc_ha_term: 3,
    svc_events_total: 7,
    svc_http_requests_seconds_count: 2,
    svc_http_requests_seconds_sum: 2,
  });
  follow({'svc.dumpMetricsEvery': '10', 'svc.serverMetrics': 'false'});
  timers.advance(60_000);
  assert.equal(lines.length, 3);
  follow({'svc.serverMetrics.logging': 'true'});
  timers.advance(60_000);
  dump.end();
  timers.advance(600_000);
  assert.equal(lines.length, 5);
});
