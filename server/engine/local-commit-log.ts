/**
 * The log of a single server: what is appended goes straight into the commit pipe.
 *
 * When the log fails, every entry that was not applied is answered `unknown`: it may be on the
 * disk (F1). Server-level entries are executed one after another behind the pipe, while it goes on.
 */
import type {AppendResult, LogIndex, Refused} from '#server/transactions/commit.ts';
import {
  type CommitPipeline,
  type PipelineProgress,
  requireFlushed,
} from '#server/transactions/commit-pipeline.ts';
import type {EngineLog, EngineLogObserver} from './engine-log.ts';
import {decodeEntry} from '#server/transactions/entry.ts';
import {PendingEntries} from '#server/transactions/pending-entries.ts';

export class LocalCommitLog implements EngineLog {
  readonly #pipe: CommitPipeline;
  readonly #observer: EngineLogObserver;
  readonly #pending: PendingEntries;
  #lastIndex: LogIndex;
  #failure: string | undefined;
  #stopping = false;
  /** Server-level entries appended and not executed yet, oldest first. */
  readonly #unexecuted: LogIndex[] = [];
  #execution: Promise<void> = Promise.resolve();

  constructor(pipe: CommitPipeline, observer: EngineLogObserver) {
    this.#pipe = pipe;
    this.#observer = observer;
    this.#pending = new PendingEntries(pipe.startIndex, {isShared: false});
    this.#lastIndex = pipe.startIndex;
    pipe.listen(progress => this.#advance(progress));
  }

  get appliedIndex(): LogIndex {
    return this.#pending.appliedIndex;
  }

  get readableIndex(): LogIndex {
    return this.#pipe.applyStartedIndex;
  }

  readIndex(): undefined {
    return undefined;
  }

  flushAcknowledged(): void {
    requireFlushed(this.#pipe);
  }

  get lastIndex(): LogIndex {
    return this.#lastIndex;
  }

  get failure(): string | undefined {
    return this.#failure;
  }

  stop(): void {
    this.#stopping = true;
    if (this.#pending.isEmpty) this.#pending.wake(true);
  }

  async whenApplied(index: LogIndex): Promise<void> {
    const isOver = this.#failure !== undefined || (this.#stopping && index > this.#lastIndex);
    if (!isOver) await this.#pending.whenApplied(index);
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

  whenRoom(): Promise<boolean> {
    return Promise.resolve(false);
  }

  append(
    entry: Uint8Array,
    databaseId: number,
    onApplied?: () => void,
  ): {readonly index: LogIndex; readonly settled: Promise<AppendResult>} {
    const index = ++this.#lastIndex;
    const {promise, resolve} = Promise.withResolvers<AppendResult>();
    this.#pending.add({index, databaseId, bytes: entry.length, onApplied, resolve});
    this.#pipe.enqueue(entry, 0);
    return {index, settled: promise};
  }

  async propose(bytes: Uint8Array): Promise<AppendResult> {
    const refused = this.admission(bytes.length);
    if (refused !== undefined) return refused;
    const entry = decodeEntry(Buffer.from(bytes));
    const executed = Promise.withResolvers<AppendResult>();
    const {index, settled} = this.append(bytes, 0, () => {
      this.#execution = this.#execution
        .then(() => this.#observer.execute(index, entry))
        .then(
          () => {
            this.#unexecuted.shift();
            executed.resolve({kind: 'committed', index});
          },
          (error: unknown) => {
            // It is in the log: the next start executes it.
            const detail = `a server-level entry could not be executed: ${String(error)}`;
            executed.resolve({kind: 'unknown', detail});
            this.fail(detail);
          },
        );
    });
    this.#unexecuted.push(index);
    const result = await settled;
    return result.kind === 'committed' ? await executed.promise : result;
  }

  executedFloor(floor: LogIndex): LogIndex {
    const [oldest] = this.#unexecuted;
    return oldest === undefined ? floor : Math.min(floor, oldest - 1);
  }

  async executed(index: LogIndex): Promise<void> {
    if (this.executedFloor(index) < index) await this.#execution;
  }

  recycle(floor: LogIndex): void {
    this.#pipe.recycle(floor);
  }

  async settled(): Promise<void> {
    await this.#pending.settled();
    await this.#execution;
  }

  fail(reason: string): void {
    if (this.#failure !== undefined) return;
    this.#failure = reason;
    this.#pending.giveUp(reason);
    this.#observer.failed(reason);
    this.#pending.wake(true);
  }

  async close(): Promise<void> {
    await this.settled();
  }

  #advance(progress: PipelineProgress): void {
    const bytes = this.#pending.advance(progress);
    if (progress.failure !== undefined) this.fail(progress.failure);
    else this.#observer.advanced(bytes, progress.fences);
    this.#pending.wake(this.#stopping && this.#pending.isEmpty);
  }
}
