/**
 * What the values of one property in a sample say about all records: how many have one, how many
 * different ones there are, which are frequent, and how they lie in order.
 *
 * The number of different values is estimated after Haas and Stokes (Duj1): values met once in the
 * sample stand for those that were not met. Pure; the cost is that of sorting the sample.
 */
import {compareTotal} from '#server/model/compare.ts';
import type {Value} from '#server/model/value.ts';
import type {PropertyStatistics} from './statistics.ts';

/** Bounds between which an equal share of the values lies. */
const quantileCount = 33;
const frequentMax = 16;
/** A value that fewer of the sample have is no more frequent than chance makes it. */
const frequentMin = 3;

/** @param records - All records; at least as many as there are values. */
export function summarize(values: readonly Value[], records: number): PropertyStatistics {
  const present = values.filter(value => value !== null).sort(compareTotal);
  if (present.length === 0) return {present: 0, distinct: 0, frequent: [], quantiles: []};
  const runs = runsOf(present);
  const share = present.length / values.length;
  const once = runs.filter(run => run.count === 1).length;
  const all = Math.max(records * share, present.length);
  const distinct = runs.length / (1 - once / present.length + once / all);
  return {
    present: share,
    distinct: Math.min(all, distinct),
    frequent: runs
      .filter(run => run.count >= frequentMin)
      .sort((a, b) => b.count - a.count)
      .slice(0, frequentMax)
      .map(({value, count}) => ({value, share: count / values.length})),
    quantiles: quantilesOf(present),
  };
}

interface Run {
  readonly value: Value;
  count: number;
}

/** Equal values, which stand beside each other, and how often each comes. */
function runsOf(sorted: readonly Value[]): Run[] {
  const runs: Run[] = [];
  for (const value of sorted) {
    const last = runs.at(-1);
    if (last !== undefined && compareTotal(last.value, value) === 0) last.count += 1;
    else runs.push({value, count: 1});
  }
  return runs;
}

function quantilesOf(sorted: readonly Value[]): readonly Value[] {
  const count = Math.min(quantileCount, sorted.length);
  if (count === 1) return sorted;
  return Array.from(
    {length: count},
    (_bound, at) => sorted[Math.round((at * (sorted.length - 1)) / (count - 1))] ?? null,
  );
}
