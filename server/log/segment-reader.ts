/**
 * Walks the batches of one segment file from its beginning, verifying every record.
 *
 * Stops at the first bytes that are not the true continuation, without judging them: recovery
 * decides (segment-recovery.ts) whether that is the end, a torn tail or damage. Reads through a
 * window, so memory is one batch, not one file.
 */
import type {File} from '#server/platform/disk.ts';
import {
  type BatchHeader,
  batchHeaderBytes,
  ChainHasher,
  readBatchHeader,
  recordHeaderBytes,
  type SegmentHeader,
  segmentHeaderBytes,
  segmentSeed,
} from './segment-format.ts';

const windowBytes = 256 << 10;
/** The distance between places from which a segment can be read without its beginning. */
const markBytes = 256 << 10;

/** One record; `payload` is valid until the walk goes on. */
export interface LogRecord {
  readonly index: number;
  readonly chain: number;
  readonly payload: Buffer;
}

/** A place between two batches: the record in front of it, and the offset behind that. */
export interface SegmentMark {
  readonly lastIndex: number;
  readonly lastChain: number;
  readonly end: number;
}

/** Where a walk stands: the last verified record and the offset behind its batch. */
export interface SegmentPosition {
  lastIndex: number;
  lastChain: number;
  end: number;
  /** Places that were passed, some way apart from each other, in order. */
  readonly marks: SegmentMark[];
  /** Greatest durable index that any verified batch header told. */
  durableIndex: number;
  /** Batches that no header behind them tells to be durable, oldest first. */
  unproven: {readonly lastIndex: number; readonly at: number}[];
  /** True when the batch at `end` is an end mark. */
  sealed: boolean;
  /** True when any batch was written without syncing every commit. */
  relaxed: boolean;
}

/** Reads a file in large steps; the bytes returned are valid until the next call. */
export class FileWindow {
  readonly #file: File;
  #buffer = Buffer.alloc(0);
  #start = 0;
  #filled = 0;

  constructor(file: File) {
    this.#file = file;
  }

  /** The bytes [at, at + length), fewer at the end of the file. */
  read(at: number, length: number): Buffer {
    if (at < this.#start || at + length > this.#start + this.#filled) {
      const wanted = Math.max(windowBytes, length);
      if (this.#buffer.length < wanted) this.#buffer = Buffer.allocUnsafeSlow(wanted);
      this.#start = at;
      this.#filled = this.#file.readAt(this.#buffer, at);
    }
    const from = at - this.#start;
    return this.#buffer.subarray(from, Math.min(from + length, this.#filled));
  }
}

export function startOf(header: SegmentHeader): SegmentPosition {
  return {
    lastIndex: header.firstIndex - 1,
    lastChain: header.previousChain,
    end: segmentHeaderBytes,
    marks: [],
    durableIndex: header.firstIndex - 1,
    unproven: [],
    sealed: false,
    relaxed: false,
  };
}

/** Works like `startOf`, at the last of `marks` that is in front of the record `index`. */
export function startBefore(
  header: SegmentHeader,
  marks: readonly SegmentMark[],
  index: number,
): SegmentPosition {
  const mark = marks.findLast(one => one.lastIndex < index);
  return {...startOf(header), ...mark};
}

/** Remembers the place if the last one is far behind it. */
export function markPlace(marks: SegmentMark[], {lastIndex, lastChain, end}: SegmentMark): void {
  if (end - (marks.at(-1)?.end ?? segmentHeaderBytes) < markBytes) return;
  marks.push({lastIndex, lastChain, end});
}

/**
 * Yields the verified records of a segment up to `until` in order and keeps `position` up to
 * date: whole batches only, so a batch with one bad record counts as none.
 */
export function* walkSegment(
  file: File,
  header: SegmentHeader,
  position: SegmentPosition,
  until: number = Number.MAX_SAFE_INTEGER,
): Generator<LogRecord> {
  const window = new FileWindow(file);
  const seed = segmentSeed(header);
  const hasher = new ChainHasher();
  while (position.lastIndex < until) {
    const headerBytes = window.read(position.end, batchHeaderBytes);
    const batch = readBatchHeader(headerBytes, 0, seed);
    if (batch === undefined || !continues(batch, position)) return;
    if (batch.kind === 'end') {
      prove(position, batch.durableIndex);
      position.sealed = true;
      return;
    }
    const body = window.read(position.end + batchHeaderBytes, batch.bodyBytes);
    const records = verifyBatch(body, batch, seed, hasher);
    if (records === undefined) return;
    // A cut may lie in the middle of a batch.
    const counted = records.slice(0, until - position.lastIndex);
    for (const record of counted) yield record;
    markPlace(position.marks, position);
    prove(position, batch.durableIndex);
    position.lastIndex += counted.length;
    position.unproven.push({lastIndex: position.lastIndex, at: position.end});
    position.lastChain = counted.at(-1)?.chain ?? position.lastChain;
    position.end += batchHeaderBytes + batch.bodyBytes;
    if (batch.flags !== 0) position.relaxed = true;
  }
}

function prove(position: SegmentPosition, durableIndex: number): void {
  position.durableIndex = Math.max(position.durableIndex, durableIndex);
  const first = position.unproven.findIndex(batch => batch.lastIndex > position.durableIndex);
  if (first !== 0) position.unproven.splice(0, first < 0 ? position.unproven.length : first);
}

function continues(batch: BatchHeader, position: SegmentPosition): boolean {
  return batch.firstIndex === position.lastIndex + 1 && batch.previousChain === position.lastChain;
}

/** The records of a batch, or undefined when one of them is not what was written. */
function verifyBatch(
  body: Buffer,
  batch: BatchHeader,
  seed: number,
  hasher: ChainHasher,
): LogRecord[] | undefined {
  if (body.length < batch.bodyBytes) return undefined;
  const records: LogRecord[] = [];
  let chain = batch.previousChain;
  let at = 0;
  for (let number = 0; number < batch.recordCount; number++) {
    if (at + recordHeaderBytes > body.length) return undefined;
    const length = body.readUInt32LE(at);
    const stored = body.readUInt32LE(at + 4);
    at += recordHeaderBytes;
    if (at + length > body.length) return undefined;
    const payload = body.subarray(at, at + length);
    const index = batch.firstIndex + number;
    chain = hasher.chain(seed, index, chain, payload);
    if (chain !== stored) return undefined;
    records.push({index, chain, payload});
    at += length;
  }
  return at === body.length ? records : undefined;
}
