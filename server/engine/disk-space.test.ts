/** No commit on a disk that is nearly full. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {Machine} from '#server/simulation/machine.ts';
import {SimulatedDisk} from '#server/simulation/simulated-disk.ts';
import {DiskSpace} from './disk-space.ts';

test('too little room refuses commits until there is more', () => {
  const disk = new SimulatedDisk(new Machine());
  let now = 0;
  const clock = {now: () => now, monotonic: () => now};
  const space = new DiskSpace(disk, clock, {paths: ['/data', '/log'], reserveBytes: 1000});
  assert.equal(space.obstacle(1), undefined);
  disk.freeBytesLeft = 999;
  now = 1500;
  assert.equal(space.obstacle(1)?.code, 'disk-full');
  disk.freeBytesLeft = 5000;
  assert.equal(space.obstacle(1)?.code, 'disk-full', 'looked at once a second');
  now = 3000;
  assert.equal(space.obstacle(1), undefined);
  disk.freeBytesLeft = 999;
  assert.equal(space.obstacle(100), undefined, 'a second has not passed');
  assert.equal(space.obstacle(100)?.code, 'disk-full', 'but an eighth of the reserve has');
});
