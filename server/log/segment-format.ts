/**
 * The bytes of a segment file: header, batches, records, and the mark of a cut.
 *
 * A file is one header sector and then batches without gaps. A batch is a header and its records;
 * a record is a length, a checksum and a payload. The checksum of a record is seeded with the
 * segment's generation and log id, with the record's index, its length and the checksum of the
 * record before it, so it verifies only behind its true predecessor: what an earlier use of the
 * file or a cut left behind never reads as new. That checksum is also the record's chain value.
 *
 * Every batch header carries the index that was already durable when it was written (the floor
 * rule, segment-recovery.ts). A segment that takes something back (a cut, or a new beginning) says
 * so in its header, which is of version 2 then: a release that knows version 1 alone refuses it.
 * All numbers are little endian. Invariant L1: bytes of a format version are never given another
 * meaning. Source: docs/design/0002-log-and-commit-threads.md.
 */
import {crc32} from 'node:zlib';
import {assert} from '#server/base/assert.ts';
import {Refusal} from '#server/base/errors.ts';

export const segmentHeaderBytes = 512;
export const batchHeaderBytes = 40;
export const recordHeaderBytes = 8;

/** Written by a segment that continues; one that takes entries back has the next version. */
const formatVersion = 1;
const startsVersion = 2;
/** Codes are places; the first is not written. */
const starts: readonly SegmentStart[] = ['continues', 'cuts', 'restarts'];
const segmentMagic = 0x474c5653; // "SVLG"
export const batchMagic = 0x42475653; // "SVGB"
const endMagic = 0x45475653; // "SVGE"
const headerChecked = 56;
const batchChecked = 36;
/** Flag of a batch that was written while `svc.txWalFlush` was below 2. */
export const relaxedFlag = 1;

/**
 * How a segment follows the older ones: behind their last record; in the place of every record
 * from its first index on; or in the place of all of them.
 */
export type SegmentStart = 'continues' | 'cuts' | 'restarts';

/** What the first sector of a segment file says. */
export interface SegmentHeader {
  /** Grows with every use of any file of this log; never reused. */
  readonly generation: number;
  /** 32 hexadecimal digits, made when the log was created. */
  readonly logId: string;
  /** Index of the first record of this segment. */
  readonly firstIndex: number;
  /** Chain value of the record before it. */
  readonly previousChain: number;
  readonly start: SegmentStart;
}

export function encodeSegmentHeader(header: SegmentHeader): Buffer {
  const bytes = Buffer.alloc(segmentHeaderBytes);
  bytes.writeUInt32LE(segmentMagic, 0);
  const continues = header.start === 'continues';
  bytes.writeUInt32LE(continues ? formatVersion : startsVersion, 4);
  writeU64(bytes, header.generation, 8);
  bytes.write(header.logId, 16, 16, 'hex');
  writeU64(bytes, header.firstIndex, 32);
  bytes.writeUInt32LE(header.previousChain, 40);
  if (!continues) bytes.writeUInt8(starts.indexOf(header.start), 44);
  bytes.writeUInt32LE(crc32(bytes.subarray(0, headerChecked)), headerChecked);
  return bytes;
}

/**
 * Undefined when the bytes are no segment header.
 *
 * @throws {Refusal} `start.refused` for a header of a version that this build does not read.
 */
export function decodeSegmentHeader(bytes: Buffer): SegmentHeader | undefined {
  if (bytes.length < headerChecked + 4 || bytes.readUInt32LE(0) !== segmentMagic) return undefined;
  if (crc32(bytes.subarray(0, headerChecked)) !== bytes.readUInt32LE(headerChecked)) {
    return undefined;
  }
  const version = bytes.readUInt32LE(4);
  if (version !== formatVersion && version !== startsVersion) {
    throw new Refusal(
      'start.refused',
      `the log was written in version ${version}, and this release reads versions ` +
        `${formatVersion} and ${startsVersion}: start the release that wrote it and stop it ` +
        'cleanly, or a later one',
    );
  }
  const start = version === formatVersion ? 'continues' : starts[bytes.readUInt8(44)];
  if (start === undefined) return undefined;
  return {
    generation: readU64(bytes, 8),
    logId: bytes.toString('hex', 16, 32),
    firstIndex: readU64(bytes, 32),
    previousChain: bytes.readUInt32LE(40),
    start,
  };
}

/** The part of a checksum that is the same for all records of one segment. */
export function segmentSeed(header: Pick<SegmentHeader, 'generation' | 'logId'>): number {
  const bytes = Buffer.alloc(24);
  writeU64(bytes, header.generation, 0);
  bytes.write(header.logId, 8, 16, 'hex');
  return crc32(bytes);
}

export interface BatchHeader {
  /** `end`: the segment ends here on purpose; what follows was cut. */
  readonly kind: 'batch' | 'end';
  readonly bodyBytes: number;
  readonly recordCount: number;
  readonly previousChain: number;
  readonly firstIndex: number;
  /** Every record up to this index was durable before the batch was written. */
  readonly durableIndex: number;
  readonly flags: number;
}

export function writeBatchHeader(target: Buffer, at: number, seed: number, header: BatchHeader) {
  target.writeUInt32LE(header.kind === 'batch' ? batchMagic : endMagic, at);
  target.writeUInt32LE(header.bodyBytes, at + 4);
  target.writeUInt32LE(header.recordCount, at + 8);
  target.writeUInt32LE(header.previousChain, at + 12);
  writeU64(target, header.firstIndex, at + 16);
  writeU64(target, header.durableIndex, at + 24);
  target.writeUInt32LE(header.flags, at + 32);
  target.writeUInt32LE(crc32(target.subarray(at, at + batchChecked), seed), at + batchChecked);
}

/** Undefined when the bytes at `at` are no batch header of the segment that `seed` belongs to. */
export function readBatchHeader(source: Buffer, at: number, seed: number): BatchHeader | undefined {
  if (at + batchHeaderBytes > source.length) return undefined;
  const magic = source.readUInt32LE(at);
  if (magic !== batchMagic && magic !== endMagic) return undefined;
  const checksum = crc32(source.subarray(at, at + batchChecked), seed);
  if (checksum !== source.readUInt32LE(at + batchChecked)) return undefined;
  return {
    kind: magic === batchMagic ? 'batch' : 'end',
    bodyBytes: source.readUInt32LE(at + 4),
    recordCount: source.readUInt32LE(at + 8),
    previousChain: source.readUInt32LE(at + 12),
    firstIndex: readU64(source, at + 16),
    durableIndex: readU64(source, at + 24),
    flags: source.readUInt32LE(at + 32),
  };
}

/** Computes chain values; one for each user, since it holds scratch bytes. */
export class ChainHasher {
  readonly #scratch = Buffer.alloc(20);

  /** The checksum of the record `index` with `payload` behind a record of chain `previous`. */
  chain(seed: number, index: number, previous: number, payload: Uint8Array): number {
    const scratch = this.#scratch;
    scratch.writeUInt32LE(seed, 0);
    writeU64(scratch, index, 4);
    scratch.writeUInt32LE(previous, 12);
    scratch.writeUInt32LE(payload.length, 16);
    return crc32(payload, crc32(scratch));
  }
}

export function segmentName(generation: number): string {
  return `segment-${generation.toString(16).padStart(12, '0')}.log`;
}

export function spareName(generation: number): string {
  return `spare-${generation.toString(16).padStart(12, '0')}.log`;
}

/** The generation in a file name, or undefined when the name is neither. */
export function parseName(
  name: string,
): {readonly kind: 'segment' | 'spare'; readonly generation: number} | undefined {
  const match = /^(segment|spare)-([0-9a-f]{12})\.log$/.exec(name);
  if (match === null) return undefined;
  const kind = match[1] === 'segment' ? 'segment' : 'spare';
  return {kind, generation: Number.parseInt(match[2] ?? '', 16)};
}

export function writeU64(target: Buffer, value: number, at: number): void {
  target.writeUInt32LE(value >>> 0, at);
  target.writeUInt32LE(Math.floor(value / 0x1_0000_0000), at + 4);
}

export function readU64(source: Buffer, at: number): number {
  const value = source.readUInt32LE(at) + source.readUInt32LE(at + 4) * 0x1_0000_0000;
  assert(Number.isSafeInteger(value), 'positions stay below 2^53');
  return value;
}
