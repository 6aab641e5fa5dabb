/**
 * Signatures of the methods that any value may be asked: `value.name(arguments)`.
 *
 * The receiver is not counted as an argument. A null receiver answers null, except where having
 * no value means something (`size`, `ifnull`).
 */
import type {FunctionSignature} from '../functions.ts';
import {handled, laterRow, methodRow} from '../signature.ts';

const record = {needs: 'graph', cost: 2_000} as const;

export const methods: readonly FunctionSignature[] = [
  methodRow(
    'append(text)',
    'The text with another behind it.',
    ["name.append(' L')", '"Ada L"'],
    handled,
  ),
  methodRow('asBoolean()', 'As a boolean.', ["'true'.asBoolean()", 'true']),
  methodRow('asByte()', 'As a whole number of 8 bits.', ["'12'.asByte()", '12']),
  methodRow('asShort()', 'As a whole number of 16 bits.', ["'1200'.asShort()", '1200']),
  methodRow('asInteger()', 'As a whole number of 32 bits; a fraction is cut off.', [
    '3.9.asInteger()',
    '3',
  ]),
  methodRow('asLong()', 'As a whole number of 64 bits; a date as milliseconds since 1970.', [
    "date('1970-01-02').asLong()",
    '86400000',
  ]),
  methodRow('asFloat()', 'As a floating-point number of 32 bits.', ["'1.5'.asFloat()", '1.5']),
  methodRow('asDouble()', 'As a floating-point number of 64 bits.', ["'1.5'.asDouble()", '1.5']),
  methodRow('asDecimal()', 'As a decimal number.', ["'1.50'.asDecimal()", '1.50']),
  methodRow('asDate(pattern?)', 'As a day; a text by an optional pattern.', [
    "'06/05/2024'.asDate('dd/MM/yyyy')",
    '"2024-05-06"',
  ]),
  methodRow('asDateTime(pattern?)', 'As an instant; a text by an optional pattern.', [
    "'2024-05-06 07:08:09'.asDateTime()",
    '"2024-05-06 07:08:09"',
  ]),
  methodRow('asString()', 'As a text.', ['age.asString()', '"36"']),
  methodRow(
    'asJSON()',
    'A text of JSON as its value, a record as a map.',
    ['\'{"a": 1}\'.asJSON()', '{"a":1}'],
    record,
  ),
  methodRow('toJSON()', 'As asJSON.', ["'[1, 2]'.toJSON()", '[1,2]'], record),
  methodRow(
    'asList()',
    'As a list; a single value is its only item.',
    ['name.asList()', '["Ada"]'],
    handled,
  ),
  methodRow('asSet()', 'As a list of different items.', ['[1, 1, 2].asSet()', '[1,2]'], handled),
  methodRow(
    'asMap()',
    'A record as a map of its properties.',
    ["{'a': 1}.asMap()", '{"a":1}'],
    record,
  ),
  methodRow('asRID()', 'As a record id; null for what is none.', ["'#1:2'.asRID()", '"#1:2"']),
  methodRow(
    'asRecord()',
    'The record that an id stands for.',
    ['@rid.asRecord().name', '"Ada"'],
    record,
  ),
  methodRow('asCypherRID()', 'A record id as the whole number that cypherRID takes.', [
    "'#1:2'.asRID().asCypherRID()",
    '140737488355330',
  ]),
  methodRow('asVector()', 'As a vector of 32-bit floats; a text is read as a list of numbers.', [
    "'[1, 2.5]'.asVector()",
    '[1.0,2.5]',
  ]),
  methodRow(
    'asSparse(threshold?)',
    'As a sparse vector of the elements above a threshold (0).',
    ['[0.5, 0, 2].asSparse().indices', '[0,2]'],
    handled,
  ),
  methodRow('capitalize()', 'With the first letter of each word in upper case.', [
    "'ada and bob'.capitalize()",
    '"Ada And Bob"',
  ]),
  methodRow('charAt(position)', 'The character at a position from 0.', ['name.charAt(1)', '"d"']),
  methodRow('convert(type)', 'As the data type of that name.', ["'12'.convert('INTEGER')", '12']),
  methodRow('exclude(name, names...)', 'A map without the named properties; name* is a prefix.', [
    "{'a': 1, 'b': 2}.exclude('a')",
    '{"b":2}',
  ]),
  methodRow('include(name, names...)', 'A map of the named properties only; name* is a prefix.', [
    "{'aa': 1, 'ab': 2, 'b': 3}.include('a*')",
    '{"aa":1,"ab":2}',
  ]),
  methodRow('field(name)', 'The property of that name.', ["@this.field('name')", '"Ada"'], record),
  methodRow('format(pattern, zone?)', 'A date by a pattern (and time zone), else by %s, %d, ....', [
    "date('2024-05-06').format('dd.MM.yy')",
    '"06.05.24"',
  ]),
  methodRow('hash(algorithm?)', 'A digest as hexadecimal digits, SHA-256 unless named.', [
    "'abc'.hash('MD5')",
    '"900150983CD24FB0D6963F7D28E17F72"',
  ]),
  methodRow(
    'ifempty(otherwise)',
    'The argument if the value is null or empty.',
    ["''.ifempty('none')", '"none"'],
    handled,
  ),
  methodRow(
    'ifnull(otherwise)',
    'The argument if the value is null.',
    ["nickname.ifnull('none')", '"none"'],
    handled,
  ),
  methodRow('indexOf(part, from?)', 'The first position of a text or item, -1 without one.', [
    "'banana'.indexOf('an', 2)",
    '3',
  ]),
  methodRow('lastIndexOf(part, from?)', 'The last position of a text or item, -1 without one.', [
    "'banana'.lastIndexOf('an')",
    '3',
  ]),
  laterRow('.intersectsWith(shape)', 'geospatial data', [], {needsShape: true}),
  laterRow('.isWithin(shape)', 'geospatial data', [], {needsShape: true}),
  methodRow('javaType()', 'The name of the class of the value in the Java API.', [
    'name.javaType()',
    '"java.lang.String"',
  ]),
  methodRow('type()', 'The name of the data type of the value.', ['name.type()', '"STRING"']),
  methodRow('join(separator?)', 'The items as one text, with a separator (a comma).', [
    "tags.join('/')",
    '"maths/verse"',
  ]),
  methodRow(
    'keys()',
    'The names of the properties.',
    ["{'a': 1, 'b': 2}.keys()", '["a","b"]'],
    record,
  ),
  methodRow(
    'values()',
    'The values of the properties.',
    ["{'a': 1, 'b': 2}.values()", '[1,2]'],
    record,
  ),
  methodRow('left(count)', 'The first characters.', ['name.left(2)', '"Ad"']),
  methodRow('right(count)', 'The last characters.', ['name.right(2)', '"da"']),
  methodRow('length()', 'How many characters the text has.', ['name.length()', '3']),
  methodRow('size()', 'How many items there are; null has none.', ['tags.size()', '2'], handled),
  methodRow(
    'normalize(form?, pattern?)',
    'With accents taken off: Unicode form, what to take off.',
    ["'Crème'.normalize()", '"Creme"'],
  ),
  methodRow('precision(unit)', 'A date cut to second, millisecond, microsecond or nanosecond.', [
    "'2024-05-06 07:08:09'.asDateTime().precision('second')",
    '"2024-05-06 07:08:09"',
  ]),
  methodRow(
    'prefix(text)',
    'The text with another in front.',
    ["name.prefix('Lady ')", '"Lady Ada"'],
    handled,
  ),
  methodRow(
    'remove(item, items...)',
    'A list without the first of each given item.',
    ['[1, 2, 1].remove(1)', '[2,1]'],
    handled,
  ),
  methodRow(
    'removeAll(item, items...)',
    'A list without any of the given items.',
    ['[1, 2, 1].removeAll(1)', '[2]'],
    handled,
  ),
  methodRow('replace(part, by)', 'The text with every occurrence replaced.', [
    "'banana'.replace('an', 'o')",
    '"booa"',
  ]),
  methodRow('sort(ascending?)', 'The items in their order; false: in descending order.', [
    '[3, 1, 2].sort(false)',
    '[3,2,1]',
  ]),
  methodRow('split(separator)', 'The parts of a text between separators.', [
    "'a,b'.split(',')",
    '["a","b"]',
  ]),
  methodRow(
    'subString(from, to?)',
    'The characters from a position up to before another.',
    ["'banana'.subString(1, 3)", '"an"'],
    {
      aliases: ['.substr'],
    },
  ),
  methodRow('toLowerCase()', 'In lower case.', ['name.toLowerCase()', '"ada"'], {cost: 100}),
  methodRow('toUpperCase()', 'In upper case.', ['name.toUpperCase()', '"ADA"'], {cost: 100}),
  methodRow(
    'transform(method, methods...)',
    'Each item after the named methods.',
    ["tags.transform('toUpperCase', 'trim')", '["MATHS","VERSE"]'],
    {
      needs: 'graph',
      cost: 5_000,
    },
  ),
  methodRow('trim()', 'Without blanks at both ends.', ["' a '.trim()", '"a"']),
  methodRow('trimPrefix(text)', 'Without that beginning.', ["'banana'.trimPrefix('ba')", '"nana"']),
  methodRow('trimSuffix(text)', 'Without that end.', ["'banana'.trimSuffix('na')", '"bana"']),
];
