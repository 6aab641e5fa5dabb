/** Who shares a snapshot, and when one is given back. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {ManualTimers} from '#server/testing/time/manual-timers.ts';
import type {StoreSnapshot} from '#server/storage/store.ts';
import {SnapshotPool} from './snapshot-pool.ts';

/** Views that know whether they are open. */
class Given {
  appliedIndex = 1;
  readonly timers = new ManualTimers();
  readonly opened: {isOpen: boolean}[] = [];
  readonly snapshots = new SnapshotPool(() => this.appliedIndex, this.timers);

  take(): StoreSnapshot {
    return this.snapshots.take(() => {
      const snapshot = {isOpen: true, release: () => this.#release(snapshot)};
      this.opened.push(snapshot);
      return snapshot as unknown as StoreSnapshot;
    });
  }

  get open(): readonly boolean[] {
    return this.opened.map(({isOpen}) => isOpen);
  }

  #release(snapshot: {isOpen: boolean}): void {
    assert.ok(snapshot.isOpen, 'released once');
    snapshot.isOpen = false;
  }
}

test('those that begin while nothing more is applied share a snapshot', () => {
  const given = new Given();
  const first = given.take();
  assert.equal(given.take(), first);
  given.snapshots.leave(first);
  given.snapshots.leave(first);
  assert.equal(given.take(), first);
  assert.deepEqual(given.open, [true]);
});

test('behind an acknowledged entry there is another snapshot; users keep the old one', () => {
  const given = new Given();
  const old = given.take();
  assert.equal(given.take(), old);
  given.appliedIndex = 2;
  const next = given.take();
  assert.notEqual(next, old);
  given.snapshots.leave(old);
  assert.deepEqual(given.open, [true, true]);
  given.snapshots.leave(old);
  assert.deepEqual(given.open, [false, true]);
});

test('one without users is not kept when something is applied, and one with users is', () => {
  const given = new Given();
  given.snapshots.leave(given.take());
  given.snapshots.drop();
  assert.deepEqual(given.open, [false]);
  const used = given.take();
  given.snapshots.drop();
  assert.deepEqual(given.open, [false, true]);
  assert.notEqual(given.take(), used);
  given.snapshots.leave(used);
  assert.deepEqual(given.open, [false, false, true]);
});

test('within a second the newest one goes, whoever uses it', () => {
  const given = new Given();
  given.timers.advance(10_000);
  given.snapshots.leave(given.take());
  given.timers.advance(900);
  const used = given.take();
  assert.deepEqual(given.open, [true]);
  given.timers.advance(100);
  assert.notEqual(given.take(), used);
  given.snapshots.leave(used);
  assert.deepEqual(given.open, [false, true]);
  given.timers.advance(10_000);
  assert.deepEqual(given.open, [false, true]);
});
