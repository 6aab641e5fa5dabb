/**
 * A server that becomes a member with its own data, or with that of others: the power goes at
 * every operation of it, and what starts again holds the same, says the same of itself, and comes
 * to the same end.
 */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {fingerprintDatabase} from '#server/integrity/digest.ts';
import {Machine, SimulatedCrash} from '#server/simulation/machine.ts';
import {Scheduler} from '#server/simulation/scheduler.ts';
import {createSeededRandom} from '#server/simulation/seeded-random.ts';
import {SimulatedDisk} from '#server/simulation/simulated-disk.ts';
import {openSimulatedEngine} from '#server/simulation/simulated-engine.ts';
import {SimulatedStores} from '#server/simulation/simulated-stores.ts';
import type {Baseline, LocalData, MemberBeginning} from '../engine-log.ts';
import {beginMember} from './member-beginning.ts';
import {memberDirectory, prepareStorage} from './recovery.ts';
import type {RecoveryOptions} from './recovery-options.ts';
import {ServerStateFile} from '../server-state.ts';
import {defaultEngineSettings} from '../settings.ts';
import {decodePosition, positionKey} from '#server/transactions/system-keys.ts';

const groupLog = 'c'.repeat(32);
const last = {index: 900, term: 1};
const users = 'server-users.jsonl';
const names = ['films', 'music'];

const endings = {
  /** Its data is the cluster's. */
  source: () => ({checkpoint: {last, membership: []}, keepsData: true}),
  /** It is what the cluster has begun with. */
  adopts: ({content = ''}: LocalData) => {
    const baseline: Baseline = {...last, nextDatabaseId: 40, documents: [users], content};
    return {checkpoint: {last, membership: []}, keepsData: true, baseline};
  },
} satisfies Record<string, (data: LocalData) => MemberBeginning>;

class Server {
  readonly machine = new Machine();
  readonly disk = new SimulatedDisk(this.machine);
  readonly stores = new SimulatedStores(this.machine, this.disk);
  readonly random = createSeededRandom(7);
  readonly scheduler = new Scheduler(this.random, this.machine);
  /** What it said of itself, each time. */
  readonly said: LocalData[] = [];

  async prepare(): Promise<void> {
    const {disk, stores, random, scheduler} = this;
    const opening = openSimulatedEngine({
      disk,
      stores,
      random,
      clock: scheduler.clock,
      timers: scheduler.timers,
      schedule: task => scheduler.after(0, 'pipe', task),
    });
    const work = opening.then(async engine => {
      for (const name of names) {
        await engine.createDatabase(name);
        for (const word of ['one', 'two', 'three']) {
          const transaction = engine.database(name)?.begin('READ_COMMITTED');
          transaction?.put(Buffer.from(`${name} ${word}`), Buffer.from(word));
          await transaction?.commit();
        }
      }
      await engine.putServerDocument(users, Buffer.from('ann'));
      await engine.close();
    });
    let isDone = false;
    const done = work.finally(() => {
      isDone = true;
    });
    await scheduler.run(() => isDone);
    await done;
  }

  get options(): RecoveryOptions {
    const {disk, stores, random, scheduler} = this;
    const {formats} = defaultEngineSettings;
    return {
      databaseDirectory: '/data/databases',
      configDirectory: '/data/config',
      nodeName: 'one',
      disk,
      clock: scheduler.clock,
      random,
      logger: {log: () => {}},
      stores,
      segmentBytes: 16 << 10,
      formats,
      raftStorageParent: '/data',
      fingerprint: reader => fingerprintDatabase(reader, () => Promise.resolve()),
    };
  }

  async begin(ending: (data: LocalData) => MemberBeginning): Promise<void> {
    const storage = prepareStorage(this.options, memberDirectory);
    await beginMember(this.options, storage, {
      logId: groupLog,
      exists: () => false,
      form: data => {
        this.said.push(data);
        return Promise.resolve(ending(data));
      },
      open: () => Promise.reject(new Error('it is not opened here')),
    });
  }

  powerLoss(seed: number): void {
    const random = createSeededRandom(seed);
    this.disk.crash(random);
    this.stores.crash(random);
    this.machine.boot();
  }

  /** It is a member with everything that it had. */
  async check(nextDatabaseId: number): Promise<void> {
    const state = new ServerStateFile(this.disk, '/data/raft-storage-one/server').load();
    assert.ok(state !== undefined);
    assert.deepEqual([state.logId, state.durableIndex], [groupLog, last.index]);
    assert.equal(state.nextDatabaseId, nextDatabaseId);
    assert.deepEqual(Object.keys(state.documents), [users]);
    assert.equal(state.bootstrap?.content, this.said.at(-1)?.content);
    assert.deepEqual(state.databases.map(({name}) => name).sort(), names);
    for (const {id, name} of state.databases) {
      const store = await this.stores.open(`/data/databases/${name}`, {mustExist: true});
      const position = decodePosition(store.get(positionKey) ?? Buffer.alloc(0));
      assert.deepEqual([position.databaseId, position.logId], [id, groupLog]);
      assert.equal(position.index, last.index);
      assert.equal(store.get(Buffer.from(`${name} three`))?.toString(), 'three');
      store.close();
    }
  }
}

for (const [name, ending] of Object.entries(endings)) {
  test(`${name}: the same end, wherever the power went`, async t => {
    let points = 0;
    for (let crashAt = 1; ; crashAt++) {
      const server = new Server();
      await server.prepare();
      server.machine.crashAt = server.machine.operationCount + crashAt;
      let isOver = true;
      try {
        await server.begin(ending);
      } catch (error) {
        if (!(error instanceof SimulatedCrash)) throw error;
        isOver = false;
        server.powerLoss(crashAt);
        await server.begin(ending);
      }
      server.machine.crashAt = Number.POSITIVE_INFINITY;
      await server.check(name === 'adopts' ? 40 : 3);
      const [first, ...later] = server.said;
      assert.match(first?.content ?? '', /^[0-9a-f]{64}$/);
      for (const again of later) assert.deepEqual(again, first);
      if (isOver) break;
      points++;
    }
    assert.ok(points > 10);
    t.diagnostic(`${points} crash points`);
  });
}
