/**
 * The commit pipe of a real server: the log thread and the apply thread behind one ring. In a
 * cluster the log is the replicated one, and what is committed goes straight to the apply thread.
 *
 * The network thread only copies an entry into the ring and wakes the log thread; it hears of
 * applied entries by one message for however many there are. Start the threads early
 * (`startCommitThreads`), they load while the data is recovered.
 */
import {Worker} from 'node:worker_threads';
import {assert} from '#server/base/assert.ts';
import type {ShareableStore, Store} from '#server/storage/store.ts';
import type {Fence} from '#server/transactions/apply.ts';
import type {LogIndex, Refused} from '#server/transactions/commit.ts';
import type {
  CommitPipe,
  CopyOutcome,
  DatabaseCopy,
  DurableState,
  PipeProgress,
} from '#server/transactions/commit-pipe.ts';
import type {PipeParts} from '#server/engine/engine-options.ts';
import type {DatabasePosition} from '#server/transactions/system-keys.ts';
import type {ApplyRequest, LogRequest, WorkerNews, WorkerStart} from './commit-messages.ts';
import {
  createRingMemory,
  entryBytesInside,
  type RingMemory,
  RingWriter,
  signal,
  word,
} from './commit-ring.ts';

export interface CommitThreadsOptions {
  /** False in a cluster. Default: true. */
  readonly withLog?: boolean;
  /** Bytes of the ring; a power of two. Larger entries than an eighth of it travel outside. */
  readonly ringBytes?: number;
  /** Bytes of entries outside the ring that may wait. */
  readonly outsideBytesMax?: number;
}

export interface CommitThreads {
  /** Makes the pipe of a recovered engine, with or without a log as the threads are; once. */
  startPipe(parts: PipeParts): CommitPipe;
  /** Ends the threads when no pipe was started (a refused start). */
  abandon(): Promise<void>;
}

const ringBytesDefault = 4 << 20;
const outsideBytesDefault = 64 << 20;

/** Starts the threads; they wait for `startPipe`. */
export function startCommitThreads(options: CommitThreadsOptions = {}): CommitThreads {
  const ring = createRingMemory(options.ringBytes ?? ringBytesDefault);
  const resourceLimits = {maxYoungGenerationSizeMb: 8};
  const {withLog = true} = options;
  // What is offered without a log thread is durable: the apply thread reads behind the writer.
  const workerData: WorkerStart = {ring, applyBehind: withLog ? word.logged : word.head};
  const workerOptions = {workerData, resourceLimits};
  const log = withLog
    ? new Worker(new URL('./log-worker.ts', import.meta.url), workerOptions)
    : undefined;
  const apply = new Worker(new URL('./apply-worker.ts', import.meta.url), workerOptions);
  const workers = {log, apply, ring};
  return {
    startPipe: parts =>
      new ThreadedPipe(workers, parts, options.outsideBytesMax ?? outsideBytesDefault),
    async abandon() {
      await Promise.all([log?.terminate(), apply.terminate()]);
    },
  };
}

interface Workers {
  /** Undefined in a cluster. */
  readonly log: Worker | undefined;
  readonly apply: Worker;
  readonly ring: RingMemory;
}

class ThreadedPipe implements CommitPipe {
  readonly startIndex: LogIndex;
  readonly #workers: Workers;
  readonly #control: Int32Array;
  readonly #writer: RingWriter;
  readonly #insideBytesMax: number;
  readonly #outsideBytesMax: number;
  readonly #waiting = new Map<number, (result: unknown) => void>();
  #listener: (progress: PipeProgress) => void = () => {};
  #fences: ReadonlyMap<number, Fence> = new Map();
  #failure: string | undefined;
  #appliedIndex: LogIndex;
  #appliedCount = 0;
  #nextRequest = 1;
  #nextOutside = 1;
  #offeredIndex: LogIndex;
  /** Entries outside the ring that are not applied yet, oldest first. */
  readonly #outside: {readonly index: LogIndex; readonly bytes: number}[] = [];
  #outsideBytes = 0;
  #closing = false;
  #wakes = false;

  constructor(workers: Workers, parts: PipeParts, outsideBytesMax: number) {
    const {log, settings, logId, stagedDirectory} = parts;
    assert((log === undefined) === (workers.log === undefined), 'a log has its thread');
    this.#workers = workers;
    this.#control = new Int32Array(workers.ring.control);
    this.#writer = new RingWriter(workers.ring);
    this.#insideBytesMax = entryBytesInside(workers.ring);
    this.#outsideBytesMax = outsideBytesMax;
    this.startIndex = parts.startIndex;
    this.#appliedIndex = parts.startIndex;
    this.#offeredIndex = parts.startIndex;
    if (workers.log !== undefined) this.#listen(workers.log);
    this.#listen(workers.apply);
    if (log !== undefined) {
      this.#askLog({
        kind: 'start',
        directory: log.directory,
        segmentBytes: settings.segmentBytes,
        syncCommits: settings.walFlush === 2,
        state: log.handOver(),
      });
    }
    this.#askApply({kind: 'start', logId, stagedDirectory, startIndex: this.startIndex, after: 0});
  }

  get begunIndex(): LogIndex {
    const begun = Atomics.load(this.#control, word.begunCount);
    return this.#appliedIndex + ((begun - this.#appliedCount) >>> 0);
  }

  listen(listener: (progress: PipeProgress) => void): void {
    this.#listener = listener;
  }

  admission(bytes: number): Refused | undefined {
    if (this.#failure !== undefined) {
      return {kind: 'refused', code: 'log-failed', detail: this.#failure};
    }
    const fits =
      bytes <= this.#insideBytesMax
        ? this.#writer.hasRoom(bytes)
        : this.#writer.hasRoom(4) &&
          (this.#outsideBytes === 0 || this.#outsideBytes + bytes <= this.#outsideBytesMax);
    if (fits) return undefined;
    return {kind: 'refused', code: 'queue-full', detail: 'too many commits wait for the log'};
  }

  offer(entry: Uint8Array, chain: number): void {
    this.#offeredIndex++;
    this.#wakeSoon();
    if (entry.length <= this.#insideBytesMax) return this.#writer.write(entry, chain);
    const bytes = new SharedArrayBuffer(entry.length);
    new Uint8Array(bytes).set(entry);
    const number = this.#nextOutside++;
    this.#outside.push({index: this.#offeredIndex, bytes: entry.length});
    this.#outsideBytes += entry.length;
    if (this.#workers.log !== undefined) this.#askLog({kind: 'outside', number, bytes});
    this.#askApply({kind: 'outside', number, bytes});
    this.#writer.writeOutside(number, chain);
  }

  attach(databaseId: number, store: Store, position: DatabasePosition): void {
    const shareable: ShareableStore | undefined = store.shareable;
    assert(shareable !== undefined, 'threads need a store that threads can share');
    const after = this.#writer.head;
    this.#askApply({kind: 'attach', after, databaseId, store: shareable, position});
  }

  detach(databaseId: number): Promise<DatabasePosition | undefined> {
    const {id, answer} = this.#request<DatabasePosition | undefined>();
    this.#askApply({kind: 'detach', id, after: this.#writer.head, databaseId});
    return answer;
  }

  async makeDurable(): Promise<DurableState> {
    await this.#logSynced();
    const {id, answer} = this.#request<DurableState>();
    this.#askApply({kind: 'make-durable', id, after: this.#writer.head});
    return await answer;
  }

  async copy(copies: readonly DatabaseCopy[]): Promise<CopyOutcome> {
    await this.#logSynced();
    const {id, answer} = this.#request<CopyOutcome | undefined>();
    this.#askApply({kind: 'copy', id, after: this.#writer.head, copies});
    const outcome = await answer;
    return outcome ?? {kind: 'failed', reason: this.#failure ?? 'the server stops'};
  }

  skipTo(index: LogIndex): void {
    const isIdle = this.#appliedIndex === this.#offeredIndex;
    assert(this.#workers.log === undefined && isIdle, 'only an idle pipe without a log skips');
    this.#offeredIndex = index;
    this.#appliedIndex = index;
    this.#askApply({kind: 'skip', index, after: this.#writer.head});
  }

  recycle(floor: LogIndex): void {
    if (this.#workers.log !== undefined) this.#askLog({kind: 'recycle', floor});
  }

  async close(): Promise<void> {
    this.#closing = true;
    const applied = this.#request<void>();
    this.#askApply({kind: 'close', id: applied.id, after: this.#writer.head});
    await applied.answer;
    if (this.#workers.log !== undefined) {
      const logged = this.#request<void>();
      this.#askLog({kind: 'close', id: logged.id});
      await logged.answer;
    }
    await Promise.all([this.#workers.log?.terminate(), this.#workers.apply.terminate()]);
  }

  /** A database must never be durable ahead of the log. */
  async #logSynced(): Promise<void> {
    if (this.#workers.log === undefined) return;
    const synced = this.#request<void>();
    this.#askLog({kind: 'sync', id: synced.id});
    await synced.answer;
  }

  #listen(worker: Worker): void {
    worker.on('message', (news: WorkerNews) => this.#hear(news));
    const ended = (reason: string) => {
      this.#fail(reason);
      for (const resolve of this.#waiting.values()) resolve(undefined);
      this.#waiting.clear();
    };
    worker.on('error', error => ended(`a thread of the commit path failed: ${error.message}`));
    worker.on('exit', () => {
      if (!this.#closing) ended('a thread of the commit path ended');
    });
  }

  #hear(news: WorkerNews): void {
    switch (news.kind) {
      case 'ready':
        return;
      case 'applied':
        return this.#advance();
      case 'fences':
        this.#fences = news.fences;
        return;
      case 'failed':
        return this.#fail(news.reason);
      case 'done':
        this.#waiting.get(news.id)?.(news.result);
        this.#waiting.delete(news.id);
        return;
      default:
        news satisfies never;
    }
  }

  #advance(): void {
    Atomics.store(this.#control, word.notified, 0);
    const count = Atomics.load(this.#control, word.appliedCount);
    this.#appliedIndex += (count - this.#appliedCount) >>> 0;
    this.#appliedCount = count;
    for (;;) {
      const oldest = this.#outside[0];
      if (oldest === undefined || oldest.index > this.#appliedIndex) break;
      this.#outside.shift();
      this.#outsideBytes -= oldest.bytes;
    }
    this.#report();
  }

  #fail(reason: string): void {
    if (this.#failure !== undefined) return;
    this.#failure = reason;
    Atomics.store(this.#control, word.failed, 1);
    signal(this.#control, word.applySignal);
    this.#report();
  }

  #report(): void {
    this.#listener({
      appliedIndex: this.#appliedIndex,
      fences: this.#fences,
      failure: this.#failure,
    });
  }

  #request<Result>(): {readonly id: number; readonly answer: Promise<Result>} {
    const id = this.#nextRequest++;
    const {promise, resolve} = Promise.withResolvers<Result>();
    this.#waiting.set(id, result => resolve(result as Result));
    return {id, answer: promise};
  }

  /**
   * Wakes the next thread once for all entries of this turn of the event loop: they become one
   * batch, and a core that both threads share is not taken away in the middle of the turn.
   */
  #wakeSoon(): void {
    if (this.#wakes) return;
    this.#wakes = true;
    setImmediate(() => {
      this.#wakes = false;
      signal(this.#control, this.#workers.log === undefined ? word.applySignal : word.logSignal);
    });
  }

  #askLog(request: LogRequest): void {
    this.#workers.log?.postMessage(request);
    signal(this.#control, word.logSignal);
  }

  #askApply(request: ApplyRequest): void {
    this.#workers.apply.postMessage(request);
    signal(this.#control, word.applySignal);
  }
}
