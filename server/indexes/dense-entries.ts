/** The entry of a record in a dense vector index: its vector, as 32-bit floats. */
import {Refusal} from '#server/base/errors.ts';
import type {ByteWriter} from '#server/base/byte-writer.ts';
import type {IndexDefinition} from '#server/catalog/definition.ts';
import {denseOptionsOf} from '#server/catalog/vector-options.ts';
import {appendVectorEntry} from '#server/layout/posting-key.ts';
import type {Rid} from '#server/model/value.ts';
import type {IndexedRecord, IndexKey} from './index-parts.ts';
import {numbersOf} from './sparse-entries.ts';
import {WrittenEntry} from './written-entry.ts';

/**
 * None where the property is null.
 *
 * @throws {Refusal} `value.validation` for what is no vector of the index's dimensions.
 */
export function denseEntries(
  index: IndexDefinition,
  _declared: unknown,
  rid: Rid,
  record: IndexedRecord,
  out: ByteWriter,
): readonly IndexKey[] {
  const name = index.properties[0]?.name ?? '';
  const value = record.get(name) ?? null;
  if (value === null) return [];
  const {dimensions} = denseOptionsOf(index);
  const numbers = value instanceof Float32Array ? value : numbersOf(value);
  if (numbers === undefined) throw refused(index, `${name} is no list of numbers`);
  if (numbers.length !== dimensions) {
    throw refused(index, `${name} has ${numbers.length} dimensions, not ${dimensions}`);
  }
  const vector = Float32Array.from(numbers);
  if (!vector.every(element => Number.isFinite(element))) {
    throw refused(index, `${name} has an element that is no finite 32-bit number`);
  }
  const start = out.length;
  const keyEnd = appendVectorEntry(out, index.id, rid, vector);
  return [new WrittenEntry(index, name, out, {start, keyEnd})];
}

function refused(index: IndexDefinition, why: string): Refusal {
  return new Refusal('value.validation', `index '${index.name}': ${why}`, {
    detail: {index: index.name},
  });
}
