/**
 * The CommitLog of a single server: the commit pipe, and who waits for which entry.
 *
 * Reports arrive in index order; each entry's `onApplied` runs before its promise resolves and
 * before anything later is reported. When the log fails, every entry that was not applied is
 * answered `unknown`: it may be on the disk (F3).
 */
import type {AppendResult, CommitLog, LogIndex, Refused} from './commit.ts';
import type {CommitPipe, PipeProgress} from './commit-pipe.ts';

export interface CommitLogObserver {
  /** The log can write nothing more; called once. */
  failed(reason: string): void;
  /** Entries of so many bytes were applied. */
  advanced(bytes: number, fences: PipeProgress['fences']): void;
  /** Why an entry of `bytes` may not be written now, such as a full disk. */
  obstacle(bytes: number): Refused | undefined;
}

interface Waiting {
  readonly index: LogIndex;
  readonly databaseId: number;
  readonly bytes: number;
  readonly onApplied: (() => void) | undefined;
  readonly resolve: (result: AppendResult) => void;
}

export class LocalCommitLog implements CommitLog {
  readonly #pipe: CommitPipe;
  readonly #observer: CommitLogObserver;
  /** In order of indexes; who has been told leaves its place at once, so that it dies young. */
  #waiting: (Waiting | undefined)[] = [];
  #head = 0;
  #appliedIndex: LogIndex;
  #lastIndex: LogIndex;
  #failure: string | undefined;
  #stopping = false;
  #settledWaiters: (() => void)[] = [];
  #appliedWaiters: {readonly index: LogIndex; readonly resolve: () => void}[] = [];

  constructor(pipe: CommitPipe, observer: CommitLogObserver) {
    this.#pipe = pipe;
    this.#observer = observer;
    this.#appliedIndex = pipe.startIndex;
    this.#lastIndex = pipe.startIndex;
    pipe.listen(progress => this.#advance(progress));
  }

  get appliedIndex(): LogIndex {
    return this.#appliedIndex;
  }

  get lastIndex(): LogIndex {
    return this.#lastIndex;
  }

  get failure(): string | undefined {
    return this.#failure;
  }

  /** Refuses what comes from now on; what is under way is finished. */
  stop(): void {
    this.#stopping = true;
    if (this.#waiting.length === this.#head) this.#wakeApplied(Number.POSITIVE_INFINITY);
  }

  async whenApplied(index: LogIndex): Promise<void> {
    const isOver = this.#failure !== undefined || (this.#stopping && index > this.#lastIndex);
    if (index <= this.#appliedIndex || isOver) return;
    await new Promise<void>(resolve => this.#appliedWaiters.push({index, resolve}));
  }

  admission(bytes: number): Refused | undefined {
    if (this.#failure !== undefined) {
      return {kind: 'refused', code: 'log-failed', detail: this.#failure};
    }
    if (this.#stopping) {
      return {kind: 'refused', code: 'stopping', detail: 'the server is stopping'};
    }
    return this.#observer.obstacle(bytes) ?? this.#pipe.admission(bytes);
  }

  append(
    entry: Uint8Array,
    databaseId: number,
    onApplied?: () => void,
  ): {readonly index: LogIndex; readonly settled: Promise<AppendResult>} {
    const index = ++this.#lastIndex;
    const {promise, resolve} = Promise.withResolvers<AppendResult>();
    this.#waiting.push({index, databaseId, bytes: entry.length, onApplied, resolve});
    this.#pipe.offer(entry);
    return {index, settled: promise};
  }

  /** Resolves when nothing waits any more. */
  async settled(): Promise<void> {
    if (this.#waiting.length === this.#head) return;
    await new Promise<void>(resolve => {
      this.#settledWaiters.push(resolve);
    });
  }

  /** Takes nothing more; what waits is undecided. */
  fail(reason: string): void {
    if (this.#failure !== undefined) return;
    this.#failure = reason;
    for (const waiting of this.#waiting.slice(this.#head)) {
      waiting?.resolve({kind: 'unknown', detail: reason});
    }
    this.#waiting = [];
    this.#head = 0;
    this.#observer.failed(reason);
    this.#wakeSettled();
    this.#wakeApplied(Number.POSITIVE_INFINITY);
  }

  #advance(progress: PipeProgress): void {
    let bytes = 0;
    for (;;) {
      const next = this.#waiting[this.#head];
      if (next === undefined || next.index > progress.appliedIndex) break;
      this.#waiting[this.#head++] = undefined;
      bytes += next.bytes;
      this.#appliedIndex = next.index;
      const fence = progress.fences.get(next.databaseId);
      if (fence !== undefined && fence.index <= next.index) {
        next.resolve({kind: 'unknown', detail: `the database is fenced: ${fence.reason}`});
        continue;
      }
      next.onApplied?.();
      next.resolve({kind: 'committed', index: next.index});
    }
    this.#appliedIndex = Math.max(this.#appliedIndex, progress.appliedIndex);
    if (this.#head === this.#waiting.length) {
      this.#waiting = [];
      this.#head = 0;
    } else if (this.#head > 1024 && this.#head * 2 > this.#waiting.length) {
      this.#waiting = this.#waiting.slice(this.#head);
      this.#head = 0;
    }
    if (progress.failure !== undefined) this.fail(progress.failure);
    else this.#observer.advanced(bytes, progress.fences);
    const isSettled = this.#waiting.length === this.#head;
    if (isSettled) this.#wakeSettled();
    const isLast = isSettled && this.#stopping;
    this.#wakeApplied(isLast ? Number.POSITIVE_INFINITY : this.#appliedIndex);
  }

  #wakeApplied(index: LogIndex): void {
    if (this.#appliedWaiters.length === 0) return;
    const waiters = this.#appliedWaiters;
    this.#appliedWaiters = waiters.filter(waiter => waiter.index > index);
    for (const waiter of waiters) if (waiter.index <= index) waiter.resolve();
  }

  #wakeSettled(): void {
    const waiters = this.#settledWaiters;
    this.#settledWaiters = [];
    for (const resolve of waiters) resolve();
  }
}
