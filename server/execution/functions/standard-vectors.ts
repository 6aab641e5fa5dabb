/** `std.vector*`: lists of numbers as vectors, how alike they are and how far apart. */
import {Refusal} from '#server/base/errors.ts';
import {isIntegerValue, isNumberValue, makeDouble, numberOf} from '#server/model/number.ts';
import type {Value} from '#server/model/value.ts';
import {describe} from '../expressions/arithmetic.ts';
import {itemsOfList, typeError} from '../expressions/strict-operators.ts';
import type {FunctionFamily, ScalarFunction} from '../function-registry.ts';

const dimensionMax = 65_536;

function vectorOf(value: Value | undefined): readonly number[] {
  const items = itemsOfList(value ?? null);
  if (items === undefined || items.length === 0 || items.length > dimensionMax) {
    const what = describe(value ?? null);
    throw typeError(`a vector is a list of 1 to ${dimensionMax} numbers, not ${what}`);
  }
  return items.map(item => {
    if (isNumberValue(item)) return numberOf(item);
    throw typeError(`a vector holds numbers, not ${describe(item)}`);
  });
}

function create([value, dimension = null]: readonly Value[]): Value {
  const vector = vectorOf(value);
  if (dimension === null) return vector.map(makeDouble);
  if (isIntegerValue(dimension) && Number(dimension) === vector.length) {
    return vector.map(makeDouble);
  }
  throw new Refusal(
    'argument',
    `a vector of ${describe(dimension)} dimensions is wanted, this one has ${vector.length}`,
  );
}

type Measure = (left: readonly number[], right: readonly number[]) => number;

function sum(left: readonly number[], of: (at: number) => number): number {
  let total = 0;
  for (let at = 0; at < left.length; at++) total += of(at);
  return total;
}

const item = (vector: readonly number[], at: number): number => vector[at] ?? 0;
const dot: Measure = (left, right) => sum(left, at => item(left, at) * item(right, at));
const norm = (vector: readonly number[]): number => Math.sqrt(dot(vector, vector));

/** NaN where one of them has no direction. */
const cosine: Measure = (left, right) => {
  const lengths = norm(left) * norm(right);
  return lengths === 0 ? Number.NaN : Math.max(-1, Math.min(1, dot(left, right) / lengths));
};

const apart: Measure = (left, right) => 1 - cosine(left, right);
const euclidean: Measure = (left, right) =>
  Math.sqrt(sum(left, at => (item(left, at) - item(right, at)) ** 2));
const manhattan: Measure = (left, right) =>
  sum(left, at => Math.abs(item(left, at) - item(right, at)));

const distances: Readonly<Record<string, Measure>> = {
  COSINE: apart,
  EUCLIDEAN: euclidean,
  MANHATTAN: manhattan,
};

function measured(measure: Measure): ScalarFunction {
  return ([one, other]) => {
    const [left, right] = [vectorOf(one), vectorOf(other)];
    if (left.length === right.length) return makeDouble(measure(left, right));
    throw new Refusal(
      'argument',
      `vectors of ${left.length} and of ${right.length} dimensions cannot be compared`,
    );
  };
}

const distance: ScalarFunction = (args, call) => {
  const [, , metric = null] = args;
  const measure = typeof metric === 'string' ? distances[metric.toUpperCase()] : undefined;
  if (measure !== undefined) return measured(measure)(args, call);
  const known = Object.keys(distances).join(', ');
  throw new Refusal('argument', `a distance is one of ${known}, not ${describe(metric)}`);
};

export const standardVectors: FunctionFamily = {
  scalars: {
    'std.vector': create,
    'std.vector.dimensions': ([value]) => vectorOf(value).length,
    'std.vector.norm': ([value]) => makeDouble(norm(vectorOf(value))),
    'std.vector.cosineSimilarity': measured(cosine),
    'std.vector.euclideanSimilarity': measured((left, right) => 1 / (1 + euclidean(left, right))),
    'std.vector.distance': distance,
    'std.vector.cosineDistance': measured(apart),
    'std.vector.euclideanDistance': measured(euclidean),
    'std.vector.manhattanDistance': measured(manhattan),
  },
};
