/** Who shares a view, and when one is given back. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {ManualTimers} from '#server/testing/time/manual-timers.ts';
import type {View} from '#server/storage/store.ts';
import {SharedViews} from './snapshot-pool.ts';

/** Views that know whether they are open. */
class Given {
  appliedIndex = 1;
  readonly timers = new ManualTimers();
  readonly opened: {isOpen: boolean}[] = [];
  readonly views = new SharedViews(() => this.appliedIndex, this.timers);

  take(): View {
    return this.views.take(() => {
      const view = {isOpen: true, release: () => this.#release(view)};
      this.opened.push(view);
      return view as unknown as View;
    });
  }

  get open(): readonly boolean[] {
    return this.opened.map(({isOpen}) => isOpen);
  }

  #release(view: {isOpen: boolean}): void {
    assert.ok(view.isOpen, 'released once');
    view.isOpen = false;
  }
}

test('those that begin while nothing more is applied share a view', () => {
  const given = new Given();
  const first = given.take();
  assert.equal(given.take(), first);
  given.views.leave(first);
  given.views.leave(first);
  assert.equal(given.take(), first);
  assert.deepEqual(given.open, [true]);
});

test('behind an entry that was told there is another view; the old one goes with its users', () => {
  const given = new Given();
  const old = given.take();
  assert.equal(given.take(), old);
  given.appliedIndex = 2;
  const next = given.take();
  assert.notEqual(next, old);
  given.views.leave(old);
  assert.deepEqual(given.open, [true, true]);
  given.views.leave(old);
  assert.deepEqual(given.open, [false, true]);
});

test('one without users is not kept when something is applied, and one with users is', () => {
  const given = new Given();
  given.views.leave(given.take());
  given.views.drop();
  assert.deepEqual(given.open, [false]);
  const used = given.take();
  given.views.drop();
  assert.deepEqual(given.open, [false, true]);
  assert.notEqual(given.take(), used);
  given.views.leave(used);
  assert.deepEqual(given.open, [false, false, true]);
});

test('within a second the newest one goes, whoever uses it', () => {
  const given = new Given();
  given.timers.advance(10_000);
  given.views.leave(given.take());
  given.timers.advance(900);
  const used = given.take();
  assert.deepEqual(given.open, [true]);
  given.timers.advance(100);
  assert.notEqual(given.take(), used);
  given.views.leave(used);
  assert.deepEqual(given.open, [false, true]);
  given.timers.advance(10_000);
  assert.deepEqual(given.open, [false, true]);
});
