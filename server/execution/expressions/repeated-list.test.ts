/** A list asked again and again answers as a list asked once. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import fc from 'fast-check';
import type {Value} from '#server/model/value.ts';
import type {Expression} from '#server/plan/expression.ts';
import {anyValue} from '#server/testing/property/any-value.ts';
import {call, slot, World} from '#server/testing/worlds/hand-built-plan.ts';

const world = new World();

/** The answer of `expression` for each value in slot 1, with the same list in slot 0 each time. */
function answers(expression: Expression, list: Value, values: readonly Value[]): unknown[] {
  const literals = values.map((value): Expression => ({kind: 'literal', value}));
  const rows = world.run(
    {
      kind: 'extend',
      input: {
        kind: 'values',
        slots: [0, 1],
        rows: literals.map(value => [{kind: 'literal', value: list}, value]),
      },
      bind: [{slot: 2, value: expression}],
    },
    [2],
  );
  return rows.flat();
}

test('IN and CONTAINS find in a list they meet again what they find in one they meet once', () => {
  const lists = fc.array(anyValue(), {minLength: 10, maxLength: 40});
  fc.assert(
    fc.property(lists, fc.array(anyValue(), {maxLength: 8}), (list: Value[], more) => {
      const values = [...list.slice(0, 6), ...more];
      for (const expression of [
        call('op:in', slot(1), slot(0)),
        call('op:contains', slot(0), slot(1)),
      ]) {
        const once = values.flatMap(value => answers(expression, [...list], [value]));
        assert.deepEqual(answers(expression, list, values), once);
      }
    }),
    {numRuns: 60},
  );
});

test('a property of the items of a list is the same list for every row', () => {
  const list = Array.from({length: 20}, (_item, n) => new Map([['n', n]]));
  const each: Expression = {kind: 'property', of: slot(0), name: 'n', each: true};
  const found = answers(each, list, [1, 2, 3, 4]);
  const expected = list.map(item => item.get('n'));
  assert.deepEqual(found, [expected, expected, expected, expected]);
});
