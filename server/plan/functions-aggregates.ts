/**
 * Signatures of the functions over the rows of a group.
 *
 * Many have a twin over their own arguments: `max(price)` is of a group, `max(a, b)` of two
 * values; the binder tells them apart by the number of arguments. Nulls are no values to all of
 * them but `first` and `last`, which take the row's value as it is.
 */
import type {FunctionSignature} from './functions.ts';
import {aggregateRow, unlimited} from './signature.ts';

const one = [1, 1] as const;
const many = [1, unlimited] as const;

export const aggregateFunctions: readonly FunctionSignature[] = [
  aggregateRow('count', [0, 1], 'How many rows, or how many values that are not null.'),
  aggregateRow('sum', many, 'The sum of the numbers.', {nulls: 'handled'}),
  aggregateRow('avg', many, 'The mean of the numbers.', {nulls: 'handled'}),
  aggregateRow('min', many, 'The least value.', {nulls: 'handled'}),
  aggregateRow('max', many, 'The greatest value.', {nulls: 'handled'}),
  aggregateRow('median', one, 'The number in the middle.'),
  aggregateRow('mode', one, 'A list of the values that occur most often.'),
  aggregateRow('percentile', [2, unlimited], 'The number below which a share of 0 to 1 lies.'),
  aggregateRow('stddev', one, 'The standard deviation of a sample.'),
  aggregateRow('stddevp', one, 'The standard deviation of all there is.'),
  aggregateRow('variance', one, 'The variance of a sample.'),
  aggregateRow('variancep', one, 'The variance of all there is.'),
  aggregateRow('first', one, 'The value of the first row.'),
  aggregateRow('last', one, 'The value of the last row.'),
  aggregateRow('list', many, 'A list of the values, lists among them joined.', {nulls: 'handled'}),
  aggregateRow('set', many, 'A list of the different values.', {nulls: 'handled'}),
  aggregateRow('map', many, 'A map of keys and values in turn, or of maps.', {nulls: 'handled'}),
  aggregateRow('distinct', one, 'A list of the different values.'),
  aggregateRow('bool_and', one, 'Whether every value is true.'),
  aggregateRow('bool_or', one, 'Whether a value is true.'),
  aggregateRow('unionAll', many, 'One list of the items of all lists.', {nulls: 'handled'}),
  aggregateRow('intersect', many, 'The different items that all lists have.', {nulls: 'handled'}),
  aggregateRow('difference', many, 'The items of the first list that no other list has.', {
    nulls: 'handled',
  }),
  aggregateRow('symmetricDifference', many, 'The items that an odd number of lists has.', {
    nulls: 'handled',
  }),
  aggregateRow('concat', [1, 2], 'The values of all rows as one text, with a separator.'),
];
