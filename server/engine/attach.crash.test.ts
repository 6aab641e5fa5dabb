/**
 * A restored database takes the place of another one as a whole: the power goes at every operation
 * of the attachment and the renaming, and a start finds the old database or the new one, and
 * nothing that hinders another try.
 */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {Machine, SimulatedCrash} from '#server/simulation/machine.ts';
import {createSeededRandom} from '#server/simulation/seeded-random.ts';
import {SimulatedDisk} from '#server/simulation/simulated-disk.ts';
import {openSimulatedEngine} from '#server/simulation/simulated-engine.ts';
import {SimulatedStores} from '#server/simulation/simulated-stores.ts';
import {createClock, createTimers} from '#server/platform/real/clock.ts';
import type {Engine} from './engine.ts';

const hidden = '.restoring-1';
const key = Buffer.from('content');

class Server {
  readonly machine = new Machine();
  readonly disk = new SimulatedDisk(this.machine);
  readonly stores = new SimulatedStores(this.machine, this.disk);
  #died = Promise.withResolvers<'died'>();

  open(): Promise<Engine> {
    return openSimulatedEngine({
      disk: this.disk,
      stores: this.stores,
      clock: createClock(),
      timers: createTimers(),
      random: createSeededRandom(1),
      schedule: task => this.#schedule(task),
    });
  }

  /** Whether it lived to the end. */
  async lives(work: Promise<unknown>): Promise<boolean> {
    const crashed = work.then(
      () => 'done',
      (error: unknown) => {
        if (this.machine.dead || error instanceof SimulatedCrash) return 'died';
        throw error;
      },
    );
    return (await Promise.race([crashed, this.#died.promise])) === 'done';
  }

  powerLoss(seed: number): void {
    this.machine.dead = true;
    const random = createSeededRandom(seed);
    this.disk.crash(random);
    this.stores.crash(random);
    this.machine.boot();
    this.#died = Promise.withResolvers<'died'>();
  }

  #schedule(task: () => void): void {
    setImmediate(() => {
      try {
        task();
      } catch (error) {
        if (!(error instanceof SimulatedCrash)) throw error;
        this.#died.resolve('died');
      }
      if (this.machine.dead) this.#died.resolve('died');
    });
  }
}

async function put(engine: Engine, name: string, value: string): Promise<void> {
  const transaction = engine.database(name)?.begin('READ_COMMITTED');
  transaction?.put(key, Buffer.from(value));
  assert.equal((await transaction?.commit())?.kind, 'committed');
}

function contentOf(engine: Engine, name: string): string | undefined {
  const session = engine.database(name)?.read();
  const content = session?.get(key)?.toString();
  session?.close();
  return content;
}

async function prepared(replaces: boolean): Promise<{server: Server; engine: Engine}> {
  const server = new Server();
  server.disk.makeDirectory('/data');
  const engine = await server.open();
  if (replaces) {
    await engine.createDatabase('db');
    await put(engine, 'db', 'old');
  }
  await engine.createDatabase('source');
  await put(engine, 'source', 'new');
  await engine.copyDatabase('source', `/data/databases/${hidden}`);
  return {server, engine};
}

async function restore(engine: Engine, replaces: boolean): Promise<void> {
  await engine.attachDatabase(hidden);
  await engine.renameDatabase(hidden, 'db', replaces);
}

for (const replaces of [true, false]) {
  test(`a restored database, ${replaces ? 'in the place of another' : 'new'}`, async t => {
    const seen = new Map<string | undefined, number>();
    let points = 0;
    for (let crashAt = 1; ; crashAt++) {
      const {server, engine} = await prepared(replaces);
      server.machine.crashAt = server.machine.operationCount + crashAt;
      if (await server.lives(restore(engine, replaces))) {
        assert.equal(contentOf(engine, 'db'), 'new');
        assert.deepEqual(engine.databases(), ['db', 'source']);
        break;
      }
      points++;
      server.powerLoss(crashAt);
      const again = await server.open();
      const found = again.databases().includes('db') ? contentOf(again, 'db') : undefined;
      assert.ok(found === 'new' || found === (replaces ? 'old' : undefined), `${found}`);
      seen.set(found, (seen.get(found) ?? 0) + 1);
      assert.equal(contentOf(again, 'source'), 'new');
      // What a server does with what it finds, and then the same restore again.
      for (const name of again.hiddenDatabases()) await again.dropDatabase(name);
      server.stores.remove(`/data/databases/${hidden}`);
      await again.copyDatabase('source', `/data/databases/${hidden}`);
      await restore(again, true);
      assert.equal(contentOf(again, 'db'), 'new');
      await put(again, 'db', 'newer');
      await again.close();
      const last = await server.open();
      assert.equal(contentOf(last, 'db'), 'newer');
      assert.deepEqual(last.databases(), ['db', 'source']);
      assert.deepEqual(server.stores.list('/data/databases'), ['db', 'source']);
      await last.close();
    }
    assert.ok(seen.size === 2, 'crashes fall on both sides');
    t.diagnostic(`${points} crash points`);
  });
}

test('a name that is taken is not replaced unasked, and the hidden one stays', async () => {
  const {engine} = await prepared(true);
  await engine.attachDatabase(hidden);
  assert.deepEqual(engine.hiddenDatabases(), [hidden]);
  assert.deepEqual(engine.databases(), ['db', 'source']);
  await assert.rejects(engine.renameDatabase(hidden, 'db', false), {code: 'database.exists'});
  assert.equal(contentOf(engine, 'db'), 'old');
  assert.deepEqual(engine.hiddenDatabases(), [hidden]);
  await engine.renameDatabase(hidden, 'other', false);
  assert.equal(contentOf(engine, 'other'), 'new');
  await engine.close();
});

test('readers of the database that goes are waited for', async () => {
  const {engine} = await prepared(true);
  const session = engine.database('db')?.read();
  session?.get(key);
  await engine.attachDatabase(hidden);
  let isDone = false;
  const renaming = engine.renameDatabase(hidden, 'db', true).then(() => {
    isDone = true;
  });
  for (let turn = 0; turn < 20; turn++) await new Promise(resolve => setImmediate(resolve));
  assert.equal(isDone, false);
  session?.close();
  await renaming;
  assert.equal(contentOf(engine, 'db'), 'new');
  await engine.close();
});
