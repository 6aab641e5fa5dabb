/** Who counts as a client that is alone. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {LoneClient} from './lone-client.ts';

/** An event loop, and clients that come when it has waited for them. */
class Given {
  idleMs = 0;
  readonly client = new LoneClient(() => this.idleMs);

  come(isIdle: boolean): boolean {
    this.idleMs += 1;
    return this.comeAtOnce(isIdle);
  }

  comeAtOnce(isIdle: boolean): boolean {
    const isAlone = this.client.comes(isIdle);
    if (isAlone) this.client.served();
    return isAlone;
  }
}

test('one that comes again and again while nothing else is there is alone', () => {
  const given = new Given();
  const seen = Array.from({length: 24}, () => given.come(true));
  assert.deepEqual(seen, [...Array(16).fill(false), ...Array(8).fill(true)]);
});

test('with something under way it begins to count anew', () => {
  const given = new Given();
  for (let number = 0; number < 20; number++) given.come(true);
  assert.ok(!given.come(false));
  for (let number = 0; number < 16; number++) assert.ok(!given.come(true));
  assert.ok(given.come(true));
});

test('one that waited while another was served is not alone', () => {
  const given = new Given();
  for (let number = 0; number < 20; number++) given.come(true);
  assert.ok(!given.comeAtOnce(true), 'the loop did not wait for it');
});

test('the event loop of this process tells when it has waited', async () => {
  const client = new LoneClient();
  for (let isAlone = false; !isAlone; isAlone = client.comes(true)) {
    await new Promise(resolve => setTimeout(resolve, 2));
  }
  client.served();
  assert.ok(!client.comes(true));
});
