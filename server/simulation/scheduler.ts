/**
 * Simulated time and the order of events: tasks become ready at a time, chance picks among those
 * that are ready, and everything a task resolves runs before the next one.
 */
import type {Clock} from '#server/platform/clock.ts';
import type {Machine} from './machine.ts';
import type {SeededRandom} from './seeded-random.ts';

interface Task {
  readonly at: number;
  readonly name: string;
  readonly work: () => void;
}

const epochMs = 1_700_000_000_000;

export class Scheduler {
  readonly #random: SeededRandom;
  readonly #machine: Machine;
  #tasks: Task[] = [];
  #now = 0;

  constructor(random: SeededRandom, machine: Machine) {
    this.#random = random;
    this.#machine = machine;
  }

  get clock(): Clock {
    return {now: () => epochMs + Math.floor(this.#now), monotonic: () => this.#now};
  }

  /** Simulated milliseconds since the world began. */
  get nowMs(): number {
    return this.#now;
  }

  after(delayMs: number, name: string, work: () => void): void {
    this.#tasks.push({at: this.#now + delayMs, name, work});
  }

  sleep(delayMs: number): Promise<void> {
    return new Promise(resolve => this.after(delayMs, 'wake', resolve));
  }

  /** Forgets every task: the process that made them has ended. */
  clear(): void {
    this.#tasks = [];
  }

  /** Runs tasks until `finished` says so or none is left. */
  async run(finished: () => boolean): Promise<void> {
    await settleMicrotasks();
    while (!finished() && this.#tasks.length > 0) {
      const earliest = Math.min(...this.#tasks.map(task => task.at));
      this.#now = Math.max(this.#now, earliest);
      const ready = this.#tasks.filter(task => task.at <= this.#now);
      const task = this.#random.pick(ready);
      this.#tasks.splice(this.#tasks.indexOf(task), 1);
      this.#machine.trace(task.name);
      task.work();
      await settleMicrotasks();
    }
  }
}

/** Everything that resolved promises have made ready has had its turn. */
function settleMicrotasks(): Promise<void> {
  return new Promise(resolve => {
    setImmediate(resolve);
  });
}
