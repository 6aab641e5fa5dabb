/**
 * Rough bytes of what operators keep: for the budget, not for accounting. A record counts as a
 * few hundred bytes, since its packed bytes are kept alive with it.
 */
import {Rid, type Value} from '#server/model/value.ts';
import type {Batch} from '../batch.ts';

const valueBytes = 16;
const ridBytes = 40;
const recordBytes = 320;

export function estimateValue(value: Value): number {
  if (typeof value === 'string') return valueBytes + 2 * value.length;
  if (typeof value !== 'object' || value === null) return valueBytes;
  if (Array.isArray(value)) {
    let bytes = 32;
    for (const item of value) bytes += estimateValue(item);
    return bytes;
  }
  if (value instanceof Map) {
    let bytes = 64;
    for (const [key, item] of value) bytes += 48 + key.length + estimateValue(item);
    return bytes;
  }
  if (value instanceof Rid) return ridBytes;
  if (ArrayBuffer.isView(value)) return 64 + value.byteLength;
  return recordBytes;
}

export function estimateBatch(batch: Batch): number {
  let bytes = 64;
  for (const column of batch.columns) {
    if (column === undefined) continue;
    for (const value of column) bytes += estimateValue(value);
  }
  return bytes;
}
