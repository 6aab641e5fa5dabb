/**
 * The log thread of a member of a cluster: writes what waits in the ring as one batch, syncs, and
 * tells once for all of it.
 *
 * While it waits, the network thread has the end of the log (log/log-tail-lease.ts).
 *
 * As the log thread of a server without cluster (commit/log-worker.ts), but for what it is told
 * between the entries: term and vote, cuts, and where the log begins. Laggards are read to between
 * two batches, in runs whose size the reader bounds.
 */
import {parentPort, receiveMessageOnPort, workerData} from 'node:worker_threads';
import {assert} from '#server/base/assert.ts';
import {Corruption} from '#server/base/errors.ts';
import {LogTailOwner} from '#server/log/log-tail-lease.ts';
import {LogFailure, LogFull} from '#server/log/segment-log.ts';
import {createDisk} from '#server/platform/real/disk.ts';
import {StoredLog} from '#server/replication/stored-log.ts';
import {quietMs, RingReader, word} from '../commit/commit-ring.ts';
import {untilRoom} from '../commit/disk-space-backoff.ts';
import {
  type Command,
  decodeCommand,
  type MemberLogNews,
  type MemberLogRequest,
  type MemberLogStart,
} from './member-log-messages.ts';

const batchEntriesMax = 4096;
const batchBytesMax = 4 << 20;
/** What the log takes is told when it has changed by so much. */
const retainedStepBytes = 256 << 10;

class MemberLogThread {
  readonly #port: NonNullable<typeof parentPort>;
  readonly #control: Int32Array;
  readonly #reader: RingReader;
  readonly #tail: LogTailOwner;
  readonly #outside = new Map<number, Buffer>();
  #log: StoredLog | undefined;
  #failed = false;
  #durableNumber = 0;
  #retainedBytes = 0;
  #isClosing = false;
  #closed = false;

  constructor(port: NonNullable<typeof parentPort>, {ring, tail}: MemberLogStart) {
    this.#port = port;
    this.#control = new Int32Array(ring.control);
    this.#reader = new RingReader(ring, {source: word.head, own: word.applied}, this.#outside);
    this.#tail = new LogTailOwner(tail);
  }

  run(): void {
    while (!this.#closed) {
      this.#tellRetained();
      const seen = Atomics.load(this.#control, word.logSignal);
      const {end} = this.#reader;
      const isClosing = this.#isClosing;
      for (;;) {
        const received = receiveMessageOnPort(this.#port);
        if (received === undefined) break;
        this.#handle(received.message);
      }
      if (!this.#failed && end !== this.#reader.cursor) this.#write(end);
      else if (isClosing) this.#close();
      else if (!this.#isClosing) this.#wait(seen);
    }
  }

  /** Meanwhile the network thread may write. */
  #wait(seen: number): void {
    const timeout = this.#nextSegment === 'ready' ? Number.POSITIVE_INFINITY : quietMs;
    this.#tail.lend(this.#failed ? undefined : this.#log?.lend());
    const woken = Atomics.wait(this.#control, word.logSignal, seen, timeout);
    this.#log?.takeBack(this.#tail.takeBack());
    if (woken === 'timed-out') this.#attempt(log => log.prepareNext());
  }

  get #nextSegment(): StoredLog['nextSegment'] {
    return this.#log?.nextSegment ?? 'ready';
  }

  #write(end: number): void {
    const {records, to} = this.#reader.take(end, batchEntriesMax, batchBytesMax);
    const written = this.#attempt(log => {
      let number = this.#durableNumber;
      for (const {payload} of records) {
        const command = decodeCommand(payload);
        if (command === undefined) log.append(payload);
        else if (command.kind === 'end') ({number} = command);
        else untilRoom(() => carryOut(log, command));
      }
      untilRoom(() => log.flush());
      this.#durableNumber = number;
    });
    if (!written) return;
    for (const {outside} of records) if (outside !== undefined) this.#outside.delete(outside);
    this.#reader.advance(to);
    this.#tell(this.#durableNumber);
    while (this.#nextSegment === 'late') this.#attempt(log => log.prepareNext());
  }

  #tellRetained(): void {
    const bytes = this.#log?.retainedBytes ?? 0;
    if (Math.abs(bytes - this.#retainedBytes) < retainedStepBytes) return;
    this.#retainedBytes = bytes;
    this.#tell({kind: 'retained', bytes});
  }

  #handle(request: MemberLogRequest): void {
    switch (request.kind) {
      case 'start':
        this.#log = StoredLog.resume(createDisk(), request.state);
        return;
      case 'outside':
        this.#outside.set(request.number, Buffer.from(request.bytes));
        return;
      case 'read':
        return this.#read(request);
      default:
        this.#isClosing = true;
    }
  }

  /** Everything that was given before is carried out. */
  #close(): void {
    this.#attempt(log => log.close());
    this.#closed = true;
    this.#port.close();
  }

  #read({id, first, through, bytesMax}: MemberLogRequest & {readonly kind: 'read'}): void {
    let run: ReturnType<StoredLog['read']>;
    this.#attempt(log => {
      run = log.read(first, through, bytesMax);
    });
    this.#tell({kind: 'read', id, run}, run === undefined ? [] : [run.bytes.buffer]);
  }

  /** False when the log has failed, now or before. */
  #attempt(work: (log: StoredLog) => void): boolean {
    const log = this.#log;
    assert(log !== undefined, 'the log thread was started');
    if (this.#failed) return false;
    try {
      work(log);
      return true;
    } catch (error) {
      const isExpected =
        error instanceof LogFailure || error instanceof LogFull || error instanceof Corruption;
      if (!isExpected) throw error;
      this.#failed = true;
      this.#tell({kind: 'failed', reason: error.message});
      return false;
    }
  }

  #tell(news: MemberLogNews, transfer: readonly ArrayBufferLike[] = []): void {
    this.#port.postMessage(news, transfer as ArrayBuffer[]);
  }
}

function carryOut(log: StoredLog, command: Exclude<Command, {readonly kind: 'end'}>): void {
  if (command.kind === 'compact') return log.compact(command.base);
  const {hardState, restart, keepThrough} = command;
  log.remember(hardState);
  if (restart !== undefined) log.restart(restart);
  log.keepThrough(keepThrough);
}

if (parentPort !== null) new MemberLogThread(parentPort, workerData as MemberLogStart).run();
