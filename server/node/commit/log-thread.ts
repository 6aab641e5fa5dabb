/**
 * What the log thread does (log-worker.ts), apart from waiting: appends what lies in the ring as
 * one batch, syncs, and tells it; zero-fills the next segment in small steps; lends the end of the
 * log to the network thread while it waits (log/log-tail-lease.ts).
 *
 * A failed write or sync ends appending for good (F3).
 */
import {type MessagePort, receiveMessageOnPort} from 'node:worker_threads';
import {assert} from '#server/base/assert.ts';
import {LogTailOwner} from '#server/log/log-tail-lease.ts';
import {LogFailure, LogFull, SegmentLog} from '#server/log/segment-log.ts';
import {createDisk} from '#server/platform/real/disk.ts';
import type {LogNews, LogRequest, LogWorkerStart} from './commit-messages.ts';
import {quietMs, RingReader, word} from './commit-ring.ts';
import {untilRoom} from './disk-space-backoff.ts';

const batchEntriesMax = 4096;
const batchBytesMax = 4 << 20;
/** With `svc.txWalFlush` below 2, what was written is synced this long after it at the latest. */
const relaxedSyncMs = 1000;

export class LogThread {
  readonly #port: MessagePort;
  readonly #control: Int32Array;
  readonly #reader: RingReader;
  readonly #outside = new Map<number, Buffer>();
  readonly #chains = new Uint32Array(batchEntriesMax);
  readonly #tail: LogTailOwner;
  #log: SegmentLog | undefined;
  #syncCommits = true;
  #closed = false;

  constructor(port: MessagePort, start: LogWorkerStart) {
    this.#port = port;
    this.#control = new Int32Array(start.ring.control);
    const words = {source: word.head, own: word.logged};
    this.#reader = new RingReader(start.ring, words, this.#outside);
    this.#tail = new LogTailOwner(start.tail);
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  /** Does what waits: all requests, then one batch of entries. False when nothing is left to do. */
  work(): boolean {
    const {end} = this.#reader;
    this.#receive();
    if (this.#log?.failed !== undefined || end === this.#reader.cursor) return false;
    this.#append(end);
    return true;
  }

  /** Lends the end of the log to the network thread; the log is not touched here meanwhile. */
  lend(): void {
    this.#tail.lend(this.#log?.lend());
  }

  takeBack(): void {
    this.#log?.takeBack(this.#tail.takeBack());
  }

  /** Milliseconds without work behind which `tidy` is due. */
  get patienceMs(): number {
    if (this.#nextSegment !== 'ready') return quietMs;
    return this.#hasUnsynced ? relaxedSyncMs : Number.POSITIVE_INFINITY;
  }

  /** What is done in a quiet moment: a late sync, and a step towards the next segment. */
  tidy(): void {
    const isReady = this.#nextSegment === 'ready';
    if (this.#hasUnsynced) this.#attempt(log => log.sync());
    if (!isReady) this.#attempt(log => log.prepareNext());
  }

  get #nextSegment(): SegmentLog['nextSegment'] {
    return this.#log?.nextSegment ?? 'ready';
  }

  get #hasUnsynced(): boolean {
    const log = this.#log;
    return log !== undefined && log.failed === undefined && log.durableIndex < log.lastIndex;
  }

  #append(end: number): void {
    const {records, to} = this.#reader.take(end, batchEntriesMax, batchBytesMax);
    if (records.length > 0) {
      const entries = records.map(record => record.payload);
      const chains = this.#chains;
      if (!this.#attempt(log => log.append(entries, chains, this.#syncCommits))) return;
      records.forEach((record, number) => {
        this.#reader.writeChain(record, chains[number] ?? 0);
        if (record.outside !== undefined) this.#outside.delete(record.outside);
      });
    }
    this.#reader.advance(to);
    // One message is enough until the network thread has looked.
    if (Atomics.exchange(this.#control, word.notified, 1) === 0) this.#tell('logged');
    while (this.#nextSegment === 'late') this.#attempt(log => log.prepareNext());
  }

  #receive(): void {
    for (;;) {
      const received = receiveMessageOnPort(this.#port);
      if (received === undefined) return;
      this.#handle(received.message);
    }
  }

  #handle(request: LogRequest): void {
    switch (request.kind) {
      case 'start': {
        const {directory, segmentBytes, state} = request;
        this.#syncCommits = request.syncCommits;
        this.#log = SegmentLog.resume({disk: createDisk(), directory, segmentBytes}, state);
        return;
      }
      case 'outside':
        this.#outside.set(request.number, Buffer.from(request.bytes));
        return;
      case 'recycle':
        this.#attempt(log => log.recycle(request.floor));
        return;
      case 'sync':
        this.#attempt(log => log.sync());
        this.#tell({kind: 'done', id: request.id});
        return;
      default:
        this.#log?.close();
        this.#closed = true;
        this.#tell({kind: 'done', id: request.id});
    }
  }

  #attempt(work: (log: SegmentLog) => void): boolean {
    const log = this.#log;
    assert(log !== undefined, 'the log thread was started');
    if (log.failed !== undefined) return false;
    try {
      untilRoom(() => work(log));
      return true;
    } catch (error) {
      if (!(error instanceof LogFailure || error instanceof LogFull)) throw error;
      this.#tell({kind: 'failed', reason: error.message});
      return false;
    }
  }

  #tell(news: LogNews): void {
    this.#port.postMessage(news);
  }
}
