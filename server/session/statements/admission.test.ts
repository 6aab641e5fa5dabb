/** The gate admits up to its limit, queues in order, and refuses beyond time and length. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {Refusal} from '#server/base/errors.ts';
import {Admission} from './admission.ts';
import {ManualTimers} from '#server/testing/time/manual-timers.ts';

const limits = {
  concurrentMax: 2,
  concurrentMaxOfUser: 0,
  memoryIsShort: false,
  queueTimeoutMs: 1_000,
  queueLengthMax: 2,
};

test('admits up to the limit and the next in order when a place is given back', async () => {
  const timers = new ManualTimers();
  const gate = new Admission(() => limits, timers);
  const first = await gate.enter();
  await gate.enter();
  const order: string[] = [];
  const third = gate.enter().then(place => (order.push('third'), place));
  const fourth = gate.enter().then(place => (order.push('fourth'), place));
  assert.equal(gate.queued, 2);
  first.leave();
  first.leave();
  (await third).leave();
  await fourth;
  assert.deepEqual(order, ['third', 'fourth']);
  assert.equal(gate.running, 2);
});

test('refuses at once when the queue is full, and after the wait', async () => {
  const timers = new ManualTimers();
  const gate = new Admission(() => limits, timers);
  await gate.enter();
  await gate.enter();
  const waiting = [gate.enter(), gate.enter()];
  await assert.rejects(gate.enter(), (error: unknown) => isFull(error, /wait already/));
  const outcomes = Promise.allSettled(waiting);
  timers.advance(1_000);
  for (const outcome of await outcomes) {
    assert.ok(outcome.status === 'rejected' && isFull(outcome.reason, /1000 ms/));
  }
  assert.equal(gate.queued, 0);
});

test('what follows from something takes its place without waiting, and counts', async () => {
  const gate = new Admission(() => limits, new ManualTimers());
  await gate.enter();
  await gate.enter();
  const following = gate.take('ann');
  assert.equal(gate.running, 3);
  void gate.enter('ann');
  assert.equal(gate.queued, 1);
  following.leave();
  assert.deepEqual([gate.running, gate.queued], [2, 1]);
});

test('a limit of 0 switches the gate off', () => {
  const gate = new Admission(() => ({...limits, concurrentMax: 0}), new ManualTimers());
  for (let i = 0; i < 100; i += 1) assert.ok(gate.tryEnter());
});

test('a place that is parked is free for others, and is taken again without waiting', async () => {
  const gate = new Admission(() => ({...limits, concurrentMax: 1}), new ManualTimers());
  const stream = await gate.enter();
  const waiting = gate.enter();
  stream.park();
  const other = await waiting;
  stream.resume();
  assert.equal(gate.running, 2);
  stream.leave();
  stream.resume();
  other.leave();
  assert.equal(gate.running, 0);
});

test('while memory is short nothing begins beside what runs', async () => {
  let memoryIsShort = true;
  const gate = new Admission(() => ({...limits, memoryIsShort}), new ManualTimers());
  const first = await gate.enter();
  assert.equal(gate.tryEnter(), undefined);
  const second = gate.enter();
  memoryIsShort = false;
  gate.admitMore();
  (await second).leave();
  first.leave();
  assert.equal(gate.running, 0);
  assert.equal(gate.refused, 0);
});

function isFull(error: unknown, says: RegExp): boolean {
  return error instanceof Refusal && error.code === 'admission.full' && says.test(error.message);
}

test('H3: no user keeps others out, and root always gets in', async () => {
  const gate = new Admission(() => ({...limits, concurrentMax: 4}), new ManualTimers());
  const eve = Array.from({length: 4}, () => gate.tryEnter('eve')).filter(Boolean);
  assert.equal(eve.length, 2, 'all but two places');
  void gate.enter('eve').catch(() => undefined);
  const bob = gate.tryEnter('bob');
  assert.ok(bob, 'another user does not wait behind her');
  assert.ok(gate.tryEnter(undefined), 'the last place is for root');
  const carol = gate.enter('carol');
  bob.leave();
  await carol;
});

test('a user holds no more than his share, whatever is free, and root has none', async () => {
  for (const concurrentMax of [0, 100]) {
    const given = {...limits, concurrentMax, concurrentMaxOfUser: 2};
    const gate = new Admission(() => given, new ManualTimers());
    const first = await gate.enter('eve');
    assert.ok(gate.tryEnter('eve'));
    assert.equal(gate.tryEnter('eve'), undefined);
    const third = gate.enter('eve');
    assert.ok(gate.tryEnter('bob'));
    for (let at = 0; at < 4; at += 1) assert.ok(gate.tryEnter(undefined));
    first.leave();
    (await third).leave();
  }
});

test('H3: who waits least has the next turn, and a flood displaces itself', async () => {
  const timers = new ManualTimers();
  const gate = new Admission(() => ({...limits, queueLengthMax: 3}), timers);
  const first = await gate.enter('eve');
  const flood = Array.from({length: 3}, () => gate.enter('eve'));
  const outcomes = Promise.allSettled(flood);
  const bob = gate.enter('bob');
  first.leave();
  (await flood[0])?.leave();
  (await bob).leave();
  timers.advance(1_000);
  const ends = (await outcomes).map(({status}) => status);
  assert.deepEqual(ends, ['fulfilled', 'fulfilled', 'rejected']);
});
