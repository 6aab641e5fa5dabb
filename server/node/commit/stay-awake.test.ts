/** For how long, and how often, the network thread looks for what comes next. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {StayAwake} from './stay-awake.ts';

/** Turns of an event loop of 10 us each. */
class Given {
  now = 0;
  #next: (() => void) | undefined;
  readonly awake = new StayAwake(
    {now: () => this.now, monotonic: () => this.now},
    look => (this.#next = look),
  );

  /** Behind a commit: how often it looked for a request that comes so much later. */
  looksFor(comesAfterMs: number): number {
    const comes = Math.round((this.now + comesAfterMs) * 100) / 100;
    let looks = 0;
    this.awake.waitFor(() => {
      looks += 1;
      return this.now >= comes;
    });
    for (let next = this.#next; next !== undefined; next = this.#next) {
      this.#next = undefined;
      this.now = Math.round(this.now * 100 + 1) / 100;
      next();
    }
    return looks;
  }
}

test('it looks until the next request is there, behind every commit', () => {
  const given = new Given();
  for (let commit = 0; commit < 100; commit++) assert.equal(given.looksFor(0.05), 5);
});

test('it goes to sleep when nothing comes for a while, and looks less and less often', () => {
  const given = new Given();
  const looks = Array.from({length: 10_000}, () => given.looksFor(1));
  assert.ok(Math.max(...looks) <= 21, 'for a fifth of a millisecond');
  assert.deepEqual(
    looks.slice(0, 9).map(count => count > 0),
    [true, false, true, false, false, false, true, false, false],
  );
  assert.ok(looks.filter(count => count > 0).length < 25);
});

test('once a request comes soon it looks behind every commit again', () => {
  const given = new Given();
  for (let commit = 0; commit < 20; commit++) given.looksFor(1);
  const looks = Array.from({length: 200}, () => given.looksFor(0.05));
  assert.ok(looks.slice(-100).every(count => count === 5));
});
