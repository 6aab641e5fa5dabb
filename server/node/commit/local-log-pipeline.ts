/**
 * The commit path of a server with a log of its own: the log, in front of a pipe that applies what
 * is durable (apply-pipeline.ts), as a cluster's log stands in front of its members'.
 *
 * Entries of one turn of the event loop lie in a ring when the network thread wakes the log thread
 * at its end; that one tells once a batch that they are durable, with the chain values that the log
 * has given them. Where one client commits alone, the network thread writes its entry to the log
 * itself (log/inline-log-writer.ts).
 * Source: docs/design/0034-one-way-behind-every-log.md.
 */
import {assert} from '#server/base/assert.ts';
import {Fifo} from '#server/base/fifo.ts';
import type {PipeParts} from '#server/engine/engine-options.ts';
import type {InlineLogWriter} from '#server/log/inline-log-writer.ts';
import type {SegmentLog} from '#server/log/segment-log.ts';
import type {Store} from '#server/storage/store.ts';
import type {LogIndex, Refused} from '#server/transactions/commit.ts';
import type {
  CommitPipeline,
  CopyOutcome,
  DatabaseCopy,
  DurableState,
  PipelineProgress,
} from '#server/transactions/commit-pipeline.ts';
import type {DatabasePosition} from '#server/transactions/system-keys.ts';
import type {ApplyPipeline} from './apply-pipeline.ts';
import type {CommitThread, LogNews, LogRequest} from './commit-messages.ts';
import {ChainReader, recordBytes, sharedBytes, word} from './commit-ring.ts';
import type {EventLoop} from './event-loop.ts';
import {LogRing} from './log-ring.ts';
import type {SingleClientDetector} from './single-client-detector.ts';
import type {IdleSpin} from './idle-spin.ts';
import {ThreadRequests} from './thread-requests.ts';

export interface LoggedPipeParts extends PipeParts {
  readonly log: SegmentLog;
  /** Undefined where commits are not synced one by one: then the log thread has less to do. */
  readonly prompt: InlineLogWriter | undefined;
  /** Hears of requests. */
  readonly client: SingleClientDetector;
  readonly awake: IdleSpin;
  readonly loop: EventLoop;
  /** Its ring is twice as large as the log thread's: what is admitted here finds room there. */
  readonly applies: ApplyPipeline;
}

export class LocalLogPipeline implements CommitPipeline {
  readonly startIndex: LogIndex;
  readonly #ring: LogRing<LogRequest, LogNews>;
  readonly #control: Int32Array;
  readonly #chains: ChainReader;
  readonly #ringBytes: number;
  readonly #outsideBytesMax: number;
  readonly #applies: ApplyPipeline;
  readonly #client: SingleClientDetector;
  readonly #awake: IdleSpin;
  /** What the log does not hold yet, as far as is heard, oldest first. */
  readonly #entries = new Fifo<Buffer>();
  /** The only one of them is not in the ring: it is written here at the end of its event. */
  #isPrompt = false;
  #outsideBytes = 0;
  #enqueuedIndex: LogIndex;
  readonly #requests = new ThreadRequests();
  /** Who waits until the log holds everything up to an index, or has failed. */
  #waiting: {readonly index: LogIndex; readonly resolve: () => void}[] = [];
  #isClosing = false;

  constructor(
    {thread, ring, outsideBytesMax}: CommitThread<LogRequest, LogNews>,
    parts: LoggedPipeParts,
  ) {
    const {log, settings, startIndex, prompt, client, awake, applies, loop} = parts;
    this.#ring = new LogRing({thread, ring, prompt, loop});
    this.#control = new Int32Array(ring.control);
    this.#chains = new ChainReader(ring);
    this.#ringBytes = ring.bytes.byteLength;
    this.#outsideBytesMax = outsideBytesMax;
    this.#applies = applies;
    this.#client = client;
    this.#awake = awake;
    this.startIndex = startIndex;
    this.#enqueuedIndex = startIndex;
    this.#ring.listen({
      news: news => this.#hear(news),
      ended: (reason = 'it ended') => this.#ended(`the log thread failed: ${reason}`),
    });
    this.#ring.ask({
      kind: 'start',
      directory: log.directory,
      segmentBytes: settings.segmentBytes,
      syncCommits: settings.walFlush === 2,
      state: log.handOver(),
    });
  }

  get applyStartedIndex(): LogIndex {
    return this.#applies.applyStartedIndex;
  }

  flushAcknowledged(): boolean {
    return this.#applies.flushAcknowledged();
  }

  listen(listener: (progress: PipelineProgress) => void): void {
    this.#applies.listen(listener);
  }

  admission(bytes: number): Refused | undefined {
    const detail = this.#applies.failure;
    if (detail !== undefined) return {kind: 'refused', code: 'log-failed', detail};
    const isInside = bytes <= this.#ring.insideBytesMax;
    const used = this.#ring.writer.usedBytes + this.#applies.usedBytes;
    const outside = this.#outsideBytes + this.#applies.outsideBytes;
    // A record that does not fit in front of the ring's end wastes as much as it takes.
    const fits =
      used + 2 * recordBytes(isInside ? bytes : 4) <= this.#ringBytes &&
      (isInside || outside === 0 || outside + bytes <= this.#outsideBytesMax);
    if (fits) return undefined;
    return {kind: 'refused', code: 'queue-full', detail: 'too many commits wait for the log'};
  }

  enqueue(entry: Uint8Array): void {
    this.#enqueuedIndex += 1;
    const isInside = entry.length <= this.#ring.insideBytesMax;
    const isAlone = this.#client.onCommit(this.#entries.length === 0 && this.#applies.isIdle);
    this.#giveToThread();
    const payload = isInside ? Buffer.from(entry) : Buffer.from(sharedBytes(entry));
    this.#entries.push(payload);
    this.#isPrompt = isAlone && isInside && this.#ring.admits(entry.length);
    if (!this.#isPrompt) this.#put(payload);
    this.#endTurnSoon();
  }

  attach(databaseId: number, store: Store, position: DatabasePosition): void {
    this.#applies.attach(databaseId, store, position);
  }

  async detach(databaseId: number): Promise<DatabasePosition | undefined> {
    await this.#logged();
    return await this.#applies.detach(databaseId);
  }

  async makeDurable(): Promise<DurableState> {
    await this.#synced();
    return await this.#applies.makeDurable();
  }

  async copy(copies: readonly DatabaseCopy[]): Promise<CopyOutcome> {
    await this.#logged();
    await this.#synced();
    return await this.#applies.copy(copies);
  }

  skipTo(): void {
    assert(false, 'the log of one server has no gap');
  }

  recycle(floor: LogIndex): void {
    this.#ring.ask({kind: 'recycle', floor});
  }

  stopWaiting(): void {
    this.#ring.writer.stopWaiting();
    this.#applies.stopWaiting();
  }

  async close(): Promise<void> {
    await this.#logged();
    await this.#applies.close();
    this.#isClosing = true;
    this.#ring.closePrompt();
    const {id, answer} = this.#requests.open<void>();
    this.#ring.ask({kind: 'close', id});
    await answer;
    await this.#ring.terminate();
  }

  get #loggedIndex(): LogIndex {
    return this.#enqueuedIndex - this.#entries.length;
  }

  /** What was to be written here is for the log thread after all. */
  #giveToThread(): void {
    const {first} = this.#entries;
    if (!this.#isPrompt || first === undefined) return;
    this.#isPrompt = false;
    this.#put(first);
  }

  #put(payload: Buffer): void {
    const {writer, insideBytesMax} = this.#ring;
    if (payload.length <= insideBytesMax) return writer.write(payload, 0);
    this.#outsideBytes += payload.length;
    this.#ring.putOutside(sharedBytes(payload));
  }

  /** Once for all entries of this turn of the event loop: they become one batch. */
  #endTurnSoon(): void {
    this.#ring.endTickSoon(this.#isPrompt, () => {
      if (this.#appendAlone()) return;
      this.#giveToThread();
      this.#ring.flush();
    });
  }

  /** False when the log thread is to do what waits here. */
  #appendAlone(): boolean {
    const {first: entry} = this.#entries;
    if (!this.#isPrompt || entry === undefined) return false;
    if (this.#applies.failure !== undefined) return true;
    this.#awake.commits();
    // Nothing is in front of it: what the ring had is durable, and was heard of.
    const done = this.#ring.appendAlone(entry);
    if (done === 'left') return false;
    if (done !== 'written') {
      this.#fail(done.failed);
      return true;
    }
    this.#isPrompt = false;
    this.#entries.shift();
    this.#applies.add(entry, this.#ring.chain);
    this.#applies.endTick();
    this.#wakeWaiting();
    return true;
  }

  #hear(news: LogNews): void {
    // Whatever is told comes behind the entries that were durable before.
    this.#handOn();
    if (news === 'logged') return;
    if (news.kind === 'failed') return this.#fail(news.reason);
    this.#requests.answer(news.id);
  }

  /** What is durable is applied. */
  #handOn(): void {
    Atomics.store(this.#control, word.notified, 0);
    const before = this.#entries.length;
    this.#chains.pass(chain => {
      const entry = this.#entries.shift();
      assert(entry !== undefined, 'the log holds what it was given');
      if (entry.length > this.#ring.insideBytesMax) this.#outsideBytes -= entry.length;
      this.#applies.add(entry, chain);
    });
    if (this.#entries.length === before) return;
    this.#applies.endTick();
    this.#wakeWaiting();
  }

  /** Resolves when the log holds everything that was enqueued, or takes nothing more. */
  #logged(): Promise<void> {
    const index = this.#enqueuedIndex;
    if (index <= this.#loggedIndex || this.#applies.failure !== undefined) return Promise.resolve();
    return new Promise(resolve => {
      this.#waiting.push({index, resolve});
    });
  }

  #wakeWaiting(): void {
    if (this.#waiting.length === 0) return;
    const isOver = this.#applies.failure !== undefined;
    this.#waiting = this.#waiting.filter(({index, resolve}) => {
      if (!isOver && index > this.#loggedIndex) return true;
      resolve();
      return false;
    });
  }

  /** A database must never be durable ahead of the log. */
  #synced(): Promise<void> {
    const {id, answer} = this.#requests.open<void>();
    this.#ring.ask({kind: 'sync', id});
    return answer;
  }

  /** The thread is gone. */
  #ended(reason: string): void {
    if (!this.#isClosing) this.#fail(reason);
    this.#requests.abandon();
  }

  #fail(reason: string): void {
    this.#applies.fail(reason);
    this.#wakeWaiting();
  }
}
