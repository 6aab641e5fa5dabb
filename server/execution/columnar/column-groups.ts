/**
 * Numbers of groups for the rows of packed columns: rows with equal keys have one number.
 *
 * Numbers count up from 0 in order of first appearance and stay the same for a whole run. Small
 * whole numbers and codes of texts are looked up in a table, other numbers in a map.
 */
import type {Value} from '#server/model/value.ts';
import type {PackedColumn, Rows} from './block.ts';
import {valueAt} from './column-values.ts';

/** Keys below this are looked up in a table. */
const tableSize = 1 << 18;
/** Two numbers below this make one that doubles hold. */
const pairFactor = 2 ** 26;

/** Numbers of the values of one key. */
class KeyNumbers {
  readonly values: Value[] = [];
  private readonly others = new Map<number, number>();
  private table: Int32Array | undefined;
  private codes: Int32Array | undefined;
  private nullNumber = -1;

  number(column: PackedColumn, {rows, count}: Rows, into: Uint32Array): void {
    if (column.kind === 'text') this.numberTexts(column, {rows, count}, into);
    else this.numberNumbers(column, {rows, count}, into);
  }

  private numberTexts(column: PackedColumn, {rows, count}: Rows, into: Uint32Array): void {
    this.codes ??= new Int32Array(0x10000).fill(-1);
    const table = this.codes;
    for (let at = 0; at < count; at++) {
      const row = rows[at] as number;
      const code = column.codes[row] as number;
      let number = code === 0 ? this.ofNull() : (table[code] as number);
      if (number < 0) {
        number = this.values.push(valueAt(column, row)) - 1;
        table[code] = number;
      }
      into[at] = number;
    }
  }

  private numberNumbers(column: PackedColumn, {rows, count}: Rows, into: Uint32Array): void {
    this.table ??= new Int32Array(tableSize).fill(-1);
    const {table} = this;
    const {numbers} = column;
    for (let at = 0; at < count; at++) {
      const row = rows[at] as number;
      const key = numbers[row] as number;
      const place = key | 0;
      if (place === key && place >= 0 && place < tableSize) {
        let number = table[place] as number;
        if (number < 0) {
          number = this.values.push(valueAt(column, row)) - 1;
          table[place] = number;
        }
        into[at] = number;
      } else into[at] = Number.isNaN(key) ? this.ofNull() : this.ofOther(column, row, key);
    }
  }

  private ofNull(): number {
    if (this.nullNumber < 0) this.nullNumber = this.values.push(null) - 1;
    return this.nullNumber;
  }

  private ofOther(column: PackedColumn, row: number, key: number): number {
    let number = this.others.get(key + 0);
    if (number === undefined) {
      number = this.values.push(valueAt(column, row)) - 1;
      this.others.set(key + 0, number);
    }
    return number;
  }
}

export class ColumnGroups {
  private readonly keys: readonly KeyNumbers[];
  /** A map for each key from the second on: the number of a pair by the number before it. */
  private readonly pairs: readonly Map<number, number>[];
  /** The combinations of all keys, in the order of their first coming. */
  private readonly tuples: (readonly Value[])[] = [];
  private scratch = new Uint32Array(0);

  constructor(keyCount: number) {
    this.keys = Array.from({length: keyCount}, () => new KeyNumbers());
    this.pairs = Array.from({length: keyCount - 1}, () => new Map<number, number>());
  }

  /** Groups met so far. */
  get count(): number {
    return this.keys.length === 1 ? (this.keys[0]?.values.length ?? 0) : this.tuples.length;
  }

  /** The keys of a group. */
  tuple(number: number): readonly Value[] {
    const [only] = this.keys;
    if (this.keys.length === 1 && only) return [only.values[number] as Value];
    return this.tuples[number] as readonly Value[];
  }

  /** Writes the group of each row of the selection into `into`. */
  number(columns: readonly PackedColumn[], selection: Rows, into: Uint32Array): void {
    this.keys[0]?.number(columns[0] as PackedColumn, selection, into);
    if (this.scratch.length < into.length) this.scratch = new Uint32Array(into.length);
    for (let at = 1; at < this.keys.length; at++) {
      this.keys[at]?.number(columns[at] as PackedColumn, selection, this.scratch);
      this.pair(this.pairs[at - 1] as Map<number, number>, selection.count, into);
      if (at < this.keys.length - 1) continue;
      for (let place = 0; place < selection.count; place++) {
        if (into[place] !== this.tuples.length) continue;
        const row = selection.rows[place] as number;
        this.tuples.push(columns.map(column => valueAt(column, row)));
      }
    }
  }

  /** Replaces the numbers in `into` by those of pairs with what is in the scratch. */
  private pair(pairs: Map<number, number>, count: number, into: Uint32Array): void {
    for (let place = 0; place < count; place++) {
      const key = (into[place] as number) * pairFactor + (this.scratch[place] as number);
      let number = pairs.get(key);
      if (number === undefined) {
        number = pairs.size;
        pairs.set(key, number);
      }
      into[place] = number;
    }
  }
}
