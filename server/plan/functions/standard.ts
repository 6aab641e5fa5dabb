/**
 * Signatures of `std.*`: functions of graphs, lists, texts, numbers and times that refuse what is
 * of the wrong kind instead of converting it.
 *
 * Query languages that promise such functions call them by their own names.
 */
import type {FunctionSignature} from '../functions.ts';
import {aggregateRow, handled, scalarRow} from '../signature.ts';

const record = {needs: 'graph', cost: 2_000} as const;
const clock = {needs: 'clock', deterministic: false} as const;
const clockHandled = {...clock, nulls: 'handled'} as const;

const graph: readonly FunctionSignature[] = [
  scalarRow('std.id(record)', 'The id of a record as a whole number.', [
    'std.id(@this) >= 0',
    'true',
  ]),
  scalarRow('std.elementId(record)', 'The id of a record as a text.', [
    'std.elementId(@this) = @rid.asString()',
    'true',
  ]),
  scalarRow(
    'std.labels(vertex)',
    'The labels of a vertex.',
    ['std.labels(@this)', '["Person"]'],
    record,
  ),
  scalarRow(
    'std.type(edge)',
    'The name of the type of an edge.',
    ['std.type(outE()[0])', '"Knows"'],
    record,
  ),
  scalarRow(
    'std.keys(record)',
    'The names of the properties of a record or map.',
    ["std.keys({'a': 1, 'b': 2})", '["a","b"]'],
    record,
  ),
  scalarRow(
    'std.properties(record)',
    'The properties of a record or map as a map.',
    ["std.properties({'a': 1})", '{"a":1}'],
    record,
  ),
  scalarRow(
    'std.startNode(edge)',
    'The vertex where an edge starts.',
    ['std.startNode(outE()[0]).name', '"Ada"'],
    record,
  ),
  scalarRow(
    'std.endNode(edge)',
    'The vertex where an edge ends.',
    ['std.endNode(outE()[0]).name', '"Bob"'],
    record,
  ),
  scalarRow(
    'std.nodes(path)',
    'The vertices of a path.',
    ['std.nodes(path.create(@this, outE())).name', '["Ada","Bob"]'],
    record,
  ),
  scalarRow(
    'std.relationships(path)',
    'The edges of a path.',
    ['std.relationships(path.create(@this, outE())).since', '[2001]'],
    record,
  ),
  scalarRow('std.length(path)', 'How many edges a path has; of a text or list its size.', [
    'std.length(path.create(@this, outE()))',
    '1',
  ]),
];

const lists: readonly FunctionSignature[] = [
  scalarRow('std.size(value)', 'How many items a list has, or characters a text.', [
    'std.size([1, 2, 3])',
    '3',
  ]),
  scalarRow('std.head(list)', 'The first item of a list.', ['std.head([1, 2, 3])', '1']),
  scalarRow('std.last(list)', 'The last item of a list.', ['std.last([1, 2, 3])', '3']),
  scalarRow('std.tail(list)', 'A list without its first item.', ['std.tail([1, 2, 3])', '[2,3]']),
  scalarRow('std.range(from, to, step?)', 'The whole numbers from one to another, both included.', [
    'std.range(1, 9, 3)',
    '[1,4,7]',
  ]),
  scalarRow('std.reverse(value)', 'A list or text from its end to its start.', [
    "std.reverse('abc')",
    '"cba"',
  ]),
  scalarRow('std.isEmpty(value)', 'Whether a list, map or text has nothing in it.', [
    'std.isEmpty([])',
    'true',
  ]),
  scalarRow(
    'std.nullIf(value, other)',
    'Null if both are equal, else the first.',
    ['std.nullIf(4, 4)', 'null'],
    handled,
  ),
  scalarRow(
    'std.valueType(value)',
    'The name of the type of a value.',
    ['std.valueType([1])', '"LIST"'],
    handled,
  ),
];

const conversions: readonly FunctionSignature[] = [
  scalarRow('std.toInteger(value)', 'A number or text as an integer; null if it is none.', [
    "std.toInteger('12')",
    '12',
  ]),
  scalarRow('std.toFloat(value)', 'A number or text as a float; null if it is none.', [
    "std.toFloat('1.5')",
    '1.5',
  ]),
  scalarRow(
    'std.toBoolean(value)',
    'A boolean, integer or text as a boolean; null if it is none.',
    ["std.toBoolean('true')", 'true'],
  ),
  scalarRow('std.toString(value)', 'A single value as a text.', ['std.toString(12)', '"12"']),
  scalarRow('std.toIntegerOrNull(value)', 'As std.toInteger, null for every other value.', [
    'std.toIntegerOrNull([1])',
    'null',
  ]),
  scalarRow('std.toFloatOrNull(value)', 'As std.toFloat, null for every other value.', [
    "std.toFloatOrNull('1.5')",
    '1.5',
  ]),
  scalarRow('std.toBooleanOrNull(value)', 'As std.toBoolean, null for every other value.', [
    "std.toBooleanOrNull('maybe')",
    'null',
  ]),
  scalarRow('std.toStringOrNull(value)', 'As std.toString, null for every other value.', [
    'std.toStringOrNull([1])',
    'null',
  ]),
  scalarRow('std.toIntegerList(list)', 'Each item as std.toIntegerOrNull.', [
    "std.toIntegerList(['1', 'x'])",
    '[1,null]',
  ]),
  scalarRow('std.toFloatList(list)', 'Each item as std.toFloatOrNull.', [
    "std.toFloatList(['1.5', 'x'])",
    '[1.5,null]',
  ]),
  scalarRow('std.toBooleanList(list)', 'Each item as std.toBooleanOrNull.', [
    "std.toBooleanList(['true', 'x'])",
    '[true,null]',
  ]),
  scalarRow('std.toStringList(list)', 'Each item as std.toStringOrNull.', [
    'std.toStringList([1, true])',
    '["1","true"]',
  ]),
];

const texts: readonly FunctionSignature[] = [
  scalarRow(
    'std.substring(text, from, length?)',
    'Characters from a position on, at most so many.',
    ["std.substring('banana', 1, 3)", '"ana"'],
  ),
  scalarRow('std.left(text, count)', 'The first characters.', ["std.left('banana', 3)", '"ban"']),
  scalarRow('std.right(text, count)', 'The last characters.', ["std.right('banana', 3)", '"ana"']),
  scalarRow('std.replace(text, part, by)', 'Every occurrence of a text replaced.', [
    "std.replace('banana', 'an', 'o')",
    '"booa"',
  ]),
  scalarRow('std.split(text, separators)', 'The parts between separators, one of them or a list.', [
    "std.split('a,b;c', [',', ';'])",
    '["a","b","c"]',
  ]),
  scalarRow(
    'std.trim(text, characters?)',
    'Without blanks (or the given characters) at both ends.',
    ["std.trim('xax', 'x')", '"a"'],
  ),
  scalarRow(
    'std.ltrim(text, characters?)',
    'Without blanks (or the given characters) at the start.',
    ["std.ltrim(' a ')", '"a "'],
  ),
  scalarRow(
    'std.rtrim(text, characters?)',
    'Without blanks (or the given characters) at the end.',
    ["std.rtrim(' a ')", '" a"'],
  ),
  scalarRow('std.toUpper(text)', 'In upper case.', ["std.toUpper('ada')", '"ADA"']),
  scalarRow('std.toLower(text)', 'In lower case.', ["std.toLower('ADA')", '"ada"']),
  scalarRow('std.normalize(text, form?)', 'In a normal form of Unicode: NFC, NFD, NFKC or NFKD.', [
    "std.normalize('ﬁ', 'NFKC')",
    '"fi"',
  ]),
  scalarRow('std.isNormalized(text, form?)', 'Whether a text is in a normal form of Unicode.', [
    "std.isNormalized('ﬁ', 'NFKC')",
    'false',
  ]),
];

const numbers: readonly FunctionSignature[] = [
  scalarRow('std.ceil(number)', 'The least whole number that is not less.', [
    'std.ceil(2.1)',
    '3.0',
  ]),
  scalarRow('std.floor(number)', 'The greatest whole number that is not greater.', [
    'std.floor(2.9)',
    '2.0',
  ]),
  scalarRow('std.sqrt(number)', 'The square root.', ['std.sqrt(16)', '4.0']),
  scalarRow('std.exp(number)', 'e to the power of the number.', ['std.exp(0)', '1.0']),
  scalarRow('std.log(number)', 'The natural logarithm.', ['std.log(1)', '0.0']),
  scalarRow('std.log10(number)', 'The logarithm to base 10.', ['std.log10(100)', '2.0']),
  scalarRow('std.sin(number)', 'The sine.', ['std.sin(0)', '0.0']),
  scalarRow('std.cos(number)', 'The cosine.', ['std.cos(0)', '1.0']),
  scalarRow('std.tan(number)', 'The tangent.', ['std.tan(0)', '0.0']),
  scalarRow('std.cot(number)', 'The cotangent.', ['std.cot(1)', '0.6420926159343306']),
  scalarRow('std.asin(number)', 'The arcsine.', ['std.asin(0)', '0.0']),
  scalarRow('std.acos(number)', 'The arccosine.', ['std.acos(1)', '0.0']),
  scalarRow('std.atan(number)', 'The arctangent.', ['std.atan(0)', '0.0']),
  scalarRow('std.sinh(number)', 'The hyperbolic sine.', ['std.sinh(0)', '0.0']),
  scalarRow('std.cosh(number)', 'The hyperbolic cosine.', ['std.cosh(0)', '1.0']),
  scalarRow('std.tanh(number)', 'The hyperbolic tangent.', ['std.tanh(0)', '0.0']),
  scalarRow('std.degrees(number)', 'An angle in radians as degrees.', ['std.degrees(0)', '0.0']),
  scalarRow('std.radians(number)', 'An angle in degrees as radians.', ['std.radians(0)', '0.0']),
  scalarRow('std.haversin(number)', 'Half the versine.', ['std.haversin(0)', '0.0']),
  scalarRow('std.abs(number)', 'The number without its sign.', ['std.abs(-3)', '3']),
  scalarRow(
    'std.round(number, places?, mode?)',
    'Rounded to so many places, halves up unless a mode is named.',
    ['std.round(2.567, 1)', '2.6'],
  ),
  scalarRow('std.sign(number)', '-1, 0 or 1.', ['std.sign(-3)', '-1']),
  scalarRow('std.rand()', 'A random float from 0 to below 1.', ['std.rand() < 1', 'true'], {
    needs: 'random',
    deterministic: false,
  }),
  scalarRow('std.e()', 'The base of natural logarithms.', ['std.e()', '2.718281828459045']),
  scalarRow('std.pi()', 'The ratio of a circle to its diameter.', [
    'std.pi()',
    '3.141592653589793',
  ]),
  scalarRow('std.atan2(y, x)', 'The angle of a point.', [
    'std.atan2(1.0, 1.0)',
    '0.7853981633974483',
  ]),
  scalarRow('std.isNaN(number)', 'Whether a float is no number.', ['std.isNaN(1.5)', 'false']),
];

/** Classes of times: a time of each, and the same cut to its hour. */
const timeClasses = {
  date: ['2024-05-06', '2024-05-06'],
  time: ['07:08:09Z', '07:00Z'],
  localTime: ['07:08:09', '07:00'],
  dateTime: ['2024-05-06T07:08:09Z', '2024-05-06T07:00Z'],
  localDateTime: ['2024-05-06T07:08:09', '2024-05-06T07:00'],
} as const;

const times: readonly FunctionSignature[] = [
  ...Object.entries(timeClasses).flatMap(([name, [text, hour]]) => [
    scalarRow(
      `std.${name}(value?)`,
      'A time of a text, a map or another time; now.',
      [`std.${name}('${text}')`, `"${text}"`],
      clock,
    ),
    scalarRow(
      `std.${name}.realtime(zone?)`,
      'The time of the call.',
      [`std.${name}.realtime() IS NULL`, 'false'],
      clock,
    ),
    scalarRow(
      `std.${name}.truncate(unit, time?, parts?)`,
      'A time cut to a unit, with parts set.',
      [`std.${name}.truncate('hour', std.${name}('${text}'))`, `"${hour}"`],
      clock,
    ),
  ]),
  scalarRow('std.duration(value)', 'A duration of a text or a map.', [
    "std.duration('P1DT2H')",
    '93600.0',
  ]),
  scalarRow(
    'std.dateTime.fromEpoch(seconds, nanoseconds)',
    'The instant of seconds and nanoseconds.',
    ['std.dateTime.fromEpoch(1, 0)', '"1970-01-01T00:00:01Z"'],
  ),
  scalarRow('std.dateTime.fromEpochMillis(milliseconds)', 'The instant of milliseconds.', [
    'std.dateTime.fromEpochMillis(1500)',
    '"1970-01-01T00:00:01.500Z"',
  ]),
  scalarRow('std.duration.between(from, to)', 'From one time to another, in the largest units.', [
    "std.duration.between(std.date('2024-01-31'), std.date('2024-03-01'))",
    '"P1M1D"',
  ]),
  scalarRow('std.duration.inMonths(from, to)', 'From one time to another in whole months.', [
    "std.duration.inMonths(std.date('2024-01-31'), std.date('2024-03-31'))",
    '"P2M"',
  ]),
  scalarRow('std.duration.inDays(from, to)', 'From one time to another in whole days.', [
    "std.duration.inDays(std.date('2024-01-31'), std.date('2024-03-01'))",
    '2592000.0',
  ]),
  scalarRow('std.duration.inSeconds(from, to)', 'From one time to another in seconds.', [
    "std.duration.inSeconds(std.date('2024-01-01'), std.date('2024-01-02'))",
    '86400.0',
  ]),
  scalarRow(
    'std.timestamp()',
    'Milliseconds since 1970 at the beginning.',
    ['std.timestamp() > 0', 'true'],
    clockHandled,
  ),
];

const points: readonly FunctionSignature[] = [
  scalarRow('std.point(map)', 'A place: a map of x and y, or of longitude and latitude.', [
    "std.point({'x': 1, 'y': 2})",
    '{"x":1.0,"y":2.0,"crs":"cartesian","srid":7203}',
  ]),
  scalarRow('std.point.distance(from, to)', 'How far two places are apart; null across systems.', [
    "std.point.distance(std.point({'x': 0, 'y': 0}), std.point({'x': 3, 'y': 4}))",
    '5.0',
  ]),
  scalarRow(
    'std.point.withinBBox(point, lower, upper)',
    'Whether a place lies between two corners.',
    [
      "SELECT std.point.withinBBox($p, $p, $p) AS v LET $p = std.point({'x': 1, 'y': 1})",
      '{"v":true}',
    ],
  ),
];

const vectors: readonly FunctionSignature[] = [
  scalarRow(
    'std.vector(numbers, dimensions?)',
    'A list of numbers as floats, of so many dimensions.',
    ['std.vector([1, 2], 2)', '[1.0,2.0]'],
  ),
  scalarRow('std.vector.dimensions(vector)', 'How many numbers a vector has.', [
    'std.vector.dimensions([1, 2])',
    '2',
  ]),
  scalarRow('std.vector.norm(vector)', 'The length of a vector.', [
    'std.vector.norm([3, 4])',
    '5.0',
  ]),
  scalarRow(
    'std.vector.cosineSimilarity(left, right)',
    'The cosine of the angle between two vectors.',
    ['std.vector.cosineSimilarity([1, 0], [1, 0])', '1.0'],
  ),
  scalarRow(
    'std.vector.euclideanSimilarity(left, right)',
    '1 for equal vectors, towards 0 far apart.',
    ['std.vector.euclideanSimilarity([1, 0], [1, 0])', '1.0'],
  ),
  scalarRow(
    'std.vector.distance(left, right, measure)',
    'A distance: COSINE, EUCLIDEAN or MANHATTAN.',
    ["std.vector.distance([0, 0], [3, 4], 'EUCLIDEAN')", '5.0'],
  ),
  scalarRow('std.vector.cosineDistance(left, right)', '1 less the cosine between two vectors.', [
    'std.vector.cosineDistance([1, 0], [0, 1])',
    '1.0',
  ]),
  scalarRow('std.vector.euclideanDistance(left, right)', 'The straight distance of two vectors.', [
    'std.vector.euclideanDistance([0, 0], [3, 4])',
    '5.0',
  ]),
  scalarRow(
    'std.vector.manhattanDistance(left, right)',
    'The sum of the distances in each dimension.',
    ['std.vector.manhattanDistance([0, 0], [3, 4])', '7.0'],
  ),
];

/** SQL has aggregates of its own. */
function strictAggregate(call: string, says: string): FunctionSignature {
  return aggregateRow(call, says, undefined);
}

const aggregates: readonly FunctionSignature[] = [
  strictAggregate('std.sum(value)', 'The sum of numbers or durations; 0 without any.'),
  strictAggregate('std.avg(value)', 'The mean of numbers or durations.'),
  strictAggregate('std.min(value)', 'The least value; a list is one value.'),
  strictAggregate('std.max(value)', 'The greatest value; a list is one value.'),
  strictAggregate('std.collect(value)', 'A list of the values as they are.'),
  strictAggregate('std.stDev(number)', 'The standard deviation of a sample; 0 without any.'),
  strictAggregate('std.stDevP(number)', 'The standard deviation of all there is; 0 without any.'),
  strictAggregate(
    'std.percentileCont(number, share)',
    'The number at a share of 0 to 1, between neighbours.',
  ),
  strictAggregate('std.percentileDisc(number, share)', 'The number at or above a share of 0 to 1.'),
];

export const standardFunctions: readonly FunctionSignature[] = [
  ...graph,
  ...lists,
  ...conversions,
  ...texts,
  ...numbers,
  ...times,
  ...points,
  ...vectors,
  ...aggregates,
];
