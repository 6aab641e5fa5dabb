/**
 * Jobs by a clock that a test moves: when they are begun, by which member of a cluster, what is
 * passed over, and what is told of them.
 */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {ManualTimers} from '#server/testing/time/manual-timers.ts';
import {type Job, type JobResult, Scheduler, type ScheduledJob} from './scheduler.ts';

const secondMs = 1_000;
const completed: JobResult = {outcome: 'completed'};

/** Two clocks, of which the one on the wall may be set, and timers that go by the other. */
class Time {
  readonly timers = new ManualTimers();
  wallAheadMs = 1_000_000;

  readonly clock = {
    now: () => this.timers.now() + this.wallAheadMs,
    monotonic: () => this.timers.now(),
  };

  /** Lets so much pass, and promises go on after each second. */
  async pass(millis: number): Promise<void> {
    for (let left = millis; left > 0; left -= secondMs) {
      this.timers.advance(Math.min(left, secondMs));
      await settle();
    }
  }
}

function settle(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve));
}

/** A job that says when it was begun, every so many seconds. */
function every(seconds: number, begun: string[], more: Partial<Job> = {}): Job {
  const database = more.database ?? 'db';
  return {
    kind: 'view',
    database,
    clock: 'monotonic',
    rhythm: `${seconds}`,
    next: (_before, now) => now + seconds * secondMs,
    runsHere: () => true,
    run: async () => {
      begun.push(database);
      return completed;
    },
    ...more,
  };
}

function lastOf([job]: readonly ScheduledJob[]): string | undefined {
  return job?.last?.outcome;
}

test('jobs are begun when they are due, and told with next moment and last outcome', async () => {
  const time = new Time();
  const scheduler = new Scheduler(time);
  const begun: string[] = [];
  scheduler.add(every(10, begun, {database: 'a'}));
  scheduler.add(every(4, begun, {database: 'b', name: 'V'}));
  assert.deepEqual(
    scheduler.list().map(({database, next, last}) => [database, next, last]),
    [
      ['b', time.clock.now() + 4 * secondMs, undefined],
      ['a', time.clock.now() + 10 * secondMs, undefined],
    ],
  );
  await time.pass(10 * secondMs);
  assert.deepEqual(begun, ['b', 'b', 'a']);
  const [b, a] = scheduler.list();
  assert.deepEqual(b?.last, {
    at: time.clock.now() - 2 * secondMs,
    outcome: 'completed',
    detail: undefined,
    elapsedMs: 0,
  });
  assert.equal(a?.next, time.clock.now() + 10 * secondMs);
  await scheduler.end();
  await time.pass(60 * secondMs);
  assert.equal(begun.length, 3);
});

test('of the members of a cluster the one that leads does it, then the next one', async () => {
  const time = new Time();
  let leader = 0;
  const begun: string[] = [];
  const running = Promise.withResolvers<void>();
  const members = [0, 1, 2].map(member => {
    const scheduler = new Scheduler(time);
    scheduler.add(
      every(10, begun, {
        runsHere: () => leader === member,
        run: async () => {
          begun.push(`${member}`);
          if (begun.length === 3) await running.promise;
          return {outcome: 'completed', detail: `by ${member}`};
        },
      }),
    );
    return scheduler;
  });
  await time.pass(20 * secondMs);
  assert.deepEqual(begun, ['0', '0']);
  await time.pass(9 * secondMs);
  leader = 1;
  await time.pass(secondMs);
  assert.deepEqual(begun, ['0', '0', '1'], 'one moment, one run');
  // What is under way goes on when the next one leads, which does not repeat it.
  leader = 2;
  await time.pass(9 * secondMs);
  assert.deepEqual(begun, ['0', '0', '1']);
  running.resolve();
  await time.pass(secondMs);
  assert.deepEqual(begun, ['0', '0', '1', '2']);
  const told = members.map(scheduler => scheduler.list()[0]);
  assert.deepEqual(
    told.map(job => [job?.runsHere, job?.last?.detail]),
    [
      [false, 'by 0'],
      [false, 'by 1'],
      [true, 'by 2'],
    ],
  );
  assert.equal(new Set(told.map(job => job?.next)).size, 1, 'all plan the same moment');
  await Promise.all(members.map(scheduler => scheduler.end()));
});

test('a job that is still under way is passed over, and one that fails comes again', async () => {
  const time = new Time();
  const scheduler = new Scheduler(time);
  const runs = [Promise.withResolvers<JobResult>(), Promise.withResolvers<JobResult>()];
  let count = 0;
  const passedOver: string[] = [];
  scheduler.add(
    every(10, [], {
      run: () => runs[count++]?.promise ?? Promise.resolve(completed),
      onPassedOver: outcome => void passedOver.push(outcome),
    }),
  );
  await time.pass(10 * secondMs);
  assert.equal(scheduler.list()[0]?.isRunning, true);
  await time.pass(10 * secondMs);
  assert.deepEqual([count, passedOver, lastOf(scheduler.list())], [1, ['skipped'], 'skipped']);
  runs[0]?.reject(new Error('no room'));
  await settle();
  const {last} = scheduler.list()[0] ?? {};
  assert.deepEqual([last?.outcome, last?.detail], ['failed', 'no room']);
  await time.pass(10 * secondMs);
  runs[1]?.resolve({outcome: 'skipped', detail: 'busy'});
  await settle();
  assert.equal(lastOf(scheduler.list()), 'skipped');
  await time.pass(10 * secondMs);
  assert.equal(lastOf(scheduler.list()), 'completed');
  await scheduler.end();
});

test('so many of a kind are done at once, the others in the order of their moments', async () => {
  const time = new Time();
  const scheduler = new Scheduler(time);
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  for (const database of ['a', 'b', 'c', 'd']) {
    scheduler.add(
      every(10, begun, {
        kind: 'backup',
        database,
        run: () => {
          begun.push(database);
          return new Promise(resolve => ends.push(() => resolve(completed)));
        },
      }),
    );
  }
  scheduler.add(every(10, begun, {database: 'view'}));
  await time.pass(10 * secondMs);
  assert.deepEqual(begun, ['a', 'b', 'view']);
  ends[0]?.();
  await settle();
  assert.deepEqual(begun, ['a', 'b', 'view', 'c']);
  const isEnded = scheduler.end();
  for (const end of ends) end();
  await isEnded;
  assert.deepEqual(begun, ['a', 'b', 'view', 'c'], 'what waited is not begun at the end');
});

test('a wall that is set does not touch intervals; what it leaves behind was missed', async () => {
  const time = new Time();
  const scheduler = new Scheduler(time);
  const begun: string[] = [];
  const missed: number[] = [];
  const dueAt = time.clock.now() + 3_600 * secondMs;
  scheduler.add(every(10, begun, {database: 'interval'}));
  scheduler.add(
    every(0, begun, {
      kind: 'backup',
      database: 'wall',
      clock: 'wall',
      next: (_before, now) => (now < dueAt ? dueAt : undefined),
      onPassedOver: (_outcome, due) => void missed.push(due),
    }),
  );
  time.wallAheadMs += 7_200 * secondMs;
  await time.pass(10 * secondMs);
  assert.deepEqual(begun, ['interval']);
  assert.deepEqual(missed, [dueAt]);
  time.wallAheadMs -= 14_400 * secondMs;
  await time.pass(10 * secondMs);
  assert.deepEqual(begun, ['interval', 'interval']);
  const [, wall] = scheduler.list();
  assert.deepEqual([wall?.next, wall?.last?.outcome], [undefined, 'missed']);
  await scheduler.end();
});

test('a job that is changed keeps its moment as long as its rhythm stays', async () => {
  const time = new Time();
  const scheduler = new Scheduler(time);
  const begun: string[] = [];
  const planned = scheduler.add(every(10, begun, {database: 'a'}));
  await time.pass(8 * secondMs);
  planned.change(every(10, begun, {database: 'b'}));
  await time.pass(2 * secondMs);
  assert.deepEqual(begun, ['b']);
  planned.change(every(3, begun, {database: 'c'}));
  await time.pass(3 * secondMs);
  assert.deepEqual(begun, ['b', 'c']);
  planned.remove();
  await time.pass(60 * secondMs);
  assert.deepEqual(begun, ['b', 'c']);
  assert.deepEqual(scheduler.list(), []);
});

test('what is under way is told to stop when the server ends', async () => {
  const time = new Time();
  const scheduler = new Scheduler(time);
  let stopped = false;
  scheduler.add(
    every(10, [], {
      run: async signal => {
        while (!signal.aborted) await settle();
        stopped = true;
        return completed;
      },
    }),
  );
  await time.pass(10 * secondMs);
  await scheduler.end();
  assert.ok(stopped);
});
