/**
 * Files kept ready for the next segments: zero-filled or left over from recycled ones.
 *
 * A spare file has no meaning: losing one loses nothing, so only its promotion to a segment
 * (segment-log.ts) is synced. Recycling renames a segment to a spare and syncs the directory
 * before the next one goes, so that a crash leaves no gap in the row of segments.
 */
import type {Disk, File} from '#server/platform/disk.ts';
import {parseName, spareName} from './segment-format.ts';
import type {SegmentInfo} from './segment-recovery.ts';

const sparesMax = 2;
/** Synced as it is made: a segment in one go holds up the log for as long as the disk takes. */
const stepBytes = 256 << 10;

export interface Spare {
  readonly path: string;
  readonly file: File;
}

/** Nobody else changes the file: its size is known, and is asked for behind every batch. */
interface KeptSpare extends Spare {
  size: number;
}

export class SpareSegments {
  readonly #disk: Disk;
  readonly #directory: string;
  readonly #spares: KeptSpare[] = [];
  #nextNumber = 1;
  #synced = false;
  #gaveUp = false;

  /** Takes over the spare files that it finds. */
  constructor(disk: Disk, directory: string) {
    this.#disk = disk;
    this.#directory = directory;
    for (const name of disk.list(directory)) {
      const parsed = parseName(name);
      if (parsed === undefined) continue;
      this.#nextNumber = Math.max(this.#nextNumber, parsed.generation + 1);
      if (parsed.kind === 'spare') this.#open(`${directory}/${name}`);
    }
  }

  /** Whether the next spare has `capacity` bytes. */
  isReady(capacity: number): boolean {
    const [spare] = this.#spares;
    if (this.#gaveUp) return true;
    return spare !== undefined && this.#synced && spare.size >= capacity;
  }

  /** How much of the next spare of `capacity` bytes there is: 0 to 1. */
  preparedShare(capacity: number): number {
    return Math.min(1, (this.#spares[0]?.size ?? 0) / capacity);
  }

  /**
   * Zero-fills one step of the next spare; true while there is more to do. A disk that fails or
   * is full costs the spare, not the log: nobody's data is in it. It is tried again when the
   * next segment is needed.
   */
  prepare(capacity: number): boolean {
    if (this.isReady(capacity)) return false;
    try {
      return this.#prepareStep(capacity);
    } catch (error) {
      if (!(error instanceof Error && 'code' in error)) throw error;
      this.#gaveUp = true;
      const spare = this.#spares.shift();
      spare?.file.close();
      if (spare !== undefined) this.#disk.unlink(spare.path);
      return false;
    }
  }

  #prepareStep(capacity: number): boolean {
    const spare = this.#spares[0] ?? this.#make();
    if (spare.size < capacity) {
      const size = Math.min(capacity, spare.size + stepBytes);
      spare.file.preallocate(size);
      spare.size = size;
    }
    spare.file.sync();
    this.#synced = true;
    return spare.size < capacity;
  }

  /** The next spare, made as large as `capacity` first; the caller owns it from now on. */
  give(capacity: number): Spare {
    const spare = this.#spares[0] ?? this.#make();
    if (spare.size < capacity) spare.file.preallocate(capacity);
    this.#spares.shift();
    this.#synced = false;
    this.#gaveUp = false;
    return spare;
  }

  /** Takes over a segment that nobody needs any more; durable on return. */
  take(segment: SegmentInfo, capacityMax: number): void {
    if (this.#spares.length >= sparesMax || segment.capacity > capacityMax) {
      this.#disk.unlink(segment.path);
    } else {
      const path = `${this.#directory}/${spareName(this.#nextNumber++)}`;
      this.#disk.rename(segment.path, path);
      this.#open(path);
    }
    this.#disk.syncDirectory(this.#directory);
  }

  close(): void {
    for (const spare of this.#spares) spare.file.close();
    this.#spares.length = 0;
  }

  #make(): KeptSpare {
    return this.#open(`${this.#directory}/${spareName(this.#nextNumber++)}`);
  }

  #open(path: string): KeptSpare {
    const file = this.#disk.open(path, 'create');
    const spare = {path, file, size: file.size()};
    this.#spares.push(spare);
    if (this.#spares.length === 1) this.#synced = false;
    return spare;
  }
}
