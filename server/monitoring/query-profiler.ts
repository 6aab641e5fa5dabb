/**
 * The query profiler: what statements cost while it records, by their text.
 *
 * One session at a time, which ends by itself. It keeps the last executions in a ring and groups
 * them when somebody asks; a run that has ended is kept on disk, the newest fifty. Texts come
 * without passwords; a long one is cut. While nothing is recorded, a statement pays one question.
 */
import {Refusal} from '#server/base/errors.ts';
import type {Clock, Timers} from '#server/platform/clock.ts';
import type {Logger} from '#server/platform/logger.ts';
import {type ProfiledQueryGroup, QueryGroups, type ProfiledExecution} from './query-groups.ts';
import type {ProfilerRuns, SavedRun} from './profiler-runs.ts';

/** The figures of the server at one moment. */
export interface ProfilerFigures {
  readonly profiler: unknown;
  readonly databases: unknown;
}

/** What a run found; times in milliseconds, of the wall clock where they are moments. */
export interface ProfilerDocument {
  readonly recording: boolean;
  readonly startTime: number;
  readonly stopTime: number;
  readonly durationMs: number;
  readonly timeoutSeconds: number;
  readonly totalQueries: number;
  readonly profiledDatabases: readonly string[];
  readonly summary: {
    readonly snapshotStart?: ProfilerFigures;
    readonly snapshotStop?: ProfilerFigures;
  };
  readonly queries: readonly ProfiledQueryGroup[];
  /** Every step of every execution was measured. */
  readonly stepTimingComplete: boolean;
}

export interface ProfilerStarted {
  readonly status: 'started' | 'already_recording';
  readonly timeoutSeconds: number;
  readonly message: string;
}

export interface QueryProfilerOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly logger: Logger;
  readonly runs: ProfilerRuns;
  readonly snapshot: () => ProfilerFigures;
}

export const profilerSecondsDefault = 60;
const profilerSecondsMax = 3_600;

interface Session {
  readonly startTime: number;
  readonly startedMonotonic: number;
  readonly timeoutSeconds: number;
  readonly snapshot: ProfilerFigures;
  readonly groups: QueryGroups;
  readonly cancel: () => void;
}

export class QueryProfiler {
  readonly #options: QueryProfilerOptions;
  #session: Session | undefined;
  /** The run that ended last. */
  #latest: ProfilerDocument | undefined;

  constructor(options: QueryProfilerOptions) {
    this.#options = options;
  }

  get isRecording(): boolean {
    return this.#session !== undefined;
  }

  /**
   * Begins to record; a session that is under way goes on as it is.
   *
   * @param timeoutSeconds - When it ends by itself: 1 to 3600.
   * @throws {Refusal} `argument`
   */
  start(timeoutSeconds: number = profilerSecondsDefault): ProfilerStarted {
    if (
      !Number.isInteger(timeoutSeconds) ||
      timeoutSeconds < 1 ||
      timeoutSeconds > profilerSecondsMax
    ) {
      throw new Refusal(
        'argument',
        `the profiler records for 1 to ${profilerSecondsMax} whole seconds`,
      );
    }
    if (this.#session !== undefined) {
      return {
        status: 'already_recording',
        timeoutSeconds: this.#session.timeoutSeconds,
        message: 'The profiler is recording already: stop it, or ask for its status',
      };
    }
    const {clock, timers, snapshot} = this.#options;
    this.#session = {
      startTime: clock.now(),
      startedMonotonic: clock.monotonic(),
      timeoutSeconds,
      snapshot: snapshot(),
      groups: new QueryGroups(),
      cancel: timers.after(timeoutSeconds * 1_000, () => void this.stop()),
    };
    return {
      status: 'started',
      timeoutSeconds,
      message: `The profiler records and ends by itself after ${timeoutSeconds} s`,
    };
  }

  /** Takes an execution that has ended; nothing while it does not record. */
  add(execution: ProfiledExecution): void {
    this.#session?.groups.add(execution);
  }

  /** Ends the session and keeps what it found on disk too; undefined when none was under way. */
  stop(): ProfilerDocument | undefined {
    const session = this.#session;
    if (session === undefined) return undefined;
    session.cancel();
    const document = {...this.#document(session), recording: false};
    this.#session = undefined;
    this.#latest = document;
    try {
      this.#options.runs.save(document, document.startTime);
    } catch (error) {
      this.#options.logger.log('warn', 'profiler.not-saved', {reason: String(error)});
    }
    return document;
  }

  /** What is recorded now, else what was recorded last; undefined when there was nothing yet. */
  results(): ProfilerDocument | undefined {
    return this.#session === undefined ? this.#latest : this.#document(this.#session);
  }

  /** Forgets what was recorded, also of the session under way; runs on disk stay. */
  reset(): void {
    this.#session?.groups.clear();
    this.#latest = undefined;
  }

  /** The runs on disk, the newest first. */
  list(): readonly SavedRun[] {
    return this.#options.runs.list();
  }

  /** A run on disk. @throws {Refusal} `argument` when there is none of that name. */
  load(fileName: string): unknown {
    return this.#options.runs.load(fileName);
  }

  #document(session: Session): ProfilerDocument {
    const {clock, snapshot} = this.#options;
    const {groups, startTime, startedMonotonic, timeoutSeconds} = session;
    const durationMs = Math.round(clock.monotonic() - startedMonotonic);
    return {
      recording: true,
      startTime,
      stopTime: startTime + durationMs,
      durationMs,
      timeoutSeconds,
      totalQueries: groups.executions,
      profiledDatabases: groups.databases(),
      summary: {snapshotStart: session.snapshot, snapshotStop: snapshot()},
      queries: groups.toJSON(),
      stepTimingComplete: groups.isMeasured,
    };
  }
}

/** What `results` tells before anything was ever recorded. */
export const emptyProfile: ProfilerDocument = {
  recording: false,
  startTime: 0,
  stopTime: 0,
  durationMs: 0,
  timeoutSeconds: 0,
  totalQueries: 0,
  profiledDatabases: [],
  summary: {},
  queries: [],
  stepTimingComplete: true,
};
