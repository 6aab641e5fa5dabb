/**
 * Ends test files that go on behind their time. Node's runner asks them to by a signal for which
 * each file has a handler, and a loop that never lets go of its thread never gets to that: the
 * whole run would hang, and nobody would see which file it was.
 */
import {readdirSync, readFileSync} from 'node:fs';

/** Behind the time at which they are asked. */
const graceMs = 5_000;

export class OverdueFiles {
  readonly #msMax: number;
  readonly #timers = new Map<string, NodeJS.Timeout>();

  /** Each file may take `msMax` and some seconds. */
  constructor(msMax: number, grace = graceMs) {
    this.#msMax = msMax + grace;
  }

  /** A child of this process begins to run the file. */
  began(file: string): void {
    this.ended(file);
    const timer = setTimeout(() => {
      console.error(
        `${file} is not done within ${this.#msMax / 1000} s and hears no signal: ended`,
      );
      endChildrenOf(file);
    }, this.#msMax);
    this.#timers.set(file, timer);
  }

  ended(file: string): void {
    clearTimeout(this.#timers.get(file));
    this.#timers.delete(file);
  }
}

/** Where the system tells of its processes as Linux does; elsewhere the run hangs as it would. */
function endChildrenOf(file: string): void {
  for (const pid of children()) {
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
      if (words.includes(file)) process.kill(pid, 'SIGKILL');
    } catch {
      // It ended meanwhile.
    }
  }
}

function children(): readonly number[] {
  const pids: number[] = [];
  try {
    for (const task of readdirSync('/proc/self/task')) {
      const text = readFileSync(`/proc/self/task/${task}/children`, 'utf8');
      pids.push(...text.split(' ').filter(Boolean).map(Number));
    }
  } catch {
    // Not this system.
  }
  return pids;
}
