/**
 * A snapshot is put in place as a whole: the power goes at every operation of an install, and
 * again at every operation of the start that finishes it, and what is found is the old server or
 * the new one, in all of its parts. Holds invariant T10.
 */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {readWhole, writeAtomically} from '#server/platform/checked-file.ts';
import {Machine, SimulatedCrash} from '#server/simulation/machine.ts';
import {createSeededRandom} from '#server/simulation/seeded-random.ts';
import {SimulatedDisk} from '#server/simulation/simulated-disk.ts';
import {SimulatedStores} from '#server/simulation/simulated-stores.ts';
import {
  emptyServerState,
  type ServerState,
  ServerStateFile,
  withDatabase,
  withDocument,
} from './server-state.ts';
import {defaultEngineSettings} from './settings.ts';
import {dataPaths} from './engine-options.ts';
import {SnapshotInstall} from './snapshot-install.ts';
import {encodePosition, positionKey} from '#server/transactions/system-keys.ts';

const rootPath = '/data';
const storage = `${rootPath}/raft-storage-one`;
const {formats} = defaultEngineSettings;
const ourLog = 'a'.repeat(32);
const users = 'server-users.jsonl';

/** Databases by name, with their id: what the server holds before, and what the snapshot brings. */
interface Change {
  readonly before: Readonly<Record<string, number>>;
  readonly beforeLog: string;
  readonly after: Readonly<Record<string, number>>;
  /** The elements of `after` that come with the snapshot; the others stay. */
  readonly staged: readonly string[];
}

const changes: Readonly<Record<string, Change>> = {
  'a member that fell behind: one stays, one was dropped, one made anew, one is new': {
    before: {a: 1, b: 2, c: 3},
    beforeLog: ourLog,
    after: {a: 1, c: 4, d: 5},
    staged: ['a', 'c', 'd'],
  },
  'a server with databases of its own joins': {
    before: {a: 1, mine: 2},
    beforeLog: 'b'.repeat(32),
    after: {a: 7},
    staged: ['a'],
  },
  'one database is taken anew': {
    before: {a: 1, b: 2},
    beforeLog: ourLog,
    after: {a: 1, b: 2},
    staged: ['b'],
  },
};

function stateOf(databases: Readonly<Record<string, number>>, logId: string, index: number) {
  let state: ServerState = emptyServerState(logId, index, 1);
  for (const [name, id] of Object.entries(databases))
    state = withDatabase(state, index, {id, name});
  state = withDocument(state, index, {name: users, version: index, bytes: Buffer.from(`${index}`)});
  const positions = Object.fromEntries(Object.values(databases).map(id => [String(id), index]));
  return {...state, positions};
}

class Server {
  readonly machine = new Machine();
  readonly disk = new SimulatedDisk(this.machine);
  readonly stores = new SimulatedStores(this.machine, this.disk);
  readonly events: string[] = [];
  readonly #change: Change;

  constructor(change: Change) {
    this.#change = change;
  }

  get install(): SnapshotInstall {
    const {disk, stores} = this;
    const logger = {log: (_level: unknown, event: string) => void this.events.push(event)};
    return new SnapshotInstall({
      ...dataPaths({rootPath}),
      disk,
      storage,
      stores,
      formats,
      logger,
    });
  }

  async prepare(): Promise<void> {
    const {disk} = this;
    for (const name of ['', '/databases', '/config', '/raft-storage-one']) {
      disk.makeDirectory(`${rootPath}${name}`);
    }
    disk.makeDirectory(`${storage}/server`);
    for (const path of ['/', rootPath, storage]) disk.syncDirectory(path);
    const {before, beforeLog, after, staged} = this.#change;
    const old = stateOf(before, beforeLog, 5);
    for (const [name, id] of Object.entries(before)) {
      await this.#makeStore(`${rootPath}/databases/${name}`, {id, logId: beforeLog, index: 5});
    }
    new ServerStateFile(disk, `${storage}/server`).save(old);
    writeAtomically(disk, `${rootPath}/config/${users}`, Buffer.from('5'));
    for (const name of staged) {
      const id = after[name] ?? 0;
      await this.#makeStore(this.install.stagedPath(id), {id, logId: ourLog, index: 9});
    }
  }

  async run(): Promise<void> {
    const {after} = this.#change;
    await this.install.plan({state: stateOf(after, ourLog, 9), checkpoint: undefined});
    this.install.finish();
    this.install.forget();
  }

  /** What a start does. */
  async recover(): Promise<void> {
    if (this.install.finish() === undefined) await this.install.rollBack();
    else this.install.forget();
  }

  powerLoss(seed: number): void {
    const random = createSeededRandom(seed);
    this.disk.crash(random);
    this.stores.crash(random);
    this.machine.boot();
  }

  /** Which of the two servers this is; fails when it is neither. */
  async look(): Promise<'old' | 'new'> {
    const {before, beforeLog, after, staged} = this.#change;
    const state = new ServerStateFile(this.disk, `${storage}/server`).load();
    const isNew = state?.durableIndex === 9;
    const databases = isNew ? after : before;
    assert.deepEqual(state, stateOf(databases, isNew ? ourLog : beforeLog, isNew ? 9 : 5));
    const document = readWhole(this.disk, `${rootPath}/config/${users}`).toString();
    assert.equal(document, isNew ? '9' : '5');
    for (const [name, id] of Object.entries(databases)) {
      const path = `${rootPath}/databases/${name}`;
      const store = await this.stores.open(path, {mustExist: true});
      const expected = isNew && staged.includes(name) ? `${id} at 9` : `${id} at 5`;
      assert.equal(store.get(Buffer.from('content'))?.toString(), expected);
      store.close();
      assert.ok(!this.stores.isPending(path), 'no mark is left');
    }
    const names = this.stores.list(`${rootPath}/databases`);
    const kept = isNew && beforeLog !== ourLog ? ['.kept-mine-9'] : [];
    // A dropped one is swept away by the start that follows.
    // So are staged files, unless somebody fetches the rest of them.
    const swept = /^\.(?:dropped|snapshot-new)-/;
    const others = names.filter(name => !Object.hasOwn(databases, name) && !swept.test(name));
    assert.deepEqual(others, kept);
    return isNew ? 'new' : 'old';
  }

  async #makeStore(
    path: string,
    {id, logId, index}: {readonly id: number; readonly logId: string; readonly index: number},
  ): Promise<void> {
    const store = await this.stores.open(path);
    const batch = store.batch();
    batch.put(Buffer.from('content'), Buffer.from(`${id} at ${index}`));
    const position = {databaseId: id, logId, index, chain: 0, transactionCount: 1};
    batch.put(positionKey, encodePosition({...position, schemaVersion: 0, formatLevel: 1}));
    store.write(batch, {sync: true});
    store.close();
  }
}

/** A server in which the power went at an operation of the install. */
async function crashed(change: Change, crashAt: number, seed: number): Promise<Server | undefined> {
  const server = new Server(change);
  await server.prepare();
  server.machine.crashAt = server.machine.operationCount + crashAt;
  try {
    await server.run();
    return undefined;
  } catch (error) {
    if (!(error instanceof SimulatedCrash)) throw error;
  }
  server.powerLoss(seed);
  return server;
}

for (const [name, change] of Object.entries(changes)) {
  test(`${name}: whole or not at all`, async t => {
    const seen = {old: 0, new: 0};
    let points = 0;
    for (let crashAt = 1; ; crashAt++) {
      const server = await crashed(change, crashAt, crashAt);
      if (server === undefined) break;
      points++;
      await server.recover();
      seen[await server.look()]++;
      for (let again = 1; ; again++) {
        const second = await crashed(change, crashAt, crashAt + again);
        assert.ok(second !== undefined);
        second.machine.crashAt = second.machine.operationCount + again;
        try {
          await second.recover();
          break;
        } catch (error) {
          if (!(error instanceof SimulatedCrash)) throw error;
        }
        points++;
        second.powerLoss(again);
        await second.recover();
        await second.look();
      }
    }
    assert.ok(seen.old > 0 && seen.new > 0);
    t.diagnostic(`${points} crash points`);
  });
}

test('an install without a crash leaves the new server and nothing else', async () => {
  for (const change of Object.values(changes)) {
    const server = new Server(change);
    await server.prepare();
    await server.run();
    assert.equal(await server.look(), 'new');
  }
});

test('what happens behind an install is not taken back by it', async () => {
  const change = changes['one database is taken anew'];
  assert.ok(change !== undefined);
  for (let seed = 1; seed <= 10; seed++) {
    const server = new Server(change);
    await server.prepare();
    await server.run();
    const file = new ServerStateFile(server.disk, `${storage}/server`);
    file.save(stateOf(change.after, ourLog, 12));
    server.powerLoss(seed);
    await server.recover();
    assert.equal(file.load()?.durableIndex, 12);
  }
});

test('staged files that are not what the plan says are refused, and nothing happens', async () => {
  const change = changes['one database is taken anew'];
  assert.ok(change !== undefined);
  const server = new Server(change);
  await server.prepare();
  const plan = {state: stateOf(change.after, ourLog, 10), checkpoint: undefined};
  await assert.rejects(server.install.plan(plan), /database b says index 10, its files say 9/);
  server.install.discard();
  assert.equal(await server.look(), 'old');
});
