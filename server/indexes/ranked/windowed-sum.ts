/**
 * The best records by the sum of what several runs add, exact: MaxScore over windows of positions.
 *
 * In each window the runs whose bounds together cannot beat the worst record that is kept are left
 * out at first; the sums of the others are taken in one array, and only a record whose sum could
 * still win is looked up in what was left out. A window where nothing can win is passed over. A
 * record that is offered gets its sum in the order of the runs, so it does not depend on what was
 * left out. Source: Turtle and Flood, "Query Evaluation: Strategies and Optimizations", 1995; the
 * windows are Lucene's BlockMaxMaxScore.
 */
import type {BestRecords} from './best-records.ts';
import type {Effort} from './effort.ts';
import {blockRows, indexAtOrBehind, type ScoredRun, type WindowSums} from './scored-run.ts';

export interface WindowedSum {
  readonly bucket: number;
  readonly runs: readonly ScoredRun[];
  readonly best: BestRecords;
  readonly effort: Effort;
  /** Positions of one window. */
  readonly windowRows: number;
  /** Positions from `from` on and below `to`; undefined: all. */
  readonly span?: {readonly from: number; readonly to: number} | undefined;
  /** A record that is not accepted is not offered. */
  readonly accept: ((position: number) => boolean) | undefined;
}

interface Cursor {
  readonly run: ScoredRun;
  /** The first row at or after the window's start. */
  at: number;
  /** The first row after the window. */
  end: number;
  /** An upper bound of what a row of the window adds, 0 at least. */
  bound: number;
}

/** Sums are taken in another order than bounds; that may cost so much of them. */
const slack = 1e-6;
/** The least 32-bit float: as much may what is nearly nothing be rounded. */
const leastFloat = 2 ** -149;

/** Offers the records of one bucket to `best`. Cost: linear in the rows that are not left out. */
export function sumWindows(requested: WindowedSum): void {
  const {runs, windowRows} = requested;
  const {from, to} = requested.span ?? {from: 0, to: Number.POSITIVE_INFINITY};
  const cursors = runs
    .filter(run => run.positions.length > 0)
    .map((run): Cursor => {
      return {run, at: indexAtOrBehind(run.positions, 0, from), end: 0, bound: 0};
    });
  const window = {
    sums: new Float64Array(windowRows),
    met: new Uint32Array(Math.ceil(windowRows / 32)),
  };
  for (let base = nextBase(cursors, from); base !== undefined && base < to; ) {
    const end = Math.min(base + windowRows, to);
    for (const cursor of cursors) enter(cursor, base, end);
    sumWindow(requested, cursors, window, base);
    for (const cursor of cursors) cursor.at = cursor.end;
    base = nextBase(cursors, end);
  }
}

/** The first position at or behind `from` that any run has. */
function nextBase(cursors: readonly Cursor[], from: number): number | undefined {
  let base: number | undefined;
  for (const {run, at} of cursors) {
    const position = run.positions[at];
    if (position !== undefined && (base === undefined || position < base)) base = position;
  }
  return base === undefined ? undefined : Math.max(base, from);
}

function enter(cursor: Cursor, base: number, end: number): void {
  const {positions} = cursor.run;
  cursor.at = indexAtOrBehind(positions, cursor.at, base);
  cursor.end = indexAtOrBehind(positions, cursor.at, end);
  cursor.bound = boundOf(cursor.run, cursor.at, cursor.end);
}

/** An upper bound of what a row of [from, to) adds, 0 at least. */
export function boundOf({blockBounds}: ScoredRun, from: number, to: number): number {
  let bound = 0;
  if (to <= from) return bound;
  const last = Math.floor((to - 1) / blockRows);
  for (let block = Math.floor(from / blockRows); block <= last; block += 1) {
    bound = Math.max(bound, blockBounds[block] as number);
  }
  return bound;
}

function sumWindow(
  requested: WindowedSum,
  all: readonly Cursor[],
  window: WindowSums,
  base: number,
): void {
  const {best, effort} = requested;
  const cursors = all.filter(({at, end}) => end > at).toSorted((a, b) => a.bound - b.bound);
  let leftOut = 0;
  let leftBound = 0;
  for (const {bound} of cursors) {
    if (isHopeless(leftBound + bound, best.threshold)) {
      leftBound += bound;
      leftOut += 1;
    } else break;
  }
  if (leftOut === cursors.length) return effort.spend(1);
  let rows = 0;
  for (const {run, at, end} of cursors.slice(leftOut)) {
    run.addTo(window, base, at, end);
    rows += end - at;
  }
  effort.spend(rows);
  offerMet(requested, cursors.slice(0, leftOut).toReversed(), window, {base, leftBound});
}

/** Whether no sum up to the bound beats the threshold, however it is rounded. */
export function isHopeless(bound: number, threshold: number): boolean {
  return bound + Math.abs(bound) * slack + leastFloat < threshold;
}

/** Looks at the sums that there are, and clears them. `left`: greatest bound first. */
function offerMet(
  requested: WindowedSum,
  left: readonly Cursor[],
  {sums, met}: WindowSums,
  {base, leftBound}: {readonly base: number; readonly leftBound: number},
): void {
  const {best} = requested;
  let {threshold} = best;
  for (let word = 0; word < met.length; word += 1) {
    let bits = met[word] as number;
    if (bits === 0) continue;
    met[word] = 0;
    while (bits !== 0) {
      const bit = 31 - Math.clz32(bits & -bits);
      bits &= bits - 1;
      const slot = word * 32 + bit;
      const sum = sums[slot] as number;
      sums[slot] = 0;
      if (isHopeless(sum + leftBound, threshold)) continue;
      if (!canWin(left, base + slot, {sum, leftBound}, threshold)) continue;
      offer(requested, base + slot);
      ({threshold} = best);
    }
  }
}

/** Adds what was left out, run by run, for as long as the record could win. */
function canWin(
  left: readonly Cursor[],
  position: number,
  {sum, leftBound}: {readonly sum: number; readonly leftBound: number},
  threshold: number,
): boolean {
  let total = sum;
  let bound = leftBound;
  for (const cursor of left) {
    bound -= cursor.bound;
    const {positions} = cursor.run;
    cursor.at = indexAtOrBehind(positions, cursor.at, position);
    if (positions[cursor.at] === position) total += cursor.run.scoreAt(cursor.at);
    if (isHopeless(total + bound, threshold)) return false;
  }
  return true;
}

function offer({bucket, runs, best, accept}: WindowedSum, position: number): void {
  let score = 0;
  for (const run of runs) {
    const at = indexAtOrBehind(run.positions, 0, position);
    if (run.positions[at] === position) score += run.scoreAt(at);
  }
  const rounded = Math.fround(score);
  if (!best.takes(rounded, bucket, position)) return;
  if (accept?.(position) === false) return;
  best.offer(rounded, bucket, position);
}
