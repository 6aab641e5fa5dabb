/**
 * Builds the bytes of a record property by property, where the number of properties is not known
 * beforehand (record.ts says what the bytes are).
 *
 * Bodies gather in one array, their table beside it; `writeTo` puts header, table and bodies
 * together at their place. No object is made for a record or a property, and one builder serves
 * any number of records one after another.
 */
import {ByteWriter} from '#server/base/byte-writer.ts';
import {Refusal} from '#server/base/errors.ts';
import type {Value} from '#server/model/value.ts';
import {edgeHeaderBytes, headerBytes, type RecordHeader, recordKinds, wideBit} from './record.ts';
import {writeHeader} from './record-encoding.ts';
import {readValue} from './stored-value-reader.ts';
import type {ValueTag} from './value-tag.ts';

const bodyBytes = 4 << 10;
const bodyBytesKept = 64 << 10;
const narrowMax = 0xffff;
const propertiesMax = 0xffff;
const nameIdMax = 0xffffff;
/** Up to this many properties a linear look is cheaper than a map. */
const scannedMax = 32;

export class RecordBuilder {
  /** The body of the open property is appended here. */
  readonly bodies = new ByteWriter(bodyBytes);
  #count = 0;
  #ids = new Int32Array(32);
  #tags = new Uint8Array(32);
  #offsets = new Float64Array(32);
  /** Slots of the first `#indexed` properties by id, once there are many. */
  readonly #slots = new Map<number, number>();
  #indexed = 0;

  /** Properties so far. */
  get count(): number {
    return this.#count;
  }

  /** Starts over with no property. */
  clear(): void {
    this.#count = 0;
    // What a huge record needed is not kept.
    if (this.bodies.bytes.length > bodyBytesKept) this.bodies.bytes = new Uint8Array(bodyBytes);
    this.bodies.clear();
    if (this.#indexed === 0) return;
    this.#slots.clear();
    this.#indexed = 0;
  }

  /**
   * Begins the next property; its body follows, then `close`. Ids are distinct.
   *
   * @throws {Refusal} `limit.record` when there are too many.
   */
  open(id: number): void {
    const slot = this.#count;
    if (slot >= propertiesMax) throw tooManyProperties();
    if (slot === this.#ids.length) this.#grow();
    this.#ids[slot] = id;
    this.#offsets[slot] = this.bodies.length;
  }

  close(tag: ValueTag): void {
    this.#tags[this.#count++] = tag;
  }

  has(id: number): boolean {
    return this.#slotOf(id) >= 0;
  }

  /** Ids of the properties so far, in their order. */
  ids(): readonly number[] {
    return [...this.#ids.subarray(0, this.#count)];
  }

  /** The value of a property that was written; undefined when there is none. */
  read(id: number): Value | undefined {
    const slot = this.#slotOf(id);
    if (slot < 0) return undefined;
    const isLast = slot + 1 === this.#count;
    const end = isLast ? this.bodies.length : (this.#offsets[slot + 1] as number);
    const start = this.#offsets[slot] as number;
    return readValue(this.#tags[slot] as number, this.bodies.bytes, start, end);
  }

  /** Bytes of the record. @throws {Refusal} `limit.record` when that is too much. */
  size(isEdge: boolean, bytesMax: number): number {
    const entryBytes = this.#isWide ? 8 : 6;
    const head = isEdge ? edgeHeaderBytes : headerBytes;
    const bytes = head + this.#count * entryBytes + this.bodies.length;
    if (bytes <= bytesMax) return bytes;
    throw new Refusal(
      'limit.record',
      `a record takes more than ${bytesMax} bytes (svc.recordSizeMax)`,
      {detail: {bytesMax}},
    );
  }

  /** Writes the record of `size` bytes at `offset`. */
  writeTo(bytes: Uint8Array, offset: number, header: RecordHeader): void {
    const isWide = this.#isWide;
    const count = this.#count;
    writeHeader(bytes, offset, header);
    bytes[offset + 1] = recordKinds.indexOf(header.kind) | (isWide ? wideBit : 0);
    bytes[offset + 14] = count;
    bytes[offset + 15] = count >>> 8;
    let at = offset + (header.kind === 'edge' ? edgeHeaderBytes : headerBytes);
    for (let slot = 0; slot < count; slot++) {
      const id = this.#ids[slot] as number;
      if (id > nameIdMax) throw new Refusal('limit.record', 'the database has too many names');
      const body = this.#offsets[slot] as number;
      bytes[at] = id;
      bytes[at + 1] = id >>> 8;
      bytes[at + 2] = id >>> 16;
      bytes[at + 3] = this.#tags[slot] as number;
      bytes[at + 4] = body;
      bytes[at + 5] = body >>> 8;
      at += 6;
      if (!isWide) continue;
      bytes[at] = body >>> 16;
      bytes[at + 1] = body >>> 24;
      at += 2;
    }
    const source = this.bodies.bytes;
    const {length} = this.bodies;
    if (length > shortCopyMax) bytes.set(source.subarray(0, length), at);
    else for (let from = 0; from < length; from++) bytes[at++] = source[from] as number;
  }

  #slotOf(id: number): number {
    if (this.#count > scannedMax) return this.#indexedSlotOf(id);
    for (let slot = 0; slot < this.#count; slot++) if (this.#ids[slot] === id) return slot;
    return -1;
  }

  #indexedSlotOf(id: number): number {
    while (this.#indexed < this.#count) {
      this.#slots.set(this.#ids[this.#indexed] as number, this.#indexed);
      this.#indexed++;
    }
    return this.#slots.get(id) ?? -1;
  }

  /** Decided as in record-encoding.ts: by where the last body begins. */
  get #isWide(): boolean {
    return this.#count > 0 && (this.#offsets[this.#count - 1] as number) > narrowMax;
  }

  #grow(): void {
    const capacity = this.#ids.length * 2;
    this.#ids = grown(this.#ids, new Int32Array(capacity));
    this.#tags = grown(this.#tags, new Uint8Array(capacity));
    this.#offsets = grown(this.#offsets, new Float64Array(capacity));
  }
}

const shortCopyMax = 64;

function tooManyProperties(): Refusal {
  return new Refusal('limit.record', `a record has at most ${propertiesMax} properties`);
}

function grown<A extends {set(from: A): void}>(from: A, into: A): A {
  into.set(from);
  return into;
}
