/**
 * Full tables of temporary ids on disk.
 *
 * A table is written as it lay in memory; a look-up reads the few slots where the hash must be.
 * A filter in memory (ten bits an id) tells nearly always which tables do not have it. The file
 * has no name as soon as it is open, so it is gone with the process.
 */
import type {Disk, File} from '#server/platform/disk.ts';

/** Four of the hash, two of the record; the last one is 0 in a free slot. */
export const wordsPerSlot = 6;
const slotBytes = wordsPerSlot * 4;
const slotsAtOnce = 16;
const filterBitsPerId = 10;
const filterProbes = 4;

interface SpilledTable {
  readonly offset: number;
  readonly slots: number;
  readonly filter: Uint32Array;
}

export interface FoundId {
  readonly position: number;
  readonly last: number;
}

export class SpilledIds {
  readonly #disk: Disk;
  readonly #directory: string;
  readonly #name: string;
  readonly #tables: SpilledTable[] = [];
  readonly #buffer = Buffer.allocUnsafeSlow(slotsAtOnce * slotBytes);
  readonly #words = new Uint32Array(this.#buffer.buffer, 0, slotsAtOnce * wordsPerSlot);
  #file: File | undefined;
  #bytes = 0;

  /** The directory is made when the first table comes; `name` is unique in it. */
  constructor(disk: Disk, directory: string, name: string) {
    this.#disk = disk;
    this.#directory = directory;
    this.#name = name;
  }

  add(words: Uint32Array, used: number): void {
    const file = (this.#file ??= this.#open());
    const offset = this.#bytes;
    file.writeAt(new Uint8Array(words.buffer, words.byteOffset, words.byteLength), offset);
    this.#bytes += words.byteLength;
    const filter = new Uint32Array(Math.ceil((used * filterBitsPerId) / 32) + 1);
    for (let at = 0; at < words.length; at += wordsPerSlot) {
      if (words[at + 5] === 0) continue;
      for (let probe = 0; probe < filterProbes; probe++) {
        const bit = filterBit(filter, words[at + 2] as number, words[at + 3] as number, probe);
        filter[bit >>> 5] = (filter[bit >>> 5] as number) | (1 << (bit & 31));
      }
    }
    this.#tables.push({offset, slots: words.length / wordsPerSlot, filter});
  }

  /** The newest record of the id with this hash. */
  find(hash: Uint32Array): FoundId | undefined {
    for (let number = this.#tables.length - 1; number >= 0; number--) {
      const table = this.#tables[number] as SpilledTable;
      if (!mayHave(table.filter, hash)) continue;
      const found = this.#findIn(table, hash);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  close(): void {
    this.#file?.close();
    this.#file = undefined;
    this.#tables.length = 0;
  }

  #findIn(table: SpilledTable, hash: Uint32Array): FoundId | undefined {
    const mask = table.slots - 1;
    const words = this.#words;
    let slot = (hash[0] as number) & mask;
    for (;;) {
      const count = Math.min(slotsAtOnce, table.slots - slot);
      this.#file?.readAt(
        this.#buffer.subarray(0, count * slotBytes),
        table.offset + slot * slotBytes,
      );
      for (let at = 0; at < count * wordsPerSlot; at += wordsPerSlot) {
        const last = words[at + 5] as number;
        if (last === 0) return undefined;
        if (
          words[at] === hash[0] &&
          words[at + 1] === hash[1] &&
          words[at + 2] === hash[2] &&
          words[at + 3] === hash[3]
        ) {
          return {position: words[at + 4] as number, last};
        }
      }
      slot = (slot + count) & mask;
    }
  }

  #open(): File {
    if (!this.#disk.exists(this.#directory)) this.#disk.makeDirectory(this.#directory);
    const path = `${this.#directory}/${this.#name}`;
    const file = this.#disk.open(path, 'create');
    this.#disk.unlink(path);
    return file;
  }
}

function mayHave(filter: Uint32Array, hash: Uint32Array): boolean {
  for (let probe = 0; probe < filterProbes; probe++) {
    const bit = filterBit(filter, hash[2] as number, hash[3] as number, probe);
    if (((filter[bit >>> 5] as number) & (1 << (bit & 31))) === 0) return false;
  }
  return true;
}

/** The words that do not choose the slot choose the bits. */
function filterBit(filter: Uint32Array, first: number, second: number, probe: number): number {
  return ((first + Math.imul(probe, second)) >>> 0) % (filter.length * 32);
}
