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
import {assert} from '#server/base/assert.ts';
import {Fifo} from '#server/base/fifo.ts';
import {createTailMemory} from '#server/log/log-tail-lease.ts';
import {InlineLogWriter} from '#server/log/inline-log-writer.ts';
import type {Clock} from '#server/platform/clock.ts';
import type {Disk} from '#server/platform/disk.ts';
import {createClock} from '#server/platform/real/clock.ts';
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
import type {LogThreadStart} from '../commit/commit-messages.ts';
import {createRingMemory} from '../commit/commit-ring.ts';
import {startLogWorker} from '../commit/commit-threads.ts';
import {type EventLoop, nodeEventLoop} from '../commit/event-loop.ts';
import {LogRing} from '../commit/log-ring.ts';
import {logSyncs} from '../commit/log-syncs.ts';
import {handleOf, type ThreadHandle} from '../commit/thread-channel.ts';
import {encodeCommand, type MemberLogNews, type MemberLogRequest} from './member-log-messages.ts';
import type {ResumeRule} from './resume-attempts.ts';

export interface MemberLogThread {
  /** Hands an opened log to the thread; once. */
  start(log: StoredLog): RaftStorage;
  /** Ends the thread when no log was given to it (a refused start). */
  abandon(): Promise<void>;
}

export interface MemberLogThreadOptions {
  readonly clock: Clock;
  /** Bytes of the ring; a power of two. */
  readonly ringBytes?: number;
  /** When it gives up what finds no room; default: never. */
  readonly resume?: ResumeRule | undefined;
  /** Where the thread is, and how it is reached. Default: a worker, and the real disk. */
  readonly threads?: MemberThreadStarter;
}

/** Starts the log thread of a member. */
export interface MemberThreadStarter {
  readonly disk: Disk;
  readonly loop: EventLoop;
  startLog(start: LogThreadStart): ThreadHandle<MemberLogRequest, MemberLogNews>;
}

const ringBytesDefault = 4 << 20;

/** Starts the thread; it loads while the log is read. */
export function startMemberLogThread(options: MemberLogThreadOptions): MemberLogThread {
  const {clock, ringBytes = ringBytesDefault, resume, threads = worker()} = options;
  const {disk, loop} = threads;
  const ring = createRingMemory(ringBytes);
  const memory = createTailMemory();
  const thread = threads.startLog({ring, tail: memory, resume});
  return {
    start(log) {
      const {directory, logId} = log;
      const prompt = new InlineLogWriter({disk, directory, logId, memory}, clock);
      return new ThreadedStorage(new LogRing({thread, ring, prompt, loop}), log);
    },
    abandon: () => thread.terminate(),
  };
}

function worker(): MemberThreadStarter {
  return {
    disk: logSyncs.counting(createDisk(), createClock()),
    loop: nodeEventLoop,
    startLog: start => handleOf(startLogWorker('member', start), start.ring),
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

class ThreadedStorage implements RaftStorage {
  readonly #ring: LogRing<MemberLogRequest, MemberLogNews>;
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
  #failure: string | undefined;
  #settled: (() => void) | undefined;
  #isClosing = false;
  readonly #closed = Promise.withResolvers<void>();

  constructor(ring: LogRing<MemberLogRequest, MemberLogNews>, log: StoredLog) {
    this.#ring = ring;
    this.#hardState = log.kept.hardState;
    this.#lastIndex = log.lastIndex;
    this.#retainedBytes = log.retainedBytes;
    ring.listen({
      news: news => this.#hear(news),
      ended: (reason = 'it ended') => {
        this.#fail(`the log thread failed: ${reason}`);
        this.#closed.resolve();
      },
    });
    this.#ring.ask({kind: 'start', state: log.handOver()});
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
    this.#ring.ask({kind: 'read', id, first, through, bytesMax});
    const run = await promise;
    return run === undefined ? undefined : decodeRun(run);
  }

  async close(): Promise<void> {
    this.#ring.writer.stopWaiting();
    // What this turn gave is carried out before what is asked for behind it.
    if (this.#failure === undefined) this.#fillRing();
    if (this.#undurable.length > 0 && this.#failure === undefined) {
      await new Promise<void>(resolve => {
        this.#settled = resolve;
      });
    }
    this.#isClosing = true;
    this.#ring.closePrompt();
    this.#ring.ask({kind: 'close'});
    await this.#closed.promise;
    await this.#ring.terminate();
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
    const {first: work} = this.#waiting;
    const comesAlone =
      this.#undurable.length === 1 && work?.kind === 'persist' && work.effect.entries.length === 1;
    this.#ring.endTickSoon(comesAlone, () => {
      if (this.#failure === undefined && !this.#appendAlone()) this.#fillRing();
    });
  }

  /** False when the log thread is to do what waits here. */
  #appendAlone(): boolean {
    const {first: work} = this.#waiting;
    if (this.#waiting.length > 1 || this.#isClosing) return false;
    if (work?.kind !== 'persist' || work.command !== undefined) return false;
    const {entries, number} = work.effect;
    const [entry, second] = entries;
    if (entry === undefined || second !== undefined || work.written > 0) return false;
    if (!this.#ring.admits(recordBytes([entry]))) return false;
    // Nothing is in front then: what the ring had is durable, heard of or not.
    const done = this.#ring.appendAlone(encodeRecord(entry));
    if (done === 'left') return false;
    if (done !== 'written') {
      this.#fail(done.failed);
      return true;
    }
    this.#waiting.shift();
    this.#ended = number;
    this.#endTold = number;
    this.#written(number);
    return true;
  }

  #fillRing(): void {
    for (let {first} = this.#waiting; first !== undefined; {first} = this.#waiting) {
      if (!this.#put(first)) break;
      this.#waiting.shift();
    }
    this.#putEnd();
    this.#ring.flush();
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
    return this.#putPieces(command, nothing);
  }

  #putEntry(entry: Entry): boolean {
    writeRecordPrefix(this.#prefix, entry);
    return this.#putPieces(this.#prefix, recordBody(entry));
  }

  #putPieces(head: Uint8Array, body: Uint8Array): boolean {
    const {writer, insideBytesMax} = this.#ring;
    const length = head.length + body.length;
    const isInside = length <= insideBytesMax;
    if (!writer.hasRoom(isInside ? length : 4)) return false;
    if (isInside) {
      writer.writePieces(head, body);
      return true;
    }
    const bytes = new SharedArrayBuffer(length);
    const whole = new Uint8Array(bytes);
    whole.set(head);
    whole.set(body, head.length);
    this.#ring.putOutside(bytes);
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
      case 'closed':
        return this.#closed.resolve();
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
}

const nothing = new Uint8Array(0);
