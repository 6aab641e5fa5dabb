/**
 * A restored database takes the place of another one as a whole: the power goes at every operation
 * of the attachment and the renaming, and a start finds the old database or the new one, and
 * nothing that hinders another try.
 */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {Machine, SimulatedCrash} from '#server/simulation/machine.ts';
import {Scheduler} from '#server/simulation/scheduler.ts';
import {createSeededRandom} from '#server/simulation/seeded-random.ts';
import {SimulatedDisk} from '#server/simulation/simulated-disk.ts';
import {openSimulatedEngine} from '#server/simulation/simulated-engine.ts';
import {SimulatedStores} from '#server/simulation/simulated-stores.ts';
import type {Engine} from './engine.ts';

const hidden = '.restoring-1';
const key = Buffer.from('content');

class Server {
  readonly machine = new Machine();
  readonly disk = new SimulatedDisk(this.machine);
  readonly stores = new SimulatedStores(this.machine, this.disk);
  readonly #random = createSeededRandom(1);
  readonly #scheduler = new Scheduler(this.#random, this.machine);

  open(): Promise<Engine> {
    const scheduler = this.#scheduler;
    return openSimulatedEngine({
      disk: this.disk,
      stores: this.stores,
      clock: scheduler.clock,
      timers: scheduler.timers,
      random: this.#random,
      schedule: task => scheduler.after(0, 'pipe', task),
    });
  }

  /** Lets the tasks of the server run until `work` is done. @throws What it throws, or a task. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    let isDone = false;
    const done = work().finally(() => {
      isDone = true;
    });
    // Where a task throws first, nobody awaits it.
    done.catch(() => undefined);
    await this.#scheduler.run(() => isDone);
    if (!isDone) throw new SimulatedCrash('no task is left');
    return await done;
  }

  /** Whether it lived to the end of `work`. */
  async lives(work: () => Promise<void>): Promise<boolean> {
    try {
      await this.run(work);
      return true;
    } catch (error) {
      if (this.machine.dead) return false;
      throw error;
    }
  }

  /** Simulated time in which it does what it has to. */
  async goOn(milliseconds: number): Promise<void> {
    await this.run(() => this.#scheduler.sleep(milliseconds));
  }

  powerLoss(seed: number): void {
    this.machine.dead = true;
    this.#scheduler.clear();
    const random = createSeededRandom(seed);
    this.disk.crash(random);
    this.stores.crash(random);
    this.machine.boot();
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
  const engine = await server.run(async () => {
    const opened = await server.open();
    if (replaces) {
      await opened.createDatabase('db');
      await put(opened, 'db', 'old');
    }
    await opened.createDatabase('source');
    await put(opened, 'source', 'new');
    await opened.copyDatabase('source', `/data/databases/${hidden}`);
    return opened;
  });
  return {server, engine};
}

async function restore(engine: Engine, replaces: boolean): Promise<void> {
  await engine.attachDatabase(hidden);
  await engine.renameDatabase(hidden, 'db', replaces);
}

/** What a server does with what it finds, and then the same restore again: what it found first. */
async function startAgain(server: Server): Promise<string | undefined> {
  const again = await server.open();
  const found = again.databases().includes('db') ? contentOf(again, 'db') : undefined;
  assert.equal(contentOf(again, 'source'), 'new');
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
  return found;
}

for (const replaces of [true, false]) {
  test(`a restored database, ${replaces ? 'in the place of another' : 'new'}`, async t => {
    const seen = new Map<string | undefined, number>();
    let points = 0;
    for (let crashAt = 1; ; crashAt++) {
      const {server, engine} = await prepared(replaces);
      server.machine.crashAt = server.machine.operationCount + crashAt;
      if (await server.lives(() => restore(engine, replaces))) {
        server.machine.crashAt = Number.POSITIVE_INFINITY;
        assert.equal(contentOf(engine, 'db'), 'new');
        assert.deepEqual(engine.databases(), ['db', 'source']);
        await server.run(() => engine.close());
        break;
      }
      points++;
      server.powerLoss(crashAt);
      const found = await server.run(() => startAgain(server));
      assert.ok(found === 'new' || found === (replaces ? 'old' : undefined), `${found}`);
      seen.set(found, (seen.get(found) ?? 0) + 1);
    }
    assert.ok(seen.size === 2, 'crashes fall on both sides');
    t.diagnostic(`${points} crash points`);
  });
}

test('a name that is taken is not replaced unasked, and the hidden one stays', async () => {
  const {server, engine} = await prepared(true);
  await server.run(async () => {
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
});

test('readers of the database that goes are waited for', async () => {
  const {server, engine} = await prepared(true);
  const session = engine.database('db')?.read();
  session?.get(key);
  await server.run(() => engine.attachDatabase(hidden));
  let isDone = false;
  const renaming = engine.renameDatabase(hidden, 'db', true).then(() => {
    isDone = true;
  });
  await server.goOn(10_000);
  assert.equal(isDone, false);
  session?.close();
  await server.run(() => renaming);
  assert.equal(contentOf(engine, 'db'), 'new');
  await server.run(() => engine.close());
});
