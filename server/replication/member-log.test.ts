/**
 * Three engines in one process that share a log: what one commits all have, a new leader goes on
 * where the old one ended, and an entry that lost its place is told never to have happened.
 */
import assert from 'node:assert/strict';
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {createClock, createRandom, createTimers} from '#server/platform/real/clock.ts';
import {createDisk} from '#server/platform/real/disk.ts';
import type {Membership} from '#server/raft/membership.ts';
import {openStore} from '#server/storage/rocksdb/open.ts';
import type {CommitOutcome} from '#server/transactions/commit.ts';
import {type Engine, openEngine} from '#server/transactions/engine.ts';
import {InlinePipe} from '#server/transactions/inline-pipe.ts';
import {defaultEngineSettings} from '#server/transactions/settings.ts';
import {createDiskStoreFactory} from '#server/transactions/store-factory.ts';
import {ReplicatedMemberLog, type RunningMember} from './member-log.ts';
import {MemoryLog, MemoryNetwork, MemoryRaftStorage} from './testing-members.ts';

const base = mkdtempSync(join(tmpdir(), 'svc-members-'));
after(() => rmSync(base, {recursive: true}));

const ids = ['a_1', 'b_1', 'c_1'];
const membership: Membership = ids.map(id => ({id, role: 'voter', priority: 0}));
const timers = createTimers();
let groups = 0;

interface Member {
  readonly id: string;
  readonly engine: Engine;
  readonly running: RunningMember;
}

class Group {
  readonly network = new MemoryNetwork(timers);
  readonly #root = join(base, `group${++groups}`);
  readonly #logs = new Map(ids.map(id => [id, new MemoryLog(membership)]));
  readonly members = new Map<string, Member>();

  static async start(): Promise<Group> {
    const group = new Group();
    for (const id of ids) await group.start(id);
    return group;
  }

  async start(id: string): Promise<Member> {
    const log = this.#logs.get(id);
    assert(log !== undefined);
    const disk = createDisk();
    const started = Promise.withResolvers<RunningMember>();
    const engine = await openEngine({
      rootPath: join(this.#root, id),
      nodeName: id,
      disk,
      clock: createClock(),
      random: createRandom(),
      logger: {log: () => {}},
      stores: createDiskStoreFactory(disk, openStore),
      settings: {...defaultEngineSettings, segmentBytes: 1 << 20},
      process: {pid: process.pid, isAlive: () => false},
      startPipe: ({log: own, startIndex, applier}) =>
        new InlinePipe({
          log: own,
          startIndex,
          applier,
          schedule: task => setImmediate(task),
          syncCommits: true,
          queueBytesMax: 64 << 20,
        }),
      openMemberLog: () => Promise.resolve(this.#memberLog(id, log, started.resolve)),
    });
    const member = {id, engine, running: await started.promise};
    this.members.set(id, member);
    return member;
  }

  #memberLog(id: string, log: MemoryLog, started: (member: RunningMember) => void) {
    return new ReplicatedMemberLog({
      raft: {
        id,
        seed: createRandom().u32(),
        electionTimeoutMinMs: 150,
        electionTimeoutMaxMs: 300,
        heartbeatMs: 20,
        quorum: 'majority',
        appendEntriesMax: 64,
        appendBytesMax: 1 << 20,
        window: {messagesMax: 64, bytesMax: 4 << 20},
        uncommittedBytesMax: 4 << 20,
        transferLagMax: 1_000,
      },
      log: {
        logId: log.logId,
        storageId: id,
        storage: new MemoryRaftStorage(log, timers),
        recovered: log.recovered,
      },
      transport: this.network.join(id),
      clock: createClock(),
      timers,
      cacheBytesMax: 2_000,
      processId: `${id}-${createRandom().u32()}`,
      unreadable: (_, reason) => assert.fail(reason),
      quorumTimeoutMs: () => 400,
      queueEntriesMax: 100,
      started,
      news: {
        roleChanged: () => {},
        membershipChanged: () => {},
        checkpointNeeded: () => {},
      },
    });
  }

  /** The member that takes commits, other than `not`. */
  async leader(not?: string): Promise<Member> {
    return await eventually(() =>
      [...this.members.values()].find(({id, running}) => id !== not && running.log.isLeading),
    );
  }

  async stop(id: string): Promise<void> {
    await this.members.get(id)?.engine.close();
    this.members.delete(id);
  }

  async close(): Promise<void> {
    for (const id of [...this.members.keys()]) await this.stop(id);
  }
}

async function eventually<Result>(look: () => Result | undefined): Promise<Result> {
  for (let waited = 0; ; waited += 5) {
    const found = look();
    if (found !== undefined) return found;
    assert(waited < 10_000, 'it happens in time');
    await new Promise(resolve => setTimeout(resolve, 5));
  }
}

const bytes = (text: string) => Buffer.from(text, 'latin1');

function put(engine: Engine, key: string, value: string): Promise<CommitOutcome> {
  const transaction = engine.database('db')?.begin('READ_COMMITTED');
  assert(transaction !== undefined);
  transaction.put(bytes(key), bytes(value));
  return transaction.commit();
}

function read(engine: Engine, key: string): string | undefined {
  const session = engine.database('db')?.read();
  const value = session?.get(bytes(key))?.toString('latin1');
  session?.close();
  return value;
}

test('what the leader commits is on every member, databases and documents too', async () => {
  const group = await Group.start();
  const leader = await group.leader();
  await leader.engine.createDatabase('db');
  for (let i = 0; i < 50; i++) {
    assert.equal((await put(leader.engine, `k${i}`, `${i}`)).kind, 'committed');
  }
  await leader.engine.putServerDocument('server-users.jsonl', bytes('{"name":"root"}\n'));
  for (const {engine} of group.members.values()) {
    await engine.whenApplied(leader.engine.appliedIndex);
    assert.deepEqual(engine.databases(), ['db']);
    assert.equal(read(engine, 'k49'), '49');
    assert.equal(engine.serverDocument('server-users.jsonl')?.version, 1);
  }
  const follower = [...group.members.values()].find(member => member !== leader);
  assert(follower !== undefined);
  const refused = await put(follower.engine, 'x', '1');
  assert(refused.kind === 'refused' && refused.code === 'not-leader');
  await group.close();
});

test('a new leader goes on where the old one ended, and a stopped member catches up', async () => {
  const group = await Group.start();
  const first = await group.leader();
  await first.engine.createDatabase('db');
  await put(first.engine, 'a', '1');
  await group.stop(first.id);
  const second = await group.leader();
  assert.equal(read(second.engine, 'a'), '1');
  for (let i = 0; i < 100; i++) await put(second.engine, `b${i}`, '2'.repeat(100));
  await second.engine.createDatabase('more');
  await second.engine.dropDatabase('more');
  const again = await group.start(first.id);
  await eventually(() => again.engine.appliedIndex >= second.engine.appliedIndex || undefined);
  assert.equal(read(again.engine, 'b99'), '2'.repeat(100));
  assert.deepEqual(again.engine.databases(), ['db']);
  await group.close();
});

test('an entry that lost its place never happened; one without an answer is unknown', async () => {
  const group = await Group.start();
  const first = await group.leader();
  await first.engine.createDatabase('db');
  group.network.cut(first.id);
  const late = put(first.engine, 'lost', '1');
  const second = await group.leader(first.id);
  await put(second.engine, 'kept', '1');
  assert.equal((await late).kind, 'unknown');
  group.network.heal();
  await eventually(() => read(first.engine, 'kept'));
  assert.equal(read(first.engine, 'lost'), undefined);
  const index = await first.running.replicator.readIndex(1_000);
  assert(index >= second.engine.appliedIndex);
  await group.close();
});
