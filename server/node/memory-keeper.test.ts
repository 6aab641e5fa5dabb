/**
 * What a burst leaves behind is given back: its buffers soon, in steps that V8 takes by itself, and
 * everything in one go where little was done for a while. What stays is left alone.
 */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {getHeapSpaceStatistics} from 'node:v8';
import {eventually} from '#server/testing/time/eventually.ts';
import {keepMemorySmall} from './memory-keeper.ts';

const MB = 1 << 20;

/** The keeper under a clock that is moved by hand. */
class Kept {
  trims = 0;
  #now = 0;
  #look: () => void = () => {};
  readonly end = keepMemorySmall({
    clock: {now: () => this.#now, monotonic: () => this.#now},
    timers: {
      after: (_delayMs, task) => {
        this.#look = task;
        return () => {};
      },
      yield: () => Promise.resolve(),
    },
    trim: () => {
      this.trims += 1;
    },
    shed: () => {},
  });

  look(): void {
    this.#now += 1_000;
    this.#look();
  }
}

/** Buffers, fewer than V8 would collect by itself; small objects make the nursery large. */
function burst(smallObjects: number): object[] {
  const kept: object[] = Array.from({length: 60}, () => Buffer.alloc(MB, 1));
  for (let number = 0; number < smallObjects; number += 1) kept.push({number});
  // What has outlived some collections of the nursery is old.
  for (let number = 0; number < 200; number += 1) Array.from({length: 100_000}, () => number);
  return kept;
}

function bufferBytes(): number {
  return process.memoryUsage().arrayBuffers;
}

function nurseryBytes(): number {
  const space = getHeapSpaceStatistics().find(({space_name: name}) => name === 'new_space');
  return space?.space_size ?? 0;
}

test('buffers of a burst are collected, and what is free is given back', async () => {
  const before = bufferBytes();
  const kept = new Kept();
  let things: object[] | undefined = burst(0);
  assert.ok(bufferBytes() - before > 48 * MB, `${things.length} things are there`);
  things = undefined;
  // A collection that was under way does not find them; the next one is due after some looks. The
  // thread is busy between them, so V8 takes steps of its own.
  const gone = (): boolean => {
    const end = performance.now() + 10;
    while (performance.now() < end);
    kept.look();
    return bufferBytes() - before < 16 * MB;
  };
  await eventually('they are gone', gone, {millisMax: 5_000});
  kept.look();
  assert.ok(kept.trims > 0);
  kept.end();
});

test('a server that has had little to do is collected as a whole', async () => {
  const kept = new Kept();
  const things = burst(1_000_000);
  assert.ok(nurseryBytes() > 8 * MB, 'small objects made the nursery large');
  // The time between two looks is idle.
  const small = (): boolean => {
    kept.look();
    return nurseryBytes() < 4 * MB;
  };
  await eventually('the nursery is small', small, {millisMax: 5_000, pollMillis: 20});
  assert.equal(things.length, 1_000_060, 'what is used is left');
  kept.end();
});
