/**
 * Records, buckets and edges as of a snapshot (with own writes where the reader is a transaction).
 *
 * Records come as StoredRecord over bytes that are theirs; those that are kept are packed
 * together. Edges come as rows of adjacency keys.
 */
import {EdgeCursor, type EdgeDirection, edgeRanges} from '#server/indexes/edge-cursor.ts';
import {putRecordKey, recordKey, recordKeyBytes} from '#server/layout/record-key.ts';
import type {RecordSchema} from '#server/layout/record.ts';
import {StoredRecord} from '#server/layout/stored-record.ts';
import type {Rid} from '#server/model/value.ts';
import {createPackedRows, getManyGrowing, packKeys} from '#server/storage/packed-rows.ts';
import {ABSENT, type Reader} from '#server/storage/store.ts';
import {CompressedValueReader} from './compressed-values.ts';

const rowHeaderBytes = 8;
const manyBufferBytes = 64 << 10;
/** Keys in one packed call: about as many records as the buffer holds. */
const manyKeysMax = 256;
const arenaBytes = 16 << 10;
const recordBytesExpected = 256;

/**
 * The record, or undefined when there is none (a light edge has none).
 *
 * @param compressed - Says which of its compressed values are read with it; default: all.
 */
export function loadRecord(
  reader: Reader,
  schema: RecordSchema,
  rid: Rid,
  compressed?: CompressedValueReader,
): StoredRecord | undefined {
  if (rid.position < 0) return undefined;
  // A piece of a shared slab: the store needs bytes outside of the heap, small arrays lie inside.
  const key = Buffer.allocUnsafe(recordKeyBytes);
  putRecordKey(key, 0, rid);
  const bytes = reader.get(key);
  if (bytes === undefined) return undefined;
  const record = new StoredRecord(rid, bytes, schema);
  return record.isCompressed
    ? (compressed ?? new CompressedValueReader(reader)).decompress(record)
    : record;
}

/**
 * Works like `loadRecord`, for a caller that may not want its compressed values: each is read when
 * it is asked for.
 */
export function loadLate(reader: Reader, schema: RecordSchema, rid: Rid): StoredRecord | undefined {
  return loadRecord(reader, schema, rid, new CompressedValueReader(reader, () => false));
}

/** The records in the order of `rids`; undefined for what does not exist. */
export function loadMany(
  reader: Reader,
  schema: RecordSchema,
  rids: readonly Rid[],
  compressed?: CompressedValueReader,
): readonly (StoredRecord | undefined)[] {
  if (rids.length === 0) return [];
  if (rids.length === 1) return [loadRecord(reader, schema, rids[0] as Rid, compressed)];
  let hasCompressed = false;
  const records: (StoredRecord | undefined)[] = [];
  // Buffers as large as the records may be expected to be: most calls are for a few of them.
  const arena = new Arena(Math.min(arenaBytes, rids.length * recordBytesExpected));
  let rows = createPackedRows(Math.min(manyBufferBytes, rids.length * 2 * recordBytesExpected));
  while (records.length < rids.length) {
    // A light edge's id is packed as a key that no record has, so that the order stays.
    const asked = rids.slice(records.length, records.length + manyKeysMax);
    rows = getManyGrowing(reader, packKeys(asked.map(recordKey)), asked.length, rows);
    let at = 0;
    for (let row = 0; row < rows.rowCount; row++) {
      const rid = rids[records.length] as Rid;
      const valueLength = rows.buffer.readUInt32LE(at + 4);
      const start = at + rowHeaderBytes + rows.buffer.readUInt32LE(at);
      const absent = valueLength === ABSENT;
      if (absent || rid.position < 0) records.push(undefined);
      else {
        const place = {offset: start, length: valueLength};
        const record = new StoredRecord(rid, rows.buffer, schema, place);
        hasCompressed ||= record.isCompressed;
        records.push(arena.keep(record));
      }
      at = start + (absent ? 0 : valueLength);
    }
  }
  return hasCompressed
    ? (compressed ?? new CompressedValueReader(reader)).decompressAll(records)
    : records;
}

/** Packs kept records into shared chunks: one allocation for many of them. */
class Arena {
  private readonly chunkBytes: number;
  private chunk = new Uint8Array(0);
  private used = 0;

  constructor(chunkBytes: number) {
    this.chunkBytes = chunkBytes;
  }

  keep(record: StoredRecord): StoredRecord {
    const {bytes, offset, length} = record;
    if (length > this.chunkBytes / 4) return record.keep();
    if (this.used + length > this.chunk.length) {
      this.chunk = new Uint8Array(this.chunkBytes);
      this.used = 0;
    }
    this.chunk.set(bytes.subarray(offset, offset + length), this.used);
    const place = {offset: this.used, length};
    this.used += length;
    return new StoredRecord(record.rid, this.chunk, record.schema, place);
  }
}

/**
 * Edges of vertices, vertex by vertex in the order given; of one vertex outgoing before
 * incoming, then by edge type, other end, edge.
 *
 * @param edgeTypeIds - Types wanted, subtypes included; undefined: every type.
 */
export function edgesOf(
  reader: Reader,
  vertices: readonly Rid[],
  direction: EdgeDirection,
  edgeTypeIds: ReadonlySet<number> | undefined,
): EdgeCursor {
  return new EdgeCursor(reader, edgeRanges(vertices, direction, edgeTypeIds), {types: edgeTypeIds});
}
