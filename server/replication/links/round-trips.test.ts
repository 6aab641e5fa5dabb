/** What is told of the answers to pings. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {RoundTrips} from './round-trips.ts';

test('the middle one and the slowest but one of a hundred', () => {
  const trips = new RoundTrips();
  assert.equal(trips.figures, undefined);
  for (let ms = 1; ms <= 150; ms++) {
    trips.asked(1_000 * ms);
    trips.answered(1_000 * ms + ms);
  }
  assert.deepEqual(trips.figures, {medianMs: 100, p99Ms: 149}, 'the last hundred are 51 to 150');
});

test('a question counts from its beginning, and not over a connection that is gone', () => {
  const trips = new RoundTrips();
  trips.asked(10);
  trips.asked(20);
  trips.answered(25);
  trips.answered(90);
  trips.asked(100);
  trips.interrupted();
  trips.answered(190);
  assert.deepEqual(trips.figures, {medianMs: 15, p99Ms: 15});
});
