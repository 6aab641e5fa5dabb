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
  };
  const {crashPoints, byKind} = await enumerate(history, [11, 12]);
  const kinds = ['write', 'sync', 'rename', 'truncate', 'unlink', 'sync-directory', 'store-write'];
  for (const kind of kinds) assert.ok(byKind.get(kind), `the history has a ${kind}`);
  t.diagnostic(`${crashPoints} crash points: ${list(byKind)}`);
});

test('every operation of a migration to a new format is one, too', async t => {
  // A release with a new level starts, raises it, and rewrites rows beside its clients.
  const history: WorldOptions = {
    seed: 5,
    lives: 2,
    raisedInLife: 1,
    clients: 2,
    operationsPerClient: 25,
    endings: ['power-loss'],
    syncFailurePercent: 0,
    diskFullPercent: 0,
    segmentBytes: 4 << 10,
  };
  const {crashPoints, byKind} = await enumerate(history, [11]);
  t.diagnostic(`${crashPoints} crash points: ${list(byKind)}`);
});

test('a disk that fills up costs refusals, and the server goes on when it has room', async t => {
  let recovered = 0;
  for (let seed = 1095; seed <= 1110; seed++) {
    const world = new World({...storage, seed, lives: 3, diskFullPercent: 100});
    const {faults} = await world.run();
    recovered += faults.get('disk full recovered') ?? 0;
  }
  assert.ok(recovered > 10, `${recovered} lives saw a disk fill up and get room again`);
  t.diagnostic(`${recovered} lives saw a disk fill up and get room again`);
});

test('worlds whose format is raised in one of their lives hold', async () => {
  for (let seed = 1; seed <= 30; seed++) {
    const failure = await failureOf(storageWorlds, {
      ...storage,
      seed,
      raisedInLife: 1 + (seed % 4),
    });
    assert.equal(failure, undefined, `seed ${seed}: ${failure?.stack}`);
  }
});

interface Enumerated {
  readonly crashPoints: number;
  readonly byKind: ReadonlyMap<string, number>;
}

/** Lives the history once without a crash, then with one at each of its operations. */
async function enumerate(history: WorldOptions, fates: readonly number[]): Promise<Enumerated> {
  const world = new World({...history, crashAt: Number.POSITIVE_INFINITY});
  const {operations, operationsByKind} = await world.run();
  for (let crashAt = 1; crashAt <= operations; crashAt++) {
    for (const crashSeed of fates) {
      const failure = await failureOf(storageWorlds, {...history, crashAt, crashSeed});
      assert.equal(failure, undefined, `crash at ${crashAt}, fate ${crashSeed}: ${failure?.stack}`);
    }
  }
  return {crashPoints: operations, byKind: operationsByKind};
}

function list(byKind: ReadonlyMap<string, number>): string {
  return [...byKind].map(([kind, count]) => `${kind} ${count}`).join(', ');
}
