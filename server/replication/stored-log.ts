/**
 * What a member of a cluster must not forget, on its disk: the entries in segment files, a small
 * file beside them that says where the log begins, and its term and vote (vote-file.ts).
 *
 * Synchronous: its owner has a thread for it, or a simulated disk. What is appended is collected
 * until `flush`, which writes it as one batch with one sync; everything else flushes first, so
 * that things become durable in the order in which they were said. After LogFull the same call is
 * to be repeated, and does what is left; after LogFailure nothing more is taken (F1).
 *
 * The small file is written before what relies on it: a base before the entries up to it are
 * given back or a log begins anew behind it. A start that finds no entry of the base's name goes
 * on behind the base. Source: docs/design/0017-log-of-a-cluster.md.
 */
import {assert} from '#server/base/assert.ts';
import {ByteWriter} from '#server/base/byte-writer.ts';
import {Corruption, Refusal} from '#server/base/errors.ts';
import type {LogTailState} from '#server/log/log-tail-lease.ts';
import {
  LogFailure,
  LogFull,
  SegmentLog,
  type SegmentLogOptions,
  type LogState,
} from '#server/log/segment-log.ts';
import {CheckedFile} from '#server/platform/checked-file.ts';
import type {Random} from '#server/platform/clock.ts';
import {type Disk, isOutOfRoom} from '#server/platform/disk.ts';
import type {HardState} from '#server/raft/effect.ts';
import type {Checkpoint} from '#server/raft/membership.ts';
import type {EntryShape, LogIndex, LogPosition} from '#server/raft/message.ts';
import type {Recovered} from '#server/raft/state.ts';
import {RecordShapes} from './storage/record-shapes.ts';
import {decodeRecord, type RecordRun} from './storage/stored-record.ts';
import {VoteFile, type VoteFileState, votesLost} from './storage/vote-file.ts';

export type StoredLogOptions = SegmentLogOptions;

export interface StoredLogStart extends StoredLogOptions {
  readonly random: Random;
  /**
   * Where the applied state durably stands, where that is known. A log that does not reach it, or
   * has another entry there, begins anew behind it.
   */
  readonly checkpoint?: Checkpoint | undefined;
  /** False (`svc.ha.raftPersistStorage`): what an earlier process left is thrown away. */
  readonly keeps?: boolean;
}

/** All but how far the state was applied, which the log does not know. */
export type RecoveredLog = Omit<Recovered, 'applied' | 'committed'>;

/** What the small file says. */
interface Kept {
  /** Made with the storage, and lost only with it: the name of this node's memory. */
  readonly logId: string;
  /** The hard state when this was written; a later one lies in the vote file. */
  readonly hardState: HardState;
  readonly base: Checkpoint;
  /** Absent before there was a file of votes: then there is no later one. */
  readonly hasVotes?: true;
}

/** What another thread needs to go on with a log that this one opened. */
export interface StoredLogState {
  readonly directory: string;
  readonly segmentBytes: number;
  readonly kept: Kept;
  readonly segments: LogState;
  readonly votes: VoteFileState;
}

/** What a log is made of. */
interface Parts {
  readonly kept: Kept;
  readonly segments: SegmentLog;
  readonly votes: VoteFile;
}

const batchEntriesMax = 4096;
const batchBytesMax = 4 << 20;
const runBytesMin = 64 << 10;

/**
 * Opens the log in a directory of its own, or makes a new one there.
 *
 * @throws {Corruption} when something that was acknowledged is damaged or gone.
 * @throws {Refusal} `start.refused` when the directory holds the log of a server without cluster.
 * Cost: reads the log once; keeps a term and a length for each entry behind the base.
 */
export function openStoredLog(start: StoredLogStart): {
  readonly log: StoredLog;
  readonly recovered: RecoveredLog;
} {
  const {disk, directory, segmentBytes, keeps = true} = start;
  const options = {disk, directory, segmentBytes};
  if (!keeps) disk.removeTree(directory);
  disk.makeDirectory(directory);
  disk.syncDirectory(parentOf(directory));
  const kept = keptFile(options).load();
  return kept === undefined ? create(options, start) : reopen(options, kept, start.checkpoint);
}

/** Whether a member left a log in the directory. */
export function hasStoredLog(disk: StoredLogOptions['disk'], directory: string): boolean {
  return disk.exists(keptPath(directory));
}

function create(options: StoredLogOptions, {random, checkpoint}: StoredLogStart) {
  const left = SegmentLog.open(options);
  if (left !== undefined && left.firstIndex <= left.lastIndex) {
    left.close();
    throw new Refusal(
      'start.refused',
      `${options.directory} holds the log of a server that was no member of a cluster: start it ` +
        'without svc.ha.enabled, or name another directory in svc.ha.raftStorageDirectory',
    );
  }
  // A creation that was cut short leaves an empty log that nothing refers to.
  left?.destroy();
  const base = checkpoint ?? {last: {index: 0, term: 0}, membership: []};
  const bytes = Buffer.alloc(16);
  random.fill(bytes);
  const logId = bytes.toString('hex');
  const hardState = {term: base.last.term, vote: undefined};
  const segments = SegmentLog.create(options, logId, base.last.index + 1);
  const votes = VoteFile.create(options.disk, votesPath(options.directory), logId, hardState);
  const kept: Kept = {logId, hardState, base, hasVotes: true};
  keptFile(options).save(kept);
  const recovered = recoveredFrom(kept, []);
  return {log: new StoredLog(options, {kept, segments, votes}), recovered};
}

function reopen(options: StoredLogOptions, found: Kept, checkpoint: Checkpoint | undefined) {
  const isAhead = checkpoint !== undefined && checkpoint.last.index > found.base.last.index;
  const base = isAhead ? checkpoint : found.base;
  const shapes = new RecordShapes(base.last.index);
  const segments = SegmentLog.open(options, ({index, payload}) => shapes.add(index, payload));
  const {directory: path} = options;
  if (segments === undefined || segments.logId !== found.logId) {
    throw new Corruption(`the log in ${path} is gone or another one: restore it from a copy`, {
      path,
    });
  }
  if (segments.firstIndex > base.last.index + 1) {
    throw new Corruption(
      `the log in ${path} begins at ${segments.firstIndex}, and its entries from ` +
        `${base.last.index + 1} on are needed: restore it from a copy`,
      {path, index: base.last.index + 1},
    );
  }
  const {kept, votes} = withVotes(options, found);
  if (kept.hardState.term < shapes.lastTerm)
    throw votesLost(votesPath(path), 'is older than the log');
  const log = new StoredLog(options, {kept, votes, segments});
  const reaches = segments.lastIndex >= base.last.index;
  const {termAtBase} = shapes;
  const agrees = termAtBase === undefined || termAtBase === base.last.term;
  if (!(reaches && agrees)) {
    log.restart(base);
    shapes.clear();
  } else if (isAhead) {
    log.compact(base);
  }
  // Without room for the small file the base is the checkpoint's all the same.
  return {log, recovered: recoveredFrom({...log.kept, base}, shapes)};
}

/** The file of votes, made where an older release left none, and the newest term and vote. */
function withVotes(options: StoredLogOptions, found: Kept): Omit<Parts, 'segments'> {
  const {disk, directory} = options;
  const path = votesPath(directory);
  if (found.hasVotes !== true) {
    const kept: Kept = {...found, hasVotes: true};
    const votes = VoteFile.create(disk, path, found.logId, found.hardState);
    keptFile(options).save(kept);
    return {kept, votes};
  }
  const {votes, hardState} = VoteFile.open(disk, path, found.logId);
  // A log that began anew may have raised the term by itself.
  const isOlder = hardState.term < found.hardState.term;
  return {kept: isOlder ? found : {...found, hardState}, votes};
}

function recoveredFrom({hardState, base}: Kept, entries: Iterable<EntryShape>): RecoveredLog {
  const {membership, last} = base;
  return {...hardState, base: last, membership, entries};
}

export class StoredLog {
  readonly #options: StoredLogOptions;
  readonly #file: CheckedFile<Kept>;
  readonly #segments: SegmentLog;
  readonly #votes: VoteFile;
  #kept: Kept;
  #pending: Uint8Array[] = [];
  readonly #chains = new Uint32Array(batchEntriesMax);
  #failed: string | undefined;

  constructor(options: StoredLogOptions, {kept, segments, votes}: Parts) {
    this.#options = options;
    this.#file = keptFile(options);
    this.#kept = kept;
    this.#segments = segments;
    this.#votes = votes;
  }

  /** Goes on with a log that another thread opened and handed over. */
  static resume(disk: Disk, state: StoredLogState): StoredLog {
    const {directory, segmentBytes, kept} = state;
    const options = {disk, directory, segmentBytes};
    const segments = SegmentLog.resume(options, state.segments);
    return new StoredLog(options, {kept, segments, votes: VoteFile.resume(disk, state.votes)});
  }

  handOver(): StoredLogState {
    assert(this.#pending.length === 0, 'nothing is handed over half-way');
    const {directory, segmentBytes} = this.#options;
    const segments = this.#segments.handOver();
    return {directory, segmentBytes, kept: this.#kept, segments, votes: this.#votes.handOver()};
  }

  get kept(): Kept {
    return this.#kept;
  }

  get logId(): string {
    return this.#kept.logId;
  }

  /** The last index, with what is collected. */
  get lastIndex(): LogIndex {
    return this.#segments.lastIndex + this.#pending.length;
  }

  get retainedBytes(): number {
    return this.#segments.retainedBytes;
  }

  get directory(): string {
    return this.#segments.directory;
  }

  get segmentBytes(): number {
    return this.#options.segmentBytes;
  }

  get failed(): string | undefined {
    return this.#failed ?? this.#segments.failed;
  }

  /** Term and vote are these from now on; durable on return. */
  remember(hardState: HardState): void {
    const {term, vote} = this.#kept.hardState;
    if (hardState.term === term && hardState.vote === vote) return;
    this.flush();
    this.#written(() => this.#votes.write(hardState));
    this.#kept = {...this.#kept, hardState};
  }

  /** Gives up every entry; the next one stands behind `base`. Durable on return. */
  restart(base: Checkpoint): void {
    this.flush();
    const {hardState} = this.#kept;
    // A term that did not reach the disk was never voted in here.
    const isNewer = base.last.term > hardState.term;
    const known = isNewer ? {term: base.last.term, vote: undefined} : hardState;
    this.#save({...this.#kept, hardState: known, base});
    this.#segments.restart(base.last.index + 1);
  }

  /** Gives up what stands behind `index`. Durable on return when there was something. */
  keepThrough(index: LogIndex): void {
    if (index === this.lastIndex) return;
    assert(index >= this.#kept.base.last.index, 'what is applied is never cut off');
    this.flush();
    this.#segments.truncate(index);
  }

  /** Collects a record (stored-record.ts), whose bytes stay as they are until the flush. */
  append(record: Uint8Array): void {
    this.#pending.push(record);
  }

  /** What was collected is durable on return. */
  flush(): void {
    this.#checkAlive();
    while (this.#pending.length > 0) {
      let count = 0;
      for (let bytes = 0; count < this.#pending.length && count < batchEntriesMax; count++) {
        bytes += this.#pending[count]?.length ?? 0;
        if (bytes > batchBytesMax && count > 0) break;
      }
      const isAll = count === this.#pending.length;
      const batch = isAll ? this.#pending : this.#pending.slice(0, count);
      this.#segments.append(batch, this.#chains, true);
      this.#pending = isAll ? [] : this.#pending.slice(count);
    }
  }

  /**
   * The log begins behind `base` from now on. Full segments up to it are given back; without room
   * for the small file nothing is, and the next call tries again.
   */
  compact(base: Checkpoint): void {
    if (base.last.index <= this.#kept.base.last.index) return;
    this.flush();
    assert(this.#holds(base.last), 'a log is compacted to an entry that it holds');
    try {
      this.#save({...this.#kept, base});
    } catch (error) {
      if (error instanceof LogFull) return;
      throw error;
    }
    this.#segments.recycle(base.last.index);
  }

  /**
   * Copies of the records from `first` on, as many as fit into `bytesMax` and at least one, but
   * none behind `through`. Undefined when they are gone or not there yet. Throws Corruption.
   */
  read(first: LogIndex, through: LogIndex, bytesMax: number): RecordRun | undefined {
    this.#checkAlive();
    if (first < this.#segments.firstIndex || first > this.#segments.lastIndex) return undefined;
    const writer = new ByteWriter(runBytesMin);
    const ends: number[] = [];
    for (const {index, payload} of this.#segments.read(first)) {
      if (index > through || (ends.length > 0 && writer.length + payload.length > bytesMax)) break;
      writer.raw(payload);
      ends.push(writer.length);
    }
    return {bytes: writer.view(), ends};
  }

  /** Delegates to the segment log; undefined also while something is collected. */
  lend(): LogTailState | undefined {
    const isWhole = this.#failed === undefined && this.#pending.length === 0;
    return isWhole ? this.#segments.lend() : undefined;
  }

  takeBack(lent: LogTailState | 'failed'): void {
    this.#segments.takeBack(lent);
  }

  /** Delegates to the segment log; `ready` when it has failed. */
  get nextSegment(): SegmentLog['nextSegment'] {
    return this.failed === undefined ? this.#segments.nextSegment : 'ready';
  }

  /** A little of what makes the next segment ready; false when it is. */
  prepareNext(): boolean {
    return this.nextSegment !== 'ready' && this.#segments.prepareNext();
  }

  close(): void {
    if (this.failed === undefined) this.flush();
    this.#segments.close();
    this.#votes.close();
  }

  #holds({index, term}: LogPosition): boolean {
    if (index > this.#segments.lastIndex) return false;
    if (index < this.#segments.firstIndex) return true;
    for (const {payload} of this.#segments.read(index)) return decodeRecord(payload).term === term;
    return false;
  }

  #save(kept: Kept): void {
    this.#written(() => this.#file.save(kept));
    this.#kept = kept;
  }

  /** Writes what is not an entry; what fails for another reason than room is final. */
  #written(write: () => void): void {
    try {
      write();
    } catch (error) {
      // Errors of the system have a code; anything else is a bug and passes through.
      if (!(error instanceof Error && 'code' in error)) throw error;
      if (isOutOfRoom(error)) {
        throw new LogFull('there is no room for the term and vote', {cause: error});
      }
      this.#failed = `the term and vote cannot be written: ${error.message}`;
      throw new LogFailure(this.#failed, {cause: error});
    }
  }

  #checkAlive(): void {
    if (this.#failed !== undefined) throw new LogFailure(this.#failed);
  }
}

function keptPath(directory: string): string {
  return `${directory}/consensus`;
}

function votesPath(directory: string): string {
  return `${directory}/votes`;
}

function keptFile({disk, directory}: StoredLogOptions): CheckedFile<Kept> {
  return new CheckedFile<Kept>({
    disk,
    path: keptPath(directory),
    kind: 'svc-consensus',
    version: 2,
    versionMin: 1,
    title: 'the memory of a cluster’s member',
  });
}

function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/'));
}
