/**
 * How far long work on a database has come: builds of indexes, checks.
 *
 * Whoever works says what it does and where its count is to be read; nothing is counted for the
 * sake of being shown. Nothing here outlives the work.
 */
import type {Clock} from '#server/platform/clock.ts';

/** One line for a person who waits. */
export interface WorkProgress {
  readonly id: number;
  readonly operation: string;
  readonly stepName: string;
  /** The number of the step, from 0, of `totalSteps`. */
  readonly stepIndex: number;
  readonly totalSteps: number;
  readonly done: number;
  /** Undefined: nobody knows. */
  readonly total: number | undefined;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly elapsedMs: number;
}

/** Counts that change while they are looked at; a total of 0: nobody knows. */
export interface DoneOfTotal {
  readonly done: number;
  readonly total: number;
}

interface Step {
  readonly name: string;
  readonly total: number | undefined | (() => number | undefined);
  readonly done: () => number;
}

export class Work {
  readonly id: number;
  readonly #operation: string;
  readonly #stepCount: number;
  readonly #startedAt: number;
  #stepIndex = -1;
  #step: Step = {name: 'begin', total: undefined, done: () => 0};

  constructor(id: number, operation: string, stepCount: number, startedAt: number) {
    this.id = id;
    this.#operation = operation;
    this.#stepCount = stepCount;
    this.#startedAt = startedAt;
  }

  get stepName(): string {
    return this.#step.name;
  }

  next(step: Step): void {
    this.#stepIndex += 1;
    this.#step = step;
  }

  progress(now: number): WorkProgress {
    const {name, total, done} = this.#step;
    return {
      id: this.id,
      operation: this.#operation,
      stepName: name,
      stepIndex: Math.max(0, this.#stepIndex),
      totalSteps: this.#stepCount,
      done: done(),
      total: typeof total === 'function' ? total() : total,
      startedAt: this.#startedAt,
      elapsedMs: Math.max(0, now - this.#startedAt),
    };
  }
}

/** The long work on one database. */
export class ProgressRegistry {
  readonly #clock: Clock;
  readonly #works = new Map<number, Work>();
  #last = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Call `end` when it has ended in whatever way. */
  begin(operation: string, stepCount: number): Work {
    this.#last += 1;
    const work = new Work(this.#last, operation, stepCount, this.#clock.now());
    this.#works.set(work.id, work);
    return work;
  }

  end(work: Work): void {
    this.#works.delete(work.id);
  }

  /** Shows work that is done elsewhere, until the returned function is called. */
  show(name: string, figures: DoneOfTotal): () => void {
    const work = this.begin(name, 1);
    const total = (): number | undefined => (figures.total > 0 ? figures.total : undefined);
    work.next({name, total, done: () => figures.done});
    return () => this.end(work);
  }

  list(): readonly WorkProgress[] {
    const now = this.#clock.now();
    return [...this.#works.values()].map(work => work.progress(now));
  }
}

/** Work as somebody may see it who may not read all that it is about: in percent. */
export function withoutTypes(work: WorkProgress): WorkProgress {
  const {done, total} = work;
  const unnamed = {...work, stepName: work.operation};
  if (total === undefined) return {...unnamed, done: 0};
  return {...unnamed, done: total === 0 ? 100 : Math.floor((100 * done) / total), total: 100};
}
