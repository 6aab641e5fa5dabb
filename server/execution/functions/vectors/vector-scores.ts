/** `vector.*` on scores and ranks alone: what combines, scales and bends them. */
import {isNumberValue, numberOf} from '#server/model/number.ts';
import type {Value} from '#server/model/value.ts';
import {describe} from '../../expressions/arithmetic.ts';
import {argument, doubleAt, refuse, textAt} from '../arguments.ts';
import type {FunctionFamily} from '../../function-registry.ts';
import {rankConstant} from './fusion.ts';
import {float, optionRefusal, Options, vectorAt, vectorOf, wordOf} from './vector-arguments.ts';
import {sumOf} from './vector-numbers.ts';

/** The last argument is the constant where it is a map, or a number that is no usual rank. */
function rrfScore(args: readonly Value[]): Value {
  const last = args.at(-1) ?? null;
  let constant = rankConstant;
  let ranks = args;
  if (last instanceof Map) {
    constant = new Options('vector.rrfScore', last, ['k']).whole('k', rankConstant, 0);
    ranks = args.slice(0, -1);
  } else if (args.length > 1 && isNumberValue(last) && numberOf(last) >= rankConstant) {
    constant = Math.trunc(numberOf(last));
    ranks = args.slice(0, -1);
  }
  let score = 0;
  for (const value of ranks) {
    if (value === null) continue;
    const rank = isNumberValue(value) ? Math.trunc(numberOf(value)) : Number.NaN;
    if (!(rank >= 1)) refuse(`vector.rrfscore() needs ranks of 1 or more, not ${describe(value)}`);
    score += 1 / (constant + rank);
  }
  return float(score);
}

const multiScoreMethods = ['MAX', 'AVG', 'MIN', 'WEIGHTED'] as const;

function multiScore(args: readonly Value[]): Value {
  const name = 'vector.multiScore()';
  const scores = vectorAt(args, 0, name);
  const method = wordOf(textAt(args, 1), multiScoreMethods, 'fusion method');
  if (method === 'MAX') return float(scores.reduce((a, b) => Math.max(a, b)));
  if (method === 'MIN') return float(scores.reduce((a, b) => Math.min(a, b)));
  if (method === 'AVG') return float(sumOf(scores, score => score) / scores.length);
  const given = argument(args, 2);
  const list =
    given instanceof Map
      ? new Options('vector.multiScore', given, ['weights']).get('weights')
      : given;
  if (list === null) throw optionRefusal(`${name} needs weights for WEIGHTED`);
  const weights = vectorOf(list, name);
  if (weights.length !== scores.length) {
    throw optionRefusal(`${name} has ${scores.length} scores and ${weights.length} weights`);
  }
  const total = sumOf(weights, weight => weight);
  if (total === 0) throw optionRefusal(`${name} needs weights whose sum is not 0`);
  return float(scores.reduce((sum, score, at) => sum + score * (weights[at] ?? 0), 0) / total);
}

function hybridScore(args: readonly Value[]): Value {
  const name = 'vector.hybridScore()';
  const alpha = doubleAt(args, 2, name);
  if (!(alpha >= 0 && alpha <= 1)) refuse(`${name} needs an alpha of 0 to 1`);
  return float(doubleAt(args, 0, name) * alpha + doubleAt(args, 1, name) * (1 - alpha));
}

/** Moves scores to [0, 1]; those that are all equal lie in the middle. */
function normalizeScores(args: readonly Value[]): Value {
  const scores = vectorAt(args, 0, 'vector.normalizeScores()');
  const least = scores.reduce((a, b) => Math.min(a, b));
  const range = scores.reduce((a, b) => Math.max(a, b)) - least;
  return scores.map(score => (range === 0 ? 0.5 : (score - least) / range));
}

const transforms = ['LINEAR', 'SIGMOID', 'TANH', 'LOG', 'LN', 'EXP'] as const;

function scoreTransform(args: readonly Value[]): Value {
  const score = doubleAt(args, 0, 'vector.scoreTransform()');
  switch (wordOf(textAt(args, 1), transforms, 'transformation')) {
    case 'LINEAR':
      return float(score);
    case 'SIGMOID':
      return float(1 / (1 + Math.exp(-score)));
    case 'TANH':
      return float(Math.tanh(score));
    case 'EXP':
      return float(Math.exp(score));
    default:
      return score > 0
        ? float(Math.log(score))
        : refuse('vector.scoreTransform() needs a score above 0 for LOG');
  }
}

export const vectorScores: FunctionFamily = {
  scalars: {
    'vector.rrfScore': rrfScore,
    'vector.multiScore': multiScore,
    'vector.hybridScore': hybridScore,
    'vector.normalizeScores': normalizeScores,
    'vector.scoreTransform': scoreTransform,
  },
};
