/**
 * The log as files: entries are appended in batches to preallocated segment files, made durable
 * by one fdatasync a batch, read back by index, and recycled once nobody needs them.
 *
 * Synchronous and single-threaded: its user owns a thread for it. Every start continues in a
 * segment of a new generation behind a synced end mark, so that remains of an unacknowledged
 * batch can never join what is written later.
 *
 * A replicated log gives entries up that its group never committed (`truncate`), or all of them
 * (`restart`). The durable header of a new segment is the cut: before it nothing was cut, after
 * it everything is, and nothing is appended in between.
 *
 * Invariant L2: an index is handed out once and only upwards, but for those that a cut took back;
 * what was cut never reads as an entry again.
 * Invariant F1: after a failed sync, and after a failed write unless the disk was full, nothing is
 * written any more, since the kernel may have dropped what it could not write. A full disk refuses
 * bytes before it takes them, in files whose room was reserved as well where it writes copies; the
 * same bytes go to the same place once there is room.
 * Source: docs/design/0002-log-and-commit-threads.md.
 */
import {assert} from '#server/base/assert.ts';
import {Corruption, Refusal} from '#server/base/errors.ts';
import {type Disk, isOutOfRoom} from '#server/platform/disk.ts';
import type {LogTailState} from './log-tail-lease.ts';
import {
  batchHeaderBytes,
  decodeSegmentHeader,
  encodeSegmentHeader,
  type SegmentHeader,
  type SegmentStart,
  segmentHeaderBytes,
  segmentName,
  segmentSeed,
} from './segment-format.ts';
import {
  type LogRecord,
  markPlace,
  type SegmentPosition,
  startBefore,
  walkSegment,
} from './segment-reader.ts';
import {type RecordVisitor, recoverLog, type SegmentInfo} from './segment-recovery.ts';
import {batchBytesOf, type SegmentEnd, SegmentWriter} from './segment-writer.ts';
import {type Spare, SpareSegments} from './spare-segments.ts';

export interface SegmentLogOptions {
  readonly disk: Disk;
  /** Exists already; holds nothing but the log. */
  readonly directory: string;
  /** `svc.ha.logSegmentSize`: bytes of a segment file once the log has grown. */
  readonly segmentBytes: number;
}

/** The log can write nothing more in this process; what was being written is undecided. */
export class LogFailure extends Error {
  override readonly name = 'LogFailure';
}

/** There is no room. The log ends where it did; the same call may succeed later. */
export class LogFull extends Error {
  override readonly name = 'LogFull';
}

/** Everything another thread needs to go on with a log that this one recovered. */
export interface LogState {
  readonly logId: string;
  readonly segments: SegmentInfo[];
}

const firstSegmentBytes = 1 << 20;
const segmentGrowth = 4;
/** The next file should be finished at this share of the active segment's second half. */
const readyAtShare = 0.8;

export class SegmentLog {
  readonly logId: string;
  /** The server that wrote the end of the log did not sync every commit. */
  readonly wasRelaxed: boolean;
  readonly #options: SegmentLogOptions;
  readonly #segments: SegmentInfo[];
  readonly #spares: SpareSegments;
  #active: SegmentWriter;
  #durableIndex: number;
  #failed: string | undefined;

  private constructor(options: SegmentLogOptions, state: LogState, wasRelaxed = false) {
    this.#options = options;
    this.wasRelaxed = wasRelaxed;
    this.logId = state.logId;
    this.#segments = state.segments;
    const tail = this.#tail;
    this.#active = openWriter(options.disk, tail);
    this.#durableIndex = tail.lastIndex;
    this.#spares = new SpareSegments(options.disk, options.directory);
  }

  /**
   * Opens the log of a directory; undefined when it holds none. A torn tail is cut, what was
   * read is made durable. `visit` sees every record in order, without another reading. Throws
   * Corruption when acknowledged data is damaged, and a Refusal when the disk has no room to go on.
   */
  static open(options: SegmentLogOptions, visit?: RecordVisitor): SegmentLog | undefined {
    const recovered = recoverLog(options.disk, options.directory, visit);
    if (recovered === undefined) return undefined;
    const {logId, segments, superseded} = recovered;
    const log = new SegmentLog(options, {logId, segments}, recovered.relaxed);
    log.#durableIndex = recovered.durableIndex;
    try {
      log.#attempt(() => log.#giveUp(superseded));
      log.#sealTail(recovered.provenEnd);
    } catch (error) {
      log.handOver();
      throw orNoStart(error, options.directory);
    }
    return log;
  }

  /** Makes an empty log whose first entry will have the index `firstIndex`. */
  static create(options: SegmentLogOptions, logId: string, firstIndex: number): SegmentLog {
    const spares = new SpareSegments(options.disk, options.directory);
    const start: SegmentStart = 'continues';
    const header = {generation: 1, logId, firstIndex, previousChain: 0, start};
    const capacity = Math.min(options.segmentBytes, firstSegmentBytes);
    const segment = startSegment(options, spares.give(capacity), header);
    spares.close();
    return new SegmentLog(options, {logId, segments: [segment]});
  }

  /** Goes on with a log that `open` or `create` prepared and `handOver` released. */
  static resume(options: SegmentLogOptions, state: LogState): SegmentLog {
    return new SegmentLog(options, state);
  }

  get #tail(): SegmentInfo {
    const tail = this.#segments.at(-1);
    assert(tail !== undefined, 'a log has at least one segment');
    return tail;
  }

  /** Index of the oldest entry that is still there (one above the last one when empty). */
  get firstIndex(): number {
    return this.#segments[0]?.header.firstIndex ?? 1;
  }

  get lastIndex(): number {
    return this.#tail.lastIndex;
  }

  get lastChain(): number {
    return this.#tail.lastChain;
  }

  /** Everything up to here survives a power loss. */
  get durableIndex(): number {
    return this.#durableIndex;
  }

  get directory(): string {
    return this.#options.directory;
  }

  get segmentCount(): number {
    return this.#segments.length;
  }

  /** Bytes of entries that recycling could give back. */
  get retainedBytes(): number {
    return this.#segments.reduce((sum, segment) => sum + segment.end, 0);
  }

  get failed(): string | undefined {
    return this.#failed;
  }

  /**
   * Appends entries as one batch and returns their chain values in `chains` (same order).
   * With `sync` they are durable on return; without, only as durable as the page cache.
   * Throws LogFailure, after which their fate is unknown, and LogFull, when there is none yet.
   */
  append(entries: readonly Uint8Array[], chains: Uint32Array, sync: boolean): void {
    this.#checkAlive();
    assert(entries.length > 0 && chains.length >= entries.length, 'a batch has entries');
    const batchBytes = batchBytesOf(entries);
    this.#attempt(() => {
      // The end mark of a close or a cut must fit behind the last batch.
      if (this.#tail.end + batchBytes + batchHeaderBytes > this.#tail.capacity) {
        this.#roll(this.#nextCapacity(batchBytes), 'continues');
      }
      const facts = {durableIndex: this.#durableIndex, relaxed: !sync};
      const end = orFull('entries', () => this.#active.append(this.#tail, entries, chains, facts));
      this.#advance(end);
      if (sync) this.#sync();
    });
  }

  /**
   * The end for another thread (log-tail-lease.ts); undefined when nothing may be written there.
   */
  lend(): LogTailState | undefined {
    const {header, capacity, lastIndex, lastChain, end} = this.#tail;
    const isWhole = this.#failed === undefined && this.#durableIndex === lastIndex;
    if (!isWhole) return undefined;
    return {generation: header.generation, capacity, lastIndex, lastChain, end};
  }

  /** Goes on behind what the other thread has written, durably, since it was lent the end. */
  takeBack(lent: LogTailState | 'failed'): void {
    if (lent === 'failed') {
      this.#failed ??= 'the log cannot write any more: a write of another thread failed';
    } else if (lent.generation === this.#tail.header.generation && lent.end > this.#tail.end) {
      this.#advance(lent);
      this.#durableIndex = lent.lastIndex;
    }
  }

  /** Makes everything appended so far durable. */
  sync(): void {
    this.#checkAlive();
    if (this.#durableIndex < this.lastIndex) this.#attempt(() => this.#sync());
  }

  /**
   * The entries from `index` on, in order and without a gap. Payloads are valid until the next one
   * is pulled. Throws Corruption at the first one that is not what was written.
   */
  *read(index: number): Generator<LogRecord> {
    assert(index >= this.firstIndex, 'entries before the first retained one are gone');
    for (const segment of this.#segments.slice()) {
      if (segment.lastIndex < index) continue;
      const file = this.#options.disk.open(segment.path, 'read');
      try {
        const {header, marks, lastIndex: until} = segment;
        const position = startBefore(header, marks, index);
        for (const record of walkSegment(file, header, position, until)) {
          if (record.index >= index) yield record;
        }
        if (position.lastIndex < until) throw damaged(segment.path, position);
      } finally {
        file.close();
      }
    }
  }

  /** Chain value of an entry, or undefined when it is not retained. Throws as `read`. */
  chainAt(index: number): number | undefined {
    if (index === this.lastIndex) return this.lastChain;
    if (index > this.lastIndex || index < this.firstIndex - 1) return undefined;
    for (const segment of this.#segments) {
      if (segment.header.firstIndex - 1 === index) return segment.header.previousChain;
      if (segment.lastIndex === index) return segment.lastChain;
    }
    for (const record of this.read(index)) return record.chain;
    return undefined;
  }

  /**
   * Gives up segments whose entries are all at or below `floor`: the caller guarantees that
   * every database they touch holds those entries durably. Returns how many went.
   */
  recycle(floor: number): number {
    this.#checkAlive();
    let count = 0;
    while (this.#segments.length > 1) {
      const oldest = this.#segments[0];
      if (oldest === undefined || oldest.lastIndex > floor) break;
      this.#attempt(() => this.#spares.take(oldest, this.#options.segmentBytes));
      this.#segments.shift();
      count++;
    }
    return count;
  }

  /**
   * Gives up every entry behind `keepThrough`, which is at least the one before the first; the
   * next one appended has the index `keepThrough + 1`. Durable on return. Throws as `append`, and
   * Corruption, with nothing changed, when the last entry that is kept is not what was written.
   */
  truncate(keepThrough: number): void {
    this.#checkAlive();
    assert(keepThrough >= this.firstIndex - 1, 'what was recycled is not cut');
    assert(keepThrough <= this.lastIndex, 'only what is there can be kept');
    if (keepThrough === this.lastIndex) return;
    this.#attempt(() => {
      const previousChain = this.chainAt(keepThrough);
      assert(previousChain !== undefined, 'an entry that is kept can be read');
      this.#sync();
      const kept = this.#segments.filter(({header}) => header.firstIndex <= keepThrough);
      const cut = this.#segments.slice(kept.length);
      this.#begin({start: 'cuts', firstIndex: keepThrough + 1, previousChain});
      this.#segments.splice(kept.length, cut.length);
      const shortened = kept.at(-1);
      if (shortened !== undefined && shortened.lastIndex > keepThrough) {
        shortened.lastIndex = keepThrough;
        shortened.lastChain = previousChain;
        shortened.marks = shortened.marks.filter(mark => mark.lastIndex <= keepThrough);
      }
      this.#giveUp(cut);
    });
  }

  /** Gives up everything: the next entry has the index `firstIndex`. Otherwise as `truncate`. */
  restart(firstIndex: number): void {
    this.#checkAlive();
    this.#attempt(() => {
      const given = this.#segments.slice();
      this.#begin({start: 'restarts', firstIndex, previousChain: 0});
      this.#segments.splice(0, given.length);
      this.#giveUp(given);
    });
  }

  /**
   * A little of the work that makes the next segment ready; returns false when it is. Takes a
   * millisecond or two, so call it in quiet moments, or when it is late.
   */
  prepareNext(): boolean {
    this.#checkAlive();
    return this.#spares.prepare(this.#nextCapacity(0));
  }

  /**
   * Whether the file after the active one is there. It is made from when half of the active one is
   * full, `late` when it would not be finished in time as fast as that fills up. A log that has
   * failed needs none.
   */
  get nextSegment(): 'ready' | 'in time' | 'late' {
    const {end, capacity} = this.#tail;
    const next = this.#nextCapacity(0);
    const isNeeded = this.#failed === undefined && end * 2 > capacity;
    if (!isNeeded || this.#spares.isReady(next)) return 'ready';
    const filledShare = (end * 2 - capacity) / capacity;
    return this.#spares.preparedShare(next) * readyAtShare < filledShare ? 'late' : 'in time';
  }

  /** Closes the files without touching them and returns what `resume` needs. */
  handOver(): LogState {
    this.#active.close();
    this.#spares.close();
    this.#failed = 'the log was handed over';
    return {logId: this.logId, segments: this.#segments};
  }

  /** Closes and removes every segment: for an empty log that nothing refers to. */
  destroy(): void {
    const {disk, directory} = this.#options;
    this.handOver();
    for (const segment of this.#segments) disk.unlink(segment.path);
    disk.syncDirectory(directory);
  }

  /** Syncs, leaves an end mark so that the next start need not search, and closes. */
  close(): void {
    if (this.#failed === undefined) {
      this.#attempt(() => {
        // A start finds the end without the mark as well.
        unlessFull(() => this.#writeEndMark());
        this.#sync();
      });
    }
    this.handOver();
  }

  /**
   * Runs after a start: what was read is made durable, and a new segment continues. What nothing
   * proves to be on the disk is written once more: after a failed sync the system may show
   * bytes that it has given up writing, and a sync alone would not bring them back.
   */
  #sealTail(provenEnd: number): void {
    this.#attempt(() => {
      const tail = this.#tail;
      if (provenEnd < tail.end) this.#active.rewrite(provenEnd, tail.end);
      if (tail.end + batchHeaderBytes <= tail.capacity) this.#writeEndMark();
      const isEmpty = tail.lastIndex < tail.header.firstIndex;
      this.#roll(this.#firstCapacity, isEmpty ? tail.header.start : 'continues');
      // An empty segment behind another is of no use, once that one says what it took back.
      if (isEmpty) {
        this.#segments.splice(this.#segments.indexOf(tail), 1);
        this.#giveUp([tail]);
      }
    });
  }

  /** Nothing of these segments counts, whatever a crash leaves of their names. */
  #giveUp(segments: readonly SegmentInfo[]): void {
    for (const segment of segments) this.#spares.take(segment, this.#options.segmentBytes);
  }

  #writeEndMark(): void {
    this.#active.writeEndMark(this.#tail, this.#durableIndex);
  }

  #advance({lastIndex, lastChain, end}: SegmentEnd): void {
    const tail = this.#tail;
    markPlace(tail.marks, tail);
    tail.lastIndex = lastIndex;
    tail.lastChain = lastChain;
    tail.end = end;
  }

  #sync(): void {
    this.#active.sync();
    this.#durableIndex = this.lastIndex;
  }

  /** Makes what is there durable and continues in a new segment of at least `capacity` bytes. */
  #roll(capacity: number, start: SegmentStart): void {
    this.#sync();
    const {lastIndex, lastChain} = this.#tail;
    this.#begin({start, firstIndex: lastIndex + 1, previousChain: lastChain}, capacity);
  }

  /** Goes on in a new segment, which is durable on return with what its header says. */
  #begin(
    about: Pick<SegmentHeader, 'start' | 'firstIndex' | 'previousChain'>,
    capacity: number = this.#firstCapacity,
  ): void {
    const spare = orFull('the next segment', () => this.#spares.give(capacity));
    const generation = this.#tail.header.generation + 1;
    const header = {...about, generation, logId: this.logId};
    const segment = startSegment(this.#options, spare, header);
    this.#active.close();
    this.#segments.push(segment);
    this.#active = openWriter(this.#options.disk, segment);
    this.#durableIndex = segment.lastIndex;
  }

  get #firstCapacity(): number {
    return Math.min(this.#options.segmentBytes, firstSegmentBytes);
  }

  #nextCapacity(batchBytes: number): number {
    const grown = Math.max(firstSegmentBytes, this.#tail.capacity * segmentGrowth);
    const usual = Math.min(this.#options.segmentBytes, grown);
    return Math.max(usual, segmentHeaderBytes + batchBytes + batchHeaderBytes);
  }

  #checkAlive(): void {
    if (this.#failed !== undefined) throw new LogFailure(this.#failed);
  }

  #attempt(work: () => void): void {
    try {
      work();
    } catch (error) {
      // Errors of the system have a code; anything else is a bug and passes through.
      if (!(error instanceof Error && 'code' in error)) throw error;
      this.#failed = `the log cannot write any more: ${error.message}`;
      throw new LogFailure(this.#failed, {cause: error});
    }
  }
}

/** Leaves out what finds no room. */
function unlessFull(write: () => void): void {
  try {
    write();
  } catch (error) {
    if (!isOutOfRoom(error)) throw error;
  }
}

/** Refuses what finds no room as LogFull. */
function orFull<T>(what: string, write: () => T): T {
  try {
    return write();
  } catch (error) {
    if (!isOutOfRoom(error)) throw error;
    throw new LogFull(`there is no room for ${what} of the log`, {cause: error});
  }
}

/** What a start says that finds no room: nobody is there yet who could wait for it. */
function orNoStart(error: unknown, directory: string): unknown {
  const isFull = error instanceof LogFull || (error instanceof Error && isOutOfRoom(error.cause));
  if (!isFull) return error;
  return new Refusal(
    'start.refused',
    `the disk of the log (${directory}) has no room for its next segment: nothing is lost; make ` +
      'room, or make its volume larger, and start again',
    {cause: error},
  );
}

function damaged(path: string, {lastIndex, end}: SegmentPosition): Corruption {
  const index = lastIndex + 1;
  return new Corruption(
    `record ${index} of the log is damaged in ${path} at offset ${end}: restore the node from a ` +
      'copy, or remove it from its cluster and add it anew',
    {path, index, offset: end},
  );
}

function openWriter(disk: Disk, {path, header}: SegmentInfo): SegmentWriter {
  return new SegmentWriter(disk.open(path, 'write'), segmentSeed(header));
}

/** Puts a header into a prepared file and gives the file its name; durable on return. */
function startSegment(
  options: SegmentLogOptions,
  spare: Spare,
  header: SegmentHeader,
): SegmentInfo {
  const bytes = encodeSegmentHeader(header);
  assert(decodeSegmentHeader(bytes) !== undefined, 'a header reads back');
  const path = `${options.directory}/${segmentName(header.generation)}`;
  const size = orFull('the next segment', () => {
    try {
      spare.file.writeAt(bytes, 0);
      spare.file.sync();
      options.disk.rename(spare.path, path);
      return spare.file.size();
    } catch (error) {
      // Nobody's data is in it, and a file whose sync failed is not to be trusted.
      if (isOutOfRoom(error)) options.disk.unlink(spare.path);
      throw error;
    } finally {
      spare.file.close();
    }
  });
  options.disk.syncDirectory(options.directory);
  return {
    path,
    header,
    lastIndex: header.firstIndex - 1,
    lastChain: header.previousChain,
    end: segmentHeaderBytes,
    capacity: size,
    marks: [],
  };
}
