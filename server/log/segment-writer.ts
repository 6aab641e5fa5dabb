/**
 * Writes batches behind the end of one segment file (segment-format.ts).
 *
 * It knows the file and nothing else: where the log ends, and which thread may write there, is
 * its user's affair.
 */
import type {File} from '#server/platform/disk.ts';
import {
  batchHeaderBytes,
  ChainHasher,
  recordHeaderBytes,
  relaxedFlag,
  writeBatchHeader,
} from './segment-format.ts';

/** Where a segment ends, and what the next batch in it goes on from. */
export interface SegmentEnd {
  /** Index and chain value of the last record. */
  readonly lastIndex: number;
  readonly lastChain: number;
  /** Offset behind the last batch. */
  readonly end: number;
}

/** What a batch says besides its records. */
export interface BatchFacts {
  /** Every record up to this index was durable before. */
  readonly durableIndex: number;
  /** The server does not sync every commit. */
  readonly relaxed: boolean;
}

const stagingBytes = 64 << 10;
/** A larger batch does not leave its room behind. */
const stagingBytesMax = 4 << 20;

/** Bytes that the entries take as one batch. */
export function batchBytesOf(entries: readonly Uint8Array[]): number {
  let bytes = batchHeaderBytes + entries.length * recordHeaderBytes;
  for (const entry of entries) bytes += entry.length;
  return bytes;
}

export class SegmentWriter {
  readonly #file: File;
  readonly #seed: number;
  readonly #hasher = new ChainHasher();
  #staging = Buffer.allocUnsafeSlow(stagingBytes);

  /** Owns the file; `seed` is that of the segment's header (segmentSeed). */
  constructor(file: File, seed: number) {
    this.#file = file;
    this.#seed = seed;
  }

  /**
   * Writes the entries as one batch behind `place` and returns the place behind it; their chain
   * values go into `chains`, in order. Durable after `sync`. Throws what the file throws.
   */
  append(
    place: SegmentEnd,
    entries: readonly Uint8Array[],
    chains: Uint32Array,
    facts: BatchFacts,
  ): SegmentEnd {
    const batch = this.#compose(place, entries, chains, facts);
    this.#file.writeAt(batch, place.end);
    return {
      lastIndex: place.lastIndex + entries.length,
      lastChain: chains[entries.length - 1] ?? place.lastChain,
      end: place.end + batch.length,
    };
  }

  /** The segment ends at `place` on purpose; a later batch may take the place of the mark. */
  writeEndMark({lastIndex, lastChain, end}: SegmentEnd, durableIndex: number): void {
    const mark = Buffer.alloc(batchHeaderBytes);
    writeBatchHeader(mark, 0, this.#seed, {
      kind: 'end',
      bodyBytes: 0,
      recordCount: 0,
      previousChain: lastChain,
      firstIndex: lastIndex + 1,
      durableIndex,
      flags: 0,
    });
    this.#file.writeAt(mark, end);
  }

  /** Writes the bytes of `from` to `to` once more, as they read. */
  rewrite(from: number, to: number): void {
    const chunk = Buffer.alloc(Math.min(1 << 20, to - from));
    for (let at = from; at < to; at += chunk.length) {
      const bytes = chunk.subarray(0, Math.min(chunk.length, to - at));
      this.#file.readAt(bytes, at);
      this.#file.writeAt(bytes, at);
    }
  }

  sync(): void {
    this.#file.sync();
  }

  close(): void {
    this.#file.close();
  }

  #compose(
    {lastIndex, lastChain}: SegmentEnd,
    entries: readonly Uint8Array[],
    chains: Uint32Array,
    {durableIndex, relaxed}: BatchFacts,
  ): Buffer {
    const bytes = batchBytesOf(entries);
    if (this.#staging.length < bytes) this.#staging = Buffer.allocUnsafeSlow(bytes * 2);
    const target = this.#staging;
    const firstIndex = lastIndex + 1;
    writeBatchHeader(target, 0, this.#seed, {
      kind: 'batch',
      bodyBytes: bytes - batchHeaderBytes,
      recordCount: entries.length,
      previousChain: lastChain,
      firstIndex,
      durableIndex,
      flags: relaxed ? relaxedFlag : 0,
    });
    let at = batchHeaderBytes;
    let chain = lastChain;
    for (let number = 0; number < entries.length; number++) {
      const entry = entries[number] as Uint8Array;
      chain = this.#hasher.chain(this.#seed, firstIndex + number, chain, entry);
      chains[number] = chain;
      target.writeUInt32LE(entry.length, at);
      target.writeUInt32LE(chain, at + 4);
      target.set(entry, at + recordHeaderBytes);
      at += recordHeaderBytes + entry.length;
    }
    const composed = target.subarray(0, bytes);
    if (bytes > stagingBytesMax) this.#staging = Buffer.allocUnsafeSlow(stagingBytes);
    return composed;
  }
}
