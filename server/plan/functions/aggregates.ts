/**
 * Signatures of the functions over the rows of a group.
 *
 * Many have a twin over their own arguments: `max(price)` is of a group, `max(a, b)` of two
 * values; the binder tells them apart by the number of arguments. Nulls are no values to all of
 * them but `first` and `last`, which take the row's value as it is.
 */
import type {FunctionSignature} from '../functions.ts';
import {aggregateRow} from '../signature.ts';

export const aggregateFunctions: readonly FunctionSignature[] = [
  aggregateRow('count(value?)', 'How many rows, or how many values that are not null.', [
    'count(*)',
    '3',
  ]),
  aggregateRow('sum(value, values...)', 'The sum of the numbers.', ['sum(age)', '94'], {
    nulls: 'handled',
  }),
  aggregateRow(
    'avg(value, values...)',
    'The mean of the numbers.',
    ['avg(age)', '31.333333333333332'],
    {nulls: 'handled'},
  ),
  aggregateRow('min(value, values...)', 'The least value.', ['min(age)', '17'], {nulls: 'handled'}),
  aggregateRow('max(value, values...)', 'The greatest value.', ['max(age)', '41'], {
    nulls: 'handled',
  }),
  aggregateRow('median(number)', 'The number in the middle.', ['median(age)', '36.0']),
  aggregateRow('mode(value)', 'A list of the values that occur most often.', [
    'mode(age)',
    '[36,41,17]',
  ]),
  aggregateRow(
    'percentile(number, share, shares...)',
    'The number below which a share of 0 to 1 lies.',
    ['percentile(age, 0.5)', '36.0'],
  ),
  aggregateRow('stddev(number)', 'The standard deviation of a sample.', ['stddev(w)', '2.0']),
  aggregateRow('stddevp(number)', 'The standard deviation of all there is.', [
    'stddevp(w)',
    '1.632993161855452',
  ]),
  aggregateRow('variance(number)', 'The variance of a sample.', ['variance(w)', '4.0']),
  aggregateRow('variancep(number)', 'The variance of all there is.', [
    'variancep(w)',
    '2.6666666666666665',
  ]),
  aggregateRow(
    'first(value)',
    'The first item of a list, else the value; in a group that of the first row.',
    ['SELECT first([1, 2]) AS v', '{"v":1}'],
    {nulls: 'handled'},
  ),
  aggregateRow(
    'last(value)',
    'The last item of a list, else the value; in a group that of the last row.',
    ['SELECT last([1, 2]) AS v', '{"v":2}'],
    {nulls: 'handled'},
  ),
  aggregateRow(
    'list(value, values...)',
    'A list of the values, lists among them joined.',
    ['list(name)', '["Ada","Bob","Cy"]'],
    {nulls: 'handled'},
  ),
  aggregateRow(
    'set(value, values...)',
    'A list of the different values.',
    ['set(age > 30)', '[true,false]'],
    {nulls: 'handled'},
  ),
  aggregateRow(
    'map(key, values...)',
    'A map of keys and values in turn, or of maps; in a group of all rows.',
    ["SELECT map('a', 1, 'b', 2) AS v", '{"v":{"a":1,"b":2}}'],
    {nulls: 'handled'},
  ),
  aggregateRow('distinct(value)', 'A list of the different values.', [
    'SELECT distinct(age > 30) AS v FROM Person',
    '{"v":true},{"v":false}',
  ]),
  aggregateRow(
    'bool_and(condition, conditions...)',
    'Whether no value is false.',
    ['bool_and(age > 30)', 'false'],
    {nulls: 'handled'},
  ),
  aggregateRow(
    'bool_or(condition, conditions...)',
    'Whether a value is true.',
    ['bool_or(age > 30)', 'true'],
    {nulls: 'handled'},
  ),
  aggregateRow(
    'unionAll(list, lists...)',
    'One list of the items of all lists.',
    ['unionAll(tags)', '["maths","verse","verse"]'],
    {nulls: 'handled'},
  ),
  aggregateRow(
    'intersect(list, lists...)',
    'The different items that all lists have.',
    ['intersect(tags)', '["verse"]'],
    {nulls: 'handled'},
  ),
  aggregateRow(
    'difference(list, lists...)',
    'The items of the first list that no other list has.',
    ['difference([1, 2, 3], [2])', '[1,3]},{"v":[1,3]},{"v":[1,3]'],
    {
      nulls: 'handled',
    },
  ),
  aggregateRow(
    'symmetricDifference(list, lists...)',
    'The items that an odd number of lists has.',
    ['symmetricDifference([1, 2], [2, 3])', '[1,3]},{"v":[1,3]},{"v":[1,3]'],
    {
      nulls: 'handled',
    },
  ),
  aggregateRow(
    'concat(value, separator?)',
    'The values of all rows as one text, with a separator.',
    ["concat(name, ', ')", '"Ada, Bob, Cy"'],
  ),
];
