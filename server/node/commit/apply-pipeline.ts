/**
 * The part of the commit path behind the log: what it is enqueued is committed and durable, and is
 * applied on two threads. This one, the network thread, writes what is small itself, at the end of
 * its turn, while the apply thread has nothing to do (docs/design/0027), and tells before it writes
 * where nothing stands in the way of that (docs/design/0031). The apply thread gets the rest
 * through a ring, and is heard of by one message for however many entries.
 */
import {assert} from '#server/base/assert.ts';
import {bufferOf} from '#server/platform/buffer-of.ts';
import type {LogRecord} from '#server/log/segment-reader.ts';
import type {Store} from '#server/storage/store.ts';
import type {LogIndex, Refused, Fence} from '#server/transactions/commit.ts';
import type {
  CommitPipeline,
  CopyOutcome,
  DatabaseCopy,
  DurableState,
  PipelineProgress,
} from '#server/transactions/commit-pipeline.ts';
import type {PipeParts} from '#server/engine/engine-options.ts';
import type {DatabasePosition} from '#server/transactions/system-keys.ts';
import {InlineApplier} from '#server/transactions/inline-applier.ts';
import type {
  ApplyRequest,
  ApplyWork,
  CommitThread,
  LentStore,
  WorkerNews,
} from './commit-messages.ts';
import {entryBytesInside, RingWriter, sharedBytes, word} from './commit-ring.ts';
import type {EventLoop} from './event-loop.ts';
import type {ThreadHandle} from './thread-channel.ts';
import {ThreadRequests} from './thread-requests.ts';
import {TickBatch} from './tick-batch.ts';

/** The stores do what they have put off when there was nothing to apply for so long. */
const restAfterMs = 1_000;

export interface ApplyPipelineParts extends PipeParts {
  readonly loop: EventLoop;
  /** What the apply thread uses a store by. */
  readonly lend: (store: Store) => LentStore;
}

export class ApplyPipeline implements CommitPipeline {
  readonly startIndex: LogIndex;
  readonly #thread: ThreadHandle<ApplyRequest, WorkerNews>;
  readonly #loop: EventLoop;
  readonly #lend: (store: Store) => LentStore;
  readonly #control: Int32Array;
  readonly #writer: RingWriter;
  readonly #insideBytesMax: number;
  readonly #outsideBytesMax: number;
  readonly #requests = new ThreadRequests();
  #listener: (progress: PipelineProgress) => void = () => {};
  #fences: ReadonlyMap<number, Fence> = new Map();
  #failure: string | undefined;
  #appliedIndex: LogIndex;
  #appliedCount = 0;
  #nextOutside = 1;
  #enqueuedIndex: LogIndex;
  /** Entries outside the ring that are not applied yet, oldest first. */
  readonly #outside: {readonly index: LogIndex; readonly bytes: number}[] = [];
  #outsideBytes = 0;
  #closing = false;
  #tickEnds = false;
  /** Head of the ring when the next thread was woken last. */
  #wokenAt = 0;
  #rests: (() => void) | undefined;
  /** Applies on this thread. */
  readonly #inline: InlineApplier;
  /** What waits for `#own`. */
  readonly #tick: TickBatch;
  /** What `#own` has ready, told and not written yet. */
  #unwritten: readonly LogRecord[] = [];
  /** What that would take of the ring. */
  #unwrittenBytes = 0;
  /** Reported last. Ahead of `#appliedIndex` while something is owed. */
  #acknowledgedIndex: LogIndex;
  /** The last turn was written as it was to be. */
  #wasWritten = true;
  /** Last index the inline applier attempted; a prefix may be in a store at the hand-off. */
  #attemptedIndex: LogIndex;
  /** Index of the last entry that another thread was given. */
  #handedOffIndex: LogIndex;
  /** What was applied on this thread, or passed over, is not told to the apply thread yet. */
  #hasMoved = false;

  constructor(
    {thread, ring, outsideBytesMax}: CommitThread<ApplyRequest, WorkerNews>,
    parts: ApplyPipelineParts,
  ) {
    const {logId, loop, lend} = parts;
    this.#thread = thread;
    this.#loop = loop;
    this.#lend = lend;
    this.#control = new Int32Array(ring.control);
    this.#writer = new RingWriter(ring);
    this.#insideBytesMax = entryBytesInside(ring);
    this.#outsideBytesMax = outsideBytesMax;
    this.startIndex = parts.startIndex;
    this.#appliedIndex = parts.startIndex;
    this.#enqueuedIndex = parts.startIndex;
    this.#handedOffIndex = parts.startIndex;
    this.#attemptedIndex = parts.startIndex;
    this.#acknowledgedIndex = parts.startIndex;
    this.#inline = new InlineApplier(logId);
    this.#tick = new TickBatch(this.#insideBytesMax);
    this.#listen();
    this.#askApply({kind: 'start', logId, startIndex: this.startIndex});
  }

  get applyStartedIndex(): LogIndex {
    const begun = Atomics.load(this.#control, word.begunCount);
    const byThread = this.#appliedIndex + ((begun - this.#appliedCount) >>> 0);
    return Math.max(byThread, this.#attemptedIndex);
  }

  listen(listener: (progress: PipelineProgress) => void): void {
    this.#listener = listener;
  }

  admission(bytes: number): Refused | undefined {
    if (this.#failure !== undefined) {
      return {kind: 'refused', code: 'log-failed', detail: this.#failure};
    }
    const before = this.#unwrittenBytes + this.#tick.bytes;
    const fits =
      bytes <= this.#insideBytesMax
        ? this.#writer.hasRoom(before + bytes)
        : this.#writer.hasRoom(before + 4) &&
          (this.#outsideBytes === 0 || this.#outsideBytes + bytes <= this.#outsideBytesMax);
    if (fits) return undefined;
    return {kind: 'refused', code: 'queue-full', detail: 'too many commits wait for the log'};
  }

  enqueue(entry: Uint8Array, chain: number): void {
    this.add(entry, chain);
    this.#endTickSoon();
  }

  /** Works like `enqueue` for several entries: `endTick` follows. */
  add(entry: Uint8Array, chain: number): void {
    const record = {index: ++this.#enqueuedIndex, chain, payload: bufferOf(entry)};
    const isForTurn = this.#fences.size === 0 && this.#tick.hasRoom(entry.length);
    if (isForTurn) return this.#tick.add(record);
    this.#handOffTick();
    this.#handOff(record);
  }

  /** What was added is applied now, or by the other thread as soon as it can. */
  endTick(): void {
    this.#endTick();
    this.#wake();
  }

  /** Everything that was enqueued is applied. */
  get isIdle(): boolean {
    return this.#appliedIndex === this.#enqueuedIndex;
  }

  /** Why nothing more is taken; undefined while it is. */
  get failure(): string | undefined {
    return this.#failure;
  }

  /** Bytes of the ring that are in use, or would be. */
  get usedBytes(): number {
    return this.#writer.usedBytes + this.#unwrittenBytes + this.#tick.bytes;
  }

  /** Bytes of entries outside the ring that wait. */
  get outsideBytes(): number {
    return this.#outsideBytes;
  }

  flushAcknowledged(): boolean {
    this.#writeUnwritten();
    return this.#appliedIndex >= this.#acknowledgedIndex;
  }

  attach(databaseId: number, store: Store, position: DatabasePosition): void {
    this.#askApply({kind: 'attach', databaseId, store: this.#lend(store), position});
    this.#inline.attach(databaseId, store, position);
  }

  detach(databaseId: number): Promise<DatabasePosition | undefined> {
    const {id, answer} = this.#requests.open<DatabasePosition | undefined>();
    this.#askApply({kind: 'detach', id, databaseId});
    this.#inline.detach(databaseId);
    return answer;
  }

  async makeDurable(): Promise<DurableState> {
    const {id, answer} = this.#requests.open<DurableState>();
    this.#askApply({kind: 'make-durable', id});
    return await answer;
  }

  async copy(copies: readonly DatabaseCopy[]): Promise<CopyOutcome> {
    const {id, answer} = this.#requests.open<CopyOutcome | undefined>();
    this.#askApply({kind: 'copy', id, copies});
    const outcome = await answer;
    return outcome ?? {kind: 'failed', reason: this.#failure ?? 'the server stops'};
  }

  skipTo(index: LogIndex): void {
    this.#writeUnwritten();
    assert(this.#appliedIndex === this.#enqueuedIndex, 'only an idle pipe skips');
    this.#enqueuedIndex = index;
    this.#appliedIndex = index;
    this.#acknowledgedIndex = index;
    this.#hasMoved = true;
  }

  /** The log is another's. */
  recycle(): void {}

  stopWaiting(): void {
    this.#writer.stopWaiting();
  }

  async close(): Promise<void> {
    this.#closing = true;
    this.#rests?.();
    const applied = this.#requests.open<void>();
    this.#askApply({kind: 'close', id: applied.id});
    await applied.answer;
    await this.#thread.terminate();
  }

  /** The apply thread has nothing to do. */
  #isAlone(): boolean {
    return this.#handedOffIndex <= this.#appliedIndex && this.#requests.count === 0;
  }

  /** The turn's entries go to the apply thread after all. */
  #handOffTick(): void {
    this.#writeUnwritten();
    for (const record of this.#tick.take()) this.#handOff(record);
  }

  #handOff(record: LogRecord): void {
    const {index, chain, payload} = record;
    this.#sendMoves();
    this.#handedOffIndex = index;
    this.#inline.pass(record);
    if (payload.length <= this.#insideBytesMax) return this.#writer.write(payload, chain);
    const bytes = sharedBytes(payload);
    const number = this.#nextOutside++;
    this.#outside.push({index, bytes: payload.length});
    this.#outsideBytes += payload.length;
    this.#thread.post({kind: 'outside', number, bytes});
    this.#writer.writeOutside(number, chain);
  }

  /** Sends what changed before the apply thread is given anything else. */
  #sendMoves(): void {
    if (!this.#hasMoved) return;
    this.#hasMoved = false;
    const moves = this.#inline.takeMoves();
    this.#postApply({kind: 'moved', index: this.#appliedIndex, moves});
  }

  #listen(): void {
    this.#thread.listen({
      news: news => this.#onMessage(news),
      ended: reason => {
        if (reason === undefined && this.#closing) return;
        this.fail(`a thread of the commit path failed: ${reason ?? 'it ended'}`);
        this.#requests.abandon();
      },
    });
  }

  #onMessage(news: WorkerNews): void {
    switch (news.kind) {
      case 'applied':
        return this.#advance();
      case 'fences':
        this.#fences = news.fences;
        return;
      case 'done':
        this.#requests.answer(news.id, news.result);
        this.#endTick();
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
    this.#restLater();
    this.#report();
    this.#endTick();
  }

  /** Nothing more is taken, for the first reason that is told. */
  fail(reason: string): void {
    if (this.#failure !== undefined) return;
    this.#failure = reason;
    Atomics.store(this.#control, word.failed, 1);
    this.#thread.wake();
    this.#report();
  }

  #report(appliedIndex: LogIndex = this.#appliedIndex): void {
    // What was owed and could not be written was told before.
    this.#acknowledgedIndex = Math.max(this.#acknowledgedIndex, appliedIndex);
    this.#listener({
      appliedIndex: this.#acknowledgedIndex,
      fences: this.#fences,
      failure: this.#failure,
    });
  }

  /**
   * Once for all entries of this turn of the event loop: they become one batch, and a core that
   * both threads share is not taken away in the middle of the turn.
   */
  #endTickSoon(): void {
    if (this.#tickEnds) return;
    this.#tickEnds = true;
    this.#loop.atEndOfTick(() => {
      this.#tickEnds = false;
      this.#endTick();
      this.#wake();
    });
  }

  /** Waits for the apply thread where that one is at work: what it does next comes later anyway. */
  #endTick(): void {
    this.#writeUnwritten();
    const own = this.#inline;
    const {records} = this.#tick;
    if (records.length === 0 || !this.#isAlone()) return;
    if (this.#failure !== undefined) return;
    const through = this.#appliedIndex + records.length;
    this.#attemptedIndex = through;
    own.prepare(records);
    this.#unwrittenBytes = this.#tick.bytes;
    this.#unwritten = this.#tick.take();
    // Where the last turn had to wait for something, this one may have to.
    if (!this.#wasWritten || !own.mayAcknowledgeFirst()) {
      if (this.#writeUnwritten()) this.#report();
      return;
    }
    // Behind the answers, before anything else of the event loop.
    this.#loop.behindAnswers(() => void this.#writeUnwritten());
    this.#report(through);
  }

  /** False when what is owed goes to the apply thread after all. */
  #writeUnwritten(): boolean {
    const records = this.#unwritten;
    if (records.length === 0) return true;
    this.#unwritten = [];
    this.#unwrittenBytes = 0;
    this.#wasWritten = this.#inline.write();
    if (this.#wasWritten) {
      this.#appliedIndex += records.length;
      this.#hasMoved = true;
      this.#restLater();
    } else {
      for (const record of records) this.#handOff(record);
      this.#wake();
    }
    return this.#wasWritten;
  }

  /** Who comes next looks at what lies in the ring. */
  #wake(): void {
    if (this.#wokenAt === this.#writer.head) return;
    this.#wokenAt = this.#writer.head;
    this.#writer.publish();
    this.#thread.wake();
  }

  #restLater(): void {
    const seen = this.#appliedIndex;
    if (this.#closing) return;
    this.#rests ??= this.#loop.after(restAfterMs, () => {
      this.#rests = undefined;
      if (this.#appliedIndex !== seen) return this.#restLater();
      this.#askApply({kind: 'rest'});
    });
  }

  #askApply(work: ApplyWork): void {
    this.#handOffTick();
    this.#sendMoves();
    this.#postApply(work);
    this.#writer.publish();
    this.#thread.wake();
  }

  #postApply(work: ApplyWork): void {
    this.#thread.post({...work, after: this.#writer.head});
  }
}
