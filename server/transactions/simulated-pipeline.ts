/**
 * The commit pipe on the caller's thread: log and apply as two tasks of a scheduler.
 *
 * What is enqueued while an append waits for its turn forms one batch, so the order of events is
 * that of the threaded pipe, step by step and repeatable from a seed. An error that is neither
 * the log's nor a store's (a simulated crash) leaves through the scheduler.
 */
import {assert} from '#server/base/assert.ts';
import {LogFailure, LogFull, type SegmentLog} from '#server/log/segment-log.ts';
import type {LogRecord} from '#server/log/segment-reader.ts';
import type {Store} from '#server/storage/store.ts';
import type {Applier} from './apply.ts';
import type {LogIndex, Refused} from './commit.ts';
import type {
  CommitPipeline,
  CopyOutcome,
  DatabaseCopy,
  DurableState,
  PipelineProgress,
} from './commit-pipeline.ts';
import {decodeEntry} from './entry.ts';
import type {DatabasePosition} from './system-keys.ts';

export interface InlinePipeOptions {
  /** Undefined behind a replicated log: what is enqueued is durable, and only applied. */
  readonly log: SegmentLog | undefined;
  /** Index of the last entry that the pipe is not given. */
  readonly startIndex: LogIndex;
  readonly applier: Applier;
  /** Runs a task later, never at once. */
  readonly schedule: (task: () => void) => void;
  /** `svc.txWalFlush` is 2. */
  readonly syncCommits: boolean;
  /** Bytes that may wait for the log. */
  readonly queueBytesMax: number;
}

/** Much longer than the admission of commits needs to see that the disk is full. */
const turnsWithoutRoomMax = 10_000;

export class SimulatedPipeline implements CommitPipeline {
  readonly startIndex: LogIndex;
  readonly #options: InlinePipeOptions;
  readonly #chains = new Uint32Array(4096);
  readonly #queue: Buffer[] = [];
  #queueBytes = 0;
  #appended: LogRecord[] = [];
  #appendScheduled = false;
  #applyScheduled = false;
  #appliedIndex: LogIndex;
  /** Reported last; ahead of `#appliedIndex` where that was told before it is written. */
  #reportedIndex: LogIndex;
  /** Greatest index that was given to the applier, or is owed. */
  #takenIndex: LogIndex;
  /** What is to be written next; undefined when nothing is, or there was no room for it yet. */
  #owed: LogRecord[] | undefined;
  /** Something was given to the applier that had no room for it. */
  #waits = false;
  #enqueuedIndex: LogIndex;
  /** Turns since log or stores had room; they may have to wait for it. */
  #turnsWithoutRoom = 0;
  #failure: string | undefined;
  #listener: (progress: PipelineProgress) => void = () => {};
  #idleWaiters: (() => void)[] = [];

  constructor(options: InlinePipeOptions) {
    this.#options = options;
    this.startIndex = options.startIndex;
    options.applier.expectAll();
    this.#appliedIndex = options.startIndex;
    this.#reportedIndex = options.startIndex;
    this.#takenIndex = options.startIndex;
    this.#enqueuedIndex = options.startIndex;
  }

  get applyStartedIndex(): LogIndex {
    return this.#takenIndex;
  }

  listen(listener: (progress: PipelineProgress) => void): void {
    this.#listener = listener;
  }

  admission(bytes: number): Refused | undefined {
    if (this.#failure !== undefined) {
      return {kind: 'refused', code: 'log-failed', detail: this.#failure};
    }
    if (this.#queueBytes > 0 && this.#queueBytes + bytes > this.#options.queueBytesMax) {
      return {kind: 'refused', code: 'queue-full', detail: 'too many commits wait for the log'};
    }
    return undefined;
  }

  enqueue(entry: Uint8Array, chain: number): void {
    if (this.#options.log === undefined) {
      this.#appended.push({index: ++this.#enqueuedIndex, chain, payload: Buffer.from(entry)});
      return this.#applyLater();
    }
    this.#queue.push(Buffer.from(entry));
    this.#queueBytes += entry.length;
    if (this.#appendScheduled) return;
    this.#appendScheduled = true;
    this.#options.schedule(() => this.#append());
  }

  flushAcknowledged(): boolean {
    if (this.#owed !== undefined && this.#appliedIndex < this.#reportedIndex) this.#write();
    return this.#appliedIndex >= this.#reportedIndex;
  }

  attach(databaseId: number, store: Store, position: DatabasePosition): void {
    this.#options.applier.attach(databaseId, store, position);
  }

  async detach(databaseId: number): Promise<DatabasePosition | undefined> {
    await this.#idle();
    return this.#options.applier.detach(databaseId);
  }

  makeDurable(): Promise<DurableState> {
    const {applier, log} = this.#options;
    // What was told is part of it.
    this.flushAcknowledged();
    // A database must never be durable ahead of the log.
    if (this.#failure === undefined) this.#guard(() => log?.sync());
    if (this.#failure === undefined) applier.makeDurable();
    const floor = applier.durableFloor(this.#appliedIndex);
    return Promise.resolve({floor, positions: applier.positions()});
  }

  async copy(copies: readonly DatabaseCopy[]): Promise<CopyOutcome> {
    await this.#idle();
    if (this.#failure === undefined) this.#guard(() => this.#options.log?.sync());
    if (this.#failure !== undefined) return {kind: 'failed', reason: this.#failure};
    return this.#options.applier.copy(copies, this.#takenIndex);
  }

  skipTo(index: LogIndex): void {
    const isIdle = this.#appliedIndex === this.#enqueuedIndex;
    assert(this.#options.log === undefined && isIdle, 'only an idle pipe without a log skips');
    this.#enqueuedIndex = index;
    this.#takenIndex = index;
    this.#appliedIndex = index;
    this.#reportedIndex = index;
  }

  recycle(floor: LogIndex): void {
    if (this.#failure === undefined) this.#guard(() => this.#options.log?.recycle(floor));
  }

  async close(): Promise<void> {
    await this.#idle();
    if (this.#failure === undefined) this.#guard(() => this.#options.log?.sync());
    if (this.#failure === undefined) this.#options.applier.makeDurable();
    this.#options.log?.close();
  }

  /** Resolves when nothing waits or nothing moves any more. */
  #idle(): Promise<void> {
    if (!this.#appendScheduled && !this.#applyScheduled) return Promise.resolve();
    return new Promise(resolve => this.#idleWaiters.push(resolve));
  }

  #append(): void {
    const {log, syncCommits} = this.#options;
    assert(log !== undefined, 'only what has a log is appended');
    const entries = this.#queue.splice(0, this.#chains.length);
    const firstIndex = log.lastIndex + 1;
    const done = this.#guard(() => log.append(entries, this.#chains, syncCommits));
    if (done === 'full') {
      this.#queue.unshift(...entries);
      return this.#options.schedule(() => this.#append());
    }
    this.#appendScheduled = false;
    if (done === 'failed') return this.#report();
    entries.forEach((payload, number) => {
      this.#queueBytes -= payload.length;
      this.#appended.push({
        index: firstIndex + number,
        chain: this.#chains[number] ?? 0,
        payload,
      });
    });
    this.#applyLater();
    if (this.#queue.length > 0) {
      this.#appendScheduled = true;
      this.#options.schedule(() => this.#append());
    } else if (log.nextSegment !== 'ready') this.#guard(() => log.prepareNext());
  }

  #applyLater(): void {
    if (this.#applyScheduled) return;
    this.#applyScheduled = true;
    this.#options.schedule(() => this.#apply());
  }

  #apply(): void {
    const records = this.#appended;
    this.#appended = [];
    this.#owed = records;
    this.#takenIndex = records.at(-1)?.index ?? this.#takenIndex;
    if (!this.#mayTellFirst(records)) return this.#write();
    this.#reportedIndex = this.#takenIndex;
    this.#options.schedule(() => this.#write());
    this.#report();
  }

  /** The rule of the threaded pipeline: what a log holds is acknowledged, then written. */
  #mayTellFirst(records: readonly LogRecord[]): boolean {
    const {applier} = this.#options;
    if (applier.fences().size > 0) return false;
    return records.every(({payload}) => {
      const {kind, newSchemaVersion} = decodeEntry(payload);
      return kind !== 'ingest' && newSchemaVersion === undefined;
    });
  }

  /** Nothing to do when somebody who looked at a store had it written. */
  #write(): void {
    const records = this.#owed;
    if (records === undefined && !this.#waits) return;
    const isNews = this.#waits || this.#reportedIndex < this.#takenIndex;
    this.#owed = undefined;
    this.#waits = !this.#options.applier.apply(records ?? []);
    if (this.#waits) {
      if (this.#waitsForRoom()) return this.#options.schedule(() => this.#write());
      this.#options.applier.giveUpWaiting();
      this.#waits = false;
    }
    this.#turnsWithoutRoom = 0;
    this.#appliedIndex = this.#takenIndex;
    this.#reportedIndex = this.#takenIndex;
    this.#applyScheduled = false;
    if (isNews) this.#report();
    if (this.#appended.length > 0) this.#applyLater();
    this.#wakeIdle();
  }

  #report(): void {
    this.#listener({
      appliedIndex: this.#reportedIndex,
      fences: this.#options.applier.fences(),
      failure: this.#failure,
    });
    this.#wakeIdle();
  }

  #wakeIdle(): void {
    if (this.#appendScheduled || this.#applyScheduled) return;
    const waiters = this.#idleWaiters;
    this.#idleWaiters = [];
    for (const resolve of waiters) resolve();
  }

  /** Whether to try once more. */
  #waitsForRoom(): boolean {
    return ++this.#turnsWithoutRoom < turnsWithoutRoomMax;
  }

  #guard(work: () => void): 'done' | 'full' | 'failed' {
    try {
      work();
      this.#turnsWithoutRoom = 0;
      return 'done';
    } catch (error) {
      if (error instanceof LogFull && this.#waitsForRoom()) return 'full';
      if (!(error instanceof LogFailure || error instanceof LogFull)) throw error;
      this.#failure = error.message;
      return 'failed';
    }
  }
}
