/** What the thread of an archive hears of how busy the network thread is. */
import assert from 'node:assert/strict';
import {setTimeout as pause} from 'node:timers/promises';
import {test} from 'node:test';
import {BusyShare, toldBusyShare} from './busy-share.ts';

test('a thread that works is busy, one that waits is not, an ended one tells nothing', async () => {
  // The runtime counts from the first turn of its loop on.
  await pause(1);
  let tick: (() => void) | undefined;
  const told = new BusyShare({
    after: (_, task) => {
      tick = task;
      return () => (tick = undefined);
    },
  });
  assert.equal(toldBusyShare(told.memory), 0);
  const until = performance.now() + 50;
  while (performance.now() < until);
  tick?.();
  assert.ok(toldBusyShare(told.memory) > 0.5, String(toldBusyShare(told.memory)));
  await pause(100);
  tick?.();
  assert.ok(toldBusyShare(told.memory) < 0.5, String(toldBusyShare(told.memory)));
  told.end();
  assert.equal(tick, undefined);
});
