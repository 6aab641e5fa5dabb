/** `vector.*` of one or two vectors: arithmetic, distances, norms, what is odd about elements. */
import {isNumberArray} from '#server/model/compare.ts';
import {isNumberValue, numberOf} from '#server/model/number.ts';
import type {Value} from '#server/model/value.ts';
import {itemsOf} from '../../expressions/access.ts';
import {describe} from '../../expressions/arithmetic.ts';
import {doubleAt, refuse, textAt} from '../arguments.ts';
import type {FunctionFamily, ScalarFunction} from '../../function-registry.ts';
import {float, vectorAt, vectorPairAt, wordOf} from './vector-arguments.ts';
import {
  cosine,
  dotProduct,
  euclideanDistance,
  manhattanDistance,
  norm,
  normalized,
  sumOf,
  type Vector,
  variance,
} from './vector-numbers.ts';

function ofPair(name: string, measure: (left: Vector, right: Vector) => number): ScalarFunction {
  return args => float(measure(...vectorPairAt(args, name)));
}

function ofOne(name: string, measure: (vector: Vector) => number): ScalarFunction {
  return args => float(measure(vectorAt(args, 0, name)));
}

function elementwise(
  name: string,
  combine: (left: number, right: number) => number,
): ScalarFunction {
  return args => {
    const [left, right] = vectorPairAt(args, name);
    return left.map((element, at) => combine(element, right[at] ?? 0));
  };
}

function scale(args: readonly Value[]): Value {
  const factor = doubleAt(args, 1, 'vector.scale()');
  return vectorAt(args, 0, 'vector.scale()').map(element => element * factor);
}

function clip(args: readonly Value[]): Value {
  const least = doubleAt(args, 1, 'vector.clip()');
  const most = doubleAt(args, 2, 'vector.clip()');
  if (!(least <= most)) refuse(`vector.clip() needs a least value that is not above the greatest`);
  return vectorAt(args, 0, 'vector.clip()').map(element =>
    Math.min(most, Math.max(least, element)),
  );
}

const toleranceDefault = 0.001;

function isNormalized(args: readonly Value[]): boolean {
  const tolerance = args.length > 1 ? doubleAt(args, 1, 'vector.isNormalized()') : toleranceDefault;
  return Math.abs(norm(vectorAt(args, 0, 'vector.isNormalized()')) - 1) <= tolerance;
}

const sparsityMeasures = ['FRACTION', 'L0', 'GMEAN'] as const;
/** The root of the distance from 1 to the next 32-bit float. */
const thresholdDefault = Math.sqrt(2 ** -23);

function sparsity(args: readonly Value[]): Value {
  const vector = vectorAt(args, 0, 'vector.sparsity()');
  const given = args[1] ?? null;
  const threshold =
    given === null ? thresholdDefault : Math.fround(doubleAt(args, 1, 'vector.sparsity()'));
  if (!(threshold >= 0)) refuse('vector.sparsity() needs a threshold of 0 or more');
  const measure = wordOf(textAt(args, 2, 'FRACTION'), sparsityMeasures, 'sparsity mode');
  const small = sumOf(vector, element => Number(Math.abs(element) < threshold));
  if (measure === 'FRACTION') return float(small / vector.length);
  if (measure === 'L0') return vector.length - small;
  if (vector.includes(0)) return float(0);
  return float(Math.exp(sumOf(vector, element => Math.log(Math.abs(element))) / vector.length));
}

/** Whether an element is as asked; a list may hold nulls here. */
function hasElement(name: string, isOdd: (element: Value) => boolean): ScalarFunction {
  return ([value = null]) => {
    if (isNumberArray(value)) return Array.from<number | bigint>(value as never).some(isOdd);
    const items = itemsOf(value);
    return items?.some(isOdd) ?? refuse(`${name} needs a vector, not ${describe(value)}`);
  };
}

const numberTest =
  (test: (number: number) => boolean) =>
  (element: Value): boolean =>
    isNumberValue(element) && test(numberOf(element));

export const vectorMeasures: FunctionFamily = {
  scalars: {
    'vector.add': elementwise('vector.add()', (left, right) => left + right),
    'vector.subtract': elementwise('vector.subtract()', (left, right) => left - right),
    'vector.multiply': elementwise('vector.multiply()', (left, right) => left * right),
    'vector.scale': scale,
    'vector.clip': clip,
    'vector.dotProduct': ofPair('vector.dotProduct()', dotProduct),
    'vector.cosineSimilarity': ofPair('vector.cosineSimilarity()', cosine),
    'vector.l2Distance': ofPair('vector.l2Distance()', euclideanDistance),
    'vector.l1Distance': ofPair('vector.l1Distance()', manhattanDistance),
    'vector.magnitude': ofOne('vector.magnitude()', norm),
    'vector.l1Norm': ofOne('vector.l1Norm()', vector => sumOf(vector, Math.abs)),
    'vector.lInfNorm': ofOne('vector.lInfNorm()', vector =>
      vector.reduce((most, element) => Math.max(most, Math.abs(element)), 0),
    ),
    'vector.normalize': args => normalized(vectorAt(args, 0, 'vector.normalize()')),
    'vector.isNormalized': isNormalized,
    'vector.variance': ofOne('vector.variance()', variance),
    'vector.stdDev': ofOne('vector.stdDev()', vector => Math.sqrt(variance(vector))),
    'vector.dimension': args => vectorAt(args, 0, 'vector.dimension()').length,
    'vector.hasNaN': hasElement('vector.hasNaN()', numberTest(Number.isNaN)),
    'vector.hasInf': hasElement(
      'vector.hasInf()',
      numberTest(number => Math.abs(number) === Infinity),
    ),
    'vector.hasNull': hasElement('vector.hasNull()', element => element === null),
    'vector.sparsity': sparsity,
  },
};
