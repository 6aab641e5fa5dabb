/**
 * Plans the backups that the document names, a job for each database that is open
 * (schedule/scheduler.ts), and removes archives that are not to be kept any longer.
 *
 * A backup is made by the server that the document names: the leader at that moment, every server,
 * or one by its name. One that is under way when leadership ends goes on: it is of one moment, and
 * the next leader does not repeat it. A database that appears is planned from that moment on, one
 * that is closed or dropped is not planned any more.
 * Source: docs/backup.md.
 */
import {reasonOf, Refusal} from '#server/base/errors.ts';
import type {Clock} from '#server/platform/clock.ts';
import type {Logger} from '#server/platform/logger.ts';
import type {Job, JobResult, PlannedJob, Scheduler} from '#server/schedule/scheduler.ts';
import {type BackupDocument, type BackupPlan, planFor} from './backup-document.ts';
import {nextRun} from './next-run.ts';
import type {Retention} from './retention.ts';

export interface BackupSchedulerOptions {
  readonly scheduler: Scheduler;
  readonly clock: Clock;
  readonly logger: Logger;
  /**
   * The time zone of schedules: a name of the IANA data base. Asked when there is a schedule, since
   * the first question loads the tables of all zones.
   */
  readonly timeZone: () => string;
  /** Names of those that are open here. */
  readonly openDatabases: () => readonly string[];
  /** Whether this server is the one that a plan names, at this moment. */
  readonly runsHere: (runOnServer: string) => boolean;
  /** @returns The name of the archive. @throws {Refusal} `backup.running`, among others. */
  readonly backUp: (database: string, plan: BackupPlan) => Promise<string>;
  /** @returns The names of the archives that it removed. */
  readonly rotate: (database: string, retention: Retention) => Promise<readonly string[]>;
}

interface Planned {
  readonly plan: BackupPlan;
  readonly job: PlannedJob;
}

const plugin = 'Auto-Backup';

export class BackupScheduler {
  readonly #options: BackupSchedulerOptions;
  readonly #planned = new Map<string, Planned>();
  readonly #toldNever = new Set<string>();
  #document: BackupDocument | undefined;

  constructor(options: BackupSchedulerOptions) {
    this.#options = options;
  }

  /** Whether anything is scheduled at all. */
  get isRunning(): boolean {
    return this.#document !== undefined;
  }

  /** Begins, changes or ends what is scheduled. */
  use(document: BackupDocument | undefined): void {
    const wasRunning = this.isRunning;
    this.#document = document?.enabled === true ? document : undefined;
    if (this.isRunning && !wasRunning) this.#tell('info', 'scheduler-started', {});
    if (!this.isRunning && wasRunning) this.#tell('info', 'scheduler-stopped', {});
    this.look();
  }

  /** Is to be called when databases came, went, opened or closed. */
  look(): void {
    const document = this.#document;
    const open = document === undefined ? [] : this.#options.openDatabases();
    for (const [database, {job}] of this.#planned) {
      if (open.includes(database)) continue;
      job.remove();
      this.#planned.delete(database);
    }
    if (document !== undefined) {
      for (const database of open) this.#plan(database, planFor(document, database));
    }
    this.#tellNever();
  }

  #plan(database: string, plan: BackupPlan): void {
    const known = this.#planned.get(database);
    // The usual case: the same document as at the look before.
    if (known?.plan === plan) return;
    if (!plan.enabled) {
      known?.job.remove();
      this.#planned.delete(database);
      return;
    }
    const job = this.#job(database, plan);
    known?.job.change(job);
    this.#planned.set(database, {plan, job: known?.job ?? this.#options.scheduler.add(job)});
  }

  #job(database: string, plan: BackupPlan): Job {
    const {timeZone, runsHere} = this.#options;
    const {schedule, runOnServer} = plan;
    return {
      kind: 'backup',
      database,
      clock: 'wall',
      rhythm: JSON.stringify(schedule),
      next: (before, now) => nextRun(schedule, {before, now, timeZone: timeZone()}),
      runsHere: () => runsHere(runOnServer),
      run: () => this.#run(database, plan),
      onPassedOver: (outcome, due) => {
        const facts =
          outcome === 'missed'
            ? {due: new Date(due).toISOString(), reason: 'the server was not running then'}
            : {reason: 'the one before is under way'};
        this.#tell('warn', outcome, {database, ...facts});
      },
    };
  }

  async #run(database: string, plan: BackupPlan): Promise<JobResult> {
    const {backUp, rotate, clock} = this.#options;
    const startedAt = clock.monotonic();
    try {
      const file = await backUp(database, plan);
      const elapsedMs = Math.round(clock.monotonic() - startedAt);
      this.#tell('info', 'completed', {database, file, elapsedMs});
      for (const removed of await rotate(database, plan.retention)) {
        this.#tell('info', 'rotated', {database, file: removed});
      }
      return {outcome: 'completed', detail: file};
    } catch (error) {
      const reason = reasonOf(error);
      const isBusy = error instanceof Refusal && error.code === 'backup.running';
      this.#tell(isBusy ? 'warn' : 'error', isBusy ? 'skipped' : 'failed', {database, reason});
      if (!isBusy) throw error;
      return {outcome: 'skipped', detail: reason};
    }
  }

  #tellNever(): void {
    const planned = [...this.#planned].filter(([, {job}]) => job.next === undefined);
    const never = planned.map(([database]) => database);
    for (const database of never) {
      if (this.#toldNever.has(database)) continue;
      const reason = 'its expression never comes due inside its time window';
      this.#tell('error', 'never', {database, reason});
    }
    this.#toldNever.clear();
    for (const database of never) this.#toldNever.add(database);
  }

  #tell(
    level: 'info' | 'warn' | 'error',
    event: string,
    fields: Readonly<Record<string, unknown>>,
  ): void {
    this.#options.logger.log(level, `auto-backup.${event}`, {plugin, ...fields});
  }
}
