/**
 * What every format of an import is read into, and what an export writes: records and, where a
 * format has it, the schema that they are of.
 */
import {Refusal} from '#server/base/errors.ts';
import type {DataType} from '#server/model/data-type.ts';
import type {MapValue, RecordKind} from '#server/model/value.ts';

export type ExchangedItem = ExchangedRecord | SchemaStatement | BadRecord;

export interface ExchangedRecord {
  readonly kind: RecordKind;
  readonly type: string;
  /**
   * The id by which edges and links of the same source name the record; undefined: nothing does.
   */
  readonly id?: string | undefined;
  /** Ids of an edge's ends. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  /** Whether an end that the source does not have may be a record id of the database. */
  readonly endsMayBeRecords?: boolean;
  readonly properties: MapValue;
  /** Where it stands in its source: a line, or the number of its record. */
  readonly place: number;
}

/** SQL that makes a part of the schema; comes before the records that need it. */
export interface SchemaStatement {
  readonly kind: 'schema';
  readonly statement: string;
  readonly place: number;
}

/** A record that cannot be read, in a source whose others can. */
export interface BadRecord {
  readonly kind: 'bad';
  readonly refusal: Refusal;
  readonly place: number;
}

/** The type that the schema declares for a property, as of now. */
export type DeclaredTypes = (type: string, property: string) => DataType | undefined;

/** What `read` gives, or why it gives nothing. */
export function itemOrBad<T extends ExchangedItem | undefined>(
  read: () => T,
  place: number,
): T | BadRecord {
  try {
    return read();
  } catch (error) {
    return badItem(error, place);
  }
}

/** A record that could not be read. @throws whatever else than a refusal that was. */
export function badItem(error: unknown, place: number): BadRecord {
  if (error instanceof Refusal) return {kind: 'bad', refusal: error, place};
  throw error;
}

/** A record that cannot be read, by its place. */
export function malformed(place: number, what: string): Refusal {
  return new Refusal('source.malformed', `record ${place} cannot be read: ${what}`, {
    detail: {line: place},
  });
}
