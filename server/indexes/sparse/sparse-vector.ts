/**
 * A sparse vector: some dimensions with a weight each, all others 0.
 *
 * Invariant: dimensions ascend, none is there twice, no weight is 0 or not finite.
 */
import {Refusal} from '#server/base/errors.ts';

export interface SparseVector {
  readonly dimensions: readonly number[];
  readonly weights: readonly number[];
}

/** The greatest dimension; the one above it counts records. */
export const dimensionMax = 0xffff_fffe;
/** The most entries that one vector may have. */
const entriesMax = 65_536;

/**
 * Reads two lists of equal length. Weights of 0 are left out.
 *
 * @param dimensionCount - Dimensions are less; 0: any are taken.
 * @throws {Refusal} `argument`, naming `what`, for anything else.
 */
export function sparseVector(
  dimensions: readonly number[],
  weights: readonly number[],
  {what, dimensionCount}: {readonly what: string; readonly dimensionCount: number},
): SparseVector {
  if (dimensions.length !== weights.length) {
    throw refused(what, `${dimensions.length} dimensions and ${weights.length} weights`);
  }
  if (dimensions.length > entriesMax) {
    throw refused(what, `more than ${entriesMax} dimensions`);
  }
  const last = dimensionCount === 0 ? dimensionMax : dimensionCount - 1;
  const entries = dimensions.map((dimension, at): readonly [number, number] => {
    if (!Number.isInteger(dimension) || dimension < 0 || dimension > last) {
      throw refused(what, `dimension ${dimension} is not from 0 to ${last}`);
    }
    const weight = weights[at] as number;
    if (!Number.isFinite(weight)) throw refused(what, `the weight of ${dimension} is ${weight}`);
    return [dimension, weight];
  });
  entries.sort(([one], [other]) => one - other);
  const twice = entries.find(([dimension], at) => entries[at - 1]?.[0] === dimension);
  if (twice !== undefined) throw refused(what, `dimension ${twice[0]} is there twice`);
  const kept = entries.filter(([, weight]) => Math.fround(weight) !== 0);
  return {
    dimensions: kept.map(([dimension]) => dimension),
    weights: kept.map(([, weight]) => weight),
  };
}

function refused(what: string, why: string): Refusal {
  return new Refusal('argument', `${what} is no sparse vector: ${why}`);
}
