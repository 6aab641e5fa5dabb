/**
 * Simulated time and the order of events: tasks become ready at a time, and chance orders those
 * that are ready at the same one.
 *
 * `run` lets everything that a task resolves have its turn before the next one; worlds without
 * promises take one task after another by `runNext`, which is many times faster.
 */
import type {Clock, Timers} from '#server/platform/clock.ts';
import type {Machine} from './machine.ts';
import type {SeededRandom} from './seeded-random.ts';

interface Task {
  readonly at: number;
  /** Chance breaks the tie: tasks of one time run in its order. */
  readonly tie: number;
  readonly name: string;
  readonly work: () => void;
}

const epochMs = 1_700_000_000_000;
/** Tasks in one turn of the real event loop. */
const turnsMax = 100;
/** Tasks without time passing: a thousand times what the busiest world has. */
const standingTasksMax = 1_000_000;

export class Scheduler {
  readonly #random: SeededRandom;
  readonly #machine: Machine;
  #tasks: Task[] = [];
  #now = 0;
  /** Tasks since time passed last. */
  #standingTasks = 0;
  /** How far the clock on the wall is wrong. */
  wallErrorMs = 0;

  constructor(random: SeededRandom, machine: Machine) {
    this.#random = random;
    this.#machine = machine;
  }

  get clock(): Clock {
    return {
      now: () => epochMs + this.wallErrorMs + Math.floor(this.#now),
      monotonic: () => this.#now,
    };
  }

  get timers(): Timers {
    return {
      after: (delayMs, task) => {
        let isWanted = true;
        this.after(delayMs, 'timer', () => {
          if (isWanted) task();
        });
        return () => {
          isWanted = false;
        };
      },
      yield: () => this.sleep(0),
    };
  }

  /** Simulated milliseconds since the world began. */
  get nowMs(): number {
    return this.#now;
  }

  /** Cost: O(log n) of the tasks that wait, here and when it runs. */
  after(delayMs: number, name: string, work: () => void): void {
    const task = {at: this.#now + delayMs, tie: this.#random.u32(), name, work};
    let place = this.#tasks.length;
    for (; place > 0; place = (place - 1) >> 1) {
      const parent = this.#tasks[(place - 1) >> 1];
      if (parent === undefined || isBefore(parent, task)) break;
      this.#tasks[place] = parent;
    }
    this.#tasks[place] = task;
  }

  sleep(delayMs: number): Promise<void> {
    return new Promise(resolve => this.after(delayMs, 'wake', resolve));
  }

  /** Forgets every task: the process that made them has ended. */
  clear(): void {
    this.#tasks = [];
  }

  /** Runs tasks until `finished` says so or none is left. */
  run(finished: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      let isOver = false;
      let left = 0;
      const turn = (): void => {
        left--;
        if (isOver) return;
        try {
          isOver = finished() || !this.runNext();
        } catch (error) {
          isOver = true;
          return reject(error);
        }
        if (isOver) return resolve();
        if (left === 0) begin();
      };
      const begin = (): void => {
        for (left = 0; left < turnsMax; left++) setImmediate(turn);
      };
      begin();
    });
  }

  /** Runs the next task; false when none is left. Throws where time does not pass any more. */
  runNext(): boolean {
    const task = this.#takeFirst();
    if (task === undefined) return false;
    this.#standingTasks = task.at > this.#now ? 0 : this.#standingTasks + 1;
    if (this.#standingTasks > standingTasksMax) {
      throw new Error(`the world stands still at ${this.#now} ms, the next task is '${task.name}'`);
    }
    this.#now = Math.max(this.#now, task.at);
    this.#machine.trace(task.name);
    task.work();
    return true;
  }

  /** The head of the heap: no task is before its parent at half its place. */
  #takeFirst(): Task | undefined {
    const [first] = this.#tasks;
    const moved = this.#tasks.pop();
    if (first === undefined || moved === undefined || this.#tasks.length === 0) return first;
    let place = 0;
    for (;;) {
      const left = this.#tasks[2 * place + 1];
      const right = this.#tasks[2 * place + 2];
      const goesRight = left !== undefined && right !== undefined && isBefore(right, left);
      const child = goesRight ? right : left;
      if (child === undefined || isBefore(moved, child)) break;
      this.#tasks[place] = child;
      place = 2 * place + (goesRight ? 2 : 1);
    }
    this.#tasks[place] = moved;
    return first;
  }
}

function isBefore(left: Task, right: Task): boolean {
  return left.at === right.at ? left.tie < right.tie : left.at < right.at;
}
