/**
 * A list of runs and changes to some of its records, walked together in the order of record ids.
 */
import {indexAtOrBehind} from './scored-run.ts';

interface Run {
  readonly bucket: number;
  readonly positions: Uint32Array;
}

interface Change {
  readonly bucket: number;
  readonly position: number;
}

export interface Merge<R extends Run, C extends Change> {
  /** Rows [from, to) of the run are as they were. */
  keep(run: R, from: number, to: number): void;
  /** What comes in the place of the row of that record, where there was one. */
  change(change: C): void;
}

/** Both are in order. Cost: a search in the run for each change. */
export function mergeRuns<R extends Run, C extends Change>(
  runs: readonly R[],
  changes: readonly C[],
  merge: Merge<R, C>,
): void {
  let next = 0;
  const changesBelow = (bucket: number): void => {
    for (let change = changes[next]; change !== undefined; change = changes[next]) {
      if (change.bucket >= bucket) return;
      merge.change(change);
      next += 1;
    }
  };
  for (const run of runs) {
    changesBelow(run.bucket);
    let from = 0;
    for (let change = changes[next]; change?.bucket === run.bucket; change = changes[next]) {
      const at = indexAtOrBehind(run.positions, from, change.position);
      merge.keep(run, from, at);
      merge.change(change);
      from = run.positions[at] === change.position ? at + 1 : at;
      next += 1;
    }
    merge.keep(run, from, run.positions.length);
  }
  changesBelow(Number.POSITIVE_INFINITY);
}
