/** The shrinker on worlds that are made to fail. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {type RaftWorldOptions, raftWorldOf, raftWorlds} from './raft/raft-world.ts';
import {failureOf, shrink} from './shrink.ts';
import {storageWorlds, type WorldOptions} from './world.ts';

test('of a plan with 240 faults the two that matter are left', async () => {
  const run = ({without, seconds, faults}: RaftWorldOptions) => {
    const complete = seconds === 60 && faults.includes('pause') && faults.includes('add');
    if (complete && ![31, 77].some(place => without.includes(place))) throw new Error('both');
  };
  const world = {...raftWorlds, run};
  const options = {...raftWorldOf(6), faultsPerSecond: 4};
  const failure = await failureOf(world, options);
  assert.ok(failure !== undefined);
  const shrunk = await shrink(world, options, failure);
  assert.equal(shrunk.failure.message, 'both');
  assert.deepEqual([...shrunk.options.faults].sort(), ['add', 'pause']);
  assert.deepEqual([shrunk.options.voters, shrunk.options.spares], [3, 0]);
  const left = 240 - shrunk.options.without.length;
  assert.ok(left <= 4, `${left} faults are left after ${shrunk.worldsTried} worlds`);
});

test('a world of the storage loses what does not matter to its failure', async () => {
  const run = ({lives, operationsPerClient}: WorldOptions) => {
    if (lives >= 2 && operationsPerClient >= 7) throw new Error('two lives of seven');
  };
  const options: WorldOptions = {
    seed: 1,
    lives: 6,
    clients: 5,
    operationsPerClient: 50,
    endings: ['power-loss', 'kill'],
    syncFailurePercent: 15,
    diskFullPercent: 10,
  };
  const world = {run, smallerThan: storageWorlds.smallerThan};
  const {options: left} = await shrink(world, options, new Error('two lives of seven'));
  assert.deepEqual([left.lives, left.clients, left.operationsPerClient], [2, 1, 7]);
  assert.deepEqual([left.endings.length, left.syncFailurePercent, left.diskFullPercent], [1, 0, 0]);
});
