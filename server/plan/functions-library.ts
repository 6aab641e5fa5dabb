/**
 * Signatures of the functions with a family's prefix that SQL and Cypher share: `text.*`,
 * `coll.*`, `map.*`, `convert.*`, `number.*`, `math.*` and `agg.*`.
 *
 * `agg.*` work on a list, such as one that `list()` collected. Positions count from 0.
 */
import type {FunctionSignature} from './functions.ts';
import {handled, scalarRow, unlimited} from './signature.ts';

const one = [1, 1] as const;
const two = [2, 2] as const;
const random = {needs: 'random', deterministic: false} as const;
const slow = {cost: 5_000} as const;

const texts: readonly FunctionSignature[] = [
  scalarRow('text.byteCount', [1, 2], 'How many bytes the text has in UTF-8.'),
  scalarRow('text.camelCase', one, 'As helloBigWorld.'),
  scalarRow('text.upperCamelCase', one, 'As HelloBigWorld.'),
  scalarRow('text.snakeCase', one, 'As hello-big-world, in lower case.'),
  scalarRow('text.capitalize', one, 'With the first letter in upper case.'),
  scalarRow('text.capitalizeAll', one, 'With the first letter of each word in upper case.'),
  scalarRow('text.decapitalize', one, 'With the first letter in lower case.'),
  scalarRow('text.decapitalizeAll', one, 'With the first letter of each word in lower case.'),
  scalarRow('text.charAt', two, 'The character at a position from 0; null beyond the ends.'),
  scalarRow('text.code', [1, 2], 'The code of the character at a position (the first).'),
  scalarRow('text.format', [1, unlimited], 'A text with %s, %d, %05.2f, ... replaced.', handled),
  scalarRow('text.hexValue', one, 'A whole number as hexadecimal digits.'),
  scalarRow('text.indexOf', [2, 4], 'The first position of a text, from and up to a position.'),
  scalarRow('text.join', two, 'The items of a list as one text, with a separator.'),
  scalarRow('text.split', [2, 3], 'The parts between separators, at most so many.'),
  scalarRow('text.lpad', [2, 3], 'Filled up at the left to a length.'),
  scalarRow('text.rpad', [2, 3], 'Filled up at the right to a length.'),
  scalarRow('text.random', [1, 2], 'A text of random letters and digits of a length.', random),
  scalarRow('text.regexReplace', [3, 3], 'Every match of a regular expression replaced.', slow),
  scalarRow('text.replace', [3, 3], 'Every occurrence of a text replaced.'),
  scalarRow('text.slug', [1, 2], 'Words joined by hyphens, for addresses.'),
  scalarRow('text.levenshteinDistance', two, 'Least number of changed characters.', slow),
  scalarRow('text.levenshteinSimilarity', two, 'The same as a share of 0 to 1.', slow),
  scalarRow('text.jaroWinklerDistance', two, 'Likeness of two texts from 0 to 1.', slow),
  scalarRow('text.hammingDistance', two, 'How many positions of texts of one length differ.'),
  scalarRow('text.sorensenDiceSimilarity', two, 'Share of common pairs of letters.', slow),
];

const lists: readonly FunctionSignature[] = [
  scalarRow('coll.avg', one, 'The mean of the numbers of a list.'),
  scalarRow('coll.distinct', one, 'The different items.'),
  scalarRow('coll.flatten', [1, 2], 'The items of the lists in a list; true: at any depth.'),
  scalarRow('coll.indexOf', two, 'The first position of an item, -1 without one.'),
  scalarRow('coll.insert', [3, 3], 'A list with an item put in at a position.', handled),
  scalarRow('coll.max', [1, unlimited], 'The greatest item.'),
  scalarRow('coll.min', [1, unlimited], 'The least item.'),
  scalarRow('coll.pairsMin', one, 'Each item with the one behind it.'),
  scalarRow('coll.remove', [2, 3], 'A list without items from a position on.'),
  scalarRow('coll.sort', one, 'The items in their order.'),
  scalarRow('coll.sum', one, 'The sum of the numbers of a list.'),
  scalarRow('coll.toSet', one, 'The different items.'),
  scalarRow('coll.union', two, 'The different items of two lists.', handled),
  scalarRow('coll.unionAll', two, 'The items of two lists.', handled),
];

const maps: readonly FunctionSignature[] = [
  scalarRow('map.clean', [3, 3], 'A map without keys and values that two lists name.', handled),
  scalarRow('map.flatten', [1, 2], 'Maps in a map as names with a delimiter (a dot).'),
  scalarRow('map.unflatten', [1, 2], 'The inverse of map.flatten.'),
  scalarRow('map.fromLists', two, 'A map of a list of keys and one of values.'),
  scalarRow('map.fromPairs', one, 'A map of a list of [key, value].'),
  scalarRow('map.groupBy', two, 'Maps or records by the value of a property.'),
  scalarRow('map.merge', two, 'One map of two; the second wins.', handled),
  scalarRow('map.mergeList', one, 'One map of many; later ones win.'),
  scalarRow('map.removeKey', two, 'A map without a key.'),
  scalarRow('map.removeKeys', two, 'A map without the keys of a list.'),
  scalarRow('map.setKey', [3, 3], 'A map with a key set.', handled),
  scalarRow('map.sortedProperties', [1, 2], 'A list of [key, value] in the order of the keys.'),
  scalarRow('map.submap', [2, 3], 'The named keys of a map, with defaults.'),
  scalarRow('map.values', [1, 3], 'The values of the named keys; true: null for absent ones.'),
];

const conversions: readonly FunctionSignature[] = [
  scalarRow('convert.toJson', one, 'As a text of JSON.', handled),
  scalarRow('convert.toMap', one, 'A record or a text of JSON as a map, else null.'),
  scalarRow('convert.toList', one, 'As a list.'),
  scalarRow('convert.toSet', one, 'As a list of different items.'),
  scalarRow('convert.toString', one, 'As a text.'),
  scalarRow('convert.toInteger', one, 'As a whole number, else null.'),
  scalarRow('convert.toFloat', one, 'As a floating-point number, else null.'),
  scalarRow('convert.toBoolean', one, 'As a boolean, else null.'),
  scalarRow('convert.fromJsonMap', one, 'A text of JSON as a map.'),
  scalarRow('convert.fromJsonList', one, 'A text of JSON as a list.'),
  scalarRow('number.format', [1, 3], 'A number by a pattern such as #,##0.00.'),
];

const aggregations: readonly FunctionSignature[] = [
  scalarRow('agg.first', one, 'The first item that is not null.'),
  scalarRow('agg.last', one, 'The last item that is not null.'),
  scalarRow('agg.nth', two, 'The item at a position, nulls not counted.'),
  scalarRow('agg.slice', [1, 3], 'Items from a position on, at most so many.'),
  scalarRow('agg.median', one, 'The number in the middle.'),
  scalarRow('agg.percentiles', [1, 2], 'The numbers below which shares of 0 to 1 lie.'),
  scalarRow('agg.product', one, 'The product of the numbers.'),
  scalarRow('agg.statistics', one, 'Count, sum, mean, least, greatest and deviation.'),
  scalarRow('agg.minItems', [1, 3], 'The least value and where it is: items, values.'),
  scalarRow('agg.maxItems', [1, 3], 'The greatest value and where it is: items, values.'),
];

export const libraryFunctions: readonly FunctionSignature[] = [
  ...texts,
  ...lists,
  ...maps,
  ...conversions,
  ...aggregations,
];
