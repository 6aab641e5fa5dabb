/**
 * Columns of an answer that were bound right below it, for the answer alone, are worked out when
 * they are written: no column of values is made on the way.
 *
 * What holds a sub-plan stays where it is: it may be many rows' work, and batches pause.
 */
import type {Expression, Slot} from '#server/plan/expression.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {partsOf, slotsOf} from '#server/plan/tree.ts';
import type {Rule} from '../rule.ts';

export const inlineColumns: Rule = {
  name: 'inline-columns',
  about: ['extend'],
  apply(node, context) {
    if (node.kind !== 'project' || node.output.kind !== 'columns') return node;
    const {input} = node;
    if (input.kind !== 'extend') return node;
    const {reads} = context.slots;
    const readWithin = new Set(input.bind.flatMap(({value}) => [...slotsOf(value)]));
    const inlined = new Map<Slot, Expression>();
    for (const {slot, value} of input.bind) {
      const isForAnswer = reads.get(slot) === 1 && !readWithin.has(slot);
      if (isForAnswer && !hasSubplan(value)) inlined.set(slot, value);
    }
    const columns = node.output.columns.map(column => {
      if (!('value' in column) || column.value.kind !== 'slot') return column;
      const value = inlined.get(column.value.slot);
      return value === undefined ? column : {...column, value};
    });
    const used = new Set(
      node.output.columns.flatMap(column =>
        'value' in column && column.value.kind === 'slot' ? [column.value.slot] : [],
      ),
    );
    const bind = input.bind.filter(({slot}) => !inlined.has(slot) || !used.has(slot));
    const below: PlanNode = bind.length === 0 ? input.input : {...input, bind};
    return {...node, input: below, output: {...node.output, columns}};
  },
};

function hasSubplan(expression: Expression): boolean {
  return expression.kind === 'subplan' || partsOf(expression).some(hasSubplan);
}
