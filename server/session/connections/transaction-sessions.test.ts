/** Sessions belong to a user, run one statement at a time, end on failure and when idle. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {MemoryPool} from '#server/execution/budget.ts';
import {KeptMemory} from '../kept-memory.ts';
import {createMachine} from '#server/platform/real/machine.ts';
import {Refusal} from '#server/base/errors.ts';
import {ManualTimers} from '#server/testing/time/manual-timers.ts';
import type {Transaction} from '#server/transactions/transaction-contract.ts';
import {TransactionSessions} from './transaction-sessions.ts';

const random = {u32: () => 7, fill: (target: Uint8Array) => void target.fill(++fills)};
let fills = 0;

/** Only what sessions touch of a transaction. */
function transaction(): Transaction & {rolledBack: number} {
  const only = {
    isolation: 'READ_COMMITTED' as const,
    rolledBack: 0,
    rollback(): void {
      this.rolledBack += 1;
    },
  };
  return only as unknown as Transaction & {rolledBack: number};
}

function setUp(): {timers: ManualTimers; sessions: TransactionSessions} {
  const timers = new ManualTimers();
  const limits = () => ({idleMs: 30_000, sessionsMax: 4, sessionsMaxOfUser: 3});
  const memory = new KeptMemory(new MemoryPool(() => 1e6, createMachine()), () => ({
    all: 1e6,
    perUser: 1e6,
  }));
  const sessions = new TransactionSessions({clock: timers, random, timers}, memory, limits);
  return {timers, sessions};
}

const refusedWith = (code: string) => (error: unknown) =>
  error instanceof Refusal && error.code === code;

test('another user or another database does not find the session', async () => {
  const {sessions} = setUp();
  const id = sessions.add({user: 'ann'}, 'db', transaction());
  assert.match(id, /^AS-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  await assert.rejects(sessions.hold('bob', 'db', id), refusedWith('transaction.gone'));
  await assert.rejects(sessions.hold('ann', 'other', id), refusedWith('transaction.gone'));
  assert.ok(await sessions.hold('ann', 'db', id));
});

test('a second statement waits for the first', async () => {
  const {sessions} = setUp();
  const id = sessions.add({user: 'ann'}, 'db', transaction());
  const first = await sessions.hold('ann', 'db', id);
  let held = false;
  const second = sessions.hold('ann', 'db', id).then(() => (held = true));
  await Promise.resolve();
  assert.equal(held, false);
  first.done();
  await second;
  assert.equal(held, true);
});

test('a failed statement ends the session until the client says rollback', async () => {
  const {sessions} = setUp();
  const inner = transaction();
  const id = sessions.add({user: 'ann'}, 'db', inner);
  (await sessions.hold('ann', 'db', id)).fail();
  assert.equal(inner.rolledBack, 1);
  await assert.rejects(sessions.hold('ann', 'db', id), refusedWith('transaction.failed'));
  await sessions.rollback('ann', 'db', id);
  await assert.rejects(sessions.hold('ann', 'db', id), refusedWith('transaction.gone'));
});

test('a rollback waits for a commit that is under way', async () => {
  const {sessions} = setUp();
  const inner = transaction();
  const id = sessions.add({user: 'ann'}, 'db', inner);
  const held = await sessions.hold('ann', 'db', id);
  held.transaction = undefined;
  let rolledBack = false;
  const rollback = sessions.rollback('ann', 'db', id).then(() => (rolledBack = true));
  await Promise.resolve();
  assert.equal(rolledBack, false);
  held.done();
  await rollback;
  assert.equal(inner.rolledBack, 0);
  await assert.rejects(sessions.hold('ann', 'db', id), refusedWith('transaction.gone'));
});

test('a commit of unknown outcome is remembered as one', async () => {
  const {sessions} = setUp();
  const id = sessions.add({user: 'ann'}, 'db', transaction());
  const held = await sessions.hold('ann', 'db', id);
  held.transaction = undefined;
  held.fail('unknown');
  held.fail();
  await assert.rejects(sessions.hold('ann', 'db', id), refusedWith('commit.unknown'));
});

test('an idle session is rolled back; one in use is not', async () => {
  const {timers, sessions} = setUp();
  const idle = transaction();
  const idleId = sessions.add({user: 'ann'}, 'db', idle);
  const busyId = sessions.add({user: 'ann'}, 'db', transaction());
  await sessions.hold('ann', 'db', busyId);
  timers.advance(32_000);
  assert.equal(idle.rolledBack, 1);
  await assert.rejects(sessions.hold('ann', 'db', idleId), refusedWith('transaction.expired'));
  assert.ok(sessions.isLive('ann', 'db', busyId));
});

test('more sessions than allowed are refused', () => {
  const {sessions} = setUp();
  for (let i = 0; i < 3; i += 1) sessions.add({user: 'ann'}, 'db', transaction());
  assert.throws(
    () => sessions.add({user: 'ann'}, 'db', transaction()),
    refusedWith('admission.full'),
  );
});

test('a session ended under a statement is rolled back when that has ended', async () => {
  const {sessions} = setUp();
  const inner = transaction();
  const id = sessions.add({user: 'ann'}, 'db', inner);
  const held = await sessions.hold('ann', 'db', id);
  assert.equal(
    sessions.endWhere(session => session.id === id),
    1,
  );
  assert.deepEqual([held.aborted, inner.rolledBack], [true, 0]);
  await assert.rejects(sessions.hold('ann', 'db', id), refusedWith('transaction.expired'));
  held.fail();
  assert.equal(inner.rolledBack, 1);
  await assert.rejects(sessions.hold('ann', 'db', id), refusedWith('transaction.expired'));
});

test('a session given back goes to who waits, not to who comes then', async () => {
  const {sessions} = setUp();
  const id = sessions.add({user: 'ann'}, 'db', transaction());
  let users = 0;
  const use = async (turns: number): Promise<void> => {
    const held = await sessions.hold('ann', 'db', id);
    users += 1;
    assert.equal(users, 1);
    for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
    users -= 1;
    held.done();
  };
  const all: Promise<void>[] = [];
  for (let turn = 0; turn < 60; turn += 1) {
    all.push(use(turn % 4));
    await Promise.resolve();
  }
  await Promise.all(all);
});

test('a commit whose outcome is not known is never said to be gone', async () => {
  const {sessions} = setUp();
  const id = sessions.add({user: 'ann'}, 'db', transaction());
  (await sessions.hold('ann', 'db', id)).end();
  sessions.committed('ann', id, 'unknown');
  await assert.rejects(sessions.hold('ann', 'db', id), refusedWith('commit.unknown'));
  await sessions.rollback('ann', 'db', id);
  await assert.rejects(sessions.hold('ann', 'db', id), refusedWith('commit.unknown'));
  sessions.committed('ann', id);
  assert.ok(sessions.wasCommitted('ann', id));
});

test('a rollback does not wait for the statement that runs: it is told to stop', async () => {
  const {sessions} = setUp();
  const inner = transaction();
  const id = sessions.add({user: 'ann'}, 'db', inner);
  const held = await sessions.hold('ann', 'db', id);
  assert.equal(await sessions.rollback('ann', 'db', id), true);
  assert.deepEqual([held.aborted, inner.rolledBack], [true, 0]);
  held.done();
  assert.equal(inner.rolledBack, 1);
  await assert.rejects(sessions.hold('ann', 'db', id), refusedWith('transaction.gone'));
});

test('sessions of a server that leads no more say why they are gone', async () => {
  const {sessions} = setUp();
  const [idle, busy] = [transaction(), transaction()];
  const idleId = sessions.add({user: 'ann'}, 'db', idle);
  const busyId = sessions.add({user: 'ann'}, 'db', busy);
  const held = await sessions.hold('ann', 'db', busyId);
  assert.equal(
    sessions.endWhere(() => true, 'lost-leadership'),
    2,
  );
  assert.equal(idle.rolledBack, 1);
  // Its statement still reads.
  assert.equal(busy.rolledBack, 0);
  assert.equal(held.aborted, true);
  held.fail();
  assert.equal(busy.rolledBack, 1);
  for (const id of [idleId, busyId]) {
    await assert.rejects(sessions.hold('ann', 'db', id), /stopped leading/);
    await assert.rejects(sessions.hold('ann', 'db', id), refusedWith('transaction.expired'));
  }
});
