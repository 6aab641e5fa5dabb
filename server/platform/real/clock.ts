/**
 * Time, chance and timers of the real machine (see ../clock.ts for what they promise).
 *
 * Random bytes come from the kernel's generator in blocks, since ids and salts need few at a time
 * and a system call each would dominate.
 */
import {randomFillSync} from 'node:crypto';
import type {Clock, Random, Timers} from '../clock.ts';
import {Turns} from './turns.ts';

export function createClock(): Clock {
  return {
    now: () => Date.now(),
    monotonic: () => performance.now(),
    worked: threadCpuMs,
  };
}

/** The processor time that the calling thread has taken, in milliseconds. */
export function threadCpuMs(): number {
  const {user, system} = process.threadCpuUsage();
  return (user + system) / 1_000;
}

const blockBytes = 1024;

export function createRandom(): Random {
  const block = Buffer.alloc(blockBytes);
  let used = blockBytes;
  return {
    u32() {
      if (used + 4 > blockBytes) {
        randomFillSync(block);
        used = 0;
      }
      used += 4;
      return block.readUInt32LE(used - 4);
    },
    fill(target) {
      randomFillSync(target);
    },
  };
}

/** Timers do not keep the process alive: what must be awaited is awaited by its owner. */
export function createTimers(): Timers {
  const turns = new Turns(
    () => performance.now(),
    task => void setImmediate(task),
  );
  return {
    after(delayMs, task) {
      const timer = setTimeout(task, delayMs);
      timer.unref();
      return () => clearTimeout(timer);
    },
    yield: () => turns.next(),
  };
}
