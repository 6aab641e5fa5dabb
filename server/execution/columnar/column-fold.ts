/**
 * Takes a column of numbers into the states of an aggregate, by loops over the typed array.
 *
 * The states are what a step for each row would leave: whole numbers are summed up exactly where
 * no partial sum leaves the safe integers, doubles are added in the order of the rows. Where
 * neither holds the caller goes row by row.
 */
import {addNumbers, isIntegerValue, makeDouble, numberOf} from '#server/model/number.ts';
import {Decimal, type Value} from '#server/model/value.ts';
import type {NumbersAtOnce} from '../function-registry.ts';
import type {PackedColumn, Rows} from './block.ts';

/** The states of one aggregate, by number of group. */
export interface States {
  get(group: number): unknown;
  set(group: number, state: unknown): void;
  /** A step of the aggregate with one value. */
  step(group: number, value: Value): void;
}

/** The group of each row of a selection, and which groups there are. */
export interface Grouped {
  readonly selection: Rows;
  /** Undefined: all rows are of group 0. */
  readonly groups: Uint32Array | undefined;
  /** Groups that a row of the selection may be in, each once. */
  readonly touched: readonly number[];
  /** Rows of the selection by group. */
  readonly rowCounts: Uint32Array;
}

type Sum = NumbersAtOnce & {readonly kind: 'sum'};

/** A 64-bit sum is refused where it overflows: far from there partial sums may be put together. */
const totalMax = 2 ** 62;

export class ColumnFold {
  private sums = new Float64Array(1);
  private counts = new Float64Array(1);

  /** False: nothing was done, and each row is to be taken by itself. */
  take(how: NumbersAtOnce, column: PackedColumn, grouped: Grouped, states: States): boolean {
    if (column.kind === 'empty') return true;
    this.makeRoom(grouped.rowCounts.length);
    switch (how.kind) {
      case 'count':
        if (column.hasNulls) this.count(column, grouped);
        for (const group of grouped.touched) {
          const {[group]: count = 0} = column.hasNulls ? this.counts : grouped.rowCounts;
          states.set(group, how.counted(states.get(group), count));
        }
        return true;
      case 'sum':
        return this.sum(how, column, grouped, states);
      default:
        this.extreme(how.sign, column, grouped);
        for (const group of grouped.touched) {
          if ((this.counts[group] as number) === 0) continue;
          const value = this.sums[group] as number;
          states.step(group, column.kind === 'double' ? makeDouble(value) : value);
        }
        return true;
    }
  }

  private makeRoom(groupCount: number): void {
    if (this.sums.length >= groupCount) return;
    this.sums = new Float64Array(groupCount);
    this.counts = new Float64Array(groupCount);
  }

  private sum(how: Sum, column: PackedColumn, grouped: Grouped, states: States): boolean {
    const isDouble = column.kind === 'double';
    const {count} = grouped.selection;
    if (!isDouble && count * column.magnitude > Number.MAX_SAFE_INTEGER) return false;
    for (const group of grouped.touched) {
      const total = how.total(states.get(group));
      if (total instanceof Decimal) return false;
      if (isDouble) {
        // Minus zero alone changes nothing that is added to it.
        this.sums[group] = total === null ? -0 : numberOf(total);
      } else {
        if (total !== null && !isIntegerValue(total)) return false;
        if (Math.abs(Number(total)) > totalMax) return false;
        this.sums[group] = 0;
      }
      this.counts[group] = 0;
    }
    const {groups, selection} = grouped;
    if (groups === undefined) this.sumAll(column.numbers, selection);
    else if (column.hasNulls) this.sumGroups(column.numbers, selection, groups);
    else this.sumGroupsWithoutNulls(column.numbers, selection, groups);
    const isCounted = groups === undefined || column.hasNulls;
    for (const group of grouped.touched) {
      const {[group]: added = 0} = isCounted ? this.counts : grouped.rowCounts;
      if (added === 0) continue;
      const sum = this.sums[group] as number;
      const state = states.get(group);
      const before = isDouble ? null : how.total(state);
      const whole = before === null ? sum : addNumbers(before, sum);
      states.set(group, how.added(state, isDouble ? makeDouble(sum) : whole, added));
    }
    return true;
  }

  private sumAll(numbers: Float64Array, {rows, count}: Rows): void {
    let sum = this.sums[0] as number;
    let added = 0;
    for (let at = 0; at < count; at++) {
      const value = numbers[rows[at] as number] as number;
      if (Number.isNaN(value)) continue;
      sum += value;
      added++;
    }
    this.sums[0] = sum;
    this.counts[0] = added;
  }

  private sumGroups(numbers: Float64Array, {rows, count}: Rows, groups: Uint32Array): void {
    const {sums, counts} = this;
    for (let at = 0; at < count; at++) {
      const value = numbers[rows[at] as number] as number;
      if (Number.isNaN(value)) continue;
      const group = groups[at] as number;
      sums[group] = (sums[group] as number) + value;
      counts[group] = (counts[group] as number) + 1;
    }
  }

  private sumGroupsWithoutNulls(
    numbers: Float64Array,
    {rows, count}: Rows,
    groups: Uint32Array,
  ): void {
    const {sums} = this;
    for (let at = 0; at < count; at++) {
      const group = groups[at] as number;
      sums[group] = (sums[group] as number) + (numbers[rows[at] as number] as number);
    }
  }

  private count(column: PackedColumn, {selection, groups, touched}: Grouped): void {
    const {rows, count} = selection;
    const {counts} = this;
    for (const group of touched) counts[group] = 0;
    const isText = column.kind === 'text';
    for (let at = 0; at < count; at++) {
      const row = rows[at] as number;
      const isNull = isText ? column.codes[row] === 0 : Number.isNaN(column.numbers[row]);
      const group = groups === undefined ? 0 : (groups[at] as number);
      if (!isNull) counts[group] = (counts[group] as number) + 1;
    }
  }

  /** The first of the least (sign 1) or greatest (sign -1), in the place of the sum. */
  private extreme(sign: 1 | -1, column: PackedColumn, {selection, groups, touched}: Grouped): void {
    const {rows, count} = selection;
    const {sums, counts} = this;
    for (const group of touched) counts[group] = 0;
    const {numbers} = column;
    for (let at = 0; at < count; at++) {
      const value = numbers[rows[at] as number] as number;
      if (Number.isNaN(value)) continue;
      const group = groups === undefined ? 0 : (groups[at] as number);
      if (counts[group] === 0 || sign * value < sign * (sums[group] as number)) {
        sums[group] = value;
        counts[group] = 1;
      }
    }
  }
}
