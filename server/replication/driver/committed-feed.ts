/**
 * Committed entries on their way to the commit pipe, in log order, on leader and followers alike.
 *
 * Entries that consensus needs for itself, and those of databases that are not open here, move the
 * position alone. A server-level entry is a barrier: everything before it is applied, then it is
 * executed, then its place is passed. What the pipe has no room for waits in the log. Entries that
 * nobody on this node waits for gather for a moment: together they cost less, and not while others
 * wait for this node to write what comes behind them.
 *
 * Invariant: `enqueuedIndex` counts up by one with every offer, as the pipe counts.
 */
import {bufferOf} from '#server/platform/buffer-of.ts';
import type {Timers} from '#server/platform/clock.ts';
import type {Entry as LogEntry, LogIndex, Term} from '#server/raft/message.ts';
import type {AppendResult} from '#server/transactions/commit.ts';
import type {CommitPipeline} from '#server/transactions/commit-pipeline.ts';
import type {EngineLogObserver} from '#server/engine/engine-log.ts';
import {decodeEntry, type Entry, EntryEncoder} from '#server/transactions/entry.ts';
import type {PendingEntries} from '#server/transactions/pending-entries.ts';
import type {Replicator} from '../replicator.ts';

/** Who waits on this node for the outcome of an entry. */
export interface Owner {
  readonly onApplied: (() => void) | undefined;
  readonly resolve: ((result: AppendResult) => void) | undefined;
}

export interface CommittedFeedOptions {
  readonly replicator: Pick<Replicator, 'entries'>;
  readonly pipe: CommitPipeline;
  /** Gets every entry that is offered. */
  readonly pending: PendingEntries;
  readonly execute: EngineLogObserver['execute'];
  readonly follows: EngineLogObserver['follows'];
  readonly timers: Timers;
  /** Whether somebody on this node waits for entries to be applied. */
  readonly isAwaited: () => boolean;
  /** The entry of this name is committed; answers who appended it, if this node did. */
  readonly decided: (index: LogIndex, term: Term) => Owner | undefined;
  /** A server-level entry could not be executed: this node cannot go on. */
  readonly failed: (reason: string) => void;
}

const batchBytes = 1 << 20;
/** How long entries gather that nobody waits for, and how many at most. */
const gatherMs = 4;
const gatherMax = 128;
const nobody: Owner = {onApplied: undefined, resolve: undefined};

export class CommittedFeed {
  readonly #options: CommittedFeedOptions;
  /** Takes the place of what is not applied. */
  readonly #nothing: Uint8Array;
  #through: LogIndex;
  #enqueuedIndex: LogIndex;
  /** The entries at hand, and how many of them were enqueued. */
  #batch: readonly LogEntry[] = [];
  #batchAt = 0;
  /** What is being waited for: entries from the disk, or the execution of one. */
  #underWay: Promise<void> | undefined;
  #isStopped = false;
  #isPaused = false;
  #gathers = false;

  constructor(options: CommittedFeedOptions) {
    this.#options = options;
    this.#through = options.pipe.startIndex;
    this.#enqueuedIndex = options.pipe.startIndex;
    const nothing = {head: {}, bytes: new Uint8Array(0)};
    this.#nothing = Buffer.from(new EntryEncoder().encodeServer('nothing', 0, nothing));
  }

  /** Index of the last entry that was given to the pipe. */
  get enqueuedIndex(): LogIndex {
    return this.#enqueuedIndex;
  }

  /** Entries up to `through` are committed. */
  extend(through: LogIndex): void {
    this.#through = Math.max(this.#through, through);
    const isLong = this.#through - this.#enqueuedIndex > gatherMax;
    if (isLong || this.#options.isAwaited()) return this.goOn();
    if (this.#gathers) return;
    this.#gathers = true;
    this.#options.timers.after(gatherMs, () => {
      this.#gathers = false;
      this.goOn();
    });
  }

  /**
   * Offers what can be offered now; called when entries were applied, too, and when somebody begins
   * to wait.
   */
  goOn(): void {
    while (this.#underWay === undefined && !this.#isStopped && !this.#isPaused) {
      const entry = this.#batch[this.#batchAt];
      if (entry !== undefined) {
        if (!this.#offer(entry)) return;
        this.#batchAt++;
      } else if (this.#enqueuedIndex < this.#through) this.#fetch();
      else return;
    }
  }

  /** Offers nothing until `resume`; resolves when everything that was offered is applied. */
  async pause(): Promise<void> {
    this.#isPaused = true;
    await this.#underWay;
    const {pending} = this.#options;
    // Woken early when a leadership ends.
    while (pending.appliedIndex < this.#enqueuedIndex && !this.#isStopped) {
      await pending.whenApplied(this.#enqueuedIndex);
    }
  }

  /** Goes on; behind `index` where the stores hold everything up to there by other means. */
  resume(index: LogIndex): void {
    if (index > this.#enqueuedIndex) {
      const {pipe, pending} = this.#options;
      pipe.skipTo(index);
      this.#enqueuedIndex = index;
      this.#through = Math.max(this.#through, index);
      this.#batch = [];
      this.#batchAt = 0;
      pending.advance({appliedIndex: index, fences: new Map(), failure: undefined});
    }
    this.#isPaused = false;
    this.goOn();
  }

  /** Offers nothing more; resolves when nothing is under way. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#underWay;
  }

  #fetch(): void {
    const {replicator} = this.#options;
    const found = replicator.entries(this.#enqueuedIndex, this.#through, batchBytes);
    this.#batchAt = 0;
    this.#batch = [];
    if (!(found instanceof Promise)) {
      this.#batch = found;
      return;
    }
    this.#wait(
      found.then(entries => {
        if (entries === undefined) throw new Error(`entry ${this.#enqueuedIndex + 1} is missing`);
        this.#batch = entries;
      }),
    );
  }

  /** Goes on behind `work`, which no later entry may overtake. */
  #wait(work: Promise<void>): void {
    this.#underWay = work.then(
      () => {
        this.#underWay = undefined;
        this.goOn();
      },
      (error: unknown) => {
        this.#underWay = undefined;
        this.#options.failed(`a committed entry could not be applied: ${String(error)}`);
      },
    );
  }

  /** False when it has to wait: `goOn` is called again. */
  #offer(logEntry: LogEntry): boolean {
    const {pipe, follows} = this.#options;
    const {term} = logEntry;
    const bytes = logEntry.kind === 'data' ? logEntry.data : this.#nothing;
    if (pipe.admission(bytes.length) !== undefined) return false;
    if (logEntry.kind !== 'data') return this.#pass(term, this.#decide(term), 0);
    const entry = decodeEntry(bufferOf(logEntry.data));
    if (entry.databaseId === 0) return this.#executeAlone(entry, term);
    const own = this.#decide(term);
    const index = this.#enqueuedIndex + 1;
    const followed = own === undefined ? follows(index, entry) : own.onApplied;
    // The database is not open here: it was dropped since, or cannot be opened.
    if (followed === 'passed-over') return this.#pass(term, nobody, entry.databaseId);
    const {databaseId} = entry;
    const resolve = own?.resolve;
    const pending = {index, databaseId, bytes: bytes.length, onApplied: followed, resolve};
    this.#options.pending.add(pending);
    this.#enqueuedIndex = index;
    pipe.enqueue(bytes, term);
    return true;
  }

  #decide(term: Term): Owner | undefined {
    return this.#options.decided(this.#enqueuedIndex + 1, term);
  }

  /** Moves the position alone. */
  #pass(term: Term, owner: Owner | undefined, databaseId: number): boolean {
    const index = ++this.#enqueuedIndex;
    const {onApplied, resolve} = owner ?? nobody;
    this.#options.pending.add({index, databaseId, bytes: 0, onApplied, resolve});
    this.#options.pipe.enqueue(this.#nothing, term);
    return true;
  }

  /** Everything before is applied first. */
  #executeAlone(entry: Entry, term: Term): boolean {
    const {pending, execute} = this.#options;
    if (pending.appliedIndex < this.#enqueuedIndex) return false;
    const index = this.#enqueuedIndex + 1;
    const owner = this.#decide(term);
    this.#wait(
      execute(index, entry).then(() => {
        this.#pass(term, owner, 0);
      }),
    );
    return true;
  }
}
