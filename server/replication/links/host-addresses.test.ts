/** Names of peers: remembered while they are right, asked again when they may not be. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {ManualTimers} from '#server/testing/time/manual-timers.ts';
import {HostAddresses} from './host-addresses.ts';

test('an answer is remembered for a while, a failure never', async () => {
  const clock = new ManualTimers();
  const table = new Map([['a', ['10.0.0.1']]]);
  let asked = 0;
  const hosts = new HostAddresses(clock, async host => {
    asked++;
    return table.get(host) ?? [];
  });
  assert.deepEqual(await hosts.resolve('a'), ['10.0.0.1']);
  table.set('a', ['10.0.0.2']);
  clock.advance(29_999);
  assert.deepEqual(await hosts.resolve('a'), ['10.0.0.1']);
  clock.advance(1);
  assert.deepEqual(await hosts.resolve('a'), ['10.0.0.2']);
  hosts.forget('a');
  await hosts.resolve('a');
  assert.equal(asked, 3);
  for (let times = 0; times < 2; times++) {
    await assert.rejects(hosts.resolve('b'), /b has no address/);
  }
  assert.equal(asked, 5);
});
