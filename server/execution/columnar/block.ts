/**
 * A number of rows as packed columns: what loops over typed arrays read in place of values.
 *
 * A block comes from a row group of the column cache or from the keys of an index; its columns are
 * numbered in the order in which a `ColumnInput` lists what a plan reads of the record. Rows are
 * named by their places in the columns.
 */
import type {TextCodes} from '#server/caches/text-codes.ts';
import type {ColumnKind} from '#server/caches/row-group.ts';
import type {Expression} from '#server/plan/expression.ts';

export interface PackedColumn {
  readonly kind: ColumnKind;
  /** NaN for null; without meaning in a column of texts. */
  readonly numbers: Float64Array;
  /** 0 for null; without meaning in a column of numbers. */
  readonly codes: Uint16Array;
  readonly texts: TextCodes | undefined;
  /** No number is farther from zero. */
  readonly magnitude: number;
  /** False when no row is null. */
  readonly hasNulls: boolean;
}

export interface Block {
  readonly columns: readonly PackedColumn[];
}

/** Which rows of a block: the first `count` of `rows`. */
export interface Rows {
  readonly rows: Uint16Array;
  count: number;
}

/** The number of the column that an expression reads; undefined when it reads none. */
export type ColumnOf = (expression: Expression) => number | undefined;
