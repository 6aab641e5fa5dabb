/**
 * What a burst leaves behind is given back: its buffers soon, in steps that V8 takes by itself, and
 * everything in one go where little was done for a while. What stays is left alone.
 */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {getHeapSpaceStatistics, setFlagsFromString} from 'node:v8';
import {runInNewContext} from 'node:vm';
import {eventually} from '#server/testing/time/eventually.ts';
import {keepMemorySmall, processBusyShare} from './heap-trimmer.ts';

const MB = 1 << 20;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as (options: object) => void;

/** What an earlier test has left does not count as growth, nor its going as room. */
function collectAll(): void {
  collect({type: 'major', execution: 'sync', flavor: 'last-resort'});
}

/** The keeper under a clock that is moved by hand. */
class Kept {
  trims = 0;
  busyShare = 0;
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
    busyShare: () => this.busyShare,
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

/** Memory of the process where it had none before: less than a step. */
function newMemory(): object {
  return new Uint8Array(new WebAssembly.Memory({initial: 24 * 16, maximum: 24 * 16}).buffer).fill(
    1,
  );
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

test('buffers of a burst are collected', async () => {
  collectAll();
  const before = bufferBytes();
  const kept = new Kept();
  kept.busyShare = 1;
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
  await eventually('they are gone', gone, {millisMax: 20_000});
  kept.end();
});

test('what the C library keeps is given back where the process has grown', () => {
  const kept = new Kept();
  // Some of them may lie where the process was large before.
  const things = [...manyBuffers(), ...manyBuffers(), ...manyBuffers()];
  kept.look();
  assert.equal(kept.trims, 1, `${things.length} MB more`);
  kept.end();
});

test('a server that has fallen quiet gives back what the C library keeps, once', () => {
  const kept = new Kept();
  for (let looks = 0; looks < 14; looks += 1) kept.look();
  const before = kept.trims;
  kept.look();
  kept.look();
  assert.equal(kept.trims, before + 1);
  for (let looks = 0; looks < 60; looks += 1) kept.look();
  assert.equal(kept.trims, before + 1);
  kept.busyShare = 1;
  kept.look();
  kept.busyShare = 0;
  for (let looks = 0; looks < 20; looks += 1) kept.look();
  assert.equal(kept.trims, before + 2);
  kept.end();
});

test('a quiet server that grows by less than a step gives back again, more and more seldom', () => {
  collectAll();
  const kept = new Kept();
  for (let looks = 0; looks < 20; looks += 1) kept.look();
  const before = kept.trims;
  const things = [newMemory()];
  for (let looks = 0; looks < 25; looks += 1) kept.look();
  assert.equal(kept.trims, before + 1);
  things.push(newMemory());
  for (let looks = 0; looks < 15; looks += 1) kept.look();
  assert.equal(kept.trims, before + 1, 'not so soon again');
  for (let looks = 0; looks < 30; looks += 1) kept.look();
  assert.equal(kept.trims, before + 2, `${things.length} times`);
  kept.end();
});

test('a server that has had little to do is collected as a whole', () => {
  collectAll();
  const kept = new Kept();
  kept.busyShare = 1;
  const things = manyBuffers();
  for (let number = 0; number < 1_000_000; number += 1) things.push({number});
  for (let looks = 0; looks < 60; looks += 1) kept.look();
  const large = nurseryBytes();
  assert.ok(large > 4 * MB, `the nursery of a busy server stays at ${large} bytes`);
  kept.busyShare = 0;
  for (let looks = 0; looks < 16; looks += 1) kept.look();
  const small = nurseryBytes();
  assert.ok(small < 4 * MB, `${small} bytes are left of a nursery of ${large}`);
  assert.equal(things.length, 1_000_060, 'what is used is left');
  kept.end();
});

test('a process is busy while it is kept from a processor', () => {
  let now = 0;
  let waitedMs = 0;
  const clock = {now: () => now, monotonic: () => now};
  const share = processBusyShare(clock, () => waitedMs);
  now += 10_000;
  const quiet = share();
  now += 10_000;
  waitedMs += 7_000;
  const kept = share();
  assert.ok(quiet < 0.4 && kept > 0.7, `${quiet} quiet, ${kept} kept`);
});

test('a process is busy while it computes, not while it waits for something else', () => {
  const share = processBusyShare({now: Date.now, monotonic: () => performance.now()}, () => 0);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
  const waiting = share();
  const cpu = process.cpuUsage().user;
  while (process.cpuUsage().user - cpu < 100_000);
  const computing = share();
  // Others may take the processor from it, so the second is not near 1 everywhere.
  assert.ok(waiting < 0.2 && computing > 2 * waiting, `${waiting} waiting, ${computing} computing`);
});
