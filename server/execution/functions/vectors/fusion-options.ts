/** How ranked lists are fused, as it is asked for: read once for the function and the operator. */
import {isNumberValue, numberOf} from '#server/model/number.ts';
import type {MapValue} from '#server/model/value.ts';
import {describe} from '../../expressions/arithmetic.ts';
import {type FusionStrategy, fusionStrategies, type RankedItem, rankConstant} from './fusion.ts';
import {optionRefusal, Options, wordOf} from './vector-arguments.ts';

const name = 'vector.fuse';
const known = ['fusion', 'k', 'weights', 'groupBy', 'groupSize', 'limit'];

export interface Fusion {
  readonly strategy: FusionStrategy;
  readonly constant: number;
  /** One a source. */
  readonly weights: readonly number[];
  /** Records of the answer; Infinity: all. */
  readonly limit: number;
  readonly options: Options;
}

/** @throws {Refusal} `query.option`. */
export function fusionOf(given: MapValue | null, count: number): Fusion {
  const options = new Options(name, given, known);
  const strategy = wordOf(options.text('fusion') ?? 'RRF', fusionStrategies, 'fusion strategy');
  const constant = options.whole('k', rankConstant, 0);
  const weights = weightsOf(options, count);
  const limit = options.whole('limit', Infinity, -1);
  return {strategy, constant, weights, limit: limit > 0 ? limit : Infinity, options};
}

/** @throws {Refusal} `query.option` for rows without a score where scores are fused. */
export function requireScores(
  items: readonly RankedItem[],
  strategy: FusionStrategy,
  at: number,
): void {
  if (strategy === 'RRF' || !items.some(({score}) => Number.isNaN(score))) return;
  throw optionRefusal(
    `${name} strategy ${strategy} requires a numeric score on every row of source[${at}]`,
  );
}

function weightsOf(options: Options, count: number): readonly number[] {
  const list = options.list('weights');
  if (list === undefined) return Array.from({length: count}, () => 1);
  if (list.length !== count) {
    throw optionRefusal(`${name} weights size ${list.length} does not match source count ${count}`);
  }
  return list.map((value, at) => {
    const weight = isNumberValue(value) ? numberOf(value) : Number.NaN;
    if (Number.isFinite(weight)) return weight;
    throw optionRefusal(`${name} weights[${at}] must be a number, not ${describe(value)}`);
  });
}
