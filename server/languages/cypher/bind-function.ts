/** Calls of functions: known, with as many arguments as they take, of kinds that may be. */
import type {Expression} from '#server/plan/expression.ts';
import {nearestName} from '../expectation.ts';
import type * as Ast from './ast-expression.ts';
import {type BindContext, literal, operator, type Scope, slotOf} from './bind-context.ts';
import {bindExpression} from './bind-expression.ts';
import {bindLocalCall} from './bind-local-function.ts';
import {type CypherFunction, cypherFunction, cypherFunctionNames} from './functions.ts';
import {kindOf, requireKind} from './kind.ts';

type Call = Extract<Ast.Expression, {kind: 'call' | 'count-star'}>;

export function bindCall(context: BindContext, scope: Scope, ast: Call): Expression {
  if (isAggregate(ast)) {
    return context.refuse(ast.at, 'InvalidAggregation', 'an aggregate has no meaning here');
  }
  if (ast.kind === 'count-star') return literal(null);
  if (ast.name.toLowerCase() === 'exists') return bindExists(context, scope, ast);
  const local = scope.functions.get(ast.name.toLowerCase());
  if (local !== undefined) {
    const outer = {...scope, allowsPatterns: false};
    const args = ast.args.map(arg => bindExpression(context, outer, arg));
    return bindLocalCall(context, ast, local, args);
  }
  const source = bindSource(scope, ast);
  if (source !== undefined) return source;
  const own = bindOwn(context, scope, ast);
  if (own !== undefined) return own;
  const called = requireFunction(context, ast, scope.functions);
  const inner = {...scope, allowsPatterns: false};
  ast.args.forEach((arg, at) => {
    if (arg.kind === 'pattern') bindExpression(context, inner, arg);
    const allowed = called.takes[at] ?? called.takes.at(-1);
    if (allowed !== undefined) {
      requireKind(context, arg, kindOf(arg, scope), [...allowed, 'any', 'null']);
    }
  });
  const args = ast.args.map((arg, at) =>
    at > 0 && isWord(called, arg, scope) ? literal(arg.name) : bindExpression(context, inner, arg),
  );
  const isGone = scope.hasDeleted && goneRefused.has(called.name);
  const [first, ...rest] = args;
  const checked = isGone && first !== undefined ? [operator('existing', first), ...rest] : args;
  return {kind: 'call', name: called.name, args: checked, place: context.place(ast.at)};
}

/** A function of the database's own; parameters without an argument are null. */
function bindOwn(context: BindContext, scope: Scope, ast: Ast.Call): Expression | undefined {
  const own = context.catalog.functionNamed(ast.name);
  if (own === undefined) return undefined;
  const most = own.parameters.length;
  if (ast.args.length > most) {
    context.refuse(
      ast.at,
      'InvalidNumberOfArguments',
      `${ast.name} takes at most ${most} arguments, not ${ast.args.length}`,
    );
  }
  const inner = {...scope, allowsPatterns: false};
  const args = ast.args.map(arg => bindExpression(context, inner, arg));
  return {kind: 'routine', name: ast.name, args, place: context.place(ast.at)};
}

/** A word of the function's own, such as a normal form, that is no variable here. */
function isWord(
  {words}: CypherFunction,
  arg: Ast.Expression,
  scope: Scope,
): arg is Extract<Ast.Expression, {kind: 'variable'}> {
  if (words === undefined || arg.kind !== 'variable') return false;
  return words.includes(arg.name.toUpperCase()) && !scope.variables.has(arg.name);
}

/** What cannot be asked of a record that was deleted. */
const goneRefused = new Set(['std.labels', 'std.keys', 'std.properties']);

/** `file()` and `linenumber()`: of the LOAD CSV before; null without one. */
function bindSource({csv}: Scope, {name, args}: Ast.Call): Expression | undefined {
  const wanted = name.toLowerCase();
  if ((wanted !== 'file' && wanted !== 'linenumber') || args.length > 0) return undefined;
  if (csv === undefined) return literal(null);
  return slotOf(wanted === 'file' ? csv.file : csv.line);
}

/** `exists(n.name)` and `exists((n)-->())`. */
function bindExists(context: BindContext, scope: Scope, ast: Ast.Call): Expression {
  const [arg, ...more] = ast.args;
  if (arg === undefined || more.length > 0) {
    return context.refuse(ast.at, 'InvalidNumberOfArguments', 'exists takes one argument');
  }
  if (arg.kind === 'pattern') return bindExpression(context, {...scope, allowsPatterns: true}, arg);
  const of = bindExpression(context, scope, arg);
  return {kind: 'not', of: {kind: 'is-null', of}};
}

export function isAggregate(ast: Ast.Expression): boolean {
  if (ast.kind === 'count-star') return true;
  return ast.kind === 'call' && cypherFunction(ast.name)?.kind === 'aggregate';
}

/** @throws {Refusal} UnknownFunction with the nearest name, InvalidNumberOfArguments. */
export function requireFunction(
  context: BindContext,
  ast: Ast.Call,
  local: Scope['functions'] = new Map(),
): CypherFunction {
  const called = cypherFunction(ast.name);
  if (called === undefined) {
    const own = context.catalog.functions.map(known => known.name);
    const names = [...own, ...cypherFunctionNames(), ...local.keys()];
    const near = nearestName(ast.name, names) ?? nearestName(ast.name.toLowerCase(), names);
    const hint = near === undefined ? '' : `; did you mean ${near}?`;
    return context.refuse(ast.at, 'UnknownFunction', `there is no function '${ast.name}'${hint}`);
  }
  const {min, max} = called;
  if (ast.args.length < min || ast.args.length > max) {
    const wanted = min === max ? `${min}` : `${min} to ${max}`;
    context.refuse(
      ast.at,
      'InvalidNumberOfArguments',
      `${ast.name} takes ${wanted} arguments, not ${ast.args.length}`,
    );
  }
  return called;
}
