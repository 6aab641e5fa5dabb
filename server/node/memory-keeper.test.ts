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

/** Buffers, fewer than V8 would collect by itself. */
function manyBuffers(): object[] {
  return Array.from({length: 60}, () => Buffer.alloc(MB, 1));
}

/** What has outlived some collections of the nursery is old. */
function grownOld(things: object[]): object[] {
  for (let number = 0; number < 200; number += 1) Array.from({length: 100_000}, () => number);
  return things;
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
  let things: object[] | undefined = grownOld(manyBuffers());
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
  const things = manyBuffers();
  for (let number = 0; number < 1_000_000; number += 1) things.push({number});
  const large = nurseryBytes();
  assert.ok(large > 4 * MB, `a nursery of ${large} bytes was made large`);
  // The time between two looks is idle. V8 itself makes a nursery small after 8 s.
  const small = (): boolean => {
    kept.look();
    return nurseryBytes() < 4 * MB;
  };
  await eventually('the nursery is small', small, {millisMax: 7_000, pollMillis: 100});
  assert.equal(things.length, 1_000_060, 'what is used is left');
  kept.end();
});
