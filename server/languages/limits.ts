/** What a statement's text may be, in every language; the values come from settings. */

export interface ParseLimits {
  /** Levels a statement may nest: parentheses, lists, subqueries, chains of operators; <= 500. */
  readonly depthMax: number;
  /** Longest statement or script, in UTF-16 code units. */
  readonly textLengthMax: number;
  /**
   * Columns of a projection, keys of an order or a grouping, variables and assignments of a clause:
   * what is made ready for each of them is made ready in one turn.
   */
  readonly columnsMax: number;
}

export const defaultLimits: ParseLimits = {
  depthMax: 400,
  textLengthMax: 262_144,
  columnsMax: 4_096,
};

/**
 * No setting allows more levels than this: a level takes up to a dozen calls, and a thread's stack
 * of about a megabyte overflows between 700 and 1,000 levels, in code not yet optimized.
 */
export const depthCeiling = 500;
