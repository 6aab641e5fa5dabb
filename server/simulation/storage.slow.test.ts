/**
 * The commit path under faults: a bounded number of seeds, every crash point of one history, and
 * the same trace for the same seed. Holds invariants T1, T6, T9 and V1.
 */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {eachCrashPoint, storageHistories} from './crash-points.ts';
import {failureOf} from './shrink.ts';
import {storageWorlds, World, type WorldOptions, type WorldReport} from './world.ts';

const storage: Omit<WorldOptions, 'seed'> = {
  lives: 5,
  clients: 4,
  operationsPerClient: 40,
  endings: ['power-loss', 'kill', 'clean-stop'],
  syncFailurePercent: 15,
  diskFullPercent: 10,
};

test('eighteen worlds hold, each repeated by: make simulate PROFILE=storage SEED=n', async () => {
  for (let seed = 1; seed <= 18; seed++) {
    const failure = await failureOf(storageWorlds, {...storage, seed});
    assert.equal(failure, undefined, `seed ${seed}: ${failure?.stack}`);
  }
});

test('worlds of one client hold, whose entries the network thread writes to the log', async () => {
  for (let seed = 1; seed <= 12; seed++) {
    const failure = await failureOf(storageWorlds, {...storage, seed, clients: 1});
    assert.equal(failure, undefined, `seed ${seed}: ${failure?.stack}`);
  }
});

test('the same seed gives the same trace, another one gives another', async () => {
  const hash = async (seed: number) => (await new World({...storage, seed}).run()).traceHash;
  assert.equal(await hash(7), await hash(7));
  assert.notEqual(await hash(7), await hash(8));
});

test('every operation of a server under load is a crash point that loses nothing', async t => {
  const {crashPoints, byKind} = await takeCrashPoints('under load', 3);
  const kinds = ['write', 'sync', 'rename', 'truncate', 'unlink', 'sync-directory', 'store-write'];
  for (const kind of kinds) assert.ok(byKind.get(kind), `the history has a ${kind}`);
  t.diagnostic(`${crashPoints} crash points: ${list(byKind)}`);
});

test('every operation of a migration to a new format is one, too', async t => {
  const {crashPoints, byKind} = await takeCrashPoints('migration', 5);
  t.diagnostic(`${crashPoints} crash points: ${list(byKind)}`);
});

test('every operation is one where values lie beside records, too', async t => {
  const {crashPoints, byKind, besideSeen} = await takeCrashPoints('compressed values', 4);
  assert.ok(besideSeen > crashPoints, `${besideSeen} values lay beside records after the crashes`);
  t.diagnostic(`${crashPoints} crash points: ${list(byKind)}; ${besideSeen} values beside records`);
});

test('every operation is one where the disk fills up, too', async t => {
  // At point 159 the power goes in a timer: an applier that waited for room goes on.
  const {crashPoints, byKind} = await takeCrashPoints('full disk', 1);
  assert.ok(crashPoints > 159);
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

test('a clock that jumps by an hour lets no request happen twice', async () => {
  let jumps = 0;
  for (let seed = 1; seed <= 18; seed++) {
    const {faults} = await new World({...storage, seed, clockJumpPercent: 100}).run();
    jumps += faults.get('clock jumped') ?? 0;
  }
  assert.ok(jumps > 18, `the clock jumped ${jumps} times`);
});

test('worlds in which records with compressed values are written hold', async () => {
  for (let seed = 1; seed <= 6; seed++) {
    const failure = await failureOf(storageWorlds, {...storage, seed, foldedClients: 2});
    assert.equal(failure, undefined, `seed ${seed}: ${failure?.stack}`);
  }
});

test('worlds whose format is raised in one of their lives hold', async () => {
  for (let seed = 1; seed <= 18; seed++) {
    const failure = await failureOf(storageWorlds, {
      ...storage,
      seed,
      raisedInLife: 1 + (seed % 4),
    });
    assert.equal(failure, undefined, `seed ${seed}: ${failure?.stack}`);
  }
});

interface Taken {
  readonly crashPoints: number;
  readonly byKind: ReadonlyMap<string, number>;
  readonly besideSeen: number;
}

async function takeCrashPoints(name: string, seed: number): Promise<Taken> {
  const history = storageHistories[name];
  assert.ok(history !== undefined);
  let whole: WorldReport | undefined;
  let besideSeen = 0;
  for await (const report of eachCrashPoint({...history, seed}, [11])) {
    whole ??= report;
    besideSeen += report.besideSeen;
  }
  assert.ok(whole !== undefined);
  return {crashPoints: whole.operations, byKind: whole.operationsByKind, besideSeen};
}

function list(byKind: ReadonlyMap<string, number>): string {
  return [...byKind].map(([kind, count]) => `${kind} ${count}`).join(', ');
}
