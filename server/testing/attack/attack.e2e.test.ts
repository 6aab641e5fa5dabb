/** A few seconds of the attack: root is answered all the while, and the server stays. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {runAttack} from './attack.ts';
import {doors} from './doors.ts';

test('a user without rights, all doors at once, takes nothing from root', async () => {
  const {probes, refusals, memoryBytes, hasEnded, met} = await runAttack(4);
  assert.ok(probes > 0);
  assert.deepEqual(refusals, []);
  assert.equal(hasEnded, false);
  assert.ok(memoryBytes < 2 * 2 ** 30, `${memoryBytes} bytes`);
  assert.deepEqual(Object.keys(met), Object.keys(doors));
});
