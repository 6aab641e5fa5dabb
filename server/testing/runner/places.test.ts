/** Files run beside each other as long as the machine has a processor to spare. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {ManualTimers} from '../time/manual-timers.ts';
import {inPlaces} from './places.ts';

/** Work of so many pieces, each of which ends when the test says so. */
class Pieces {
  #left: number;
  readonly #ends: (() => void)[] = [];

  constructor(count: number) {
    this.#left = count;
  }

  get running(): number {
    return this.#ends.length;
  }

  readonly next = (): Promise<void> | undefined => {
    if (this.#left === 0) return undefined;
    this.#left -= 1;
    return new Promise(resolve => this.#ends.push(resolve));
  };

  /** Ends the one that has run the longest. */
  async end(): Promise<void> {
    this.#ends.shift()?.();
    await turn();
  }
}

/** Lets what is settled be heard of. */
const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve));

test('one more runs at every look at an idle machine, up to the most', async () => {
  const timers = new ManualTimers();
  const pieces = new Pieces(6);
  const done = inPlaces(pieces.next, {least: 2, most: 4, idle: () => 1, timers});
  const counts: number[] = [pieces.running];
  for (let look = 0; look < 3; look++) {
    timers.advance(500);
    await turn();
    counts.push(pieces.running);
  }
  assert.deepEqual(counts, [2, 3, 4, 4]);
  await pieces.end();
  assert.equal(pieces.running, 4, 'the next one takes the place');
  for (let piece = 0; piece < 5; piece++) await pieces.end();
  await done;
});

test('a busy machine runs the least number, and falls back to it', async () => {
  const timers = new ManualTimers();
  const pieces = new Pieces(5);
  let idle = 2;
  const done = inPlaces(pieces.next, {least: 2, most: 4, idle: () => idle, timers});
  timers.advance(500);
  await turn();
  assert.equal(pieces.running, 3);
  idle = 0;
  timers.advance(500);
  await turn();
  assert.equal(pieces.running, 3);
  await pieces.end();
  assert.equal(pieces.running, 2);
  await pieces.end();
  assert.equal(pieces.running, 2);
  for (let piece = 0; piece < 3; piece++) await pieces.end();
  await done;
});

test('work that fails is heard of', async () => {
  const timers = new ManualTimers();
  const next = (): Promise<void> => Promise.reject(new Error('ended'));
  await assert.rejects(inPlaces(next, {least: 1, most: 1, idle: () => 0, timers}), /ended/);
});

test('nothing to do is done at once', async () => {
  const timers = new ManualTimers();
  await inPlaces(() => undefined, {least: 2, most: 4, idle: () => 1, timers});
});
