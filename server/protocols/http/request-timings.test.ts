/** How requests are told apart, and how many series there may be. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {RequestTimings} from './request-timings.ts';

const request = {method: 'GET', path: '/api/v1/server', status: 200, database: ''};

test('nobody makes series up: names of no database are left out, and there is a bound', () => {
  const timings = new RequestTimings(
    () => 0,
    name => name.startsWith('d'),
  );
  const count = () => {
    const series = timings.figures().svc_http_requests_seconds;
    return Array.isArray(series) ? series.length : -1;
  };
  assert.equal(count(), 0);
  for (let at = 0; at < 50; at++) timings.of({...request, status: 404, database: `d${at}`}).add(1);
  assert.equal(count(), 1);
  // Some routes succeed whatever database they are asked of.
  for (let at = 0; at < 50; at++) timings.of({...request, database: `made up ${at}`}).add(1);
  assert.equal(count(), 2);
  for (let at = 0; at < 3_000; at++) timings.of({...request, database: `d${at}`}).add(1);
  assert.ok(count() <= 1_001, String(count()));
  assert.equal(timings.of({...request, database: 'd1'}), timings.of({...request, database: 'd1'}));
});
