/**
 * Calls of functions and methods, resolved by the one table of signatures.
 *
 * A name that is only a method (`out`, `asString`) may be called as a function: it is then asked
 * of the current record. A few functions are constructs of the algebra and never called: `if`,
 * `coalesce`, `ifnull`, `eval` of a literal.
 */

import {Refusal} from '#server/base/errors.ts';
import {nearestNameHint} from '#server/catalog/nearest-name.ts';
import type {Expression} from '#server/plan/expression.ts';
import {functionRows, functionSignature} from '#server/plan/function-table.ts';
import type {FunctionSignature} from '#server/plan/functions.ts';
import {callText} from '#server/plan/signature.ts';
import type * as Ast from './ast.ts';
import type {BindContext, Scope} from './bind-context.ts';
import {literal, operator} from './bind-context.ts';

/**
 * Functions over the rows of a group, and with how many arguments they are. With more, the same
 * name works on its arguments: `max(price)` is the greatest of a group, `max(a, b)` of two values.
 */
const aggregateArguments: ReadonlyMap<string, number> = new Map([
  ['count', 1],
  ['sum', 1],
  ['avg', 1],
  ['min', 1],
  ['max', 1],
  ['median', 1],
  ['mode', 1],
  ['percentile', 255],
  ['stddev', 1],
  ['stddevp', 1],
  ['variance', 1],
  ['variancep', 1],
  ['list', 1],
  ['set', 1],
  ['distinct', 1],
  ['bool_and', 1],
  ['bool_or', 1],
  ['unionall', 1],
  ['intersect', 1],
  ['difference', 1],
  ['symmetricdifference', 1],
  ['concat', 2],
]);

/**
 * Functions of a row that are computed over the rows of a group where a statement groups, by GROUP
 * BY or by an aggregate beside them.
 */
const groupArguments: ReadonlyMap<string, number> = new Map([
  ['first', 1],
  ['last', 1],
  ['map', 2],
]);

/** Whether the call is computed over rows where there are groups. */
export function isOfGroup(call: Ast.Call): boolean {
  const known = groupArguments.get(call.name.toLowerCase());
  return known === undefined ? isAggregate(call) : call.arguments.length <= known;
}

/** Whether the call is computed over rows rather than for one, wherever it stands. */
export function isAggregate(call: Ast.Call): boolean {
  const name = call.name.toLowerCase();
  if (groupArguments.has(name)) return false;
  const count = call.arguments.length;
  const known = aggregateArguments.get(name);
  if (known !== undefined) return count <= known;
  return functionSignature(call.name)?.kind === 'aggregate';
}

/** Searches that ask the current record where no other is given: arguments in front of it. */
const searchArguments: ReadonlyMap<string, number> = new Map([
  ['fulltext.searchIndex', 2],
  ['fulltext.searchFields', 2],
  ['fulltext.searchIndexMore', 3],
  ['fulltext.searchFieldsMore', 3],
  ['fulltext.highlight', 4],
]);

const graphMethods: ReadonlySet<string> = new Set([
  'out',
  'in',
  'both',
  'oute',
  'ine',
  'bothe',
  'outv',
  'inv',
  'bothv',
]);

/** The call of a function by name, its arguments bound. */
export function callFunction(
  context: BindContext,
  scope: Scope,
  call: {readonly name: string; readonly at: number; readonly args: readonly Expression[]},
): Expression {
  const {name, at, args} = call;
  const construct = bindConstruct(context, name.toLowerCase(), args, at);
  if (construct !== undefined) return construct;
  if (isOwnFunction(context, name)) return callOwn(context, call);
  const signature = functionSignature(name);
  if (signature !== undefined && isCallable(signature) && !isGraphMethod(name)) {
    check(context, {name, at, signature, count: args.length});
    if (signature.kind === 'aggregate' && name.includes('.')) {
      context.refuse(at, `'${name}' is computed over rows and cannot stand here`);
    }
    const whole = withRecord(signature, args, scope);
    return {kind: 'call', name: signature.name, args: whole, place: context.place(at)};
  }
  if (asksRecord(name)) {
    return callMethod(context, {name, at, args, receiver: scope.record ?? literal(null)});
  }
  return unknownFunction(context, name, at, false);
}

/** The current record behind the arguments of a search that names none. */
function withRecord(
  {name}: FunctionSignature,
  args: readonly Expression[],
  {record}: Scope,
): readonly Expression[] {
  const before = searchArguments.get(name);
  if (before === undefined || args.length > before) return args;
  const leftOut = Array.from({length: before - args.length}, () => literal(null));
  return [...args, ...leftOut, record ?? literal(null)];
}

/** Whether it is a function of the database's own. */
function isOwnFunction(context: BindContext, name: string): boolean {
  return context.catalog.functionNamed(name) !== undefined;
}

/** Parameters without an argument are null. */
function callOwn(
  context: BindContext,
  {
    name,
    at,
    args,
  }: {readonly name: string; readonly at: number; readonly args: readonly Expression[]},
): Expression {
  const most = context.catalog.functionNamed(name)?.parameters.length ?? 0;
  if (args.length > most) {
    context.refuse(at, `Function '${name}' takes ${most} arguments but got ${args.length}`);
  }
  return {kind: 'routine', name, args, place: context.place(at)};
}

/** Operators have symbols, and tables stand behind FROM. */
function isCallable(signature: FunctionSignature): boolean {
  return signature.kind !== 'operator' && signature.kind !== 'table';
}

function isGraphMethod(name: string): boolean {
  return graphMethods.has(name.toLowerCase());
}

/** `receiver.name(args)`. */
export function callMethod(
  context: BindContext,
  call: {
    readonly name: string;
    readonly at: number;
    readonly args: readonly Expression[];
    readonly receiver: Expression;
  },
): Expression {
  const {name, at, args, receiver} = call;
  const signature = functionSignature(`.${name}`);
  if (signature?.needsShape === true && isNoShape(receiver)) {
    throw new Refusal('argument', `'${name}' is a method of shapes: a text or map that is one`, {
      place: context.place(at),
    });
  }
  if (signature !== undefined) check(context, {name, at, signature, count: args.length});
  else if (!isGraphMethod(name)) unknownFunction(context, name, at, true);
  const place = context.place(at);
  return {kind: 'call', name: signature?.name ?? `.${name}`, args: [receiver, ...args], place};
}

/** Values that were written out and are no shape, whatever is known of shapes. */
function isNoShape({kind, ...receiver}: Expression): boolean {
  if (kind === 'list') return true;
  return kind === 'literal' && 'value' in receiver && typeof receiver.value !== 'string';
}

function bindConstruct(
  context: BindContext,
  name: string,
  args: readonly Expression[],
  at: number,
): Expression | undefined {
  const [first, second, third] = args;
  switch (name) {
    case 'if':
      if (first === undefined || second === undefined || args.length > 3) {
        return context.refuse(at, `Function 'if' expects 2-3 arguments but got ${args.length}`);
      }
      return {kind: 'case', branches: [{when: first, then: second}], otherwise: third};
    case 'coalesce':
      return operator('coalesce', ...args);
    case 'ifnull':
      return args.length === 2 ? operator('coalesce', ...args) : undefined;
    case 'eval':
      return context.refuse(at, "'eval' needs one text that stands in the statement");
    case 'expand':
      return context.impossible(at, "'expand' must be the only item of a projection");
    default:
      return undefined;
  }
}

/** Refuses an aggregate with too few or too many arguments. */
export function checkAggregate(context: BindContext, call: Ast.Call): void {
  const signature = functionSignature(call.name);
  const count = call.arguments.length;
  if (signature !== undefined) check(context, {name: call.name, at: call.at, signature, count});
}

/** Whether a call by this name asks the current record: `out('Knows')`. */
export function asksRecord(name: string): boolean {
  return (
    isGraphMethod(name) ||
    (functionSignature(name) === undefined && functionSignature(`.${name}`) !== undefined)
  );
}

function check(
  context: BindContext,
  call: {
    readonly name: string;
    readonly at: number;
    readonly signature: FunctionSignature;
    readonly count: number;
  },
): void {
  const {name, at, signature, count} = call;
  if (signature.later !== undefined) context.notAvailable(at, `The function '${name}'`);
  const {argsMin, argsMax} = signature;
  if (count >= argsMin && (argsMax === undefined || count <= argsMax)) return;
  const range =
    argsMax === undefined
      ? `at least ${argsMin}`
      : argsMin === argsMax
        ? argsMin
        : `${argsMin}-${argsMax}`;
  const noun = range === 1 || (argsMax === undefined && argsMin === 1) ? 'argument' : 'arguments';
  const kind = signature.kind === 'method' ? 'Method' : 'Function';
  context.refuse(
    at,
    `${kind} '${name}' expects ${range} ${noun} but got ${count}: ${callText(signature)}`,
  );
}

function unknownFunction(context: BindContext, name: string, at: number, method: boolean): never {
  // A method may be called as a function, so its name is near a function's too.
  const candidates = functionRows
    .filter(row => isCallable(row) && (row.kind === 'method' || !method))
    .flatMap(row => [row.name, ...(row.aliases ?? [])])
    .map(each => (each.startsWith('.') ? each.slice(1) : each));
  const own = method ? [] : context.catalog.functions.map(known => known.name);
  const hint = nearestNameHint(name, [...own, ...candidates]);
  const place = context.place(at);
  throw new Refusal(
    'query.unknown-function',
    `Unknown ${method ? 'method' : 'function'} name '${name}'${hint}`,
    {place, detail: {name}},
  );
}

/**
 * Refuses `text.camelCse('x')` as the unknown function it is, rather than as a method of a
 * property `text`.
 */
export function checkNamespace(
  context: BindContext,
  path: {readonly name: string; readonly method: string; readonly at: number},
): void {
  if (functionSignature(`.${path.method}`) !== undefined) return;
  const prefix = `${path.name.slice(0, path.name.indexOf('.') + 1).toLowerCase()}`;
  const known =
    functionRows.some(row => row.name.toLowerCase().startsWith(prefix)) ||
    context.catalog.functions.some(own => own.name.toLowerCase().startsWith(prefix));
  if (known) unknownFunction(context, path.name, path.at, false);
}

/** Whether `name` is a function with a dot in its name, such as `text.camelCase`. */
export function isDottedFunction(context: BindContext, name: string): boolean {
  if (isOwnFunction(context, name)) return true;
  const signature = functionSignature(name);
  return signature !== undefined && isCallable(signature) && signature.kind !== 'method';
}
