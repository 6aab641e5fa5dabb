/**
 * Signatures of the methods that any value may be asked: `value.name(arguments)`.
 *
 * The receiver is not counted as an argument. A null receiver answers null, except where having
 * no value means something (`size`, `ifnull`).
 */
import type {FunctionSignature} from './functions.ts';
import {handled, methodRow, unlimited} from './signature.ts';

const none = [0, 0] as const;
const one = [1, 1] as const;
const spatial = {later: 'geospatial data'} as const;
const vectors = {later: 'vectors'} as const;
const record = {needs: 'graph', cost: 2_000} as const;

export const methods: readonly FunctionSignature[] = [
  methodRow('append', one, 'The text with another behind it.', handled),
  methodRow('asBoolean', none, 'As a boolean.'),
  methodRow('asByte', none, 'As a whole number of 8 bits.'),
  methodRow('asShort', none, 'As a whole number of 16 bits.'),
  methodRow('asInteger', none, 'As a whole number of 32 bits; a fraction is cut off.'),
  methodRow('asLong', none, 'As a whole number of 64 bits; a date as milliseconds since 1970.'),
  methodRow('asFloat', none, 'As a floating-point number of 32 bits.'),
  methodRow('asDouble', none, 'As a floating-point number of 64 bits.'),
  methodRow('asDecimal', none, 'As a decimal number.'),
  methodRow('asDate', [0, 1], 'As a day; a text by an optional pattern.'),
  methodRow('asDateTime', [0, 1], 'As an instant; a text by an optional pattern.'),
  methodRow('asString', none, 'As a text.'),
  methodRow('asJSON', none, 'A text of JSON as its value, a record as a map.', record),
  methodRow('toJSON', none, 'As asJSON.', record),
  methodRow('asList', none, 'As a list; a single value is its only item.', handled),
  methodRow('asSet', none, 'As a list of different items.', handled),
  methodRow('asMap', none, 'A record as a map of its properties.', record),
  methodRow('asRID', none, 'As a record id; null for what is none.'),
  methodRow('asRecord', none, 'The record that an id stands for.', record),
  methodRow('asCypherRID', none, 'A record id as a whole number.', {later: 'Cypher'}),
  methodRow('asVector', [0, unlimited], 'As a vector.', vectors),
  methodRow('asSparse', [0, unlimited], 'As a sparse vector.', vectors),
  methodRow('capitalize', none, 'With the first letter of each word in upper case.'),
  methodRow('charAt', one, 'The character at a position from 0.'),
  methodRow('convert', one, 'As the data type of that name.'),
  methodRow('exclude', [1, unlimited], 'A map without the named properties; name* is a prefix.'),
  methodRow('include', [1, unlimited], 'A map of the named properties only; name* is a prefix.'),
  methodRow('field', one, 'The property of that name.', record),
  methodRow('format', [1, 2], 'A date by a pattern (and time zone), else by %s, %d, ....'),
  methodRow('hash', [0, 1], 'A digest as hexadecimal digits, SHA-256 unless named.'),
  methodRow('ifempty', one, 'The argument if the value is null or empty.', handled),
  methodRow('ifnull', one, 'The argument if the value is null.', handled),
  methodRow('indexOf', [1, 2], 'The first position of a text or item, -1 without one.'),
  methodRow('lastIndexOf', [1, 2], 'The last position of a text or item, -1 without one.'),
  methodRow('intersectsWith', one, 'Whether two shapes meet.', spatial),
  methodRow('isWithin', one, 'Whether a shape lies inside another.', spatial),
  methodRow('javaType', none, 'The name of the class of the value in the Java API.'),
  methodRow('type', none, 'The name of the data type of the value.'),
  methodRow('join', [0, 1], 'The items as one text, with a separator (a comma).'),
  methodRow('keys', none, 'The names of the properties.', record),
  methodRow('values', none, 'The values of the properties.', record),
  methodRow('left', one, 'The first characters.'),
  methodRow('right', one, 'The last characters.'),
  methodRow('length', none, 'How many characters the text has.'),
  methodRow('size', none, 'How many items there are; null has none.', handled),
  methodRow('normalize', [0, 2], 'With accents taken off: Unicode form, what to take off.'),
  methodRow('precision', one, 'A date cut to second, millisecond, microsecond or nanosecond.'),
  methodRow('prefix', one, 'The text with another in front.', handled),
  methodRow('remove', [1, unlimited], 'A list without the first of each given item.', handled),
  methodRow('removeAll', [1, unlimited], 'A list without any of the given items.', handled),
  methodRow('replace', [2, 2], 'The text with every occurrence replaced.'),
  methodRow('sort', [0, 1], 'The items in their order; false: in descending order.'),
  methodRow('split', one, 'The parts of a text between separators.'),
  methodRow('subString', [1, 2], 'The characters from a position up to before another.', {
    aliases: ['.substr'],
  }),
  methodRow('toLowerCase', none, 'In lower case.', {cost: 100}),
  methodRow('toUpperCase', none, 'In upper case.', {cost: 100}),
  methodRow('transform', [1, unlimited], 'Each item after the named methods.', {
    needs: 'graph',
    cost: 5_000,
  }),
  methodRow('trim', none, 'Without blanks at both ends.'),
  methodRow('trimPrefix', one, 'Without that beginning.'),
  methodRow('trimSuffix', one, 'Without that end.'),
];
