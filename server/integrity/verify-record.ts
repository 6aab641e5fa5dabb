/**
 * Reads a record in every detail, what lies beside it included: it is whole, or it is told what
 * is wrong with it. Never throws for the bytes.
 */
import {Corruption, Refusal} from '#server/base/errors.ts';
import {recordFault} from '#server/layout/record-fault.ts';
import type {RecordSchema} from '#server/layout/record.ts';
import {type RecordPlace, StoredRecord} from '#server/layout/stored-record.ts';
import type {Rid} from '#server/model/value.ts';
import type {Reader} from '#server/storage/store.ts';
import {BesideFault, CompressedValueReader} from '#server/records/compressed-values.ts';

export interface RecordFault {
  readonly kind: 'record-damaged' | 'external-value-missing' | 'external-value-wrong';
  readonly says: string;
}

export interface SoundOrNot {
  /** Every value as it is; undefined when something is wrong. */
  readonly record?: StoredRecord;
  readonly fault?: RecordFault;
}

/** The record in bytes [offset, offset + length); `reader` has what lies beside it. */
export function verifyRecord(
  reader: Reader,
  schema: RecordSchema,
  rid: Rid,
  {bytes, offset, length}: RecordPlace,
): SoundOrNot {
  const says = recordFault(bytes, offset, length);
  if (says !== undefined) return {fault: {kind: 'record-damaged', says}};
  const stored = new StoredRecord(rid, bytes, schema, {offset, length});
  if (!stored.isCompressed) return {record: stored};
  try {
    const record = new CompressedValueReader(reader).decompress(stored);
    const uncompressed = recordFault(record.bytes, record.offset, record.length);
    if (uncompressed === undefined) return {record};
    return {fault: {kind: 'record-damaged', says: uncompressed}};
  } catch (error) {
    return {fault: faultOf(stored, error)};
  }
}

function faultOf({schema}: StoredRecord, error: unknown): RecordFault {
  if (error instanceof BesideFault) {
    const kind = error.isMissing ? 'external-value-missing' : 'external-value-wrong';
    return {kind, says: `'${schema.propertyName(error.property)}': ${error.message}`};
  }
  if (error instanceof Corruption || error instanceof Refusal) {
    return {kind: 'record-damaged', says: error.message};
  }
  throw error;
}
