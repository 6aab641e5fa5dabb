/** CALL of a procedure: a table function of the server, its columns under their names. */
import type {Expression, Slot} from '#server/plan/expression.ts';
import {functionSignature} from '#server/plan/function-table.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {nearestName} from '../expectation.ts';
import type {CallClause} from './ast.ts';
import {type BindContext, type Bound, filtered, withVariables} from './bind-context.ts';
import {bindCondition, bindExpression} from './bind-expression.ts';
import type {Column} from './bind-projection.ts';
import {kindOf, requireKind} from './kind.ts';
import type {Procedure} from './procedures.ts';

/** @param isLone - Whether the call is the whole query: then its columns are the answer. */
export function bindCall(
  context: BindContext,
  input: Bound,
  clause: CallClause,
  isLone: boolean,
): Bound & {readonly columns: readonly Column[]} {
  const found = requireProcedure(context, clause);
  // What writes sees all rows before its first write, and none of them sees what it wrote.
  const isWriting = functionSignature(found.name)?.writes === true;
  const args = bindArguments(context, input, clause, found, isLone);
  const columns = columnsOf(context, input, clause, found, isLone);
  const source: PlanNode = {
    kind: 'call',
    procedure: found.name,
    args,
    outputs: columns.map(({output, slot}) => ({name: output, slot})),
    place: context.place(clause.at),
  };
  // What answers nothing is called for its effect: rows pass as they are.
  const mode = found.outputs.length === 0 ? 'for-each' : clause.optional ? 'left' : 'inner';
  const slots: readonly Slot[] = columns.map(column => column.slot);
  const rows: PlanNode = isWriting ? {kind: 'barrier', input: input.plan} : input.plan;
  const called: PlanNode = {kind: 'apply', mode, input: rows, plan: source, slots};
  const plan: PlanNode = isWriting ? {kind: 'barrier', input: called} : called;
  const scope = withVariables(
    input.scope,
    columns.map(({name, slot}) => [name, {slot, kind: 'any'}]),
  );
  const where = clause.where && bindCondition(context, scope, clause.where);
  return {plan: filtered(plan, where === undefined ? [] : [where]), scope, columns};
}

function requireProcedure(context: BindContext, {procedure}: CallClause): Procedure {
  const found = context.procedures.get(procedure.text.toLowerCase());
  if (found !== undefined) return found;
  const near = nearestName(procedure.text.toLowerCase(), context.procedures.keys());
  const hint = near === undefined ? '' : `; did you mean ${near}?`;
  const what = `there is no procedure '${procedure.text}'${hint}`;
  throw context.refusal(procedure.at, 'ProcedureNotFound', what, 'ProcedureError');
}

/** Binds the given arguments; a lone call without parentheses takes parameters by name. */
function bindArguments(
  context: BindContext,
  {scope}: Bound,
  {args, at, procedure}: CallClause,
  {inputs}: Procedure,
  isLone: boolean,
): readonly Expression[] {
  if (args === undefined) {
    if (isLone) {
      return inputs.map(({name, optional}) =>
        optional ? {kind: 'parameter', name} : context.parameter(name, at),
      );
    }
    return context.refuse(
      at,
      'InvalidArgumentPassingMode',
      `inside a query the arguments of ${procedure.text} stand in parentheses`,
    );
  }
  const least = inputs.filter(input => input.optional !== true).length;
  if (args.length < least || args.length > inputs.length) {
    const wanted = least === inputs.length ? `${least}` : `${least} to ${inputs.length}`;
    context.refuse(
      at,
      'InvalidNumberOfArguments',
      `${procedure.text} takes ${wanted} arguments, not ${args.length}`,
    );
  }
  return args.map((arg, place) => {
    const kinds = inputs[place]?.kinds ?? [];
    if (!kinds.includes('any')) requireKind(context, arg, kindOf(arg, scope), [...kinds, 'null']);
    return bindExpression(context, {...scope, allowsPatterns: false}, arg);
  });
}

function columnsOf(
  context: BindContext,
  {scope}: Bound,
  {yields, at, procedure}: CallClause,
  {outputs}: Procedure,
  isLone: boolean,
): readonly (Column & {readonly output: string})[] {
  if (yields === 'star' && !isLone) {
    context.refuse(at, 'UnexpectedSyntax', 'YIELD * stands in a call of its own only');
  }
  // Without YIELD a lone call answers every column, one inside a query none.
  const isEvery = yields === 'star' || (yields === undefined && isLone);
  const wanted = isEvery
    ? outputs.map(name => ({name, alias: name, place: at}))
    : (yields ?? []).map(({column, alias}) => ({
        name: column.text,
        alias: alias?.text ?? column.text,
        place: column.at,
      }));
  const names = new Set<string>(scope.variables.keys());
  return wanted.map(({name, alias, place}) => {
    if (!outputs.includes(name)) {
      context.refuse(place, 'UndefinedVariable', `${procedure.text} has no column '${name}'`);
    }
    if (names.has(alias)) context.alreadyBound(place, alias);
    names.add(alias);
    return {name: alias, slot: context.newSlot(), output: name};
  });
}
