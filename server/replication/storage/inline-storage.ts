/**
 * The storage of a member on the thread of its driver: for simulation, tests and tools.
 *
 * What is given waits a moment, and becomes durable together with whatever else came meanwhile,
 * as on the log thread of a real server (node/member-log/member-log-worker.ts).
 */
import {Corruption} from '#server/base/errors.ts';
import {LogFailure, LogFull} from '#server/log/segment-log.ts';
import type {Timers} from '#server/platform/clock.ts';
import type {Persist} from '#server/raft/effect.ts';
import type {Checkpoint} from '#server/raft/membership.ts';
import type {Entry, LogIndex} from '#server/raft/message.ts';
import type {RaftStorage, RaftStorageNews} from './raft-storage.ts';
import type {StoredLog} from '../stored-log.ts';
import {decodeRun, encodeRecord, recordBytes} from './stored-record.ts';

export interface InlineStorageOptions {
  readonly timers: Timers;
  /** How long a group waits for others to join it. */
  readonly groupDelayMs: () => number;
}

type Work =
  | {readonly kind: 'persist'; readonly effect: Persist; readonly bytes: number}
  | {readonly kind: 'compact'; readonly base: Checkpoint};

const roomPollMs = 100;

export class InlineStorage implements RaftStorage {
  readonly #log: StoredLog;
  readonly #options: InlineStorageOptions;
  #news: RaftStorageNews | undefined;
  readonly #waiting: Work[] = [];
  /** Persist effects whose entries the log has collected and may not have flushed. */
  #begun: Extract<Work, {readonly kind: 'persist'}>[] = [];
  #pendingBytes = 0;
  #cancel: (() => void) | undefined;
  #failed = false;

  constructor(log: StoredLog, options: InlineStorageOptions) {
    this.#log = log;
    this.#options = options;
  }

  listen(news: RaftStorageNews): void {
    this.#news = news;
  }

  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  get retainedBytes(): number {
    return this.#log.retainedBytes;
  }

  persist(effect: Persist): void {
    const bytes = recordBytes(effect.entries);
    this.#pendingBytes += bytes;
    this.#give({kind: 'persist', effect, bytes});
  }

  compact(base: Checkpoint): void {
    this.#give({kind: 'compact', base});
  }

  async read(first: LogIndex, through: LogIndex, bytesMax: number): Promise<Entry[] | undefined> {
    if (this.#failed) return undefined;
    try {
      const run = this.#log.read(first, through, bytesMax);
      return run === undefined ? undefined : decodeRun(run);
    } catch (error) {
      if (!(error instanceof Corruption)) throw error;
      this.#fail(error.message);
      return undefined;
    }
  }

  async close(): Promise<void> {
    this.#cancel?.();
    if (!this.#failed) this.#carryOut();
    this.#log.close();
  }

  #give(work: Work): void {
    if (this.#failed) return;
    this.#waiting.push(work);
    this.#carryOutAfter(this.#options.groupDelayMs());
  }

  #carryOutAfter(delayMs: number): void {
    if (this.#cancel !== undefined) return;
    this.#cancel = this.#options.timers.after(delayMs, () => {
      this.#cancel = undefined;
      this.#carryOut();
    });
  }

  /** Everything that waits, as one group. */
  #carryOut(): void {
    try {
      for (let work = this.#waiting[0]; work !== undefined; work = this.#waiting[0]) {
        this.#begin(work);
        this.#waiting.shift();
      }
      this.#log.flush();
      while (this.#log.prepareNext());
    } catch (error) {
      if (error instanceof LogFull) return this.#carryOutAfter(roomPollMs);
      const isFinal = error instanceof LogFailure || error instanceof Corruption;
      if (isFinal) return this.#fail(error.message);
      throw error;
    }
    const durable = this.#begun;
    this.#begun = [];
    for (const {bytes} of durable) this.#pendingBytes -= bytes;
    const last = durable.at(-1);
    if (last !== undefined) this.#news?.persisted(last.effect.number);
  }

  #begin(work: Work): void {
    if (work.kind === 'compact') return this.#log.compact(work.base);
    const {hardState, restart, keepThrough, entries} = work.effect;
    this.#log.remember(hardState);
    if (restart !== undefined) this.#log.restart(restart);
    this.#log.keepThrough(keepThrough);
    for (const entry of entries) this.#log.append(encodeRecord(entry));
    this.#begun.push(work);
  }

  #fail(reason: string): void {
    if (this.#failed) return;
    this.#failed = true;
    this.#news?.failed(reason);
  }
}
