/**
 * Signatures of the functions with a family's prefix that SQL and Cypher share: `text.*`,
 * `coll.*`, `map.*`, `convert.*`, `number.*`, `math.*` and `agg.*`.
 *
 * `agg.*` work on a list, such as one that `list()` collected. Positions count from 0.
 */
import type {FunctionSignature} from '../functions.ts';
import {handled, scalarRow} from '../signature.ts';

const random = {needs: 'random', deterministic: false} as const;
const slow = {cost: 5_000} as const;

const texts: readonly FunctionSignature[] = [
  scalarRow('text.byteCount(text, charset?)', 'How many bytes the text has in UTF-8.', [
    "text.byteCount('né')",
    '3',
  ]),
  scalarRow('text.camelCase(text)', 'As helloBigWorld.', [
    "text.camelCase('hello big world')",
    '"helloBigWorld"',
  ]),
  scalarRow('text.upperCamelCase(text)', 'As HelloBigWorld.', [
    "text.upperCamelCase('hello big world')",
    '"HelloBigWorld"',
  ]),
  scalarRow('text.snakeCase(text)', 'As hello_big_world, in lower case.', [
    "text.snakeCase('helloBig World')",
    '"hello_big_world"',
  ]),
  scalarRow('text.capitalize(text)', 'With the first letter in upper case.', [
    "text.capitalize('ada and bob')",
    '"Ada and bob"',
  ]),
  scalarRow('text.capitalizeAll(text)', 'With the first letter of each word in upper case.', [
    "text.capitalizeAll('ada and bob')",
    '"Ada And Bob"',
  ]),
  scalarRow('text.decapitalize(text)', 'With the first letter in lower case.', [
    "text.decapitalize('ABC')",
    '"aBC"',
  ]),
  scalarRow('text.decapitalizeAll(text)', 'With the first letter of each word in lower case.', [
    "text.decapitalizeAll('Ada And Bob')",
    '"ada and bob"',
  ]),
  scalarRow(
    'text.charAt(text, position)',
    'The character at a position from 0; null beyond the ends.',
    ["text.charAt('abc', 1)", '"b"'],
  ),
  scalarRow('text.code(text, position?)', 'The code of the character at a position (the first).', [
    "text.code('abc', 1)",
    '98',
  ]),
  scalarRow(
    'text.format(pattern, values...)',
    'A text with %s, %d, %05.2f, ... replaced.',
    ["text.format('%s-%d', ['a', 5])", '"a-5"'],
    handled,
  ),
  scalarRow('text.hexValue(number)', 'A whole number as hexadecimal digits.', [
    'text.hexValue(255)',
    '"ff"',
  ]),
  scalarRow(
    'text.indexOf(text, part, from?, to?)',
    'The first position of a text, from and up to a position.',
    ["text.indexOf('banana', 'an', 2)", '3'],
  ),
  scalarRow('text.join(list, separator)', 'The items of a list as one text, with a separator.', [
    "text.join(tags, ' and ')",
    '"maths and verse"',
  ]),
  scalarRow(
    'text.split(text, separator, limit?)',
    'The parts between separators, at most so many.',
    ["text.split('a,b,c', ',', 2)", '["a","b,c"]'],
  ),
  scalarRow('text.lpad(text, length, filler?)', 'Filled up at the left to a length.', [
    "text.lpad('7', 3, '0')",
    '"007"',
  ]),
  scalarRow('text.rpad(text, length, filler?)', 'Filled up at the right to a length.', [
    "text.rpad('7', 3, '0')",
    '"700"',
  ]),
  scalarRow(
    'text.random(length, characters?)',
    'A text of random letters and digits of a length.',
    ["text.random(5, 'x')", '"xxxxx"'],
    random,
  ),
  scalarRow(
    'text.regexReplace(text, pattern, by)',
    'Every match of a regular expression replaced.',
    ["text.regexReplace('a1b22', '[0-9]+', '#')", '"a#b#"'],
    slow,
  ),
  scalarRow('text.replace(text, part, by)', 'Every occurrence of a text replaced.', [
    "text.replace('banana', 'an', 'o')",
    '"booa"',
  ]),
  scalarRow('text.slug(text, separator?)', 'Words joined by hyphens, for addresses.', [
    "text.slug('Crème brûlée, twice')",
    '"creme-brulee-twice"',
  ]),
  scalarRow(
    'text.levenshteinDistance(left, right)',
    'Least number of changed characters.',
    ["text.levenshteinDistance('kitten', 'sitting')", '3'],
    slow,
  ),
  scalarRow(
    'text.levenshteinSimilarity(left, right)',
    'The same as a share of 0 to 1.',
    ["text.levenshteinSimilarity('kitten', 'mitten')", '0.8333333333333334'],
    slow,
  ),
  scalarRow(
    'text.jaroWinklerDistance(left, right)',
    'Likeness of two texts from 0 to 1.',
    ["text.jaroWinklerDistance('MARTHA', 'MARHTA')", '0.9611111111111111'],
    slow,
  ),
  scalarRow(
    'text.hammingDistance(left, right)',
    'How many positions of texts of one length differ.',
    ["text.hammingDistance('karolin', 'kathrin')", '3'],
  ),
  scalarRow(
    'text.sorensenDiceSimilarity(left, right)',
    'Share of common pairs of letters.',
    ["text.sorensenDiceSimilarity('night', 'nacht')", '0.25'],
    slow,
  ),
];

const lists: readonly FunctionSignature[] = [
  scalarRow('coll.avg(list)', 'The mean of the numbers of a list.', ['coll.avg([1, 2, 3])', '2.0']),
  scalarRow('coll.distinct(list)', 'The different items.', ['coll.distinct([1, 2, 1])', '[1,2]']),
  scalarRow(
    'coll.flatten(list, deep?)',
    'The items of the lists in a list; so many times, true: at any depth.',
    ['coll.flatten([1, [2, [3]]])', '[1,2,[3]]'],
  ),
  scalarRow('coll.indexOf(list, item)', 'The first position of an item, -1 without one.', [
    "coll.indexOf(tags, 'verse')",
    '1',
  ]),
  scalarRow(
    'coll.insert(list, position, item)',
    'A list with an item put in at a position.',
    ['coll.insert([1, 3], 1, 2)', '[1,2,3]'],
    handled,
  ),
  scalarRow('coll.max(value, values...)', 'The greatest item.', ['coll.max([3, 7, 5])', '7']),
  scalarRow('coll.min(value, values...)', 'The least item.', ['coll.min([3, 7, 5])', '3']),
  scalarRow('coll.pairsMin(list)', 'Each item with the one behind it.', [
    'coll.pairsMin([1, 2, 3])',
    '[[1,2],[2,3]]',
  ]),
  scalarRow('coll.remove(list, position, count?)', 'A list without items from a position on.', [
    'coll.remove([1, 2, 3], 0, 2)',
    '[3]',
  ]),
  scalarRow('coll.sort(list)', 'The items in their order.', ['coll.sort([3, 1, 2])', '[1,2,3]']),
  scalarRow('coll.sum(list)', 'The sum of the numbers of a list.', ['coll.sum([1, 2, 3])', '6']),
  scalarRow('coll.toSet(list)', 'The different items.', ['coll.toSet([1, 1, 2])', '[1,2]']),
  scalarRow(
    'coll.union(left, right)',
    'The different items of two lists.',
    ['coll.union([1], [1, 2])', '[1,2]'],
    handled,
  ),
  scalarRow(
    'coll.unionAll(left, right)',
    'The items of two lists.',
    ['coll.unionAll([1], [1, 2])', '[1,1,2]'],
    handled,
  ),
];

const maps: readonly FunctionSignature[] = [
  scalarRow(
    'map.clean(map, keys, values)',
    'A map without keys and values that two lists name.',
    ["map.clean({'a': '', 'b': 1, 'c': 2}, ['c'], [''])", '{"b":1}'],
    handled,
  ),
  scalarRow('map.flatten(map, delimiter?)', 'Maps in a map as names with a delimiter (a dot).', [
    "map.flatten({'a': {'b': 1}})",
    '{"a.b":1}',
  ]),
  scalarRow('map.unflatten(map, delimiter?)', 'The inverse of map.flatten.', [
    "map.unflatten({'a.b': 1, 'a.c': 2})",
    '{"a":{"b":1,"c":2}}',
  ]),
  scalarRow('map.fromLists(keys, values)', 'A map of a list of keys and one of values.', [
    "map.fromLists(['a', 'b'], [1, 2])",
    '{"a":1,"b":2}',
  ]),
  scalarRow('map.fromPairs(pairs)', 'A map of a list of [key, value].', [
    "map.fromPairs([['a', 1], ['b', 2]])",
    '{"a":1,"b":2}',
  ]),
  scalarRow('map.groupBy(maps, key)', 'Maps or records by the value of a property.', [
    "map.groupBy([{'k': 'x', 'n': 1}, {'k': 'x', 'n': 2}], 'k')",
    '{"x":[{"k":"x","n":1},{"k":"x","n":2}]}',
  ]),
  scalarRow(
    'map.merge(left, right)',
    'One map of two; the second wins.',
    ["map.merge({'a': 1, 'b': 1}, {'b': 2})", '{"a":1,"b":2}'],
    handled,
  ),
  scalarRow('map.mergeList(maps)', 'One map of many; later ones win.', [
    "map.mergeList([{'a': 1}, {'a': 2, 'b': 3}])",
    '{"a":2,"b":3}',
  ]),
  scalarRow('map.removeKey(map, key)', 'A map without a key.', [
    "map.removeKey({'a': 1, 'b': 2}, 'a')",
    '{"b":2}',
  ]),
  scalarRow('map.removeKeys(map, keys)', 'A map without the keys of a list.', [
    "map.removeKeys({'a': 1, 'b': 2, 'c': 3}, ['a', 'b'])",
    '{"c":3}',
  ]),
  scalarRow(
    'map.setKey(map, key, value)',
    'A map with a key set.',
    ["map.setKey({'a': 1}, 'b', 2)", '{"a":1,"b":2}'],
    handled,
  ),
  scalarRow(
    'map.sortedProperties(map, ignoreCase?)',
    'A list of [key, value] in the order of the keys.',
    ["map.sortedProperties({'b': 1, 'a': 2})", '[["a",2],["b",1]]'],
  ),
  scalarRow('map.submap(map, keys, defaults?)', 'The named keys of a map, with defaults.', [
    "map.submap({'a': 1, 'b': 2}, ['a', 'z'], [7, 8])",
    '{"a":1,"z":8}',
  ]),
  scalarRow(
    'map.values(map, keys?, nulls?)',
    'The values of the named keys; true: null for absent ones.',
    ["map.values({'a': 1, 'b': 2}, ['a', 'z'], true)", '[1,null]'],
  ),
];

const conversions: readonly FunctionSignature[] = [
  scalarRow(
    'convert.toJson(value)',
    'As a text of JSON.',
    ["convert.toJson({'a': [1, null]})", String.raw`"{\"a\":[1,null]}"`],
    handled,
  ),
  scalarRow('convert.toMap(value)', 'A record or a text of JSON as a map, else null.', [
    'convert.toMap(\'{"a": 1}\')',
    '{"a":1}',
  ]),
  scalarRow('convert.toList(value)', 'As a list.', ['convert.toList(5)', '[5]']),
  scalarRow('convert.toSet(value)', 'As a list of different items.', [
    'convert.toSet([1, 1])',
    '[1]',
  ]),
  scalarRow('convert.toString(value)', 'As a text.', ['convert.toString(12)', '"12"']),
  scalarRow('convert.toInteger(value)', 'As a whole number, else null.', [
    "convert.toInteger('4.9')",
    '4',
  ]),
  scalarRow('convert.toFloat(value)', 'As a floating-point number, else null.', [
    "convert.toFloat('4.5')",
    '4.5',
  ]),
  scalarRow(
    'convert.toBoolean(value)',
    'As a boolean (yes, no, 1, 0 are words of it), else null.',
    ["convert.toBoolean('maybe')", 'null'],
  ),
  scalarRow('convert.fromJsonMap(text)', 'A text of JSON as a map.', [
    'convert.fromJsonMap(\'{"a": [1]}\')',
    '{"a":[1]}',
  ]),
  scalarRow('convert.fromJsonList(text)', 'A text of JSON as a list.', [
    'convert.fromJsonList(\'[1, {"a": 2}]\')',
    '[1,{"a":2}]',
  ]),
  scalarRow(
    'number.format(number, pattern?, language?)',
    'A number by a pattern such as #,##0.00.',
    ["number.format(1234567.891, '#,##0.00')", '"1,234,567.89"'],
  ),
];

const aggregations: readonly FunctionSignature[] = [
  scalarRow('agg.first(list)', 'The first item that is not null.', ['agg.first([null, 2])', '2']),
  scalarRow('agg.last(list)', 'The last item that is not null.', ['agg.last([1, 2, null])', '2']),
  scalarRow('agg.nth(list, position)', 'The item at a position, nulls not counted.', [
    'agg.nth([5, null, 7], 1)',
    '7',
  ]),
  scalarRow('agg.slice(list, from?, to?)', 'Items from a position on to before another.', [
    'agg.slice([1, 2, 3, 4], 1, 3)',
    '[2,3]',
  ]),
  scalarRow('agg.median(list)', 'The number in the middle.', ['agg.median([3, 1, 2])', '2.0']),
  scalarRow('agg.percentiles(list, shares?)', 'The numbers below which shares of 0 to 1 lie.', [
    'agg.percentiles([1, 2, 3, 4], [0.5])',
    '[2.5]',
  ]),
  scalarRow('agg.product(list)', 'The product of the numbers.', ['agg.product([2, 3, 4])', '24']),
  scalarRow('agg.statistics(list)', 'Least, median, greatest, mean, count, sum and deviation.', [
    'agg.statistics([1, 2, 3]).mean',
    '2.0',
  ]),
  scalarRow(
    'agg.minItems(values, items?, limit?)',
    'The least value and the items at its places: values, items.',
    ["agg.minItems([2, 1, 1], ['a', 'b', 'c'])", '{"items":["b","c"],"value":1}'],
  ),
  scalarRow(
    'agg.maxItems(values, items?, limit?)',
    'The greatest value and the items at its places: values, items.',
    ["agg.maxItems([1, 5, 5], ['a', 'b', 'c'])", '{"items":["b","c"],"value":5}'],
  ),
];

export const libraryFunctions: readonly FunctionSignature[] = [
  ...texts,
  ...lists,
  ...maps,
  ...conversions,
  ...aggregations,
];
