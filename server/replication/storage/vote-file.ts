/**
 * Term and vote of a member, in the two places of one small file in turn: overwritten where they
 * lie, so that an election costs one sync of data and no change of a directory.
 *
 * Each place holds two copies, each in a block of its own, and between them lies a block of the
 * other place. A power loss while one place is written leaves the other one whole, so what was
 * durable before is still there. Of what was durable, damage must hit both copies to be forgotten:
 * a bad block is answered by the other copy, and so is a block's worth of bytes on a border.
 * The checksum is seeded with the name of the memory, so the file of another one is not believed.
 *
 * Invariant: of the copies that verify, the one with the greatest number is the newest state that
 * was durable, or one that was being written when the process or the machine ended.
 * Source: docs/design/0017-log-of-a-cluster.md.
 */
import {crc32} from 'node:zlib';
import {assert} from '#server/base/assert.ts';
import {Corruption} from '#server/base/errors.ts';
import type {Disk, File} from '#server/platform/disk.ts';
import type {HardState} from '#server/raft/effect.ts';

/** What another thread needs to go on with the file. */
export interface VoteFileState {
  readonly path: string;
  readonly logId: string;
  readonly number: number;
}

/** Larger than what any disk loses at once. */
const blockBytes = 4096;
const places = 2;
const copies = 2;
const magic = 0x54565653; // "SVVT"
const headBytes = 16;

export class VoteFile {
  readonly #file: File;
  readonly #logId: string;
  /** The number of the last write. */
  #number: number;

  private constructor(file: File, logId: string, number: number) {
    this.#file = file;
    this.#logId = logId;
    this.#number = number;
  }

  /** Makes the file anew, whatever lies there. Durable on return. */
  static create(disk: Disk, path: string, logId: string, hardState: HardState): VoteFile {
    const file = disk.open(path, 'create');
    file.truncate(0);
    file.preallocate(places * copies * blockBytes);
    const votes = new VoteFile(file, logId, 0);
    votes.write(hardState);
    disk.syncDirectory(path.slice(0, path.lastIndexOf('/')));
    return votes;
  }

  /**
   * Opens the file and answers what it holds. What is answered is durable on return: it may have
   * been written and not synced by a process that ended.
   *
   * @throws {Corruption} when the file is gone or nothing in it verifies.
   */
  static open(
    disk: Disk,
    path: string,
    logId: string,
  ): {readonly votes: VoteFile; readonly hardState: HardState} {
    if (!disk.exists(path)) throw votesLost(path, 'is gone');
    const file = disk.open(path, 'write');
    const bytes = Buffer.alloc(places * copies * blockBytes);
    file.readAt(bytes, 0);
    let newest: Found | undefined;
    for (let at = 0; at < bytes.length; at += blockBytes) {
      const found = decode(bytes.subarray(at, at + blockBytes), logId);
      if (found !== undefined && found.number > (newest?.number ?? 0)) newest = found;
    }
    if (newest === undefined) {
      file.close();
      throw votesLost(path, 'is damaged');
    }
    const {number, hardState} = newest;
    const votes = new VoteFile(file, logId, number);
    votes.write(hardState);
    return {votes, hardState};
  }

  /** Goes on where another thread handed over. */
  static resume(disk: Disk, {path, logId, number}: VoteFileState): VoteFile {
    return new VoteFile(disk.open(path, 'write'), logId, number);
  }

  handOver(): VoteFileState {
    this.#file.close();
    return {path: this.#file.path, logId: this.#logId, number: this.#number};
  }

  /** Durable on return. Throws what the disk throws; the place that was durable is untouched. */
  write(hardState: HardState): void {
    const number = this.#number + 1;
    const block = encode(number, hardState, this.#logId);
    for (let copy = 0; copy < copies; copy++) {
      this.#file.writeAt(block, (copy * places + (number % places)) * blockBytes);
    }
    this.#file.sync();
    this.#number = number;
  }

  close(): void {
    this.#file.close();
  }
}

interface Found {
  readonly number: number;
  readonly hardState: HardState;
}

/** Magic, checksum, number, length of the text; the text. */
function encode(number: number, hardState: HardState, logId: string): Buffer {
  const block = Buffer.alloc(blockBytes);
  const length = block.write(JSON.stringify(hardState), headBytes, 'utf8');
  assert(headBytes + length < blockBytes, 'the name of a member is short');
  block.writeUInt32LE(magic, 0);
  block.writeUIntLE(number, 8, 6);
  block.writeUInt16LE(length, 14);
  block.writeUInt32LE(checksumOf(block, logId), 4);
  return block;
}

/** Undefined for what does not verify. */
function decode(block: Buffer, logId: string): Found | undefined {
  if (block.readUInt32LE(0) !== magic) return undefined;
  if (block.readUInt32LE(4) !== checksumOf(block, logId)) return undefined;
  const text = block.toString('utf8', headBytes, headBytes + block.readUInt16LE(14));
  const {term, vote} = JSON.parse(text) as HardState;
  return {number: block.readUIntLE(8, 6), hardState: {term, vote}};
}

function checksumOf(block: Buffer, logId: string): number {
  return crc32(block.subarray(8), crc32(logId));
}

/** That a member has forgotten what it promised. */
export function votesLost(path: string, how: string): Corruption {
  const detail = `term and vote of this member, ${path}, ${how}`;
  return new Corruption(`${detail}: remove it from the cluster and add it anew`, {path});
}
