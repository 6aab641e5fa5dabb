/**
 * BATCH n of UPDATE, DELETE and MOVE VERTEX: so many records to a transaction.
 *
 * The records are found first, in one view; each transaction then reads its own anew and asks the
 * condition again, because others may have changed them since. What was committed stays when a
 * later transaction fails. Without RETURN only the counts of the transactions are kept, so the
 * number of records has no limit.
 */
import type {PlanNode} from '#server/plan/node.ts';
import type {BatchedStatement} from '#server/plan/statement.ts';
import type * as Ast from './ast.ts';
import type * as Sql from './ast-statement.ts';
import {type BindContext, literal, slotOf, sqlAnswers} from './bind-context.ts';
import {bindConstant} from './bind-projection.ts';
import {bindSteps, filtered, total} from './bind-write.ts';

type Batched = (Sql.Update | Sql.Delete | Sql.MoveVertex) & {readonly batch: Ast.Expression};

export function hasBatch(ast: Sql.Statement): ast is Batched {
  return 'batch' in ast && ast.batch !== undefined;
}

export function bindBatches(context: BindContext, ast: Batched): BatchedStatement {
  refuseWhole(context, ast);
  const {rows, slot, condition, write, answer} = bindSteps(context, ast, undefined);
  const found: PlanNode = {kind: 'argument'};
  const written = write(filtered(found, condition));
  const count = context.newSlot();
  const counting: PlanNode = {
    kind: 'aggregate',
    input: written,
    keys: [],
    aggregates: [{slot: count, name: 'count', args: [], distinct: false}],
  };
  const after =
    answer === undefined ? total(context, found, 'std.sum', [slotOf(count)]) : answer(found);
  return {
    kind: 'batched',
    before: rows,
    inner: answer === undefined ? counting : written,
    after: {kind: 'project', input: after.plan, output: after.shape},
    answers: true,
    slotCount: context.slotCount,
    size: bindConstant(context, ast.batch) ?? literal(0),
    onError: 'fail',
    retryMs: undefined,
    passed: [slot],
    results: answer === undefined ? [count] : [],
    status: undefined,
    needs: [],
    form: sqlAnswers,
  };
}

/** What only one transaction can do. */
function refuseWhole(context: BindContext, ast: Batched): void {
  const refuse = (what: string): never =>
    context.refuse(ast.batch.at, `${what} is of one transaction: leave out BATCH`);
  if (ast.kind === 'move-vertex') return;
  if (ast.kind === 'delete') {
    if (ast.returnBefore) refuse('RETURN BEFORE');
    return;
  }
  if (ast.upsert) refuse('UPSERT');
  if (ast.returning?.what === 'before') refuse('RETURN BEFORE');
  if (ast.timeout !== undefined) refuse('TIMEOUT');
}
