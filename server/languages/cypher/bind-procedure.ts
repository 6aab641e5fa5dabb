/** CALL of a procedure: a table function of the server, its columns under their names. */
import type {Slot} from '#server/plan/expression.ts';
import type {PlanNode} from '#server/plan/node.ts';
import type {CallClause} from './ast.ts';
import {type BindContext, type Bound, filtered, withVariables} from './bind-context.ts';
import {bindExpression} from './bind-expression.ts';
import type {Column} from './bind-projection.ts';
import {procedureOf} from './procedures.ts';
import {syntaxRefusal} from './cursor.ts';

/** @param isLone - Whether the call is the whole query: then its columns are the answer. */
export function bindCall(
  context: BindContext,
  input: Bound,
  clause: CallClause,
  isLone: boolean,
): Bound & {readonly columns: readonly Column[]} {
  const {procedure, yields} = clause;
  const found = procedureOf(procedure.text);
  if (found === undefined) {
    throw syntaxRefusal(context.text, procedure.at, `there is no procedure '${procedure.text}'`, {
      type: 'ProcedureError',
      reason: 'ProcedureNotFound',
    });
  }
  const args = clause.args ?? [];
  if (args.length < found.min || args.length > found.max) {
    context.refuse(
      clause.at,
      'InvalidNumberOfArguments',
      `${procedure.text} takes ${found.min} to ${found.max} arguments, not ${args.length}`,
    );
  }
  if (yields === 'star' && !isLone) {
    context.refuse(clause.at, 'UnexpectedSyntax', 'YIELD * stands in a call of its own only');
  }
  if (yields === undefined && !isLone && found.outputs.length > 0) {
    context.refuse(clause.at, 'UndefinedVariable', 'name the columns that are used with YIELD');
  }
  const all = found.outputs.map(name => ({name, alias: name, at: clause.at}));
  const wanted =
    yields === undefined || yields === 'star'
      ? all
      : yields.map(({column, alias}) => ({
          name: column.text,
          alias: alias?.text ?? column.text,
          at: column.at,
        }));
  const columns = wanted.map(({name, alias, at}): Column & {readonly output: string} => {
    if (!found.outputs.includes(name)) {
      context.refuse(at, 'UndefinedVariable', `${procedure.text} has no column '${name}'`);
    }
    if (input.scope.variables.has(alias)) {
      context.refuse(at, 'VariableAlreadyBound', `'${alias}' is bound already`);
    }
    return {name: alias, slot: context.newSlot(), output: name};
  });
  const names = new Set(columns.map(column => column.name));
  if (names.size < columns.length) {
    context.refuse(clause.at, 'VariableAlreadyBound', 'two columns have one name');
  }
  const source: PlanNode = {
    kind: 'call',
    procedure: found.name,
    args: args.map(arg => bindExpression(context, input.scope, arg)),
    outputs: columns.map(({output, slot}) => ({name: output, slot})),
    place: context.place(clause.at),
  };
  const slots: readonly Slot[] = columns.map(column => column.slot);
  const plan: PlanNode =
    input.plan.kind === 'unit'
      ? source
      : {kind: 'apply', mode: 'inner', input: input.plan, plan: source, slots};
  const scope = withVariables(
    input.scope,
    columns.map(({name, slot}) => [name, {slot, kind: 'any'}]),
  );
  const where = clause.where && bindExpression(context, scope, clause.where);
  return {plan: filtered(plan, where === undefined ? [] : [where]), scope, columns};
}
