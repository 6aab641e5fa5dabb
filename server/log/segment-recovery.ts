/**
 * Reads what a stop of any kind left in a log directory and decides what of it is the log.
 *
 * The floor rule: the greatest durable index told by any readable batch header, or by the mere
 * existence of a later segment, is the floor. A bad record above it belongs to a write that was
 * never acknowledged (sectors of one unsynced batch may land in any order): it is a torn tail
 * and is cut with everything behind it. One at or below it is damage to acknowledged data: the
 * start is refused with a Corruption that names file and index.
 *
 * A later segment wins: behind one that cuts, an older one counts only up to the first index of
 * it; behind one that restarts, not at all. What is left without a record is superseded, and is
 * to be given up before anything else is done. Nothing is written here.
 */
import {Corruption} from '#server/base/errors.ts';
import type {Disk, File} from '#server/platform/disk.ts';
import {
  batchHeaderBytes,
  decodeSegmentHeader,
  parseName,
  readBatchHeader,
  type SegmentHeader,
  segmentHeaderBytes,
  segmentSeed,
} from './segment-format.ts';
import {
  type LogRecord,
  type SegmentMark,
  type SegmentPosition,
  startOf,
  walkSegment,
} from './segment-reader.ts';

/** One segment file with its verified content. */
export interface SegmentInfo {
  readonly path: string;
  readonly header: SegmentHeader;
  /** Index and chain value of its last record; those of the header when it has none. */
  lastIndex: number;
  lastChain: number;
  /** Offset behind the last batch. */
  end: number;
  /** Bytes that the file has. */
  capacity: number;
  /** Where reading may begin besides the first record. */
  marks: SegmentMark[];
}

export interface RecoveredLog {
  readonly logId: string;
  /** Segments in log order, one at least; the last one is the tail. */
  readonly segments: SegmentInfo[];
  /** What the tail itself tells to be durable. */
  readonly durableIndex: number;
  /** Offset in the tail behind which nothing tells so. */
  readonly provenEnd: number;
  /** The tail was written by a server that did not sync every commit. */
  readonly relaxed: boolean;
  /** Nothing of these counts any more. */
  readonly superseded: SegmentInfo[];
}

/** Is shown every record of the log once, in order; its payload is valid during the call. */
export type RecordVisitor = (record: LogRecord) => void;

/** The log in `directory`, or undefined when there is none (no segment file). */
export function recoverLog(
  disk: Disk,
  directory: string,
  visit: RecordVisitor = () => {},
): RecoveredLog | undefined {
  const generations = disk
    .list(directory)
    .map(name => ({name, parsed: parseName(name)}))
    .filter(file => file.parsed?.kind === 'segment');
  if (generations.length === 0) return undefined;

  const opened = generations.map(({name}) => openSegment(disk, `${directory}/${name}`));
  try {
    return joinSegments(opened, visit);
  } finally {
    for (const segment of opened) segment.file.close();
  }
}

interface OpenSegment {
  readonly file: File;
  readonly header: SegmentHeader;
}

function openSegment(disk: Disk, path: string): OpenSegment {
  const file = disk.open(path, 'read');
  const bytes = Buffer.alloc(segmentHeaderBytes);
  const header = decodeSegmentHeader(bytes.subarray(0, file.readAt(bytes, 0)));
  const named = parseName(path.slice(path.lastIndexOf('/') + 1))?.generation;
  if (header?.generation === named && header !== undefined) return {file, header};
  file.close();
  throw new Corruption(
    header === undefined
      ? `the header of the log segment ${path} is damaged: restore the file from a copy`
      : `the log segment ${path} is the one of generation ${header.generation} under another ` +
          'name: restore the log directory from a copy',
    {path},
  );
}

/** The segments that count, each with the last index up to which it does; and the others. */
function countedSegments(opened: readonly OpenSegment[]): {
  readonly counted: {readonly segment: OpenSegment; readonly until: number}[];
  readonly superseded: OpenSegment[];
} {
  const counted: {readonly segment: OpenSegment; readonly until: number}[] = [];
  const superseded: OpenSegment[] = [];
  let until = Number.MAX_SAFE_INTEGER;
  for (const segment of opened.toReversed()) {
    const {firstIndex, start} = segment.header;
    if (firstIndex > until) superseded.unshift(segment);
    else counted.unshift({segment, until});
    if (start === 'restarts') until = -1;
    if (start === 'cuts') until = Math.min(until, firstIndex - 1);
  }
  return {counted, superseded};
}

function joinSegments(opened: readonly OpenSegment[], visit: RecordVisitor): RecoveredLog {
  const {counted, superseded} = countedSegments(opened);
  const segments: SegmentInfo[] = [];
  let durableIndex = 0;
  let provenEnd = 0;
  let relaxed = false;
  let previous: SegmentPosition | undefined;
  counted.forEach(({segment: {file, header}, until}, number) => {
    const next = counted[number + 1]?.segment.header;
    checkOrder(file.path, header, previous, opened[0]?.header.logId);
    const position = startOf(header);
    for (const record of walkSegment(file, header, position, until)) visit(record);
    const floor = floorOf(file, header, position, next);
    if (position.lastIndex < floor) {
      throw new Corruption(
        `record ${position.lastIndex + 1} of the log is damaged in ${file.path} at offset ` +
          `${position.end}, and it was acknowledged (everything up to ${floor} was durable): ` +
          'restore the file or the node from a copy',
        {path: file.path, index: position.lastIndex + 1, offset: position.end},
      );
    }
    durableIndex = position.durableIndex;
    provenEnd = position.unproven[0]?.at ?? position.end;
    relaxed = position.relaxed;
    previous = position;
    segments.push(segmentAt(file, header, position));
  });
  return {
    logId: opened[0]?.header.logId ?? '',
    segments,
    durableIndex,
    provenEnd,
    relaxed,
    superseded: superseded.map(({file, header}) => segmentAt(file, header, startOf(header))),
  };
}

function segmentAt(file: File, header: SegmentHeader, position: SegmentPosition): SegmentInfo {
  const {lastIndex, lastChain, end, marks} = position;
  return {path: file.path, header, lastIndex, lastChain, end, capacity: file.size(), marks};
}

function checkOrder(
  path: string,
  header: SegmentHeader,
  previous: SegmentPosition | undefined,
  logId: string | undefined,
): void {
  if (header.logId !== logId) {
    throw new Corruption(`the log segment ${path} belongs to another log`, {path});
  }
  if (previous === undefined) return;
  const follows =
    header.firstIndex === previous.lastIndex + 1 && header.previousChain === previous.lastChain;
  if (!follows) {
    throw new Corruption(
      `the log segment ${path} begins at ${header.firstIndex}, but the one before it ends at ` +
        `${previous.lastIndex}: entries between them are missing or damaged`,
      {path, index: previous.lastIndex + 1},
    );
  }
}

/** The greatest index known to have been durable, from every readable header of the segment. */
function floorOf(
  file: File,
  header: SegmentHeader,
  position: SegmentPosition,
  next: SegmentHeader | undefined,
): number {
  // What a later segment leaves of this one was durable before that one was made.
  if (next !== undefined) return next.firstIndex - 1;
  let floor = position.durableIndex;
  if (position.sealed) return floor;
  const seed = segmentSeed(header);
  const magics = ['SVGB', 'SVGE'];
  const size = file.size();
  const step = 1 << 20;
  const chunk = Buffer.allocUnsafe(Math.min(step + batchHeaderBytes, size - position.end + 1));
  for (let at = position.end; at < size; at += step) {
    const bytes = chunk.subarray(0, file.readAt(chunk, at));
    for (const magic of magics) {
      for (let hit = bytes.indexOf(magic, 0, 'latin1'); hit >= 0; ) {
        const batch = readBatchHeader(bytes, hit, seed);
        if (batch !== undefined) floor = Math.max(floor, batch.durableIndex);
        hit = bytes.indexOf(magic, hit + 1, 'latin1');
      }
    }
  }
  return floor;
}
