/**
 * Reads what a stop of any kind left in a log directory and decides what of it is the log.
 *
 * The floor rule: the greatest durable index told by any readable batch header, or by the mere
 * existence of a later segment, is the floor. A bad record above it belongs to a write that was
 * never acknowledged (sectors of one unsynced batch may land in any order): it is a torn tail
 * and is cut with everything behind it. One at or below it is damage to acknowledged data: the
 * start is refused with a Corruption that names file and index. Nothing is written here.
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
import {type SegmentPosition, startOf, walkSegment} from './segment-reader.ts';

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
}

export interface RecoveredLog {
  readonly logId: string;
  /** At least one, in log order; the last one is the tail. */
  readonly segments: SegmentInfo[];
  /** What the tail itself tells to be durable. */
  readonly durableIndex: number;
  /** Offset in the tail behind which nothing tells so. */
  readonly provenEnd: number;
  /** The tail was written by a server that did not sync every commit. */
  readonly relaxed: boolean;
}

/** The log in `directory`, or undefined when there is none (no segment file). */
export function recoverLog(disk: Disk, directory: string): RecoveredLog | undefined {
  const generations = disk
    .list(directory)
    .map(name => ({name, parsed: parseName(name)}))
    .filter(file => file.parsed?.kind === 'segment');
  if (generations.length === 0) return undefined;

  const opened = generations.map(({name}) => openSegment(disk, `${directory}/${name}`));
  try {
    return joinSegments(opened);
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

function joinSegments(opened: readonly OpenSegment[]): RecoveredLog {
  const segments: SegmentInfo[] = [];
  let durableIndex = 0;
  let provenEnd = 0;
  let relaxed = false;
  let previous: SegmentPosition | undefined;
  opened.forEach(({file, header}, number) => {
    const next = opened[number + 1]?.header;
    checkOrder(file.path, header, previous, opened[0]?.header.logId);
    const position = startOf(header);
    const records = walkSegment(file, header, position);
    while (records.next().done !== true);
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
    segments.push({
      path: file.path,
      header,
      lastIndex: position.lastIndex,
      lastChain: position.lastChain,
      end: position.end,
      capacity: file.size(),
    });
  });
  return {logId: opened[0]?.header.logId ?? '', segments, durableIndex, provenEnd, relaxed};
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
  let floor = Math.max(position.durableIndex, next === undefined ? 0 : next.firstIndex - 1);
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
