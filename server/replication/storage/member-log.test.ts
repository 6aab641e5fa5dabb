/**
 * Three engines in one process that share a log: what one commits all have, a new leader goes on
 * where the old one ended, and an entry that lost its place is told never to have happened.
 */
import assert from 'node:assert/strict';
import {mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {createRandom} from '#server/platform/real/clock.ts';
import {createDisk} from '#server/platform/real/disk.ts';
import type {Membership} from '#server/raft/membership.ts';
import {openStore} from '#server/storage/rocksdb/open.ts';
import type {CommitOutcome} from '#server/transactions/commit.ts';
import {type Engine, openEngine} from '#server/engine/engine.ts';
import {commitTasks} from '#server/node/commit/commit-tasks.ts';
import {defaultEngineSettings} from '#server/engine/settings.ts';
import {createDiskStoreFactory} from '#server/engine/store-factory.ts';
import {ManualTimers} from '#server/testing/time/manual-timers.ts';
import {closing} from '#server/testing/closing.ts';
import {ReplicatedMemberLog, type RunningMember} from './member-log.ts';
import {MemoryLog, MemoryNetwork, MemoryRaftStorage} from '../testing-members.ts';

const base = mkdtempSync(join(tmpdir(), 'svc-members-'));
after(() => rmSync(base, {recursive: true}));

const ids = ['a_1', 'b_1', 'c_1'];
const membership: Membership = ids.map(id => ({id, role: 'voter', priority: 0}));
let groups = 0;

interface Member {
  readonly id: string;
  readonly engine: Engine;
  readonly running: RunningMember;
}

class Group {
  /** Goes on only while a test waits, so that no machine is too slow for it. */
  readonly time = new ManualTimers();
  readonly network = new MemoryNetwork(this.time);
  readonly #root = join(base, `group${++groups}`);
  readonly #logs = new Map(ids.map(id => [id, new MemoryLog(membership)]));
  readonly members = new Map<string, Member>();

  static async start(): Promise<Group> {
    const group = new Group();
    for (const id of ids) await group.start(id);
    return group;
  }

  logOf(id: string): MemoryLog {
    const log = this.#logs.get(id);
    assert(log !== undefined);
    return log;
  }

  rootOf(id: string): string {
    return join(this.#root, id);
  }

  async start(id: string): Promise<Member> {
    const log = this.logOf(id);
    const disk = createDisk();
    const started = Promise.withResolvers<RunningMember>();
    const engine = await openEngine({
      rootPath: this.rootOf(id),
      nodeName: id,
      disk,
      clock: this.time,
      timers: this.time,
      random: createRandom(),
      logger: {log: () => {}},
      stores: createDiskStoreFactory(disk, openStore),
      settings: {...defaultEngineSettings, segmentBytes: 1 << 20},
      startPipe: commitTasks({
        scheduler: {
          soon: task => void this.time.after(0, task),
          after: (delayMs, task) => this.time.after(delayMs, task),
        },
        clock: this.time,
      }),
      memberLog: {
        logId: log.logId,
        exists: () => true,
        form: () => assert.fail('every member has a log'),
        open: () => Promise.resolve(this.#memberLog(id, log, started.resolve)),
      },
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
        storage: new MemoryRaftStorage(log, this.time),
        recovered: log.recovered,
      },
      transport: this.network.join(id),
      clock: this.time,
      timers: this.time,
      cacheBytesMax: 2_000,
      processId: `${id}-${createRandom().u32()}`,
      unreadable: (_, reason) => assert.fail(reason),
      quorumTimeoutMs: () => 2_000,
      queueEntriesMax: 100,
      roomTimeoutMs: () => 50,
      proposalsMax: 20,
      purge: {
        entriesMax: 50,
        intervalMs: 0,
        entriesMin: 0,
        gapEntries: 200,
        passesLaggards: true,
        bytesMax: 1 << 30,
      },
      started,
      news: {
        roleChanged: () => {},
        membershipChanged: () => {},
        transferFailed: () => {},
        checkpointNeeded: () => {},
      },
    });
  }

  /** The member that takes commits, other than `not`. */
  async leader(not?: string): Promise<Member> {
    return await this.eventually(() =>
      [...this.members.values()].find(({id, running}) => id !== not && running.log.isLeading),
    );
  }

  async stop(id: string): Promise<void> {
    await this.during(this.members.get(id)?.engine.close());
    this.members.delete(id);
  }

  /** Time goes on until the work is done. */
  async during<Result>(work: Promise<Result> | undefined): Promise<Result | undefined> {
    let isDone = false;
    const done = (): void => {
      isDone = true;
    };
    work?.then(done, done);
    if (work !== undefined) await this.eventually(() => isDone || undefined);
    return await work;
  }

  async eventually<Result>(look: () => Result | undefined): Promise<Result> {
    for (let waitedMs = 0; ; waitedMs++) {
      const found = look();
      if (found !== undefined) return found;
      assert(waitedMs < 20_000, 'it happens in time');
      this.time.advance(1);
      await new Promise(resolve => setImmediate(resolve));
    }
  }

  async close(): Promise<void> {
    for (const id of this.members.keys()) await this.stop(id);
  }
}

const bytes = (text: string) => Buffer.from(text, 'latin1');

function put({engine}: Member, key: string, value: string): Promise<CommitOutcome> {
  const transaction = engine.database('db')?.begin('READ_COMMITTED');
  assert(transaction !== undefined);
  transaction.put(bytes(key), bytes(value));
  return transaction.commit();
}

function read({engine}: Member, key: string): string | undefined {
  const session = engine.database('db')?.read();
  const value = session?.get(bytes(key))?.toString('latin1');
  session?.close();
  return value;
}

test('what the leader commits is on every member, databases and documents too', async () => {
  const group = closing(await Group.start());
  const leader = await group.leader();
  await group.during(leader.engine.createDatabase('db'));
  const puts = Array.from({length: 50}, (_, i) => put(leader, `k${i}`, `${i}`));
  const outcomes = await group.during(Promise.all(puts));
  assert(outcomes?.every(({kind}) => kind === 'committed'));
  const users = bytes('{"name":"root"}\n');
  await group.during(leader.engine.putServerDocument('server-users.jsonl', users));
  for (const member of group.members.values()) {
    const {engine} = member;
    await group.during(engine.whenApplied(leader.engine.appliedIndex));
    assert.deepEqual(engine.databases(), ['db']);
    assert.equal(read(member, 'k49'), '49');
    assert.equal(engine.serverDocument('server-users.jsonl')?.version, 1);
  }
  const follower = [...group.members.values()].find(member => member !== leader);
  assert(follower !== undefined);
  const refused = await put(follower, 'x', '1');
  assert(refused.kind === 'refused' && refused.code === 'not-leader');
  await group.close();
});

test('a document whose outcome is not known keeps its version', async () => {
  const group = closing(await Group.start());
  const leader = await group.leader();
  // From here on the others have written their votes, and answer with a disk that hangs.
  await group.during(leader.engine.createDatabase('db'));
  const put = (text: string) => leader.engine.putServerDocument('users', bytes(text));
  for (const id of ids) if (id !== leader.id) group.logOf(id).isHeld = true;
  const unanswered = put('first');
  await assert.rejects(group.during(unanswered) as Promise<unknown>, {code: 'commit.unknown'});
  const next = put('second');
  for (const id of ids) group.logOf(id).isHeld = false;
  assert.equal((await group.during(next))?.version, 2);
  assert.equal(leader.engine.serverDocument('users')?.bytes.toString(), 'second');
  await group.close();
});

test('a new leader goes on where the old one ended, and a stopped member catches up', async () => {
  const group = closing(await Group.start());
  const first = await group.leader();
  await group.during(first.engine.createDatabase('db'));
  await group.during(put(first, 'a', '1'));
  await group.stop(first.id);
  const second = await group.leader();
  assert.equal(read(second, 'a'), '1');
  for (let i = 0; i < 100; i++) await group.during(put(second, `b${i}`, '2'.repeat(100)));
  await group.during(second.engine.createDatabase('more'));
  await group.during(second.engine.dropDatabase('more'));
  const again = await group.start(first.id);
  const {appliedIndex} = second.engine;
  await group.eventually(() => again.engine.appliedIndex >= appliedIndex || undefined);
  assert.equal(read(again, 'b99'), '2'.repeat(100));
  assert.deepEqual(again.engine.databases(), ['db']);
  await group.close();
});

test('who leads no more does not say that a commit met one of its own that is open', async () => {
  const group = closing(await Group.start());
  const first = await group.leader();
  await group.during(first.engine.createDatabase('db'));
  await group.during(put(first, 'a', '1'));
  group.network.cut(first.id);
  const guarded = (): Promise<CommitOutcome> => {
    const transaction = first.engine.database('db')?.begin('REPEATABLE_READ');
    assert(transaction !== undefined);
    transaction.require({kind: 'unchanged', key: bytes('a')});
    transaction.put(bytes('a'), bytes('2'));
    return transaction.commit();
  };
  const open = guarded();
  assert.equal((await guarded()).kind, 'conflict', 'it leads still, and the other is under way');
  await group.eventually(() => !first.running.log.isLeading || undefined);
  const refused = await guarded();
  assert(refused.kind === 'refused' && refused.code === 'not-leader');
  group.network.heal();
  await group.during(open);
  await group.close();
});

test('an entry that lost its place never happened; one without an answer is unknown', async () => {
  const group = closing(await Group.start());
  const first = await group.leader();
  await group.during(first.engine.createDatabase('db'));
  group.network.cut(first.id);
  const unanswered = put(first, 'lost', '1');
  const second = await group.leader(first.id);
  await group.during(put(second, 'kept', '1'));
  assert.equal((await group.during(unanswered))?.kind, 'unknown');
  group.network.heal();
  await group.eventually(() => read(first, 'kept'));
  assert.equal(read(first, 'lost'), undefined);
  const index = await group.during(first.running.replicator.readIndex(1_000));
  assert(index !== undefined && index >= second.engine.appliedIndex);
  await group.close();
});

test('a commit whose place another leader takes soon is refused, and may be repeated', async () => {
  const group = closing(await Group.start());
  const first = await group.leader();
  await group.during(first.engine.createDatabase('db'));
  group.network.cut(first.id);
  const lost = put(first, 'k', '1');
  await group.leader(first.id);
  group.network.heal();
  const outcome = await group.during(lost);
  assert(outcome?.kind === 'refused' && outcome.code === 'not-leader');
  const leader = await group.leader();
  await group.during(put(leader, 'k', '2'));
  assert.equal(read(leader, 'k'), '2');
  await group.close();
});

test('a commit waits for room in a full queue, but not for long', async () => {
  const group = closing(await Group.start());
  const leader = await group.leader();
  await group.during(leader.engine.createDatabase('db'));
  const many = Array.from({length: 150}, (_, i) => put(leader, `k${i}`, '1'));
  const outcomes = await group.during(Promise.all(many));
  assert(outcomes?.every(({kind}) => kind === 'committed'));
  group.network.cut(leader.id);
  const more = Array.from({length: 101}, (_, i) => put(leader, `m${i}`, '1'));
  const last = await group.during(more[100]);
  assert(last?.kind === 'refused' && last.code === 'queue-full');
  group.network.heal();
  await group.close();
});

test('a drop that never happened leaves the database as it was', async () => {
  const group = closing(await Group.start());
  const first = await group.leader();
  await group.during(first.engine.createDatabase('db'));
  group.network.cut(first.id);
  const drop = first.engine.dropDatabase('db');
  await assert.rejects(group.during(drop) as Promise<void>, {code: 'commit.unknown'});
  assert.equal(first.engine.status('db'), 'fenced');
  await group.leader(first.id);
  group.network.heal();
  await group.eventually(() => first.engine.status('db') === 'open' || undefined);
  const leader = await group.leader();
  await group.during(put(leader, 'k', '1'));
  await group.eventually(() => read(first, 'k'));
  await group.close();
});

test('what lies in the place of a new database is set aside, and stops no member', async () => {
  const group = closing(await Group.start());
  const leader = await group.leader();
  const follower = [...group.members.values()].find(member => member !== leader);
  assert(follower !== undefined);
  const databases = join(group.rootOf(follower.id), 'databases');
  mkdirSync(join(databases, 'db'));
  writeFileSync(join(databases, 'db', 'notes.txt'), 'of a person');
  await group.during(leader.engine.createDatabase('db'));
  await group.during(put(leader, 'k', '1'));
  await group.eventually(() => (follower.engine.status('db') === 'open' ? true : undefined));
  await group.eventually(() => read(follower, 'k'));
  const aside = join(databases, '.set-aside-1-db', 'notes.txt');
  assert.equal(readFileSync(aside, 'utf8'), 'of a person');
  await group.close();
});
