/**
 * Sorts rows whose keys are columns: every key of a row becomes 64 bits whose order as a whole
 * number is the order that the key asks for, and a radix sort takes them digit by digit.
 *
 * A number becomes the bits of its double, turned so that they ascend; a text the place that it
 * has among the texts of its dictionary that were met; null comes before or behind all. Sorting
 * is stable, linear in the rows, and calls nobody; digits in which no two rows differ cost nothing.
 */
import {compareText} from '#server/base/utf8.ts';
import type {SortKey} from '#server/plan/node.ts';
import type {TextCodes} from '#server/caches/text-codes.ts';
import type {Budget} from '../budget.ts';
import {type Pause, pause} from '../batch.ts';
import type {PackedColumn, Rows} from './block.ts';

type Steps<T> = Generator<Pause, T, undefined>;

const digitBits = 11;
const digitMask = (1 << digitBits) - 1;
const shifts = [0, digitBits, 2 * digitBits] as const;
const signBit = 0x8000_0000;
const lastWord = 0xffff_ffff;
/** Rows between two looks at the budget. */
const rowsPerLook = 16_384;
const rowsAtFirst = 1_024;

const doubles = new Float64Array(1);
const words = new Uint32Array(doubles.buffer);
const highAt = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1 ? 1 : 0;

/** One key of all rows. */
class PackedKey {
  readonly #key: SortKey;
  high = new Uint32Array(rowsAtFirst);
  low = new Uint32Array(rowsAtFirst);
  /** Undefined: no value but null was met. */
  #kind: 'number' | 'text' | undefined;
  #texts: TextCodes | undefined;

  constructor(key: SortKey) {
    this.#key = key;
  }

  /** False: the rows have values of a kind that is not to be compared with those before. */
  add(column: PackedColumn, {rows, count}: Rows, from: number): boolean {
    if (column.kind === 'mixed') return false;
    const kind = column.kind === 'text' ? 'text' : 'number';
    if (column.kind !== 'empty') {
      if (this.#kind !== undefined && this.#kind !== kind) return false;
      if (column.texts !== this.#texts && this.#texts !== undefined) return false;
      this.#kind = kind;
      if (kind === 'text') this.#texts = column.texts;
    }
    // A text's place is known when all texts were met.
    if (kind === 'text') {
      for (let at = 0; at < count; at++) {
        this.low[from + at] = column.codes[rows[at] as number] as number;
      }
    } else this.#addNumbers(column.numbers, {rows, count}, from);
    return true;
  }

  #addNumbers(numbers: Float64Array, {rows, count}: Rows, from: number): void {
    const {high, low} = this;
    const turn = this.#key.descending ? lastWord : 0;
    const nullWord = this.#key.nulls === 'first' ? 0 : lastWord;
    for (let at = 0; at < count; at++) {
      const number = numbers[rows[at] as number] as number;
      if (Number.isNaN(number)) {
        high[from + at] = nullWord;
        low[from + at] = nullWord;
        continue;
      }
      // Minus zero is zero.
      doubles[0] = number + 0;
      const top = words[highAt] as number;
      const flip = top >= signBit ? lastWord : 0;
      high[from + at] = (top ^ (flip | signBit) ^ turn) >>> 0;
      low[from + at] = ((words[1 - highAt] as number) ^ flip ^ turn) >>> 0;
    }
  }

  grow(capacity: number): void {
    this.high = grown(this.high, capacity);
    this.low = grown(this.low, capacity);
  }

  /** Puts the places of texts for their codes. */
  *settle(rowCount: number, budget: Budget): Steps<void> {
    const texts = this.#texts;
    if (this.#kind !== 'text' || texts === undefined) return;
    const {low} = this;
    const places = new Uint32Array(0x1_0000);
    yield* inPortions(rowCount, budget, (start, end) => {
      for (let row = start; row < end; row++) places[low[row] as number] = 1;
    });
    const met: {readonly code: number; readonly text: string}[] = [];
    for (let code = 1; code < places.length; code++) {
      if (places[code] === 1) met.push({code, text: texts.text(code) ?? ''});
    }
    met.sort((left, right) => compareText(left.text, right.text));
    if (budget.look()) yield pause;
    const {descending, nulls} = this.#key;
    for (const [at, {code}] of met.entries()) places[code] = descending ? met.length - at : at + 1;
    places[0] = nulls === 'first' ? 0 : met.length + 1;
    yield* inPortions(rowCount, budget, (start, end) => {
      for (let row = start; row < end; row++) low[row] = places[low[row] as number] as number;
    });
  }
}

export class PackedOrder {
  readonly #keys: readonly PackedKey[];
  readonly #budget: Budget;
  /** What the caller knows each row by. */
  #names = new Uint32Array(rowsAtFirst);
  #rowCount = 0;
  #bytes = 0;

  constructor(keys: readonly SortKey[], budget: Budget) {
    this.#keys = keys.map(key => new PackedKey(key));
    this.#budget = budget;
    this.#keep(this.#bytesPerRow * rowsAtFirst);
  }

  /**
   * Adds rows of a block; `columns` has one for each key, `nameOf` tells what `sorted` gives for a
   * row. False: these rows are not to be ordered by columns, with those before; none was added.
   */
  add(columns: readonly PackedColumn[], selection: Rows, nameOf: (row: number) => number): boolean {
    const from = this.#rowCount;
    this.#makeRoom(from + selection.count);
    for (let at = 0; at < this.#keys.length; at++) {
      const key = this.#keys[at] as PackedKey;
      if (!key.add(columns[at] as PackedColumn, selection, from)) return false;
    }
    for (let at = 0; at < selection.count; at++) {
      this.#names[from + at] = nameOf(selection.rows[at] as number);
    }
    this.#rowCount += selection.count;
    return true;
  }

  /** The names of all rows in order; equal ones as they were added. */
  *sorted(): Steps<Uint32Array> {
    const rowCount = this.#rowCount;
    let order = new Uint32Array(rowCount);
    let spare = new Uint32Array(rowCount);
    yield* inPortions(rowCount, this.#budget, (start, end) => {
      for (let row = start; row < end; row++) order[row] = row;
    });
    for (const key of this.#keys.toReversed()) {
      yield* key.settle(rowCount, this.#budget);
      for (const part of [key.low, key.high]) {
        const varying = yield* this.#varying(part);
        for (const shift of shifts) {
          if (((varying >>> shift) & digitMask) === 0) continue;
          yield* this.#pass(part, shift, order, spare);
          [order, spare] = [spare, order];
        }
      }
    }
    yield* inPortions(rowCount, this.#budget, (start, end) => {
      for (let at = start; at < end; at++) spare[at] = this.#names[order[at] as number] as number;
    });
    return spare;
  }

  release(): void {
    this.#budget.release(this.#bytes);
    this.#bytes = 0;
  }

  /** Bits in which some rows differ. */
  *#varying(part: Uint32Array): Steps<number> {
    const first = part[0] as number;
    let varying = 0;
    yield* inPortions(this.#rowCount, this.#budget, (start, end) => {
      for (let row = start; row < end; row++) varying |= (part[row] as number) ^ first;
    });
    return varying;
  }

  /** Rows of `from` into `into`, by one digit. */
  *#pass(part: Uint32Array, shift: number, from: Uint32Array, into: Uint32Array): Steps<void> {
    const starts = new Uint32Array(digitMask + 2);
    const rowCount = this.#rowCount;
    yield* inPortions(rowCount, this.#budget, (start, end) => {
      for (let row = start; row < end; row++) {
        const digit = ((part[row] as number) >>> shift) & digitMask;
        starts[digit + 1] = (starts[digit + 1] as number) + 1;
      }
    });
    for (let digit = 1; digit <= digitMask; digit++) {
      starts[digit] = (starts[digit] as number) + (starts[digit - 1] as number);
    }
    yield* inPortions(rowCount, this.#budget, (start, end) => {
      for (let at = start; at < end; at++) {
        const row = from[at] as number;
        const digit = ((part[row] as number) >>> shift) & digitMask;
        const place = starts[digit] as number;
        starts[digit] = place + 1;
        into[place] = row;
      }
    });
  }

  get #bytesPerRow(): number {
    // A row's name, two orders, and two words for each key.
    return 12 + 8 * this.#keys.length;
  }

  #makeRoom(rowCount: number): void {
    const capacity = this.#names.length;
    if (rowCount <= capacity) return;
    const next = Math.max(rowCount, 2 * capacity);
    this.#keep((next - capacity) * this.#bytesPerRow);
    this.#names = grown(this.#names, next);
    for (const key of this.#keys) key.grow(next);
  }

  #keep(bytes: number): void {
    this.#budget.keep(bytes);
    this.#bytes += bytes;
  }
}

/** Works through all rows, with a look at the budget between the portions. */
function* inPortions(
  rowCount: number,
  budget: Budget,
  work: (start: number, end: number) => void,
): Steps<void> {
  for (let start = 0; start < rowCount; start += rowsPerLook) {
    work(start, Math.min(rowCount, start + rowsPerLook));
    if (budget.look()) yield pause;
  }
}

function grown(array: Uint32Array<ArrayBuffer>, capacity: number): Uint32Array<ArrayBuffer> {
  const next = new Uint32Array(capacity);
  next.set(array);
  return next;
}
