/**
 * What the thread of a log does, of a server alone (local-log-body.ts) and of a member of a cluster
 * (member-log/member-log-body.ts) alike: it appends what lies in the ring as one batch, syncs, and
 * tells it; makes the next segment ready in small steps; and lends the end of the log to the
 * network thread while it waits (log/log-tail-lease.ts).
 *
 * A failed write or sync ends appending for good (F1). A full disk does not: the work that found no
 * room is kept and tried again, several times a second and until the server closes or the log gives
 * it up (`givesUp`), while new commits are refused (engine/disk-space.ts) and reads go on.
 */
import {assert} from '#server/base/assert.ts';
import {Corruption} from '#server/base/errors.ts';
import {LogTailOwner, type LogTailState} from '#server/log/log-tail-lease.ts';
import {LogFailure, LogFull, type SegmentLog} from '#server/log/segment-log.ts';
import type {LogThreadStart} from './commit-messages.ts';
import {quietMs, RingReader, type RingRecord, word} from './commit-ring.ts';
import type {LogFailed, Progress, ThreadBody, ThreadPort} from './thread-channel.ts';

const batchEntriesMax = 4096;
const batchBytesMax = 4 << 20;

/** What both kinds of logs can do. */
export interface OwnedLog {
  readonly failed: string | undefined;
  readonly nextSegment: SegmentLog['nextSegment'];
  prepareNext(): boolean;
  lend(): LogTailState | undefined;
  takeBack(lent: LogTailState | 'failed'): void;
}

export abstract class LogBody<Log extends OwnedLog, Request, News> implements ThreadBody {
  readonly #port: ThreadPort<Request, News | LogFailed>;
  readonly #reader: RingReader;
  readonly #tail: LogTailOwner;
  readonly #outside = new Map<number, Buffer>();
  #log: Log | undefined;
  #hasFailed = false;
  /** What found no room on the disk. */
  #blocked: (() => void) | undefined;
  /** Asked to close, when everything in the ring is done. */
  #close: (() => void) | undefined;
  #isClosed = false;

  /** `ownWord`: where the ring's control words keep how far this thread has come. */
  constructor(
    port: ThreadPort<Request, News | LogFailed>,
    {ring, tail}: LogThreadStart,
    ownWord: number,
  ) {
    this.#port = port;
    this.#reader = new RingReader(ring, {source: word.head, own: ownWord}, this.#outside);
    this.#tail = new LogTailOwner(tail);
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  work(): Progress {
    if (this.#blocked !== undefined) return this.#tryAgain();
    const close = this.#close;
    const {end} = this.#reader;
    for (;;) {
      const request = this.#port.receive();
      if (request === undefined) break;
      this.handle(request);
      if (this.#blocked !== undefined) return 'full';
    }
    if (this.#canWrite && end !== this.#reader.cursor) this.#write(end);
    else if (close !== undefined) {
      this.#isClosed = true;
      close();
    } else if (this.#close === undefined) return 'idle';
    return this.#blocked === undefined ? 'worked' : 'full';
  }

  pause(): void {
    this.#tail.lend(this.#hasFailed ? undefined : this.#log?.lend());
  }

  resume(): void {
    this.#log?.takeBack(this.#tail.takeBack());
  }

  get patienceMs(): number {
    return this.#nextSegment === 'ready' ? Number.POSITIVE_INFINITY : quietMs;
  }

  tidy(): void {
    if (this.#nextSegment !== 'ready') this.perform(log => log.prepareNext());
  }

  get #nextSegment(): SegmentLog['nextSegment'] {
    return this.#log?.nextSegment ?? 'ready';
  }

  /** Carries out one request. */
  protected abstract handle(request: Request): void;

  /** Writes the records of one batch, durably where commits are; repeated when it found no room. */
  protected abstract batch(log: Log, records: readonly RingRecord[]): () => void;

  /** The batch is written: tells it, before the ring's room is given back or behind that. */
  protected abstract written(records: readonly RingRecord[]): void;

  /** Why what found no room is not tried again; undefined: it is. */
  protected givesUp(_log: Log): string | undefined {
    return undefined;
  }

  /** What had found no room is done. */
  protected goesOn(): void {}

  protected start(log: Log): void {
    this.#log = log;
  }

  protected get log(): Log | undefined {
    return this.#log;
  }

  /** An entry that lies outside the ring. */
  protected addOutside(number: number, bytes: SharedArrayBuffer): void {
    this.#outside.set(number, Buffer.from(bytes));
  }

  protected closeWhenDone(close: () => void): void {
    this.#close = close;
  }

  protected writeChain(record: RingRecord, chain: number): void {
    this.#reader.writeChain(record, chain);
  }

  protected tell(news: News | LogFailed, transfer: readonly ArrayBuffer[] = []): void {
    this.#port.tell(news, transfer);
  }

  /**
   * Does something with the log now, or as soon as the disk has room; `over` hears whether it was
   * done, or never will be.
   */
  protected perform(work: (log: Log) => void, over?: (isDone: boolean) => void): void {
    const log = this.#log;
    assert(log !== undefined, 'the log thread was started');
    if (!this.#canWrite) return over?.(false);
    try {
      work(log);
    } catch (error) {
      let givenUp: string | undefined;
      if (error instanceof LogFull && this.#reader.waitsForRoom) {
        givenUp = this.givesUp(log);
        if (givenUp === undefined) {
          this.#blocked = () => this.perform(work, over);
          return;
        }
      }
      const isExpected =
        error instanceof LogFailure || error instanceof LogFull || error instanceof Corruption;
      if (!isExpected) throw error;
      this.#hasFailed = true;
      const reason = givenUp === undefined ? error.message : `${givenUp}: ${error.message}`;
      this.tell({kind: 'failed', reason});
      return over?.(false);
    }
    over?.(true);
  }

  get #canWrite(): boolean {
    return !this.#hasFailed && this.#log?.failed === undefined;
  }

  #tryAgain(): Progress {
    const blocked = this.#blocked;
    this.#blocked = undefined;
    blocked?.();
    if (this.#blocked !== undefined) return 'full';
    this.goesOn();
    return 'worked';
  }

  #write(end: number): void {
    const {records, to} = this.#reader.take(end, batchEntriesMax, batchBytesMax);
    const log = this.#log;
    assert(log !== undefined, 'the log thread was started');
    this.perform(this.batch(log, records), isDone => {
      if (!isDone) return;
      for (const {outside} of records) if (outside !== undefined) this.#outside.delete(outside);
      this.#reader.advance(to);
      this.written(records);
      this.perform(() => {
        while (log.nextSegment === 'late') log.prepareNext();
      });
    });
  }
}
