/**
 * Columns of some properties of the records at `rowGroupRows` neighbouring positions of a bucket.
 *
 * A position is never given to another record, so a row's place is its position and a change
 * touches one place. A column holds what it can hold exactly: whole numbers that doubles hold,
 * doubles but NaN, or texts as codes of a dictionary; null and an absent property are alike, as
 * they are to expressions. One value of another kind makes the column `mixed`: it answers nothing,
 * and its readers turn to the records.
 */
import {
  bodyOffsetAt,
  findProperty,
  nameIdAt,
  recordLayout,
  recordTypeId,
} from '#server/layout/record.ts';
import {readDouble, readInteger} from '#server/layout/stored-value-reader.ts';
import {valueTag} from '#server/layout/value-tag.ts';
import type {TextCodes} from './text-codes.ts';

/** A row is the low 16 bits of a position (lowPositionOfRecordKey). */
export const rowGroupRows = 65_536;

const typesMax = 255;

/** `empty`: nothing but nulls so far; of every kind at once. */
export type ColumnKind = 'empty' | 'integer' | 'double' | 'text' | 'mixed';

const noNumbers = new Float64Array(rowGroupRows).fill(Number.NaN);
const noCodes = new Uint16Array(rowGroupRows);
/** Made when first wanted: it takes milliseconds. */
let everyRow: Uint16Array | undefined;

export class Column {
  /** The name's id in records. */
  readonly property: number;
  readonly texts: TextCodes;
  kind: ColumnKind = 'empty';
  /** Set for numeric and empty columns; null is NaN. */
  numbers = noNumbers;
  /** Set for text and empty columns; null is 0. */
  codes = noCodes;
  /** No number is farther from zero. */
  magnitude = 0;
  /** Rows with a record that has no value; of a mixed column no more than so many. */
  nulls = 0;

  constructor(property: number, texts: TextCodes) {
    this.property = property;
    this.texts = texts;
  }

  get bytes(): number {
    return (
      (this.numbers === noNumbers ? 0 : this.numbers.byteLength) +
      (this.codes === noCodes ? 0 : this.codes.byteLength)
    );
  }

  get hasNulls(): boolean {
    return this.nulls > 0;
  }

  /** The record at the row is gone. */
  clear(row: number): void {
    // What a mixed column had there nobody knows.
    if (this.kind === 'mixed') return;
    const isNull = this.kind === 'text' ? this.codes[row] === 0 : Number.isNaN(this.numbers[row]);
    if (isNull) this.nulls--;
    else if (this.kind === 'text') this.codes[row] = 0;
    else this.numbers[row] = Number.NaN;
  }

  /** Puts the stored value with `tag`, whose body is bytes [start, end), at `row`. */
  put(row: number, tag: number, bytes: Uint8Array, start: number, end: number): void {
    switch (tag) {
      case valueTag.null:
        this.nulls++;
        return;
      case valueTag.byte:
      case valueTag.short:
      case valueTag.integer:
      case valueTag.long:
        this.putNumber(row, 'integer', readInteger(bytes, start, end));
        return;
      case valueTag.float:
      case valueTag.double:
        this.putNumber(row, 'double', readDouble(bytes, start, end));
        return;
      case valueTag.text:
      case valueTag.textToEscape:
        this.putText(row, this.kind === 'mixed' ? 0 : this.texts.codeOf(bytes, start, end));
        return;
      default:
        this.mix();
    }
  }

  private putNumber(row: number, kind: 'integer' | 'double', value: number | bigint): void {
    if (this.kind !== kind) {
      if (this.kind !== 'empty') return this.mix();
      this.kind = kind;
      this.numbers = new Float64Array(rowGroupRows).fill(Number.NaN);
    }
    // Neither is NaN to be told from null, nor is a larger integer a double.
    if (typeof value === 'bigint' || Number.isNaN(value)) return this.mix();
    this.numbers[row] = value;
    const size = value < 0 ? -value : value;
    if (size > this.magnitude) this.magnitude = size;
  }

  /** @param code - 0: the dictionary is full. */
  private putText(row: number, code: number): void {
    if (this.kind !== 'text') {
      if (this.kind !== 'empty') return this.mix();
      this.kind = 'text';
      this.codes = new Uint16Array(rowGroupRows);
    }
    if (code === 0) return this.mix();
    this.codes[row] = code;
  }

  private mix(): void {
    this.kind = 'mixed';
    this.numbers = noNumbers;
    this.codes = noCodes;
  }
}

export class RowGroup {
  /** What is at a row: 0 nothing, else 1 + the place of its type in `typeIds`. */
  readonly types = new Uint8Array(rowGroupRows);
  readonly typeIds: number[] = [];
  /** Records in it. */
  count = 0;
  /** Too many types for it: then it answers nothing. */
  isMixed = false;
  readonly columns: readonly Column[];
  /** Where each property stood in the table of the record before: the next is likely alike. */
  private readonly places: number[];
  private lastTypeId = -1;
  private lastCode = 0;

  constructor(columns: readonly Column[]) {
    this.columns = columns;
    this.places = columns.map(() => 0);
  }

  get bytes(): number {
    return this.columns.reduce((sum, column) => sum + column.bytes, this.types.byteLength);
  }

  column(property: number): Column | undefined {
    return this.columns.find(column => column.property === property);
  }

  /** Puts the record in bytes [start, end) at `row`, where none is. */
  put(row: number, bytes: Uint8Array, start: number, end: number): void {
    this.types[row] = this.codeOfType(recordTypeId(bytes, start));
    this.count++;
    const {table, entryBytes, tableEnd} = recordLayout(bytes, start);
    for (let at = 0; at < this.columns.length; at++) {
      const column = this.columns[at] as Column;
      let entry = table + (this.places[at] as number) * entryBytes;
      if (entry >= tableEnd || nameIdAt(bytes, entry) !== column.property) {
        const place = findProperty(bytes, start, column.property);
        if (place < 0) {
          column.nulls++;
          continue;
        }
        this.places[at] = place;
        entry = table + place * entryBytes;
      }
      const behind = entry + entryBytes;
      const from = tableEnd + bodyOffsetAt(bytes, entry, entryBytes);
      const to = behind < tableEnd ? tableEnd + bodyOffsetAt(bytes, behind, entryBytes) : end;
      column.put(row, bytes[entry + 3] as number, bytes, from, to);
    }
  }

  /**
   * Writes the rows of records of the types into `into`, which has room for all; how many.
   */
  select(typeIds: ReadonlySet<number>, into: Uint16Array): number {
    if (this.count === rowGroupRows && this.typeIds.every(id => typeIds.has(id))) {
      everyRow ??= noCodes.map((_, row) => row);
      into.set(everyRow);
      return rowGroupRows;
    }
    const wanted = new Uint8Array(typesMax + 1);
    for (const [place, id] of this.typeIds.entries()) wanted[place + 1] = Number(typeIds.has(id));
    const {types} = this;
    let count = 0;
    for (let row = 0; row < rowGroupRows; row++) {
      into[count] = row;
      count += wanted[types[row] as number] as number;
    }
    return count;
  }

  /** Takes away what is at `row`. */
  clear(row: number): void {
    if (this.types[row] === 0) return;
    this.types[row] = 0;
    this.count--;
    for (const column of this.columns) column.clear(row);
  }

  /** Neighbours are nearly always of one type. */
  private codeOfType(typeId: number): number {
    if (typeId !== this.lastTypeId) {
      this.lastTypeId = typeId;
      this.lastCode = this.findCode(typeId);
    }
    return this.lastCode;
  }

  private findCode(typeId: number): number {
    let place = this.typeIds.indexOf(typeId);
    if (place < 0) {
      place = this.typeIds.push(typeId) - 1;
      if (place >= typesMax) this.isMixed = true;
    }
    return place + 1;
  }
}
