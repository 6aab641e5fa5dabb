/**
 * What is said between the network thread and a thread that runs plans (see
 * docs/design/0013-plans-on-threads.md).
 *
 * An order holds all that one run of a read needs and is plain data: the plan as it was optimized,
 * so that the one which was chosen and explained is the one that runs, with the bodies of the
 * functions that it may call; parameters; the snapshot, which both threads hold; what the user may
 * read; what it may spend. The catalog does not travel: it lies in the snapshot.
 */
import type {Group} from '#server/access/groups.ts';
import type {Measure} from '#server/execution/profile.ts';
import type {ServerPatterns} from '#server/execution/record-format.ts';
import type {Portable} from '#server/plan/portable.ts';
import type {QueryStatement} from '#server/plan/statement.ts';
import type {SharedSnapshot} from '#server/engine/database.ts';
import type {KeysRead, SharedChunk} from '#server/caches/shared-adjacency.ts';
import type {JsonRowFormat} from '#server/execution/query-result.ts';
import type {Parameters} from '../session.ts';
import type {ResultOptions} from '../statements/statement-run.ts';
import type {PackedError} from './thread-errors.ts';

export interface PlanTask {
  readonly database: {readonly id: number; readonly name: string};
  readonly snapshot: SharedSnapshot;
  /** Version of the catalog in the snapshot. */
  readonly schemaVersion: number;
  /** Packed edges that hold for the snapshot. */
  readonly adjacency: readonly SharedChunk[];
  readonly statement: Portable<QueryStatement>;
  readonly bodies: readonly RoutineBody[];
  /** A program in JavaScript may be called. */
  readonly runsJavaScript: boolean;
  readonly parameters: Portable<Parameters>;
  readonly requested: Omit<ResultOptions, 'format'>;
  /** A shape of JSON, or the name of an encoding. */
  readonly format: JsonRowFormat | {readonly encoding: string};
  readonly spending: ThreadSpending;
  /** What the client lets it take; undefined: no end of its own. */
  readonly timeoutMs: number | undefined;
  readonly patterns: ServerPatterns;
  /** Wall clock at the statement's start. */
  readonly startedAt: number;
  /** Undefined: everything may be read. */
  readonly guard: {readonly user: string; readonly groups: readonly Group[]} | undefined;
  /** Every node is to be measured. */
  readonly isMeasured: boolean;
  /** Words of `controlWord`. */
  readonly control: Int32Array;
}

export interface ThreadSpending {
  readonly memoryBytesMax: number;
  readonly valueBytesMax: number;
  readonly memoryTotalMax: number;
  readonly timeoutMs: number;
  readonly javascriptMs: number;
}

/** A function of the database's own, as `prepare` of a run's home finds it. */
export interface RoutineBody {
  readonly language: string;
  readonly text: string;
  readonly statement: Portable<QueryStatement>;
}

/** What both threads look at while the plan runs. */
export const controlWord = {
  /** 1: stop. */
  aborted: 0,
  /** Pages that the network thread has taken. */
  taken: 1,
} as const;

export const controlWords = 2;

/** Pages that wait for the network thread at most; a reader that is slow stops the plan. */
export const pagesWaitingMax = 4;

/** Rows, and how far the answer is with them. */
export interface ThreadPage {
  readonly kind: 'page';
  readonly bytes: Uint8Array<ArrayBuffer> | undefined;
  readonly returned: number;
  readonly truncated: boolean;
  /** No page follows. */
  readonly isLast: boolean;
  /** Measures come with the last one, if the nodes were measured. */
  readonly measures: readonly Measure[] | undefined;
}

export type PlanTaskEvent =
  /** `limit`: the cap of rows in force, -1 for none; `timeoutMs`: when it refuses itself. */
  | {readonly kind: 'begun'; readonly limit: number; readonly timeoutMs: number}
  | ThreadPage
  | {readonly kind: 'failed'; readonly error: PackedError}
  /** Reports reads of edges without packed ones; the run has ended. */
  | {readonly kind: 'keys-read'; readonly reads: readonly KeysRead[]}
  /** Snapshot and store are given back, and the thread is free. */
  | {readonly kind: 'free'}
  /** The thread is gone, and what it held is given back. */
  | {readonly kind: 'lost'; readonly reason: 'memory' | 'other'; readonly message: string};

/** Threads that run plans, as far as sessions know them. */
export interface PlanThreads {
  /** What statements on all threads keep in memory; the network thread's word is the first. */
  readonly pages: Int32Array;
  /** Threads that have an order. */
  readonly busy: number;
  /** How often one was taken since the start, and how often none was to be had. */
  readonly taken: number;
  readonly declined: number;
  /** Names of the encodings of rows that they know. */
  readonly encodings: ReadonlySet<string>;
  /** Calls `listener` when a thread is free again, and so the memory of its statement. */
  onRelease(listener: () => void): void;
  /**
   * Whether there is a thread for the owner's statement.
   *
   * @param owner - Undefined: root.
   */
  isOpenTo(owner: string | undefined): boolean;
  /** A thread that waits for an order; undefined when there is none for the owner. */
  take(owner: string | undefined): PlanThread | undefined;
  close(): Promise<void>;
}

export interface PlanThread {
  /** One order at a time: the next one when this is free again, which it says. */
  run(order: PlanTask, hear: (news: PlanTaskEvent) => void): void;
  /** Ends the thread whatever it does. */
  end(): Promise<void>;
}
