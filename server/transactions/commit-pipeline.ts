/**
 * The way of an entry after the coordinator: appended, made durable, applied, reported.
 *
 * Two classes implement it. `ApplyPipeline` applies what a replicated log has committed, partly on
 * the network thread and partly on the apply thread. `LocalLogPipeline` puts the log of a single
 * server in front of an `ApplyPipeline`. Their threads are workers, or tasks on one thread.
 *
 *     enqueue(e1) enqueue(e2) enqueue(e3)      enqueued index 3
 *     fsync of e1, e2                          acknowledged index 2: clients have their answers
 *     e1 written into the store                applied index 1
 *     flushAcknowledged()                      writes e2 first: nobody reads less than he was told
 *
 * Order is kept from enqueue to report. Once the log has failed nothing more is taken, and what was
 * not reported as applied is in-flight (F1).
 *
 * Invariant T11: what was told as applied is in the store for everybody who looks there, since
 * whoever is about to look calls `flushAcknowledged`
 * (docs/design/0031-answers-before-the-store.md).
 */
import {Refusal, refusals} from '#server/base/errors.ts';
import type {Store} from '#server/storage/store.ts';
import type {LogIndex, Refused, Fence} from './commit.ts';
import type {DatabasePosition} from './system-keys.ts';

export interface PipelineProgress {
  /**
   * Everything up to here is in the stores, for all who call `flushAcknowledged` before they look.
   */
  readonly appliedIndex: LogIndex;
  /** Databases whose entries are no longer applied, by id. */
  readonly fences: ReadonlyMap<number, Fence>;
  /** Set once the log can write nothing more. */
  readonly failure: string | undefined;
}

/**
 * Is to be called by whoever is going to look into a store (`CommitPipeline.flushAcknowledged`).
 *
 * @throws {Refusal} `database.behind`
 */
export function requireFlushed(pipe: CommitPipeline): void {
  if (pipe.flushAcknowledged()) return;
  throw new Refusal('database.behind', refusals['database.behind'].says);
}

export interface CommitPipeline {
  /** Index of the last entry when the pipe was made; everything up to it is applied. */
  readonly startIndex: LogIndex;
  /** Why `bytes` cannot be taken now; undefined when `enqueue` will take them. */
  admission(bytes: number): Refused | undefined;
  /**
   * Takes an entry; indexes count up from `startIndex + 1` in the order of calls. Behind a
   * replicated log entries are durable already, their bytes never change, and `chain` is what
   * stores keep beside their position: the entry's term. A local log has chain values of its own,
   * and copies the entry at once.
   */
  enqueue(entry: Uint8Array, chain: number): void;
  /**
   * No store that is looked at now shows an entry behind this one. Ahead of what was reported: an
   * entry can be read a moment before its application is told.
   */
  readonly applyStartedIndex: LogIndex;
  /**
   * The stores hold everything that was told as applied: what is durable in the log may be told,
   * and answered, a moment before it is written. False while a store takes no write: the
   * next report may say more. Costs nothing when nothing is missing.
   */
  flushAcknowledged(): boolean;
  /** Calls `listener` after every step forward. One listener. */
  listen(listener: (progress: PipelineProgress) => void): void;
  /** Entries of a database enqueued from now on are applied to `store`. */
  attach(databaseId: number, store: Store, position: DatabasePosition): void;
  /** Resolves when everything enqueued is applied durably and the store is no longer used. */
  detach(databaseId: number): Promise<DatabasePosition | undefined>;
  /**
   * Makes everything applied durable; resolves with the index up to which no attached database
   * needs the log, and the positions by database.
   */
  makeDurable(): Promise<DurableState>;
  /**
   * Copies databases into new directories, all as of one moment between call and answer: they hold
   * the entries up to one index and none behind it. Durable when it resolves; others go on
   * committing.
   */
  copy(copies: readonly DatabaseCopy[]): Promise<CopyOutcome>;
  /**
   * The next entry that is enqueued is the one behind `index`: stores were put in place that hold
   * everything up to there. Of a pipe without a log, when everything enqueued is applied.
   */
  skipTo(index: LogIndex): void;
  /** Lets the pipe's own log, if it has one, forget entries up to `floor`. */
  recycle(floor: LogIndex): void;
  /**
   * A full disk is not waited for any more: what finds no room fails the log, or fences its
   * database. `close` follows.
   */
  stopWaiting(): void;
  /** Applies what was enqueued, makes everything durable, closes the log. */
  close(): Promise<void>;
}

export interface DatabaseCopy {
  readonly databaseId: number;
  /** Must not exist. */
  readonly directory: string;
}

/** What became of copies; when one failed the others may have been made all the same. */
export type CopyOutcome =
  | {
      readonly kind: 'copied';
      /** Everything up to here was applied. */
      readonly index: LogIndex;
      readonly positions: ReadonlyMap<number, DatabasePosition>;
    }
  | {readonly kind: 'failed'; readonly reason: string};

export interface DurableState {
  readonly floor: LogIndex;
  readonly positions: ReadonlyMap<number, DatabasePosition>;
}
