/**
 * What is kept with the id of an entry for whoever sends the same load again: how many records the
 * entry has, and the record ids that its named vertices got, in the order of their names.
 */
import {putRid, putUint32, ridAt, ridBytes, uint32At} from '#server/layout/namespace.ts';
import type {Rid} from '#server/model/value.ts';

const countBytes = 4;

export function encodeNote(records: number, rids: readonly Rid[]): Uint8Array {
  const note = new Uint8Array(countBytes + rids.length * ridBytes);
  putUint32(note, 0, records);
  for (const [at, rid] of rids.entries()) putRid(note, countBytes + at * ridBytes, rid);
  return note;
}

/** The record ids; undefined when the entry had other records than so many with so many names. */
export function decodeNote(
  note: Uint8Array | undefined,
  {records, names}: {readonly records: number; readonly names: number},
): readonly Rid[] | undefined {
  if (note?.length !== countBytes + names * ridBytes || uint32At(note, 0) !== records) {
    return undefined;
  }
  return Array.from({length: names}, (_one, at) => ridAt(note, countBytes + at * ridBytes));
}
