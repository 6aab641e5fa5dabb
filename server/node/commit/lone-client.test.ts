/** Who counts as a client that is alone. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {setTimeout as pause} from 'node:timers/promises';
import {LoneClient} from './lone-client.ts';

/** A client that comes when the last answer is out; the loop waits for it. */
async function come(client: LoneClient, isIdle: boolean): Promise<boolean> {
  await pause(1);
  const isAlone = client.comes(isIdle);
  if (isAlone) client.served();
  return isAlone;
}

test('one that comes again and again while nothing else is there is alone', async () => {
  const client = new LoneClient();
  await come(client, true);
  await come(client, false);
  const seen: boolean[] = [];
  for (let number = 0; number < 24; number++) seen.push(await come(client, true));
  assert.deepEqual(seen, [...Array(16).fill(false), ...Array(8).fill(true)]);
});

test('with something under way it begins to count anew', async () => {
  const client = new LoneClient();
  for (let number = 0; number < 20; number++) await come(client, true);
  assert.ok(!(await come(client, false)));
  for (let number = 0; number < 16; number++) assert.ok(!(await come(client, true)));
  assert.ok(await come(client, true));
});

test('one that waited while another was served is not alone', async () => {
  const client = new LoneClient();
  for (let number = 0; number < 20; number++) await come(client, true);
  assert.ok(!client.comes(true), 'the loop did not wait for it');
});
