/**
 * What a node must not forget, as the driver sees it: its term and vote, and the entries of the
 * log, durable in the order in which they were given.
 *
 * Nothing here blocks: `persist` hands the work over, and `RaftStorageNews` tells what became
 * durable. A storage that failed takes nothing more (F1); what it was given and has not reported
 * is undecided. One driver owns it.
 */
import type {Persist} from '#server/raft/effect.ts';
import type {Checkpoint} from '#server/raft/membership.ts';
import type {Entry, LogIndex} from '#server/raft/message.ts';

export interface RaftStorageNews {
  /** All persist effects up to this number are durable. */
  persisted(number: number): void;
  /** The disk failed: nothing that was not reported before will ever be. Called once. */
  failed(reason: string): void;
}

export interface RaftStorage {
  /** One listener; called later, never from within `persist`. */
  listen(news: RaftStorageNews): void;
  /**
   * Carries out one effect: gives up what stands behind `keepThrough`, or the whole log with
   * `restart`, and appends the entries. Their bytes are the driver's, which changes them no more.
   */
  persist(effect: Persist): void;
  /** Bytes of entries that were given and are not durable yet. */
  readonly pendingBytes: number;
  /**
   * Entries from `first` on, as many as fit into `bytesMax` and at least one, but none behind
   * `through`; undefined when they are gone, or never came. For peers that lag: the newest ones
   * are the driver's to keep.
   */
  read(first: LogIndex, through: LogIndex, bytesMax: number): Promise<Entry[] | undefined>;
  /**
   * The log begins behind `base` from now on: entries up to it are given back to the disk when
   * convenient. Whoever starts from this storage starts there.
   */
  compact(base: Checkpoint): void;
  /** Bytes that the log takes on the disk, as last known. */
  readonly retainedBytes: number;
  /** Makes durable what was given, and closes. */
  close(): Promise<void>;
}
