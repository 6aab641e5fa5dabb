/**
 * What a server does again and again by the clock: backups that are due, views that are refreshed.
 * One timer waits for all of it, and whoever asks is told what there is, when it comes due next and
 * what became of it last.
 *
 * Every member of a cluster plans the same jobs, and asks when one comes due whether it is the one
 * to do it: so the clock that counts is the leader's, and the next leader goes on where it is. A
 * job that is under way when leadership ends goes on. One that is still under way when it comes due
 * again is passed over, and what was missed is not made up for: the process was stopped, or the
 * machine asleep.
 */
import type {Cancellation} from '#server/base/cancellation.ts';
import {reasonOf} from '#server/base/errors.ts';
import type {Clock, Timers} from '#server/platform/clock.ts';

/** What is done again and again. */
export interface Job {
  readonly kind: JobKind;
  readonly database: string;
  /** Which of the kind in its database; undefined: there is only one. */
  readonly name?: string | undefined;
  /**
   * The clock of `next`: the one on the wall, which may be set, or the one that only goes on, by
   * which nothing is ever missed.
   */
  readonly clock: 'wall' | 'monotonic';
  /** What says when it is due; a job that takes the place of one with the same keeps its moment. */
  readonly rhythm: string;
  /**
   * When it is due next, in milliseconds of its clock.
   *
   * @param before - When it was due last, or began to be planned.
   * @param now - Everything up to here is over.
   * @returns Undefined: never.
   */
  readonly next: (before: number, now: number) => number | undefined;
  /** Whether this server is the one to do it, at this moment. */
  readonly runsHere: () => boolean;
  /** Does it; aborted when the server ends. What it answers or throws is told as its outcome. */
  readonly run: (signal: Cancellation) => Promise<JobResult>;
  /** Hears that it was not begun though it was due; absent: nobody wants to. */
  readonly onPassedOver?: (outcome: 'skipped' | 'missed', due: number) => void;
}

export type JobKind = 'backup' | 'view';

export interface JobResult {
  readonly outcome: 'completed' | 'skipped';
  /** What was made, or why nothing was. */
  readonly detail?: string | undefined;
}

/** What became of a job last, on this server. */
export interface JobOutcome {
  /** When it ended, in milliseconds since 1970. */
  readonly at: number;
  readonly outcome: JobResult['outcome'] | 'failed' | 'missed';
  readonly detail: string | undefined;
  /** Undefined: it was not begun. */
  readonly elapsedMs: number | undefined;
}

/** A job as it is listed. */
export interface ScheduledJob extends Pick<Job, 'kind' | 'database' | 'name'> {
  /** Milliseconds since 1970; undefined: never. */
  readonly next: number | undefined;
  readonly isRunning: boolean;
  readonly runsHere: boolean;
  readonly last: JobOutcome | undefined;
}

/** A job that is planned. */
export interface PlannedJob {
  /** Another one takes its place. */
  change(job: Job): void;
  /** It is not begun any more; what is under way goes on. */
  remove(): void;
  readonly next: number | undefined;
}

/** How many of a kind are done at once. */
const atOnce: Readonly<Record<JobKind, number>> = {backup: 2, view: 4};
/** The longest wait of a timer: the clock on the wall may be set meanwhile. */
const waitMsMax = 30_000;
/** What is overdue by more than this was missed. */
const lateMsMax = 60_000;

interface KnownJob {
  job: Job;
  /** Milliseconds of its job's clock. */
  due: number | undefined;
  state: 'idle' | 'waiting' | 'running';
  last: JobOutcome | undefined;
}

export class Scheduler {
  readonly #clock: Clock;
  readonly #timers: Pick<Timers, 'after'>;
  readonly #jobs = new Set<KnownJob>();
  readonly #waiting: KnownJob[] = [];
  readonly #running = new Map<KnownJob, Promise<void>>();
  #cancelTimer: () => void = () => {};
  readonly #ended = {aborted: false};

  constructor({clock, timers}: {readonly clock: Clock; readonly timers: Pick<Timers, 'after'>}) {
    this.#clock = clock;
    this.#timers = timers;
  }

  /** Plans a job from now on. */
  add(job: Job): PlannedJob {
    const now = this.#now(job);
    const known: KnownJob = {job, due: job.next(now, now), state: 'idle', last: undefined};
    this.#jobs.add(known);
    this.#wait();
    const change = (other: Job): void => this.#change(known, other);
    const remove = (): void => this.#remove(known);
    return {
      change,
      remove,
      get next() {
        return known.due;
      },
    };
  }

  /** All jobs, those that are due first in front. */
  list(): readonly ScheduledJob[] {
    const jobs = [...this.#jobs].map(({job, due, state, last}) => ({
      kind: job.kind,
      database: job.database,
      name: job.name,
      next: due === undefined ? undefined : due - this.#now(job) + this.#clock.now(),
      isRunning: state === 'running',
      runsHere: job.runsHere(),
      last,
    }));
    return jobs.sort((one, other) => (one.next ?? Infinity) - (other.next ?? Infinity));
  }

  /** Begins what has come due. Its own timer does so; whoever knows of more may call it too. */
  look(): void {
    if (this.#ended.aborted) return;
    const due = [...this.#jobs].filter(known => this.#overdueMs(known) >= 0);
    due.sort((one, other) => this.#overdueMs(other) - this.#overdueMs(one));
    for (const known of due) this.#take(known);
    this.#start();
    this.#wait();
  }

  /** Begins nothing more, ends what can be ended. Resolves when nothing is under way. */
  async end(): Promise<void> {
    this.#ended.aborted = true;
    this.#cancelTimer();
    this.#waiting.length = 0;
    await Promise.all(this.#running.values());
  }

  #now({clock}: Job): number {
    return clock === 'wall' ? this.#clock.now() : this.#clock.monotonic();
  }

  /** Less than nothing while it is not due. */
  #overdueMs({job, due}: KnownJob): number {
    return due === undefined ? -Infinity : this.#now(job) - due;
  }

  #change(known: KnownJob, job: Job): void {
    const isSame = known.job.rhythm === job.rhythm && known.job.clock === job.clock;
    known.job = job;
    if (isSame) return;
    const now = this.#now(job);
    known.due = job.next(now, now);
    this.#wait();
  }

  #remove(known: KnownJob): void {
    this.#jobs.delete(known);
    const at = this.#waiting.indexOf(known);
    if (at >= 0) this.#waiting.splice(at, 1);
    this.#wait();
  }

  #take(known: KnownJob): void {
    const {job, due = 0} = known;
    const now = this.#now(job);
    known.due = job.next(due, now);
    if (!job.runsHere()) return;
    if (job.clock === 'wall' && now - due > lateMsMax) {
      return this.#passOver(known, 'missed', {due, reason: 'the server was not running then'});
    }
    if (known.state !== 'idle') {
      return this.#passOver(known, 'skipped', {due, reason: 'the one before is under way'});
    }
    known.state = 'waiting';
    this.#waiting.push(known);
  }

  #passOver(
    known: KnownJob,
    outcome: 'skipped' | 'missed',
    {due, reason}: {readonly due: number; readonly reason: string},
  ): void {
    known.last = {at: this.#clock.now(), outcome, detail: reason, elapsedMs: undefined};
    known.job.onPassedOver?.(outcome, due);
  }

  #start(): void {
    for (let known = this.#ready(); known !== undefined; known = this.#ready()) this.#begin(known);
  }

  /** The first that waits and of whose kind one more may be done. */
  #ready(): KnownJob | undefined {
    const counts = {backup: 0, view: 0};
    for (const {job} of this.#running.keys()) counts[job.kind] += 1;
    return this.#waiting.find(({job: {kind}}) => counts[kind] < atOnce[kind]);
  }

  #begin(known: KnownJob): void {
    this.#waiting.splice(this.#waiting.indexOf(known), 1);
    known.state = 'running';
    const run = this.#run(known).finally(() => {
      known.state = 'idle';
      this.#running.delete(known);
      if (!this.#ended.aborted) this.#start();
    });
    this.#running.set(known, run);
  }

  /** Does not reject. */
  async #run(known: KnownJob): Promise<void> {
    const startedAt = this.#clock.monotonic();
    let result: Pick<JobOutcome, 'outcome' | 'detail'>;
    try {
      const {outcome, detail} = await known.job.run(this.#ended);
      result = {outcome, detail};
    } catch (error) {
      result = {outcome: 'failed', detail: reasonOf(error)};
    }
    const elapsedMs = Math.round(this.#clock.monotonic() - startedAt);
    known.last = {at: this.#clock.now(), ...result, elapsedMs};
  }

  #wait(): void {
    this.#cancelTimer();
    if (this.#ended.aborted) return;
    const waits = [...this.#jobs].map(known => -this.#overdueMs(known));
    const wait = Math.min(...waits);
    if (wait === Infinity) return;
    const delayMs = Math.min(waitMsMax, Math.max(1, wait));
    this.#cancelTimer = this.#timers.after(delayMs, () => this.look());
  }
}
