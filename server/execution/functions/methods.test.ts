/** Methods as a table: the answers of the inventory, null receivers, and values of other types. */
import assert from 'node:assert/strict';
import test from 'node:test';
import {convertToArray} from '#server/model/array-conversion.ts';
import {Rid, type Value} from '#server/model/value.ts';
import {World} from '#server/testing/worlds/hand-built-plan.ts';
import {answerOf} from '#server/testing/worlds/function-values.ts';

const cases: readonly (readonly [string, string])[] = [
  ["'abc'.toUpperCase()", '"ABC"'],
  ["'abc'.length()", '3'],
  ["' x '.trim()", '"x"'],
  ["'abc'.charAt(1)", '"b"'],
  ["'abc'.charAt(9)", 'null'],
  ["'hello'.substring(1, 3)", '"el"'],
  ["'hello'.substring(3)", '"lo"'],
  ["'hello'.substring(3, 1)", '""'],
  ["'hello'.left(2)", '"he"'],
  ["'hello'.right(2)", '"lo"'],
  ["'hello'.right(9)", '"hello"'],
  ["'hello'.indexOf('l')", '2'],
  ["'hello'.lastIndexOf('l')", '3'],
  ['[5, 6, 5].lastIndexOf(5)', '2'],
  ["'a-b-c'.split('-')", '["a","b","c"]'],
  ["'aXbX'.replace('X', '-')", '"a-b-"'],
  ["'b'.prefix('a')", '"ab"'],
  ["'b'.append('c')", '"bc"'],
  ["'b'.append(null)", '"b"'],
  ["'hello big'.capitalize()", '"Hello Big"'],
  ["'aBC dEF'.capitalize()", '"Abc Def"'],
  ["'abc'.size()", '3'],
  ["'àé'.normalize()", '"ae"'],
  ["'abcabc'.trimPrefix('abc')", '"abc"'],
  ["'abcabc'.trimSuffix('bc')", '"abca"'],
  ["'12'.asInteger()", '12'],
  ["'1.5'.asDouble()", '1.5'],
  ["'1.23'.asDecimal()", '1.23'],
  ["'true'.asBoolean()", 'true'],
  ["'yes'.asBoolean()", 'false'],
  ['true.asInteger()', '1'],
  [
    "'x'.asInteger()",
    "number.format: the text 'x' does not fit into 'asInteger()' of type INTEGER",
  ],
  ["'300'.asByte()", "number.format: the text '300' does not fit into 'asByte()' of type BYTE"],
  ["'2024-05-06'.asDate()", '"2024-05-06"'],
  ["'06/05/2024'.asDate('dd/MM/yyyy')", '"2024-05-06"'],
  ["'nonsense'.asDate()", 'null'],
  [':zero.asDateTime()', '"1970-01-01 00:00:00"'],
  ["'1970-01-02'.asDateTime().asLong()", '86400000'],
  ["'2024-05-06'.asDate().precision('second')", '"2024-05-06 00:00:00"'],
  ["'2024-05-06'.asDate().format('dd/MM/yy')", '"06/05/24"'],
  [':zero.format("%03d")', '"000"'],
  ['\'{"a":[1,{"b":2}]}\'.asJSON()', '{"a":[1,{"b":2}]}'],
  ["{'a':1}.toJSON()", '{"a":1}'],
  ["'{}'.asMap()", 'null'],
  ["'#1:0'.asRID()", '"#1:0"'],
  ["'nonsense'.asRID()", 'null'],
  ['[1, 2].asSet().size()', '2'],
  ['null.asList()', '[]'],
  ['7.asList()', '[7]'],
  ["'7'.convert('LONG')", '7'],
  ["{'a':1,'b':2}.keys()", '["a","b"]'],
  ["{'a':1,'b':2}.values()", '[1,2]'],
  ["{'ab':1,'ac':2,'b':3}.include('a*')", '{"ab":1,"ac":2}'],
  ["{'ab':1,'ac':2,'b':3}.exclude('ab', 'b')", '{"ac":2}'],
  ["{'a':1}.field('a')", '1'],
  ['[1, 2, 3].size()', '3'],
  ['null.size()', '0'],
  ['[1, 2, 3].remove(2)', '[1,3]'],
  ['[1, 1, 2].remove(1)', '[1,2]'],
  ['[1, 1, 2].removeAll(1)', '[2]'],
  ["['a', 'b'].join('+')", '"a+b"'],
  ['[3, 1, 2].sort()', '[1,2,3]'],
  ['[3, 1, 2].sort(false)', '[3,2,1]'],
  ["['a ', 'b'].transform('trim', 'toUpperCase')", '["A","B"]'],
  [
    "[1].transform('nonsense')",
    "query.unknown-function: there is no method 'nonsense' without arguments",
  ],
  ["null.ifnull('x')", '"x"'],
  ["''.ifempty('x')", '"x"'],
  ['null.toUpperCase()', 'null'],
  ["'abc'.hash('MD5')", '"900150983CD24FB0D6963F7D28E17F72"'],
  ["'abc'.hash()", '"BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD"'],
  ["'a'.type()", '"STRING"'],
  ['5000000000.type()', '"LONG"'],
  ['1.5.type()', '"DOUBLE"'],
  ["{'a':1}.javaType()", '"java.util.LinkedHashMap"'],
  [':floats.javaType()', '"[F"'],
  [':floats.size()', '2'],
  [':rid.type()', '"LINK"'],
  [':bytes.asString()', '"hi"'],
  ["'POINT (1 2)'.isWithin([2])", "not-available: The function 'isWithin' is not available yet"],
  ['[1].isWithin([2])', "argument: 'isWithin' is a method of shapes: a text or map that is one"],
];

test('methods', () => {
  const parameters: Record<string, Value> = {
    zero: 0,
    floats: convertToArray([1, 2], 'ARRAY_OF_FLOATS') ?? null,
    rid: new Rid(1, 0),
    bytes: Uint8Array.of(0x68, 0x69),
  };
  for (const [text, expected] of cases) {
    assert.equal(answerOf(text, undefined, {parameters}), expected, text);
  }
});

test('records answer by their properties', () => {
  const world = new World();
  const parameters = {ann: world.rid('ann')};
  const answer = (text: string) => answerOf(text, world, {parameters});
  assert.equal(answer(":ann.asRecord().field('name')"), '"ann"');
  assert.equal(answer(":ann.include('name', '@type')"), '{"name":"ann","@type":"Person"}');
  assert.equal(answer(":ann.exclude('age')"), '{"name":"ann"}');
  assert.equal(answer(":ann.asRecord().toJSON().get('x')").startsWith('query.unknown'), true);
  assert.match(
    answer(':ann.asRecord().asJSON()'),
    /^\{"@rid":"#\d+:\d+","@type":"Person","@cat":"v"/,
  );
  assert.equal(answer("'#99:99'.asRID().asRecord()"), 'null');
});
