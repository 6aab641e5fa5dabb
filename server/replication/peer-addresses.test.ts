/** Addresses of peers: who is let in when names change what they mean. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {ManualTimers} from '#server/testing/time/manual-timers.ts';
import {PeerAddresses} from './peer-addresses.ts';

const refreshMs = 30_000;
const stickyMs = 300_000;

class Names {
  readonly clock = new ManualTimers();
  readonly table = new Map<string, readonly string[]>();
  lookUps = 0;

  addresses(graceMs = 0): PeerAddresses {
    return new PeerAddresses({
      clock: this.clock,
      refreshMs,
      stickyMs,
      graceMs,
      resolve: async host => {
        this.lookUps++;
        const found = this.table.get(host);
        if (found === undefined) throw new Error(`no ${host}`);
        return found;
      },
    });
  }
}

test('peers and this machine pass, strangers do not', async () => {
  const names = new Names();
  names.table.set('a', ['10.0.0.1', 'fd00::1']).set('b', ['10.0.0.2']);
  const addresses = names.addresses();
  await addresses.setHosts(['a', 'b']);
  for (const address of ['10.0.0.1', '::ffff:10.0.0.2', 'fd00::1', '127.0.0.1', '::1']) {
    assert.equal(await addresses.admit(address), 'allowed', address);
  }
  assert.equal(await addresses.admit('10.0.0.3'), 'refused');
});

test('a peer that moved is found by looking again, at most once a second', async () => {
  const names = new Names();
  names.table.set('a', ['10.0.0.1']);
  const addresses = names.addresses();
  await addresses.setHosts(['a']);
  names.table.set('a', ['10.0.0.9']);
  assert.equal(await addresses.admit('10.0.0.9'), 'refused');
  assert.equal(names.lookUps, 1);
  names.clock.advance(1_000);
  assert.equal(await addresses.admit('10.0.0.9'), 'allowed');
  assert.equal(names.lookUps, 2);
});

test('an address that left the list keeps its right for a while', async () => {
  const names = new Names();
  names.table.set('a', ['10.0.0.1']);
  const addresses = names.addresses();
  await addresses.setHosts(['a']);
  names.table.set('a', ['10.0.0.9']);
  names.clock.advance(refreshMs);
  assert.equal(await addresses.admit('10.0.0.1'), 'allowed');
  names.clock.advance(stickyMs - 1);
  assert.equal(await addresses.admit('10.0.0.1'), 'allowed');
  names.clock.advance(1);
  assert.equal(await addresses.admit('10.0.0.1'), 'refused');
});

test('strangers pass while a start has not seen every peer, for its time only', async () => {
  const names = new Names();
  names.table.set('a', ['10.0.0.1']);
  const addresses = names.addresses(60_000);
  await addresses.setHosts(['a', 'not-yet']);
  assert.equal(await addresses.admit('10.0.0.7'), 'grace');
  names.clock.advance(60_000);
  assert.equal(await addresses.admit('10.0.0.7'), 'refused');
});

test('once the list was complete no stranger passes, though a name fails later', async () => {
  const names = new Names();
  names.table.set('a', ['10.0.0.1']);
  const addresses = names.addresses(60_000);
  await addresses.setHosts(['a']);
  names.table.delete('a');
  names.clock.advance(refreshMs);
  assert.equal(await addresses.admit('10.0.0.7'), 'refused');
  assert.equal(await addresses.admit('10.0.0.1'), 'allowed');
});
