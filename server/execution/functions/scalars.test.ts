/** Functions of values as tables: the answers of the inventory, and edges that it leaves out. */
import assert from 'node:assert/strict';
import test from 'node:test';
import {gzipSync} from 'node:zlib';
import fc from 'fast-check';
import {answerOf, valueOf} from '#server/testing/worlds/function-values.ts';
import {World} from '#server/testing/worlds/hand-built-plan.ts';

const families: Readonly<Record<string, readonly (readonly [string, string])[]>> = {
  general: [
    ['abs(-3)', '3'],
    ['abs(-2.5)', '2.5'],
    ['abs(null)', 'null'],
    ['pow(2, 10)', '1024'],
    ['pow(2, -1)', '0.5'],
    ['pow(2, 64)', '18446744073709552000.0'],
    ['sqrt(16)', '4'],
    ['sqrt(2)', '1.4142135623730951'],
    ['coalesce(null, null, 3)', '3'],
    ["ifnull(null, 'x')", '"x"'],
    ["ifempty('', 'e')", '"e"'],
    ["ifempty([], 'e')", '"e"'],
    ["ifempty([1], 'e')", '[1]'],
    ["if(1 > 0, 'y', 'n')", '"y"'],
    ["if(1 > 2, 'y')", 'null'],
    ['uuid().length()', '36'],
    ['randomInt(1)', '0'],
    ["strcmpci('ABC', 'abc')", '0'],
    ["strcmpci('a', 'b')", '-1'],
    ["encode('hello', 'base64')", '"aGVsbG8="'],
    ["encode('hello?>', 'base64url')", '"aGVsbG8_Pg"'],
    ["decode('aGVsbG8_Pg', 'base64url').asString()", '"hello?>"'],
    ['min(1, 2, 3)', '1'],
    ['max(1, null, 3)', '3'],
    ['sum(1, 2, 3)', '6'],
    ['avg(1, 2)', '1.5'],
    ['list(1, 2)', '[1,2]'],
    ['set(1, 1, 2)', '[1,2]'],
    ['difference([1, 2, 3], [2])', '[1,3]'],
    ['intersect([1, 2], [2, 3])', '[2]'],
    ['symmetricDifference([1, 2], [2, 3])', '[1,3]'],
    ['unionAll([1], [1, 2])', '[1,1,2]'],
    ['first([1, 2])', '1'],
    ['last([1, 2])', '2'],
    ['first([])', 'null'],
    ["first('abc')", '"abc"'],
    ['last({a: 1, b: 2})', '2'],
    ["map('k', 1)", '{"k":1}'],
    ['bool_and(true, null)', 'true'],
    ['bool_and(true, false)', 'false'],
    ['bool_or(null, true)', 'true'],
    ['0x1F + 0xf', '46'],
    ['0xFFFFFFFFFFFFFFF', '1152921504606846975'],
    ["'abc'[1]", 'null'],
    ["text.slug('A_B  c', '+')", '"a+b+c"'],
  ],
  format: [
    ["format('%s-%d', 'a', 5)", '"a-5"'],
    ["format('%05.2f', 3.14159)", '"03.14"'],
    ["format('%.2f', 2.675)", '"2.68"'],
    ["format('%,d', 1234567)", '"1,234,567"'],
    ["format('%-5s|%5s', 'a', 'b')", '"a    |    b"'],
    ["format('%2$s %1$s', 'a', 'b')", '"b a"'],
    ["format('%x %X %o', 255, 255, 8)", '"ff FF 10"'],
    ["format('%e', 12345.678)", '"1.234568e+04"'],
    ["format('100%%')", '"100%"'],
    ["format('%b %s', true, null)", '"true null"'],
  ],
  text: [
    ["text.camelCase('hello big')", '"helloBig"'],
    ["text.upperCamelCase('hello big')", '"HelloBig"'],
    ["text.snakeCase('helloBig World')", '"hello_big_world"'],
    ["text.capitalizeAll('a b')", '"A B"'],
    ["text.decapitalize('ABC')", '"aBC"'],
    ["text.byteCount('é')", '2'],
    ["text.charAt('abc', 1)", '"b"'],
    ["text.charAt('abc', 9)", 'null'],
    ['text.code(65)', '54'],
    ['text.hexValue(255)', '"ff"'],
    ["text.indexOf('abc', 'c')", '2'],
    ["text.join(['a', 'b'], '-')", '"a-b"'],
    ["text.split('a,b,c', ',', 2)", '["a","b,c"]'],
    ["text.replace('aXb', 'X', '-')", '"a-b"'],
    ["text.regexReplace('a1b22', '[0-9]+', '#')", '"a#b#"'],
    ["text.regexReplace('ab', '(a)(b)', '$2$1')", '"ba"'],
    ["text.rpad('7', 3, '0')", '"700"'],
    ["text.lpad('7', 3, '0')", '"007"'],
    ["text.format('%s', [1])", '"[1]"'],
    ["text.format('%s-%s', [1, 2])", '"1-2"'],
    ["text.slug('Crème brûlée, twice')", '"creme-brulee-twice"'],
    ["text.levenshteinDistance('kitten', 'sitting')", '3'],
    ["text.hammingDistance('karolin', 'kathrin')", '3'],
    ["text.jaroWinklerDistance('MARTHA', 'MARHTA')", '0.9611111111111111'],
    ["text.sorensenDiceSimilarity('night', 'nacht')", '0.25'],
    ["text.levenshteinSimilarity('', '')", '1.0'],
  ],
  dates: [
    ["date('2024-05-06', 'yyyy-MM-dd').format('dd/MM/yy')", '"06/05/24"'],
    ["date('garbage')", 'null'],
    ["date('2024-02-30')", 'null'],
    ["date('2024-07-01 12:00:00', 'yyyy-MM-dd HH:mm:ss', 'Europe/Rome')", '"2024-07-01 10:00:00"'],
    ['sysdate()', '"1970-01-01 00:00:00"'],
    ["sysdate('HH:mm', '+02:00')", '"02:00"'],
    ["date('2024-01-31') + duration(1, 'month')", '"2024-02-29 00:00:00"'],
    ["duration(90, 'minute')", '"PT1H30M"'],
    ["date.add(0, 1, 'd')", '86400000'],
    ["date.convert(86400000, 'ms', 'd')", '1'],
    ["date.field(0, 'year')", '1970'],
    ["date.field(date('2024-12-30'), 'weekOfYear')", '1'],
    ["date.format(0, 'ms', 'yyyy-MM-dd')", '"1970-01-01"'],
    ["date.format(0, 'ms', 'HH:mm', 'America/New_York')", '"19:00"'],
    ["date.parse('2024-01-02', 'ms', 'yyyy-MM-dd')", '1704153600000'],
    ["date.fromISO8601('1970-01-01T00:00:01Z')", '1000'],
    ['date.toISO8601(1500)', '"1970-01-01T00:00:01.500Z"'],
    ["date.fields('2024-01-02', 'yyyy-MM-dd').dayOfYear", '2'],
  ],
  lists: [
    ['coll.avg([1, 2, 3])', '2.0'],
    ['coll.flatten([1, [2, [3]]])', '[1,2,[3]]'],
    ['coll.flatten([1, [2, [3]]], true)', '[1,2,3]'],
    ['coll.flatten([1, [2, [3, [4]]]], 2)', '[1,2,3,[4]]'],
    ['coll.sum([])', '0'],
    ['agg.slice([1, 2, 3, 4], 1, 3)', '[2,3]'],
    ['agg.percentiles([1, 2, 3, 4, 5], [0.1, 0.25, 0.9])', '[1.4,2.0,4.6]'],
    ['coll.insert([1, 3], 1, 2)', '[1,2,3]'],
    ['coll.remove([1, 2, 3], 0)', '[2,3]'],
    ['coll.remove([1, 2, 3], 0, 2)', '[3]'],
    ['coll.pairsMin([1, 2, 3])', '[[1,2],[2,3]]'],
    ['coll.indexOf([1, 2], 3)', '-1'],
    ['coll.union([1], [1, 2])', '[1,2]'],
    ['coll.sort([3, 1, 2])', '[1,2,3]'],
    ['agg.nth([5, null, 7], 1)', '7'],
    ['agg.slice([1, 2, 3, 4], 1, 2)', '[2]'],
    ['agg.median([3, 1, 2])', '2.0'],
    ['agg.product([2, 3, 4])', '24'],
    ["agg.maxItems([1, 5, 5], ['a', 'b', 'c'])", '{"items":["b","c"],"value":5}'],
    ['agg.first([null, 2])', '2'],
  ],
  maps: [
    ["map.values({'a':1,'b':2}, ['a'])", '[1]'],
    ["map.merge({'a':1}, {'b':2})", '{"a":1,"b":2}'],
    ["map.removeKey({'a':1,'b':2}, 'a')", '{"b":2}'],
    ["map.removeKeys({'a':1,'b':2}, ['a','b'])", '{}'],
    ["map.fromLists(['a','b'], [1,2])", '{"a":1,"b":2}'],
    ["map.fromPairs([['a',1],['b',2]])", '{"a":1,"b":2}'],
    ["map.flatten({'a':{'b':1}})", '{"a.b":1}'],
    ["map.unflatten({'a.b':1, 'a.c':2})", '{"a":{"b":1,"c":2}}'],
    ["map.setKey({'a':1}, 'b', 2)", '{"a":1,"b":2}'],
    ["map.groupBy([{'k':'x'},{'k':'y'},{'k':'x'}], 'k').x.size()", '2'],
    ["map.clean({'a':null,'b':1}, [], [])", '{"a":null,"b":1}'],
    ["map.clean({'a':'','b':1,'c':2}, ['c'], [''])", '{"b":1}'],
    ["map.submap({'a':1,'b':2}, ['a','z'], [7, 8])", '{"a":1,"z":8}'],
    ["map.sortedProperties({'b':1,'a':2})", '[["a",2],["b",1]]'],
  ],
  conversions: [
    ["convert.toInteger('42')", '42'],
    ["convert.toInteger('4.9')", '4'],
    ["convert.toInteger('x')", 'null'],
    ["convert.toBoolean('maybe')", 'null'],
    ["convert.toBoolean('yes')", 'true'],
    ["convert.toBoolean('0')", 'false'],
    ["convert.toJson({'a':[1]})", String.raw`"{\"a\":[1]}"`],
    ['convert.toJson(null)', '"null"'],
    ['convert.fromJsonMap(\'{"a":1}\')', '{"a":1}'],
    ["convert.fromJsonList('[1,2]')", '[1,2]'],
    ['convert.toSet([1,1])', '[1]'],
    ["number.format(1234567.891, '#,##0.00')", '"1,234,567.89"'],
    ["number.format(-0.5, '0.0#')", '"-0.5"'],
    ["number.format(0.256, '0%')", '"26%"'],
    ['number.format(1234.5)', '"1,234.5"'],
  ],
  mathematics: [
    ['math.round(2.567, 1)', '2.6'],
    ['math.round(-2.5)', '-3.0'],
    ["math.round(2.5, 0, 'HALF_EVEN')", '2.0'],
    ['math.round(1250, -2)', '1300'],
    ['math.maxLong()', '9223372036854775807'],
    ['math_floorMod(-7, 3)', '2'],
    ['math_floorDiv(-7, 2)', '-4'],
    ['math_hypot(3, 4)', '5.0'],
    ['math_rint(2.5)', '2.0'],
    ['math.sigmoid(0)', '0.5'],
  ],
  digests: [
    ["util.md5('abc')", '"900150983cd24fb0d6963f7d28e17f72"'],
    ["util.sha1('abc')", '"a9993e364706816aba3e25717850c26c9cd0d89d"'],
    ["util.decompress(util.compress('hello'))", '"hello"'],
    ["util.decompress(util.compress('hello', 'deflate'), 'deflate')", '"hello"'],
    ["util.validate(false, 'never')", 'true'],
    ["util.validate(1 > 0, 'at most %d', [3])", 'query.execution: at most 3'],
  ],
};

for (const [family, cases] of Object.entries(families)) {
  test(`${family}: values`, () => {
    for (const [text, expected] of cases) assert.equal(answerOf(text), expected, text);
  });
}

test('arguments that do not fit are refused, with what would', () => {
  const cases: readonly (readonly [string, RegExp])[] = [
    ["abs('x')", /^argument: abs needs a number, not the text x$/],
    ["format('%d', 'x')", /^argument: '%d' needs a number/],
    ["format('%q', 1)", /^argument: '%q' is no conversion/],
    ["format('%s %s', 1)", /^argument: there is no value for '%s'/],
    ['coll.sum([1, true])', /^argument: coll.sum needs numbers/],
    ["duration(1, 'fortnight')", /^argument: there is no unit of time 'fortnight'/],
    ["date.add(0, 'x', 'd')", /^argument: duration needs a number/],
    ["map.fromLists(['a'], [])", /^argument: the two lists must be equally long/],
    ["convert.fromJsonMap('[1]')", /^argument: the JSON is not an object/],
    ["convert.fromJsonMap('{')", /^json\.invalid/],
    ["encode('x', 'rot13')", /^argument: the form is base64/],
    ["sysdate('HH:mm', 'Mars/Olympus')", /^argument: there is no time zone 'Mars\/Olympus'/],
    ['math_floorDiv(1, 0)', /^argument: division by zero/],
    ['concat(1, 2, 3)', /^query\.semantic: Function 'concat' expects 1-2 arguments but got 3/],
    ["date.field(0, 'year', 'ms')", /^query\.semantic: Function 'date.field' expects 2 arg/],
    ['geo.point(1, 2)', /^not-available/],
    ['util.sleep(-1)', /^argument: util.sleep takes no negative time/],
    ['eval(1 + 1)', /^query\.semantic: 'eval' needs one text/],
    ['cypherRID(-1)', /^argument: the number is no id/],
  ];
  for (const [text, expected] of cases) assert.match(answerOf(text), expected, text);
});

test('what grows with an argument is bounded', () => {
  const cases: readonly (readonly [string, RegExp])[] = [
    ["text.lpad('a', 2000000000)", /^argument: the text would have 2000000000 characters/],
    ["format('%999999999s', 1)", /^argument: a width of more than/],
    ['text.random(2000000000)', /^argument: a random text has/],
    ["'a'.replace('', :long)", /^argument: the text would have/],
    ["text.regexReplace(:long, 'a*b*c*d', '')", /^argument: this pattern takes texts of up to/],
    ["text.regexReplace('a', '(a|b)+c', '')", /^argument: the pattern has alternatives/],
    ['text.levenshteinDistance(:long, :long)', /^argument: texts of up to 20000/],
  ];
  const options = {parameters: {long: 'a'.repeat(9_000_000)}};
  for (const [text, expected] of cases) {
    assert.match(answerOf(text, undefined, options), expected, text);
  }
});

test('a bomb of compressed zeros is refused before it decompresses', () => {
  const bytes = gzipSync(new Uint8Array(64 << 20));
  assert.ok(bytes.length < 100_000);
  for (const text of ['util.decompress(:bytes)', "util.decompress(encode(:bytes, 'base64'))"]) {
    const answer = answerOf(text, undefined, {parameters: {bytes}});
    assert.match(answer, /^argument: the bytes cannot be unpacked within 16777216 bytes/);
  }
});

test('texts survive encoding and packing, distances are distances', () => {
  const world = new World();
  const text = fc.string({unit: 'binary', maxLength: 30}).filter(each => each.isWellFormed());
  fc.assert(
    fc.property(text, text, (a, b) => {
      const options = {parameters: {a, b}};
      const run = (expression: string) => valueOf(expression, world, options);
      for (const form of ['base64', 'base64url']) {
        assert.equal(run(`decode(encode(:a, '${form}'), '${form}').asString()`), a);
      }
      assert.equal(run('util.decompress(util.compress(:a))'), a);
      const distance = Number(run('text.levenshteinDistance(:a, :b)'));
      assert.equal(Number(run('text.levenshteinDistance(:b, :a)')), distance);
      assert.equal(distance === 0, a === b);
      assert.ok(distance <= Math.max(a.length, b.length));
    }),
    {numRuns: 50},
  );
});
