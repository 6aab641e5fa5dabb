/**
 * The commit path under faults: a bounded number of seeds, every crash point of one history, the
 * same trace for the same seed, and the shrinker on a world that is made to fail.
 */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {failureOf} from './shrink.ts';
import {storageWorlds, World, type WorldOptions} from './world.ts';

const storage: Omit<WorldOptions, 'seed'> = {
  lives: 5,
  clients: 4,
  operationsPerClient: 40,
  endings: ['power-loss', 'kill', 'clean-stop'],
  syncFailurePercent: 15,
  diskFullPercent: 10,
};

test('thirty worlds hold, each repeated by: make simulate PROFILE=storage SEED=n', async () => {
  for (let seed = 1; seed <= 30; seed++) {
    const failure = await failureOf(storageWorlds, {...storage, seed});
    assert.equal(failure, undefined, `seed ${seed}: ${failure?.stack}`);
  }
});

test('the same seed gives the same trace, another one gives another', async () => {
  const hash = async (seed: number) => (await new World({...storage, seed}).run()).traceHash;
  assert.equal(await hash(7), await hash(7));
  assert.notEqual(await hash(7), await hash(8));
});

test('every operation of one history is a crash point that loses nothing', async t => {
  // One life of clients over several segments, its start and its databases included; then the
  // power goes at each operation in turn, with two different fates of what was pending.
  const history: WorldOptions = {
    seed: 3,
    lives: 1,
    clients: 3,
    operationsPerClient: 30,
    endings: ['power-loss'],
    syncFailurePercent: 0,
    diskFullPercent: 0,
    segmentBytes: 4 << 10,
    crashAt: Number.POSITIVE_INFINITY,
  };
  const world = new World(history);
  await world.run();
  const {operations, operationsByKind} = world.report;
  const byKind = [...operationsByKind].map(([kind, count]) => `${kind} ${count}`).join(', ');
  const kinds = ['write', 'sync', 'rename', 'truncate', 'unlink', 'sync-directory', 'store-write'];
  for (const kind of kinds) {
    assert.ok((operationsByKind.get(kind) ?? 0) > 0, `the history has a ${kind}`);
  }
  let worlds = 0;
  for (let crashAt = 1; crashAt <= operations; crashAt++) {
    for (const crashSeed of [11, 12]) {
      const failure = await failureOf(storageWorlds, {...history, crashAt, crashSeed});
      assert.equal(failure, undefined, `crash at ${crashAt}, fate ${crashSeed}: ${failure?.stack}`);
      worlds++;
    }
  }
  t.diagnostic(`${operations} crash points (${byKind}), ${worlds} worlds`);
});
