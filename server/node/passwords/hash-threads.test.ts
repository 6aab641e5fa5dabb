/** Keys are derived on threads that give way to the others, and end when they were idle. */
import assert from 'node:assert/strict';
import {pbkdf2Sync} from 'node:crypto';
import {getPriority} from 'node:os';
import {test} from 'node:test';
import {threadsOfProcess} from '../threads/testing-threads.ts';
import {HashThreads} from './hash-threads.ts';

const idleMs = 2_000;
const lateMs = 250;
const expected = pbkdf2Sync('secret', 'salt', 1_000, 32, 'sha256');

/**
 * Hash threads whose clock is moved by hand. They are not of the idle class, in which they might
 * do nothing for as long as this machine is busy; `priority.test.ts` has that.
 */
class World {
  readonly waiting: {readonly delayMs: number; readonly task: () => void}[] = [];
  readonly threads = new HashThreads(
    {
      after: (delayMs, task) => {
        const timer = {delayMs, task};
        this.waiting.push(timer);
        return () => {
          if (this.waiting.includes(timer)) this.waiting.splice(this.waiting.indexOf(timer), 1);
        };
      },
      yield: () => Promise.resolve(),
    },
    'statement',
  );

  /** Fires the timers of that length that wait now; all, without one. */
  pass(delayMs?: number): void {
    const due = this.waiting.filter(timer => delayMs === undefined || timer.delayMs === delayMs);
    for (const timer of due) this.waiting.splice(this.waiting.indexOf(timer), 1);
    for (const {task} of due) task();
  }

  few(): Promise<Buffer[]> {
    return Promise.all(Array.from({length: 4}, () => this.threads.derive('secret', 'salt', 1_000)));
  }
}

/** Tests that are run with a niceness of their own keep it, in all threads. */
const tellsPriorities = process.platform === 'linux' && getPriority() === 0;

function countOf(priority: number): number {
  return [...threadsOfProcess().values()].filter(({niceness}) => niceness === priority).length;
}

test('orders at the same time take a thread each, later ones the same, idle ones end', async () => {
  const world = new World();
  const {threads} = world;
  assert.deepEqual(await world.few(), Array(4).fill(expected));
  assert.equal(threads.size, 0, 'a few need no thread');
  const again = world.waiting.splice(0);
  const both = [threads.derive('secret', 'salt', 1_000), threads.derive('other', 'salt', 1_000)];
  const [one, other] = await Promise.all(both);
  assert.deepEqual(one, expected);
  assert.notDeepEqual(other, expected);
  assert.deepEqual(await threads.derive('secret', 'salt', 1_000), expected);
  assert.equal(threads.size, 2);
  if (tellsPriorities) assert.equal(countOf(5), 2);
  world.pass();
  assert.equal(threads.size, 0);
  assert.deepEqual(await threads.derive('secret', 'salt', 1_000), expected, 'it begins anew');
  assert.equal(threads.size, 1);
  for (const {task} of again) task();
  await threads.derive('secret', 'salt', 1_000);
  assert.equal(threads.size, 1, 'while a thread is there it hashes');
  assert.deepEqual(
    world.waiting.map(({delayMs}) => delayMs),
    [idleMs],
    'and nothing runs on the pool',
  );
  world.pass();
  await world.few();
  assert.equal(threads.size, 0, 'a few need none again');
  world.pass();
});

test('a late order is given to a thread that is sure to run, and those behind it too', async () => {
  const world = new World();
  const {threads} = world;
  await world.few();
  // Nothing is awaited until all three are given: no answer can come in between.
  const late = threads.derive('secret', 'salt', 1_000);
  assert.equal(threads.size, 1);
  world.pass(lateMs);
  assert.equal(threads.size, 2);
  const behind = threads.derive('secret', 'salt', 1_000);
  assert.equal(threads.size, 3, 'the thread that is late gets no further order');
  assert.deepEqual(await behind, expected);
  if (tellsPriorities) {
    assert.ok(countOf(10) >= 1);
    assert.ok(countOf(5) <= 1, 'nor is another of its kind started');
  }
  assert.deepEqual(await late, expected);
  world.pass();
});
