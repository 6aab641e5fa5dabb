/** `vector.*` over the rows of a group, element by element: sum, mean, least, greatest. */
import type {Value} from '#server/model/value.ts';
import {argument, refuse} from '../arguments.ts';
import {aggregate, type AggregateFunction, type FunctionFamily} from '../../function-registry.ts';
import {vectorOf} from './vector-arguments.ts';

interface Gathered {
  readonly elements: Float64Array;
  count: number;
}

type State = Gathered | undefined;

function elementwise(
  name: string,
  combine: (sum: number, element: number) => number,
  finish: (element: number, count: number) => number = element => element,
): AggregateFunction {
  return aggregate<State>({
    init: () => undefined,
    step: (state, args) => {
      const value = argument(args, 0);
      if (value === null) return state;
      const vector = vectorOf(value, name);
      if (state === undefined) return {elements: Float64Array.from(vector), count: 1};
      const {elements} = state;
      if (elements.length !== vector.length) {
        refuse(
          `${name} needs vectors of one dimension, not of ${elements.length} and ${vector.length}`,
        );
      }
      for (let at = 0; at < vector.length; at++) {
        elements[at] = combine(elements[at] ?? 0, vector[at] ?? 0);
      }
      state.count++;
      return state;
    },
    finish: (state): Value =>
      state === undefined
        ? null
        : Float32Array.from(state.elements, element => finish(element, state.count)),
  });
}

const add = (sum: number, element: number): number => sum + element;

export const vectorAggregates: FunctionFamily = {
  aggregates: {
    'vector.sum': elementwise('vector.sum()', add),
    'vector.avg': elementwise('vector.avg()', add, (sum, count) => sum / count),
    'vector.min': elementwise('vector.min()', Math.min),
    'vector.max': elementwise('vector.max()', Math.max),
  },
};
