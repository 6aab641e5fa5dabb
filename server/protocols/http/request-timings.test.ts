/** Durations in buckets, as Prometheus reads them, and how many series there may be. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {RequestTimings} from './request-timings.ts';

const request = {method: 'GET', path: '/api/v1/server', status: 200, database: ''};

test('a bucket holds what is at most its bound, those of the buckets before it too', () => {
  const timings = new RequestTimings(() => 0);
  for (const ms of [0.05, 0.1, 3, 250, 60_000]) timings.of(request).add(ms);
  const labels = 'method="GET",path="/api/v1/server",status="200",db=""';
  const lines = timings.text().split('\n');
  const bucket = (le: string, count: number) =>
    `svc_http_requests_seconds_bucket{${labels},le="${le}"} ${count}`;
  for (const line of [
    bucket('0.0001', 2),
    bucket('0.0025', 2),
    bucket('0.005', 3),
    bucket('0.1', 3),
    bucket('0.25', 4),
    bucket('10', 4),
    bucket('+Inf', 5),
    `svc_http_requests_seconds_sum{${labels}} 60.25315`,
    `svc_http_requests_seconds_count{${labels}} 5`,
    `svc_http_requests_seconds_max{${labels}} 60`,
  ]) {
    assert.ok(lines.includes(line), line);
  }
});

test('nobody makes series up: names of refused requests are left out, and there is a bound', () => {
  const timings = new RequestTimings(() => 0);
  const count = () => timings.text().match(/^svc_http_requests_seconds_count/gm)?.length ?? 0;
  assert.equal(timings.text(), '');
  for (let at = 0; at < 50; at++) timings.of({...request, status: 404, database: `d${at}`}).add(1);
  assert.equal(count(), 1);
  for (let at = 0; at < 3_000; at++) timings.of({...request, database: `d${at}`}).add(1);
  assert.ok(count() <= 1_001, String(count()));
  assert.equal(timings.of({...request, database: 'd1'}), timings.of({...request, database: 'd1'}));
});
