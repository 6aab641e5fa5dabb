/** Two sides of something, measured in turns: whoever is slow for a while is slow for both. */
import type {Target} from '../peers/target.ts';
import type {Figure, Report} from '../report.ts';

/** Worse than this share of what was before is a loss. */
const rateMin = 0.95;
const timeMax = 1.05;

export interface Pair {
  readonly ours: Target;
  readonly theirs: Target;
  readonly peer: string;
}

/** One side of a pair: how it does one round of something. */
export interface Side<T> {
  readonly round: () => Promise<T>;
}

interface Sides<T> {
  readonly ours: Side<T>;
  readonly theirs: Side<T>;
}

/** Rounds of both sides, each the other way round than the one before. */
export async function inTurns<T>(rounds: number, {ours, theirs}: Sides<T>): Promise<[T[], T[]]> {
  const mine: T[] = [];
  const others: T[] = [];
  for (let round = 0; round < rounds; round += 1) {
    if (round % 2 === 0) mine.push(await ours.round());
    others.push(await theirs.round());
    if (round % 2 === 1) mine.push(await ours.round());
  }
  return [mine, others];
}

/** A point of the report with its bound. */
export function add(
  report: Report,
  point: string,
  unit: Figure['unit'],
  peer: string,
  [ours, theirs]: readonly [readonly number[], readonly number[]],
): void {
  const isRate = unit.endsWith('/s');
  report.add({
    class: 'pairs',
    point,
    unit,
    ours,
    peer,
    theirs,
    durability: 'fsync both',
    gate: isRate ? {at: 'least', bound: rateMin} : {at: 'most', bound: timeMax},
  });
}
