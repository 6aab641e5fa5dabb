/** What lies in a file of the simulated disk: as the system reads it, and as the disk has it. */
import type {SeededRandom} from './seeded-random.ts';

const sectorBytes = 512;

export interface PendingWrite {
  readonly offset: number;
  readonly bytes: Buffer;
}

/** What lies on the disk under one or more names. */
export class FileContent {
  /** What the running system reads. */
  current: Buffer = Buffer.alloc(0);
  /** What a power loss leaves, before pending parts are added. */
  durable: Buffer = Buffer.alloc(0);
  pending: PendingWrite[] = [];
  /** Where the last sync wrote, and where a power loss may have kept something since. */
  #newest: readonly PendingWrite[] = [];

  write(offset: number, source: Uint8Array): void {
    const bytes = Buffer.from(source);
    this.current = overwrite(this.current, offset, bytes);
    this.pending.push({offset, bytes});
  }

  sync(): void {
    for (const {offset, bytes} of this.pending) {
      this.durable = overwrite(this.durable, offset, bytes);
    }
    if (this.pending.length > 0) this.#newest = this.pending;
    this.pending = [];
  }

  /** What a failed sync gave up is read from memory for a while, and is never written. */
  giveUp(): void {
    this.pending = [];
  }

  truncate(size: number): void {
    this.current = Buffer.from(this.current.subarray(0, size));
    if (this.durable.length > size) this.durable = Buffer.from(this.durable.subarray(0, size));
    this.pending = this.pending.filter(({offset, bytes}) => offset + bytes.length <= size);
  }

  /** Other bytes have come to lie here than were written; memory may still have the right ones. */
  damage(offset: number, bytes: Buffer, isInMemory: boolean): void {
    const part = bytes.subarray(0, Math.max(0, this.durable.length - offset));
    this.durable = overwrite(this.durable, offset, part);
    if (!isInMemory) this.current = overwrite(this.current, offset, part);
  }

  /** Whether one of these bytes may be of the last batch. */
  isNewest(from: number, size: number): boolean {
    return this.#newest.some(
      ({offset, bytes}) => from < offset + bytes.length && from + size > offset,
    );
  }

  crash(random: SeededRandom): void {
    let survivor = this.durable;
    const mood = random.below(4);
    for (const write of this.pending) {
      if (mood === 0) continue;
      if (mood === 1) survivor = overwrite(survivor, write.offset, write.bytes);
      else survivor = keepSectors(survivor, write, random);
    }
    this.current = survivor;
    this.durable = Buffer.from(survivor);
    this.#newest = [...this.#newest, ...this.pending];
    this.pending = [];
  }
}

function overwrite(target: Buffer, offset: number, bytes: Buffer): Buffer {
  const size = Math.max(target.length, offset + bytes.length);
  const result = size > target.length ? Buffer.alloc(size) : target;
  if (result !== target) target.copy(result);
  // The durable buffer is shared with nobody: a copy is made where it was taken over.
  bytes.copy(result, offset);
  return result;
}

/** A sector is written whole or not at all; which ones is up to chance. */
function keepSectors(target: Buffer, write: PendingWrite, random: SeededRandom): Buffer {
  let result: Buffer = Buffer.from(target);
  const end = write.offset + write.bytes.length;
  for (let at = write.offset; at < end; ) {
    const sectorEnd = Math.min(end, (Math.floor(at / sectorBytes) + 1) * sectorBytes);
    if (random.chance(50)) {
      const part = write.bytes.subarray(at - write.offset, sectorEnd - write.offset);
      result = overwrite(result, at, part);
    }
    at = sectorEnd;
  }
  return result;
}
