/**
 * The storage of a member of a cluster on a thread of its own
 * (replication/storage/raft-storage.ts).
 *
 * At the end of a turn of its event loop the network thread copies the entries of that turn once,
 * into the ring, as the records that they will be in the log, and hears of durable ones once a
 * batch. What does not fit into the ring yet waits here, uncopied; how much is given is bounded by
 * whoever gives it, who sees `pendingBytes`. A small entry that comes alone is written right here
 * (log/inline-log-writer.ts).
 */
import {Worker} from 'node:worker_threads';
import {assert} from '#server/base/assert.ts';
import {Fifo} from '#server/base/fifo.ts';
import {createTailMemory} from '#server/log/log-tail-lease.ts';
import {InlineLogWriter} from '#server/log/inline-log-writer.ts';
import type {Clock} from '#server/platform/clock.ts';
import {createDisk} from '#server/platform/real/disk.ts';
import type {HardState, Persist} from '#server/raft/effect.ts';
import type {Checkpoint} from '#server/raft/membership.ts';
import type {Entry, LogIndex} from '#server/raft/message.ts';
import type {RaftStorage, RaftStorageNews} from '#server/replication/storage/raft-storage.ts';
import type {StoredLog} from '#server/replication/stored-log.ts';
import {
  decodeRun,
  encodeRecord,
  recordBody,
  recordBytes,
  recordPrefixBytes,
  type RecordRun,
  writeRecordPrefix,
} from '#server/replication/storage/stored-record.ts';
import {
  createRingMemory,
  entryBytesInside,
  type RingMemory,
  RingWriter,
  signal,
  word,
} from '../commit/commit-ring.ts';
import {
  encodeCommand,
  type MemberLogNews,
  type MemberLogRequest,
  type MemberLogStart,
} from './member-log-messages.ts';

export interface MemberLogThread {
  /** Hands an opened log to the thread; once. */
  start(log: StoredLog): RaftStorage;
  /** Ends the thread when no log was given to it (a refused start). */
  abandon(): Promise<void>;
}

const ringBytesDefault = 4 << 20;

/** Starts the thread; it loads while the log is read. `ringBytes` is a power of two. */
export function startMemberLogThread(
  clock: Clock,
  ringBytes: number = ringBytesDefault,
): MemberLogThread {
  const ring = createRingMemory(ringBytes);
  const memory = createTailMemory();
  const workerData: MemberLogStart = {ring, tail: memory};
  const resourceLimits = {maxYoungGenerationSizeMb: 8};
  const url = new URL('./member-log-worker.ts', import.meta.url);
  const worker = new Worker(url, {workerData, resourceLimits});
  return {
    start(log) {
      const {directory, logId} = log;
      const prompt = new InlineLogWriter({disk: createDisk(), directory, logId, memory}, clock);
      return new ThreadedStorage(worker, {ring, prompt}, log);
    },
    async abandon() {
      await worker.terminate();
    },
  };
}

type Work =
  | {
      readonly kind: 'persist';
      readonly effect: Persist;
      readonly bytes: number;
      /** What it does besides appending; undefined once it is in the ring. */
      command: Buffer | undefined;
      /** Entries that are in the ring. */
      written: number;
    }
  | {readonly kind: 'compact'; readonly command: Buffer};

interface LogThreadDependencies {
  readonly ring: RingMemory;
  readonly prompt: InlineLogWriter;
}

class ThreadedStorage implements RaftStorage {
  readonly #worker: Worker;
  readonly #control: Int32Array;
  readonly #writer: RingWriter;
  readonly #prompt: InlineLogWriter;
  readonly #insideBytesMax: number;
  readonly #prefix = Buffer.alloc(recordPrefixBytes);
  readonly #reads = new Map<number, (run: RecordRun | undefined) => void>();
  /** What did not fit into the ring yet, oldest first. */
  readonly #waiting = new Fifo<Work>();
  /** Persist effects that are not durable, with their bytes, oldest first. */
  readonly #undurable = new Fifo<{readonly number: number; readonly bytes: number}>();
  #news: RaftStorageNews | undefined;
  #hardState: HardState;
  #lastIndex: LogIndex;
  #pendingBytes = 0;
  #retainedBytes: number;
  /** The last effect of which everything is in the ring, and the last one that the ring tells. */
  #ended = 0;
  #endTold = 0;
  #nextRead = 1;
  #nextOutside = 1;
  #failure: string | undefined;
  #endsTurn = false;
  #settled: (() => void) | undefined;
  #isClosing = false;
  readonly #exit = Promise.withResolvers<void>();

  constructor(worker: Worker, {ring, prompt}: LogThreadDependencies, log: StoredLog) {
    this.#worker = worker;
    this.#control = new Int32Array(ring.control);
    this.#writer = new RingWriter(ring);
    this.#prompt = prompt;
    this.#insideBytesMax = entryBytesInside(ring);
    this.#hardState = log.kept.hardState;
    this.#lastIndex = log.lastIndex;
    this.#retainedBytes = log.retainedBytes;
    worker.on('message', (news: MemberLogNews) => this.#hear(news));
    worker.on('error', error => this.#fail(`the log thread failed: ${error.message}`));
    worker.on('exit', () => {
      this.#fail('the log thread ended');
      this.#exit.resolve();
    });
    this.#ask({kind: 'start', state: log.handOver()});
  }

  listen(news: RaftStorageNews): void {
    this.#news = news;
  }

  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  get retainedBytes(): number {
    return this.#retainedBytes;
  }

  persist(effect: Persist): void {
    if (this.#failure !== undefined) return;
    const bytes = recordBytes(effect.entries);
    this.#pendingBytes += bytes;
    this.#undurable.push({number: effect.number, bytes});
    const command = this.#commandOf(effect);
    this.#hardState = effect.hardState;
    this.#lastIndex = effect.keepThrough + effect.entries.length;
    this.#waiting.push({kind: 'persist', effect, bytes, command, written: 0});
    this.#endTurnSoon();
  }

  compact(base: Checkpoint): void {
    if (this.#failure !== undefined) return;
    this.#waiting.push({kind: 'compact', command: encodeCommand({kind: 'compact', base})});
    this.#endTurnSoon();
  }

  async read(first: LogIndex, through: LogIndex, bytesMax: number): Promise<Entry[] | undefined> {
    if (this.#failure !== undefined) return undefined;
    const id = this.#nextRead++;
    const {promise, resolve} = Promise.withResolvers<RecordRun | undefined>();
    this.#reads.set(id, resolve);
    this.#ask({kind: 'read', id, first, through, bytesMax});
    const run = await promise;
    return run === undefined ? undefined : decodeRun(run);
  }

  async close(): Promise<void> {
    // What this turn gave is carried out before what is asked for behind it.
    if (this.#failure === undefined) this.#fillRing();
    if (this.#undurable.length > 0 && this.#failure === undefined) {
      await new Promise<void>(resolve => {
        this.#settled = resolve;
      });
    }
    this.#isClosing = true;
    this.#prompt.close();
    this.#ask({kind: 'close'});
    await this.#exit.promise;
  }

  /** Undefined when the effect only appends. */
  #commandOf({hardState, restart, keepThrough}: Persist): Buffer | undefined {
    const remembers =
      hardState.term !== this.#hardState.term || hardState.vote !== this.#hardState.vote;
    if (!remembers && restart === undefined && keepThrough === this.#lastIndex) return undefined;
    return encodeCommand({kind: 'prepare', hardState, restart, keepThrough});
  }

  /**
   * Once for all that this turn of the event loop gives; of what comes alone at the end of its very
   * event, behind what that sends: peers have it while this node writes.
   */
  #endTurnSoon(): void {
    if (this.#endsTurn) return;
    this.#endsTurn = true;
    const end = (): void => {
      this.#endsTurn = false;
      if (this.#failure === undefined && !this.#appendAlone()) this.#fillRing();
    };
    const {first: work} = this.#waiting;
    const isAlone = this.#undurable.length === 1 && work?.kind === 'persist';
    if (isAlone && work.effect.entries.length === 1) process.nextTick(() => process.nextTick(end));
    else setImmediate(end);
  }

  /** False when the log thread is to do what waits here. */
  #appendAlone(): boolean {
    const {first: work} = this.#waiting;
    if (this.#waiting.length > 1 || this.#isClosing) return false;
    if (work?.kind !== 'persist' || work.command !== undefined) return false;
    const {entries, number} = work.effect;
    const [entry, second] = entries;
    if (entry === undefined || second !== undefined || work.written > 0) return false;
    if (!this.#prompt.admits(recordBytes([entry]))) return false;
    // Nothing is in front then: what the ring had is durable, heard of or not.
    const done = this.#prompt.append(encodeRecord(entry), () => this.#writer.isEmpty);
    if (done === 'left') return false;
    if (done !== 'written') {
      this.#fail(done.failed);
      return true;
    }
    this.#waiting.shift();
    this.#ended = number;
    this.#endTold = number;
    if (this.#prompt.takeLook()) signal(this.#control, word.logSignal);
    this.#written(number);
    return true;
  }

  #fillRing(): void {
    for (let {first} = this.#waiting; first !== undefined; {first} = this.#waiting) {
      if (!this.#put(first)) break;
      this.#waiting.shift();
    }
    this.#putEnd();
    this.#writer.publish();
    signal(this.#control, word.logSignal);
  }

  /** False when the ring is full before all of it is in there. */
  #put(work: Work): boolean {
    if (work.kind === 'compact') return this.#putCommand(work.command);
    if (work.command !== undefined && !this.#putCommand(work.command)) return false;
    work.command = undefined;
    const {entries, number} = work.effect;
    for (; work.written < entries.length; work.written++) {
      const entry = entries[work.written];
      assert(entry !== undefined, 'an entry at its place');
      if (!this.#putEntry(entry)) return false;
    }
    this.#ended = number;
    return true;
  }

  /** Tells up to which effect the ring holds all, once for however many there are. */
  #putEnd(): void {
    if (this.#ended === this.#endTold) return;
    if (!this.#putCommand(encodeCommand({kind: 'end', number: this.#ended}))) return;
    this.#endTold = this.#ended;
  }

  #putCommand(command: Buffer): boolean {
    if (command.length > this.#insideBytesMax) return this.#putOutside(command, nothing);
    if (!this.#writer.hasRoom(command.length)) return false;
    this.#writer.writePieces(command, nothing);
    return true;
  }

  #putEntry(entry: Entry): boolean {
    const body = recordBody(entry);
    const bytes = recordPrefixBytes + body.length;
    writeRecordPrefix(this.#prefix, entry);
    if (bytes > this.#insideBytesMax) return this.#putOutside(this.#prefix, body);
    if (!this.#writer.hasRoom(bytes)) return false;
    this.#writer.writePieces(this.#prefix, body);
    return true;
  }

  /** What is too large for the ring lies in shared memory of its own, sent ahead. */
  #putOutside(head: Uint8Array, body: Uint8Array): boolean {
    if (!this.#writer.hasRoom(4)) return false;
    const bytes = new SharedArrayBuffer(head.length + body.length);
    new Uint8Array(bytes).set(head);
    new Uint8Array(bytes).set(body, head.length);
    const number = this.#nextOutside++;
    this.#ask({kind: 'outside', number, bytes});
    this.#writer.writeOutside(number, 0);
    return true;
  }

  #hear(news: MemberLogNews): void {
    if (typeof news === 'number') return this.#written(news);
    switch (news.kind) {
      case 'retained':
        this.#retainedBytes = news.bytes;
        return;
      case 'read':
        this.#reads.get(news.id)?.(news.run);
        this.#reads.delete(news.id);
        return;
      case 'failed':
        return this.#fail(news.reason);
      default:
        news satisfies never;
    }
  }

  #written(number: number): void {
    const before = this.#undurable.length;
    for (let {first} = this.#undurable; first !== undefined; {first} = this.#undurable) {
      if (first.number > number) break;
      this.#pendingBytes -= first.bytes;
      this.#undurable.shift();
    }
    if (this.#waiting.length > 0 || this.#ended !== this.#endTold) this.#endTurnSoon();
    if (this.#undurable.length < before) this.#news?.persisted(number);
    if (this.#undurable.length === 0) this.#settled?.();
  }

  #fail(reason: string): void {
    if (this.#failure !== undefined) return;
    this.#failure = reason;
    for (const resolve of this.#reads.values()) resolve(undefined);
    this.#reads.clear();
    if (!this.#isClosing) this.#news?.failed(reason);
    this.#settled?.();
  }

  #ask(request: MemberLogRequest): void {
    this.#worker.postMessage(request);
    signal(this.#control, word.logSignal);
  }
}

const nothing = new Uint8Array(0);
