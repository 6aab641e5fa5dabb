/**
 * Temporary ids of one bulk load and the records they stand for.
 *
 * An id is kept as 128 bits of hash and not as a text: up to 16 bytes the hash is one to one for
 * texts of one length, beyond that a collision is out of reach of chance. The table is one typed
 * array; when it has reached its share of memory it goes to disk as it is (bulk-ids-disk.ts) and
 * a new one is begun, so memory is bounded and an id is looked for in the newest table first.
 * Source of the hash: MurmurHash3 x86_128 (Austin Appleby, public domain).
 */
import {Refusal} from '#server/base/errors.ts';
import {Rid} from '#server/model/value.ts';
import {type SpilledIds, wordsPerSlot} from './bulk-ids-disk.ts';

const slotsMin = 1 << 12;
/** What a table takes from the beginning. */
export const idBytesMin = slotsMin * wordsPerSlot * 4;
/** Numerator of the load at which a table counts as full, over 8. */
const fullEighths = 6;

export interface BulkIdsOptions {
  /** `svc.batch.idMapMax`. */
  readonly countMax: number;
  /** `svc.batch.idMapMemoryMax`. */
  readonly memoryBytesMax: number;
  /** Takes full tables. */
  readonly spill: SpilledIds;
  /** Asked before the table takes so many bytes; false: it goes to disk instead. Absent: it may. */
  readonly mayTake?: (bytes: number) => boolean;
  /** The seed is drawn by chance, so that nobody can choose ids whose hashes meet. */
  readonly seed: number;
}

/** Ids in UTF-8 to record ids. The last record of an id counts. */
export class BulkIds {
  readonly #options: BulkIdsOptions;
  readonly #slotsMax: number;
  readonly #hash = new Uint32Array(4);
  readonly #buckets: number[] = [];
  readonly #bucketNumbers = new Map<number, number>();
  #words = new Uint32Array(slotsMin * wordsPerSlot);
  #used = 0;
  #count = 0;

  constructor(options: BulkIdsOptions) {
    this.#options = options;
    const slots = options.memoryBytesMax / (wordsPerSlot * 4);
    this.#slotsMax = Math.max(slotsMin, 2 ** Math.floor(Math.log2(slots)));
  }

  /** Ids that were added; one added twice counts twice once its table is on disk. */
  get size(): number {
    return this.#count;
  }

  /** @throws {Refusal} `argument` when there are `svc.batch.idMapMax` ids. */
  checkRoom(): void {
    const {countMax} = this.#options;
    if (this.#count < countMax) return;
    throw new Refusal(
      'argument',
      `the batch defines more than ${countMax} temporary ids (svc.batch.idMapMax): split it, or ` +
        'refer to vertices of an earlier batch by their record ids',
    );
  }

  set(bytes: Uint8Array, start: number, end: number, rid: Rid): void {
    this.#makeRoom();
    hash128(bytes, start, end, {seed: this.#options.seed, into: this.#hash});
    const at = slotOf(this.#words, this.#hash);
    const words = this.#words;
    if (words[at + 5] === 0) {
      words.set(this.#hash, at);
      this.#used++;
      this.#count++;
    }
    words[at + 4] = rid.position >>> 0;
    // Never 0, so that it marks the slot as taken: bucket number + 1, then position / 2^32.
    words[at + 5] = (this.#bucketNumber(rid.bucket) + 1) * 0x10000 + upper(rid.position);
  }

  get(bytes: Uint8Array, start: number, end: number): Rid | undefined {
    hash128(bytes, start, end, {seed: this.#options.seed, into: this.#hash});
    const at = slotOf(this.#words, this.#hash);
    const last = this.#words[at + 5] as number;
    if (last !== 0) return this.#rid(this.#words[at + 4] as number, last);
    const found = this.#options.spill.find(this.#hash);
    return found === undefined ? undefined : this.#rid(found.position, found.last);
  }

  /** Frees memory and disk. */
  close(): void {
    this.#words = new Uint32Array(0);
    this.#options.spill.close();
  }

  #rid(position: number, last: number): Rid {
    const bucket = this.#buckets[(last >>> 16) - 1] as number;
    return new Rid(bucket, (last & 0xffff) * 0x1_0000_0000 + position);
  }

  #bucketNumber(bucket: number): number {
    const known = this.#bucketNumbers.get(bucket);
    if (known !== undefined) return known;
    const number = this.#buckets.length;
    if (number >= bucketsMax) {
      throw new Refusal('argument', `one batch fills at most ${bucketsMax} buckets`);
    }
    this.#buckets.push(bucket);
    this.#bucketNumbers.set(bucket, number);
    return number;
  }

  #makeRoom(): void {
    const slots = this.#words.length / wordsPerSlot;
    if (this.#used * 8 < slots * fullEighths) return;
    const {mayTake = () => true} = this.#options;
    if (slots < this.#slotsMax && mayTake(slots * 2 * wordsPerSlot * 4)) {
      this.#words = rehashed(this.#words, slots * 2);
      return;
    }
    this.#options.spill.add(this.#words, this.#used);
    this.#words.fill(0);
    this.#used = 0;
  }
}

const bucketsMax = 0xfffe;

function upper(position: number): number {
  return Math.floor(position / 0x1_0000_0000);
}

/** Where the hash is, or the free slot where it would be. */
function slotOf(words: Uint32Array, hash: Uint32Array): number {
  const slots = words.length / wordsPerSlot;
  const first = hash[0] as number;
  const second = hash[1] as number;
  const third = hash[2] as number;
  const fourth = hash[3] as number;
  for (let slot = first & (slots - 1); ; slot = (slot + 1) & (slots - 1)) {
    const at = slot * wordsPerSlot;
    if (words[at + 5] === 0) return at;
    if (
      words[at] === first &&
      words[at + 1] === second &&
      words[at + 2] === third &&
      words[at + 3] === fourth
    ) {
      return at;
    }
  }
}

function rehashed(words: Uint32Array, slots: number): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(slots * wordsPerSlot);
  for (let at = 0; at < words.length; at += wordsPerSlot) {
    if (words[at + 5] === 0) continue;
    larger.set(words.subarray(at, at + wordsPerSlot), slotOf(larger, words.subarray(at, at + 4)));
  }
  return larger;
}

const factor1 = 0x239b961b;
const factor2 = 0xab0e9789;
const factor3 = 0x38b34ae5;
const factor4 = 0xa1e38b93;

/** The 128-bit hash of bytes [start, end). */
function hash128(
  bytes: Uint8Array,
  start: number,
  end: number,
  {seed, into}: {readonly seed: number; readonly into: Uint32Array},
): void {
  const length = end - start;
  let h1 = seed;
  let h2 = seed;
  let h3 = seed;
  let h4 = seed;
  for (let at = start; at < end; at += 16) {
    const k1 = turned(Math.imul(word(bytes, at, end), factor1), 15);
    const k2 = turned(Math.imul(word(bytes, at + 4, end), factor2), 16);
    const k3 = turned(Math.imul(word(bytes, at + 8, end), factor3), 17);
    const k4 = turned(Math.imul(word(bytes, at + 12, end), factor4), 18);
    h1 ^= Math.imul(k1, factor2);
    h1 = (Math.imul(turned(h1, 19) + h2, 5) + 0x561ccd1b) | 0;
    h2 ^= Math.imul(k2, factor3);
    h2 = (Math.imul(turned(h2, 17) + h3, 5) + 0x0bcaa747) | 0;
    h3 ^= Math.imul(k3, factor4);
    h3 = (Math.imul(turned(h3, 15) + h4, 5) + 0x96cd1c35) | 0;
    h4 ^= Math.imul(k4, factor1);
    h4 = (Math.imul(turned(h4, 13) + h1, 5) + 0x32ac3b17) | 0;
  }
  h1 ^= length;
  h2 ^= length;
  h3 ^= length;
  h4 ^= length;
  h1 = (h1 + h2 + h3 + h4) | 0;
  h2 = mixed((h2 + h1) | 0);
  h3 = mixed((h3 + h1) | 0);
  h4 = mixed((h4 + h1) | 0);
  h1 = mixed(h1);
  h1 = (h1 + h2 + h3 + h4) | 0;
  into[0] = h1;
  into[1] = h2 + h1;
  into[2] = h3 + h1;
  into[3] = h4 + h1;
}

/** Four bytes, zeros behind the end. */
function word(bytes: Uint8Array, at: number, end: number): number {
  if (at + 4 <= end) {
    return (
      (bytes[at] as number) |
      ((bytes[at + 1] as number) << 8) |
      ((bytes[at + 2] as number) << 16) |
      ((bytes[at + 3] as number) << 24)
    );
  }
  let value = 0;
  for (let shift = 0; at < end; at++, shift += 8) value |= (bytes[at] as number) << shift;
  return value;
}

function turned(value: number, bits: number): number {
  return (value << bits) | (value >>> (32 - bits));
}

function mixed(value: number): number {
  let hash = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
