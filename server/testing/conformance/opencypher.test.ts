/** The runner of the openCypher suite: what it reads, takes for equal, and that it can fail. */
import assert from 'node:assert/strict';
import {existsSync} from 'node:fs';
import {join} from 'node:path';
import {test} from 'node:test';
import {sharedFolder} from './conformance.ts';
import {readSuite, runCases} from './opencypher.ts';
import {type Case, readFeature} from './opencypher-gherkin.ts';
import {actualText, expectedText, readJson} from './opencypher-values.ts';

const suite = join(sharedFolder(), 'conformance/opencypher-tck');
const absent = existsSync(suite) ? false : 'the suites are not here: set SVC_SHARED';
const plain = {listsUnordered: false};

test('the open half of the suite has 2,726 cases of different names', {skip: absent}, () => {
  const names = readSuite(suite).map(one => one.name);
  assert.equal(names.length, 2_726);
  assert.equal(new Set(names).size, 2_726);
});

const feature = `Feature: F
  Background:
    Given an empty graph
  Scenario Outline: [1] Doubling
    When executing query:
      """
      RETURN <value> * 2 AS n
      """
    Then the result should be, in any order:
      | n        |
      | <result> |
    And no side effects
    Examples:
      | value | result |
      | 2     | 4      |
      | 3     | 7      |
  Scenario: [2] A mistake
    When executing query:
      """
      RETURN x
      """
    Then a SyntaxError should be raised at compile time: UndefinedVariable
  Scenario: [3] A write that is not told
    When executing query:
      """
      CREATE (:A {n: 1})
      """
    Then the result should be empty
    And no side effects
`;

test('an outline gives a case an example, with the background in front', () => {
  const cases = readFeature(feature, 'f');
  assert.deepEqual(
    cases.map(one => [one.name, one.steps.length]),
    [
      ['f: [1] Doubling #1', 4],
      ['f: [1] Doubling #2', 4],
      ['f: [2] A mistake', 3],
      ['f: [3] A write that is not told', 4],
    ],
  );
  assert.equal(cases[1]?.steps[1]?.docString, 'RETURN 3 * 2 AS n');
});

test('a wrong answer and an untold side effect are seen, a right answer passes', async () => {
  const cases: readonly Case[] = readFeature(feature, 'f');
  const outcomes = await runCases({onDisk: cases, inMemory: [], graphs: suite});
  const byName = new Map(outcomes.map(({name, lines}) => [name, lines.join('\n')]));
  assert.equal(byName.get('f: [1] Doubling #1'), '');
  assert.match(
    byName.get('f: [1] Doubling #2') ?? '',
    /expected 1 rows: n: 7\ngot {6}1 rows: n: 6/,
  );
  assert.equal(byName.get('f: [2] A mistake'), '');
  assert.match(
    byName.get('f: [3] A write that is not told') ?? '',
    /\+nodes: expected 0, got 1\n.*\n.*\+properties: expected 0, got 1/,
  );
});

const same: readonly (readonly [cell: string, json: string])[] = [
  ['1', '1'],
  ['1.0', '1.0'],
  ["'a\\'b'", '"a\'b"'],
  ['[1, null, true]', '[1,null,true]'],
  ['{a: 1, b: [2.5]}', '{"b":[2.5],"a":1}'],
  ["(:A:B {x: 'y'})", '{"@rid":"#1:0","@type":"A~B","@cat":"v","x":"y"}'],
  ['[:R {n: 1}]', '{"@rid":"#2:0","@type":"R","@in":"#1:1","@out":"#1:0","@cat":"e","n":1}'],
  [
    '<(:A)<-[:R]-()>',
    '{"_type":"path","nodes":[{"@rid":"#1:0","@type":"A","@cat":"v"},' +
      '{"@rid":"#3:0","@type":"Vertex","@cat":"v"}],"relationships":' +
      '[{"@rid":"#2:0","@type":"R","@in":"#1:0","@out":"#3:0","@cat":"e"}],"length":1}',
  ],
];

for (const [cell, json] of same) {
  test(`the cell ${cell} means ${json}`, () => {
    assert.equal(actualText(readJson(json), plain), expectedText(cell, plain));
  });
}

test('an integer is no float, a text no number, another direction another path', () => {
  const differ = [
    ['1', '1.0'],
    ["'1'", '1'],
    ['[1, 2]', '[2,1]'],
    ['(:A)', '{"@rid":"#1:0","@type":"B","@cat":"v"}'],
  ] as const;
  for (const [cell, json] of differ) {
    assert.notEqual(actualText(readJson(json), plain), expectedText(cell, plain), cell);
  }
});
