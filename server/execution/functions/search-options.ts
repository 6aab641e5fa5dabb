/** Arguments of searches of sparse vectors. */
import {isNumberValue, numberOf} from '#server/model/number.ts';
import type {Value} from '#server/model/value.ts';
import {itemsOf} from '../expressions/access.ts';
import {describe} from '../expressions/arithmetic.ts';
import {refuse} from './arguments.ts';

/** @throws {Refusal} for anything that is no list of numbers. */
export function sparseNumbers(value: Value, name: string): readonly number[] {
  const items = itemsOf(value);
  if (items === undefined) return refuse(`${name} needs lists of numbers, not ${describe(value)}`);
  return items.map(item =>
    isNumberValue(item) ? numberOf(item) : refuse(`${name} needs numbers, not ${describe(item)}`),
  );
}
