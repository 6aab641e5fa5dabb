/**
 * Makes the backups that have come due, at most two at once, and removes archives that are not to
 * be kept any longer.
 *
 * A backup is begun by the server that the document names: the leader at that moment, every server,
 * or one by its name. One that is under way when leadership ends goes on: it is of one moment, and
 * the next leader does not repeat it. What was missed, because the process was stopped or the
 * machine asleep, is not made up for.
 * Source: docs/backup.md.
 */
import {Refusal} from '#server/base/errors.ts';
import type {Clock, Timers} from '#server/platform/clock.ts';
import type {Logger} from '#server/platform/logger.ts';
import type {BackupDocument, BackupPlan} from './backup-document.ts';
import type {Retention} from './retention.ts';
import {type DueBackup, Timetable} from './timetable.ts';

export interface SchedulerOptions {
  readonly clock: Clock;
  readonly timers: Pick<Timers, 'after'>;
  readonly logger: Logger;
  /**
   * The time zone of schedules: a name of the IANA data base. Asked when there is a schedule, since
   * the first question takes 5 MB of memory.
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

/** The longest wait of a timer: the clock on the wall may be set meanwhile. */
const waitMsMax = 30_000;
/** What is overdue by more than this was missed. */
const lateMsMax = 60_000;
const backupsAtOnce = 2;
const plugin = 'Auto-Backup';

export class BackupScheduler {
  readonly #options: SchedulerOptions;
  readonly #timetable: Timetable;
  readonly #waiting: DueBackup[] = [];
  readonly #running = new Map<string, Promise<void>>();
  readonly #toldNever = new Set<string>();
  #cancelTimer: () => void = () => {};
  #isEnded = false;

  constructor(options: SchedulerOptions) {
    this.#options = options;
    this.#timetable = new Timetable(options.timeZone);
  }

  /** Whether anything is scheduled at all. */
  get isRunning(): boolean {
    return this.#timetable.document !== undefined;
  }

  /** Begins, changes or ends what is scheduled. */
  use(document: BackupDocument | undefined): void {
    const wasRunning = this.isRunning;
    this.#timetable.use(document);
    if (this.isRunning && !wasRunning) this.#tell('info', 'scheduler-started', {});
    if (!this.isRunning && wasRunning) this.#tell('info', 'scheduler-stopped', {});
    this.look();
  }

  /** To be called when databases came, went, opened or closed. */
  look(): void {
    if (this.#isEnded) return;
    this.#cancelTimer();
    const now = this.#options.clock.now();
    this.#timetable.look(this.#options.openDatabases(), now);
    for (const due of this.#timetable.due(now)) this.#take(due, now);
    this.#startWaiting();
    this.#tellNever();
    const {next} = this.#timetable;
    if (next === undefined) return;
    const wait = Math.min(waitMsMax, Math.max(1, next - this.#options.clock.now()));
    this.#cancelTimer = this.#options.timers.after(wait, () => this.look());
  }

  /** Begins nothing more. Resolves when what is under way has ended. */
  async end(): Promise<void> {
    this.#isEnded = true;
    this.#cancelTimer();
    this.#waiting.length = 0;
    await Promise.all(this.#running.values());
  }

  #take(due: DueBackup, now: number): void {
    const {database, plan, at} = due;
    if (!this.#options.runsHere(plan.runOnServer)) return;
    if (now - at > lateMsMax) {
      const reason = 'the server was not running then';
      return this.#tell('warn', 'missed', {database, due: new Date(at).toISOString(), reason});
    }
    const isWaiting = this.#waiting.some(waiting => waiting.database === database);
    if (isWaiting || this.#running.has(database)) {
      return this.#tell('warn', 'skipped', {database, reason: 'the one before is under way'});
    }
    this.#waiting.push(due);
  }

  #startWaiting(): void {
    while (this.#running.size < backupsAtOnce) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      const run = this.#run(next).finally(() => {
        this.#running.delete(next.database);
        if (!this.#isEnded) this.#startWaiting();
      });
      this.#running.set(next.database, run);
    }
  }

  /** Does not reject. */
  async #run({database, plan}: DueBackup): Promise<void> {
    const {backUp, rotate, clock} = this.#options;
    const startedAt = clock.monotonic();
    try {
      const file = await backUp(database, plan);
      const elapsedMs = Math.round(clock.monotonic() - startedAt);
      this.#tell('info', 'completed', {database, file, elapsedMs});
      for (const removed of await rotate(database, plan.retention)) {
        this.#tell('info', 'rotated', {database, file: removed});
      }
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      const isBusy = error instanceof Refusal && error.code === 'backup.running';
      this.#tell(isBusy ? 'warn' : 'error', isBusy ? 'skipped' : 'failed', {database, reason});
    }
  }

  #tellNever(): void {
    const never = this.#timetable.never;
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
