/**
 * Bound statements run: over the small network of testing/hand-built-plan.ts, with and without
 * the optimizer, which must not change an answer.
 */

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {optimize} from '#server/optimizer/optimize.ts';
import type {Slot} from '#server/plan/expression.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {World, worldCatalog} from '#server/testing/hand-built-plan.ts';
import {bindSql} from './bind-statement.ts';

const world = new World();

/** Rows as lists of cells; records are written as their names. */
function rowsOf(text: string, optimized: boolean): unknown[][] {
  const statement = bindSql(text, worldCatalog());
  assert(statement.kind === 'query' && statement.plan.kind === 'project', text);
  const {output, input} = statement.plan;
  const plan = optimized ? optimize(input, world.catalog) : input;
  if (output.kind === 'element') return world.run(plan, [output.slot]);
  const bind = output.columns.map((column, i) => ({
    slot: statement.slotCount + i,
    value: 'value' in column ? column.value : column.spread,
  }));
  const extended: PlanNode = {kind: 'extend', input: plan, bind};
  return world.run(
    extended,
    bind.map((each): Slot => each.slot),
  );
}

// Rows without an ORDER BY are compared in the order of the store, which is that of creation.
const cases: readonly (readonly [string, readonly unknown[][]])[] = [
  ['SELECT 1 + 2 * 3', [[7]]],
  ['SELECT name FROM Person', [['ann'], ['bob'], ['cat'], ['dan']]],
  ['SELECT FROM Person WHERE age = 25', [['bob'], ['dan']]],
  [
    'SELECT name, age * 2 AS a FROM Person WHERE age > 25 ORDER BY a DESC',
    [
      ['cat', 82],
      ['ann', 60],
    ],
  ],
  ['SELECT name FROM Person ORDER BY age DESC, name DESC SKIP 1 LIMIT 2', [['ann'], ['dan']]],
  ['SELECT DISTINCT age FROM Person ORDER BY age', [[25], [30], [41]]],
  ['SELECT age, count(*) AS n FROM Person GROUP BY age HAVING n > 1', [[25, 2]]],
  ["SELECT name FROM Person WHERE NOT (age > 25) AND name LIKE 'b%'", [['bob']]],
  ['SELECT name FROM Person WHERE age BETWEEN 26 AND 40', [['ann']]],
  ['SELECT name FROM Person WHERE nosuch = 1 OR nosuch IS NULL AND age = 41', [['cat']]],
  [
    'SELECT name FROM Person WHERE name IN (SELECT name FROM Person WHERE age = 25)',
    [['bob'], ['dan']],
  ],
  ['SELECT name FROM (SELECT name, age + 1 AS next FROM Person) WHERE next = 42', [['cat']]],
  [
    'SELECT name, $o AS o FROM Person LET $o = (SELECT name AS n FROM Person WHERE age = $parent.$current.age AND name <> $parent.$current.name) WHERE age < 31',
    [
      ['ann', []],
      ['bob', [{n: 'dan'}]],
      ['dan', [{n: 'bob'}]],
    ],
  ],
  ['SELECT expand([1, 2, [3]])', [[1], [2], [[3]]]],
  [
    'SELECT a, b FROM (SELECT 1 AS a, [10, 20] AS b) UNWIND b',
    [
      [1, 10],
      [1, 20],
    ],
  ],
  ["SELECT {'a': {'b': [1, 2]}}.a.b[1] AS v", [[2]]],
  [
    'SELECT [1, 2, 3][0..2] AS a, [1, 2, 3][0-1] AS b, [1, 2, 3][> 1] AS c, [1, 2, 3][0, 2] AS d',
    [
      [
        [1, 2],
        [1, 2],
        [2, 3],
        [1, 3],
      ],
    ],
  ],
  ['SELECT [x * 2 FOR x IN [1, 2, 3] WHERE x > 1] AS l', [[[4, 6]]]],
  [
    "SELECT {'a': 1, 'b': 2}:{a} AS m, [{'a': 1, 'b': 2}]:{!a} AS l, null:{a} AS n",
    [[{a: 1}, [{b: 2}], null]],
  ],
  [
    "SELECT CASE WHEN 1 > 2 THEN 'a' ELSE 'b' END AS v, if(1 > 0, 'y', 'n') AS w, null ?? 3 AS x",
    [['b', 'y', 3]],
  ],
  ['SELECT since FROM Knows WHERE since > 2020 ORDER BY since', [[2021], [2022]]],
  ['SELECT @out.name AS o, @in.name AS i FROM Knows WHERE since = 2019', [['ann', 'bob']]],
  [
    "MATCH {type: Person, as: a, where: (name = 'ann')}-Knows->{as: b} RETURN b.name AS b ORDER BY b",
    [['bob'], ['cat']],
  ],
  [
    "MATCH {type: Person, as: a, where: (name = 'ann')}.out('Knows'){as: b, while: ($depth < 2)} RETURN b.name AS b, $depth AS d ORDER BY d, b",
    [
      ['ann', 0],
      ['bob', 1],
      ['cat', 1],
      ['cat', 2],
      ['dan', 2],
    ],
  ],
  [
    "MATCH {type: Person, as: a, where: (name = 'ann')}.out('Knows'){as: b, maxDepth: 2, depthAlias: d, pathAlias: p} RETURN p.name AS p, d ORDER BY d, b.name",
    [
      [[], 0],
      [['bob'], 1],
      [['cat'], 1],
      [['bob', 'cat'], 2],
      [['cat', 'dan'], 2],
    ],
  ],
  [
    "MATCH {type: Person, as: a}.out('Likes'){as: m, optional: true} RETURN a.name AS a, m.name AS m ORDER BY a, m",
    [
      ['ann', 'm1'],
      ['ann', 'm2'],
      ['bob', 'm2'],
      ['cat', null],
      ['dan', null],
    ],
  ],
  [
    "MATCH {type: Person, as: a}, NOT {as: a}.out('Likes'){} RETURN a.name AS a ORDER BY a",
    [['cat'], ['dan']],
  ],
  [
    "MATCH {type: Person, as: a}.out('Likes'){as: m}<-Wrote-{as: w}, {as: a}-Knows->{as: w} RETURN a.name AS a, m.name AS m, w.name AS w ORDER BY a, m",
    [
      ['ann', 'm1', 'cat'],
      ['ann', 'm2', 'cat'],
      ['bob', 'm2', 'cat'],
    ],
  ],
  [
    "MATCH {type: Person, as: a, where: (name = 'ann')}.outE('Knows'){as: e, where: (since > 2020)}.inV(){as: b} RETURN e.since AS s, b",
    [[2022, 'cat']],
  ],
  [
    "MATCH {as: m}<-Likes-{type: Person, as: a, where: (name = 'bob')} RETURN $elements",
    [['m2'], ['bob']],
  ],
  [
    "MATCH {type: Message, as: m}.in('Likes'){as: a} RETURN m.name AS m, count(*) AS n GROUP BY m.name ORDER BY n, m",
    [
      ['m1', 1],
      ['m2', 2],
    ],
  ],
];

for (const [text, expected] of cases) {
  test(text, () => {
    assert.deepEqual(rowsOf(text, false), expected);
    assert.deepEqual(rowsOf(text, true), expected, 'optimized');
  });
}
