/**
 * Signatures of `std.*`: functions of graphs, lists, texts, numbers and times that refuse what is
 * of the wrong kind instead of converting it.
 *
 * Query languages that promise such functions call them by their own names.
 */
import type {FunctionSignature} from './functions.ts';
import {aggregateRow, handled, scalarRow} from './signature.ts';

const none = [0, 0] as const;
const one = [1, 1] as const;
const two = [2, 2] as const;
const oneOrTwo = [1, 2] as const;
const upToOne = [0, 1] as const;
const record = {needs: 'graph', cost: 2_000} as const;
const clock = {needs: 'clock', deterministic: false} as const;
const clockHandled = {...clock, nulls: 'handled'} as const;

const graph: readonly FunctionSignature[] = [
  scalarRow('std.id', one, 'The id of a record as a whole number.'),
  scalarRow('std.elementId', one, 'The id of a record as a text.'),
  scalarRow('std.labels', one, 'The labels of a vertex.', record),
  scalarRow('std.type', one, 'The name of the type of an edge.', record),
  scalarRow('std.keys', one, 'The names of the properties of a record or map.', record),
  scalarRow('std.properties', one, 'The properties of a record or map as a map.', record),
  scalarRow('std.startNode', one, 'The vertex where an edge starts.', record),
  scalarRow('std.endNode', one, 'The vertex where an edge ends.', record),
  scalarRow('std.nodes', one, 'The vertices of a path.', record),
  scalarRow('std.relationships', one, 'The edges of a path.', record),
  scalarRow('std.length', one, 'How many edges a path has; of a text or list its size.'),
];

const lists: readonly FunctionSignature[] = [
  scalarRow('std.size', one, 'How many items a list has, or characters a text.'),
  scalarRow('std.head', one, 'The first item of a list.'),
  scalarRow('std.last', one, 'The last item of a list.'),
  scalarRow('std.tail', one, 'A list without its first item.'),
  scalarRow('std.range', [2, 3], 'The whole numbers from one to another, both included.'),
  scalarRow('std.reverse', one, 'A list or text from its end to its start.'),
  scalarRow('std.isEmpty', one, 'Whether a list, map or text has nothing in it.'),
  scalarRow('std.nullIf', two, 'Null if both are equal, else the first.', handled),
  scalarRow('std.valueType', one, 'The name of the type of a value.', handled),
];

const conversions: readonly FunctionSignature[] = [
  scalarRow('std.toInteger', one, 'A number or text as an integer; null if it is none.'),
  scalarRow('std.toFloat', one, 'A number or text as a float; null if it is none.'),
  scalarRow('std.toBoolean', one, 'A boolean, integer or text as a boolean; null if it is none.'),
  scalarRow('std.toString', one, 'A single value as a text.'),
  scalarRow('std.toIntegerOrNull', one, 'As std.toInteger, null for every other value.'),
  scalarRow('std.toFloatOrNull', one, 'As std.toFloat, null for every other value.'),
  scalarRow('std.toBooleanOrNull', one, 'As std.toBoolean, null for every other value.'),
  scalarRow('std.toStringOrNull', one, 'As std.toString, null for every other value.'),
  scalarRow('std.toIntegerList', one, 'Each item as std.toIntegerOrNull.'),
  scalarRow('std.toFloatList', one, 'Each item as std.toFloatOrNull.'),
  scalarRow('std.toBooleanList', one, 'Each item as std.toBooleanOrNull.'),
  scalarRow('std.toStringList', one, 'Each item as std.toStringOrNull.'),
];

const texts: readonly FunctionSignature[] = [
  scalarRow('std.substring', [2, 3], 'Characters from a position on, at most so many.'),
  scalarRow('std.left', two, 'The first characters.'),
  scalarRow('std.right', two, 'The last characters.'),
  scalarRow('std.replace', [3, 3], 'Every occurrence of a text replaced.'),
  scalarRow('std.split', two, 'The parts between separators, one of them or a list.'),
  scalarRow('std.trim', oneOrTwo, 'Without blanks (or the given characters) at both ends.'),
  scalarRow('std.ltrim', oneOrTwo, 'Without blanks (or the given characters) at the start.'),
  scalarRow('std.rtrim', oneOrTwo, 'Without blanks (or the given characters) at the end.'),
  scalarRow('std.toUpper', one, 'In upper case.'),
  scalarRow('std.toLower', one, 'In lower case.'),
  scalarRow('std.normalize', oneOrTwo, 'In a normal form of Unicode: NFC, NFD, NFKC or NFKD.'),
  scalarRow('std.isNormalized', oneOrTwo, 'Whether a text is in a normal form of Unicode.'),
];

/** Functions of one float. */
export const floatFunctions = {
  ceil: 'The least whole number that is not less.',
  floor: 'The greatest whole number that is not greater.',
  sqrt: 'The square root.',
  exp: 'e to the power of the number.',
  log: 'The natural logarithm.',
  log10: 'The logarithm to base 10.',
  sin: 'The sine.',
  cos: 'The cosine.',
  tan: 'The tangent.',
  cot: 'The cotangent.',
  asin: 'The arcsine.',
  acos: 'The arccosine.',
  atan: 'The arctangent.',
  sinh: 'The hyperbolic sine.',
  cosh: 'The hyperbolic cosine.',
  tanh: 'The hyperbolic tangent.',
  degrees: 'An angle in radians as degrees.',
  radians: 'An angle in degrees as radians.',
  haversin: 'Half the versine.',
} as const;

const numbers: readonly FunctionSignature[] = [
  ...Object.entries(floatFunctions).map(([name, says]) => scalarRow(`std.${name}`, one, says)),
  scalarRow('std.abs', one, 'The number without its sign.'),
  scalarRow('std.round', [1, 3], 'Rounded to so many places, halves up unless a mode is named.'),
  scalarRow('std.sign', one, '-1, 0 or 1.'),
  scalarRow('std.rand', none, 'A random float from 0 to below 1.', {
    needs: 'random',
    deterministic: false,
  }),
  scalarRow('std.e', none, 'The base of natural logarithms.'),
  scalarRow('std.pi', none, 'The ratio of a circle to its diameter.'),
  scalarRow('std.atan2', two, 'The angle of a point.'),
  scalarRow('std.isNaN', one, 'Whether a float is no number.'),
];

/** Classes of times, each with a constructor, `truncate` and `realtime`. */
export const timeClasses = ['date', 'time', 'localTime', 'dateTime', 'localDateTime'] as const;

const times: readonly FunctionSignature[] = [
  ...timeClasses.flatMap(name => [
    scalarRow(`std.${name}`, upToOne, 'A time of a text, a map or another time; now.', clock),
    scalarRow(`std.${name}.realtime`, upToOne, 'The time of the call.', clock),
    scalarRow(`std.${name}.truncate`, [1, 3], 'A time cut to a unit, with parts set.', clock),
  ]),
  scalarRow('std.duration', one, 'A duration of a text or a map.'),
  scalarRow('std.dateTime.fromEpoch', two, 'The instant of seconds and nanoseconds.'),
  scalarRow('std.dateTime.fromEpochMillis', one, 'The instant of milliseconds.'),
  scalarRow('std.duration.between', two, 'From one time to another, in the largest units.'),
  scalarRow('std.duration.inMonths', two, 'From one time to another in whole months.'),
  scalarRow('std.duration.inDays', two, 'From one time to another in whole days.'),
  scalarRow('std.duration.inSeconds', two, 'From one time to another in seconds.'),
  scalarRow('std.timestamp', none, 'Milliseconds since 1970 at the beginning.', clockHandled),
];

const points: readonly FunctionSignature[] = [
  scalarRow('std.point', one, 'A place: a map of x and y, or of longitude and latitude.'),
  scalarRow('std.point.distance', two, 'How far two places are apart; null across systems.'),
  scalarRow('std.point.withinBBox', [3, 3], 'Whether a place lies between two corners.'),
];

const vectors: readonly FunctionSignature[] = [
  scalarRow('std.vector', oneOrTwo, 'A list of numbers as floats, of so many dimensions.'),
  scalarRow('std.vector.dimensions', one, 'How many numbers a vector has.'),
  scalarRow('std.vector.norm', one, 'The length of a vector.'),
  scalarRow('std.vector.cosineSimilarity', two, 'The cosine of the angle between two vectors.'),
  scalarRow('std.vector.euclideanSimilarity', two, '1 for equal vectors, towards 0 far apart.'),
  scalarRow('std.vector.distance', [3, 3], 'A distance: COSINE, EUCLIDEAN or MANHATTAN.'),
  scalarRow('std.vector.cosineDistance', two, '1 less the cosine between two vectors.'),
  scalarRow('std.vector.euclideanDistance', two, 'The straight distance of two vectors.'),
  scalarRow('std.vector.manhattanDistance', two, 'The sum of the distances in each dimension.'),
];

const aggregates: readonly FunctionSignature[] = [
  aggregateRow('std.sum', one, 'The sum of numbers or durations; 0 without any.'),
  aggregateRow('std.avg', one, 'The mean of numbers or durations.'),
  aggregateRow('std.min', one, 'The least value; a list is one value.'),
  aggregateRow('std.max', one, 'The greatest value; a list is one value.'),
  aggregateRow('std.collect', one, 'A list of the values as they are.'),
  aggregateRow('std.stDev', one, 'The standard deviation of a sample; 0 without any.'),
  aggregateRow('std.stDevP', one, 'The standard deviation of all there is; 0 without any.'),
  aggregateRow('std.percentileCont', two, 'The number at a share of 0 to 1, between neighbours.'),
  aggregateRow('std.percentileDisc', two, 'The number at or above a share of 0 to 1.'),
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
