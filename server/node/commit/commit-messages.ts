/**
 * What the three threads of the commit path say to each other besides entries.
 *
 * Requests go from the network thread to a worker on the worker's own port, followed by a signal
 * in the ring's control words; answers and news come back on the same port. `after` is the ring's
 * head when a request was made: the apply thread carries it out when it has applied exactly what
 * was enqueued before it, so requests and entries form one order.
 */
import type {Move} from '#server/transactions/apply.ts';
import type {DatabaseCopy} from '#server/transactions/commit-pipeline.ts';
import type {DatabasePosition} from '#server/transactions/system-keys.ts';
import type {LogState} from '#server/log/segment-log.ts';
import type {ShareableStore, Store} from '#server/storage/store.ts';
import type {ResumeRule} from '../member-log/resume-attempts.ts';
import type {RingMemory} from './commit-ring.ts';
import type {LogFailed, ThreadHandle} from './thread-channel.ts';
import type {Fence} from '#server/transactions/commit.ts';

/** One of the two, as the network thread has it. */
export interface CommitThread<Request, News> {
  readonly thread: ThreadHandle<Request, News>;
  readonly ring: RingMemory;
  /** Bytes of entries outside the ring that may wait. */
  readonly outsideBytesMax: number;
}

export interface LogThreadStart {
  readonly ring: RingMemory;
  /** The end of the log, lent to the network thread while the log thread waits. */
  readonly tail: SharedArrayBuffer;
  /** When the log of a member gives up what finds no room; absent: never. */
  readonly resume?: ResumeRule | undefined;
}

/** The same for a worker. */
export interface LogWorkerStart extends LogThreadStart {
  readonly kind: 'local' | 'member';
  /** Where syncs are counted (log/counted-disk.ts). */
  readonly syncs: SharedArrayBuffer;
}

/** A store on its way to the apply thread: what another thread opens it by, or the store itself. */
export type LentStore = ShareableStore | Store;

/** An entry that is too large for the ring, sent ahead of its number there. */
export interface Outside {
  readonly kind: 'outside';
  readonly number: number;
  readonly bytes: SharedArrayBuffer;
}

export type LogRequest =
  | {
      readonly kind: 'start';
      readonly directory: string;
      readonly segmentBytes: number;
      readonly syncCommits: boolean;
      readonly state: LogState;
    }
  | Outside
  | {readonly kind: 'recycle'; readonly floor: number}
  | {readonly kind: 'sync'; readonly id: number}
  | {readonly kind: 'close'; readonly id: number};

export type ApplyRequest = PlacedWork | Outside;

/** Work with its place among the entries. */
export type PlacedWork = ApplyWork & {readonly after: number};

/** What the apply thread does besides applying. */
export type ApplyWork =
  | {
      readonly kind: 'start';
      readonly logId: string;
      readonly startIndex: number;
    }
  | {
      readonly kind: 'attach';
      readonly databaseId: number;
      readonly store: LentStore;
      readonly position: DatabasePosition;
    }
  | {readonly kind: 'detach'; readonly id: number; readonly databaseId: number}
  | {readonly kind: 'copy'; readonly id: number; readonly copies: readonly DatabaseCopy[]}
  /** Entries up to this index were applied on the network thread, or need no applying. */
  | {
      readonly kind: 'moved';
      readonly index: number;
      readonly moves: ReadonlyMap<number, Move>;
    }
  /** Nothing was applied for a while. */
  | {readonly kind: 'rest'}
  | {readonly kind: 'make-durable'; readonly id: number}
  | {readonly kind: 'close'; readonly id: number};

/** What the log thread says. */
export type LogNews =
  /** The control words have changed: entries are durable. So frequent that it is no object. */
  'logged' | {readonly kind: 'done'; readonly id: number} | LogFailed;

/** What the apply thread says. */
export type WorkerNews =
  | {readonly kind: 'done'; readonly id: number; readonly result?: unknown}
  /** The control words have changed: entries were applied. */
  | {readonly kind: 'applied'}
  | {readonly kind: 'fences'; readonly fences: ReadonlyMap<number, Fence>};
