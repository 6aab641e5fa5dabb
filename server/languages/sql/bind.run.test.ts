/**
 * Bound statements run (`testdata/run.txt`): over the small network of
 * testing/worlds/hand-built-plan.ts, with and without the optimizer, which must not change an
 * answer.
 */

import assert from 'node:assert/strict';
import {pause, unitBatch} from '#server/execution/batch.ts';
import {createFunctionRegistry} from '#server/execution/standard-functions.ts';
import {PlanPreparation} from '#server/execution/prepare.ts';
import {optimize} from '#server/optimizer/optimize.ts';
import type {Slot} from '#server/plan/expression.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {World, worldCatalog} from '#server/testing/worlds/hand-built-plan.ts';
import {testScript} from '#server/testing/script.ts';
import {bindSql} from './bind-statement.ts';

const world = new World();
const functions = createFunctionRegistry();

/** A line of JSON for each row; records are written as their names. */
function rowsOf(text: string, optimized: boolean): string {
  const statement = bindSql(text, worldCatalog());
  assert(statement.kind === 'query' && statement.plan.kind === 'project', text);
  const {output, input} = statement.plan;
  const plan = optimized ? optimize(input, world) : input;
  if (output.kind === 'element') return run(plan, [output.slot]);
  const bind = output.columns.map((column, i) => ({
    slot: statement.slotCount + i,
    value: 'value' in column ? column.value : column.spread,
  }));
  const extended: PlanNode = {kind: 'extend', input: plan, bind};
  return run(
    extended,
    bind.map(each => each.slot),
  );
}

function run(plan: PlanNode, slots: readonly Slot[]): string {
  const lines: string[] = [];
  const preparation = new PlanPreparation(plan, functions);
  for (const batch of preparation.prepare(plan)(world.context(), unitBatch)) {
    if (batch === pause) continue;
    for (let row = 0; row < batch.rowCount; row++) {
      lines.push(JSON.stringify(slots.map(slot => world.plain(batch.get(slot, row)))));
    }
  }
  return lines.join('\n') || 'no rows';
}

for (const file of ['run.txt', 'run-functions.txt']) {
  testScript(new URL(`testdata/${file}`, import.meta.url), ({input}) => {
    const rows = rowsOf(input, false);
    assert.equal(rowsOf(input, true), rows, 'the optimizer changes no answer');
    return rows;
  });
}
