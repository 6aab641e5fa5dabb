/**
 * Functions that a query brings along: a call is replaced by the body, with the arguments, each
 * evaluated once, in place of the parameters.
 *
 * A body sees its parameters and the functions defined before it, nothing else; so none calls
 * itself, and what a query becomes is finite. How often bodies are put in and how deep they nest
 * is bounded, since a few lines can double it line by line.
 */
import type {Expression} from '#server/plan/expression.ts';
import {isReadOnly} from '#server/plan/properties.ts';
import type * as Ast from './ast-expression.ts';
import type {FunctionDefinition, ValueType} from './ast.ts';
import {
  type BindContext,
  emptyScope,
  literal,
  type LocalFunction,
  operator,
  type Scope,
  type Variable,
  withVariables,
} from './bind-context.ts';
import {bindExpression} from './bind-expression.ts';
import {bindInnerQuery} from './bind-query.ts';
import {cypherFunction} from './functions.ts';

/** Names whose parentheses hold more than arguments. */
const ownSyntax = new Set(
  'all any none single reduce exists file linenumber shortestpath allshortestpaths'.split(' '),
);

/** The scope of a query behind `definitions`, each of which is bound once to see that it can be. */
export function bindDefinitions(
  context: BindContext,
  definitions: readonly FunctionDefinition[],
): Scope {
  let scope = emptyScope;
  for (const definition of definitions) {
    const {text, at} = definition.name;
    const key = text.toLowerCase();
    if (scope.functions.has(key)) context.alreadyBound(at, text);
    if (cypherFunction(text) !== undefined || ownSyntax.has(key)) {
      context.refuse(at, 'VariableAlreadyBound', `'${text}' is a function of the server`);
    }
    requireTypes(context, definition);
    const local: LocalFunction = {definition, scope};
    bindBody(context, local, definition.parameters.map(parameterOf(context)));
    scope = {...scope, functions: new Map([...scope.functions, [key, local]])};
  }
  return scope;
}

/** @param args - Bound where the call stands. */
export function bindLocalCall(
  context: BindContext,
  ast: Ast.Call,
  local: LocalFunction,
  args: readonly Expression[],
): Expression {
  const {parameters, name} = local.definition;
  if (args.length !== parameters.length) {
    context.refuse(
      ast.at,
      'InvalidNumberOfArguments',
      `${name.text} takes ${parameters.length} arguments, not ${args.length}`,
    );
  }
  const variables = parameters.map(parameterOf(context));
  let value = context.within(local.definition.height, ast.at, () =>
    bindBody(context, local, variables),
  );
  for (const [at, arg] of [...args.entries()].reverse()) {
    const [, variable] = variables[at] ?? [];
    const type = parameters[at]?.type;
    if (variable === undefined) continue;
    value = {
      kind: 'comprehension',
      mode: 'first',
      list: {kind: 'list', items: [typed(arg, type)]},
      item: variable.slot,
      yields: value,
    };
  }
  return value;
}

function parameterOf(
  context: BindContext,
): (parameter: FunctionDefinition['parameters'][number]) => readonly [string, Variable] {
  return ({name}) => [name.text, {slot: context.newSlot(), kind: 'any'}];
}

function bindBody(
  context: BindContext,
  {definition, scope}: LocalFunction,
  variables: readonly (readonly [string, Variable])[],
): Expression {
  const {body, result, name} = definition;
  const inner = withVariables(scope, variables);
  if (inner.variables.size < variables.length) {
    context.refuse(name.at, 'VariableAlreadyBound', `two parameters of ${name.text} have one name`);
  }
  if (body.kind === 'value') return typed(bindExpression(context, inner, body.value), result);
  const {plan, columns} = bindInnerQuery(
    context,
    {plan: {kind: 'argument'}, scope: inner},
    body.query,
  );
  const [column, ...more] = columns;
  if (column === undefined || more.length > 0) {
    return context.refuse(name.at, 'UnexpectedSyntax', `${name.text} has to RETURN one column`);
  }
  if (!isReadOnly(plan)) {
    context.refuse(name.at, 'InvalidClauseComposition', 'a function cannot write');
  }
  return typed(
    {kind: 'subplan', mode: 'scalar', plan, slot: column.slot, correlated: true},
    result,
  );
}

function typed(value: Expression, type: ValueType | undefined): Expression {
  if (type === undefined) return value;
  const {name, notNull} = type;
  return operator('typed', value, literal(nameOfType(name.text)), literal(notNull));
}

/** Other words for a type. */
const synonyms = new Map([
  ['BOOL', 'BOOLEAN'],
  ['VARCHAR', 'STRING'],
  ['INT', 'INTEGER'],
  ['VERTEX', 'NODE'],
  ['EDGE', 'RELATIONSHIP'],
]);

/** The type names that `valueType` returns. */
const typeNames: ReadonlySet<string> = new Set([
  'ANY',
  'BOOLEAN',
  'STRING',
  'INTEGER',
  'FLOAT',
  'LIST',
  'MAP',
  'NODE',
  'RELATIONSHIP',
  'PATH',
  'POINT',
  'DATE',
  'DURATION',
  'LOCAL DATETIME',
  'ZONED DATETIME',
  'LOCAL TIME',
  'ZONED TIME',
]);

function nameOfType(text: string): string {
  return synonyms.get(text) ?? text;
}

function requireTypes(context: BindContext, {parameters, result}: FunctionDefinition): void {
  for (const type of [...parameters.map(parameter => parameter.type), result]) {
    if (type === undefined || typeNames.has(nameOfType(type.name.text))) continue;
    const known = [...typeNames].join(', ');
    const {text, at} = type.name;
    context.refuse(at, 'UnexpectedSyntax', `'${text}' is none of the types ${known}`);
  }
}
