/**
 * What kind of value an expression has, as far as its text tells.
 *
 * Only what is certain is said; `any` is the answer to everything else. Wrong kinds are refused
 * before anything runs, with the reason InvalidArgumentType.
 */
import type * as Ast from './ast-expression.ts';
import type {BindContext, Scope} from './bind-context.ts';
import {cypherFunction} from './functions.ts';
import type {Kind} from './value-kind.ts';

const booleanOperators = new Set<Ast.BinaryOperator>([
  'and',
  'or',
  'xor',
  'in',
  'starts-with',
  'ends-with',
  'contains',
  '=~',
]);

export function kindOf(ast: Ast.Expression, scope: Scope): Kind {
  switch (ast.kind) {
    case 'literal':
      return kindOfLiteral(ast);
    case 'variable':
      return scope.variables.get(ast.name)?.kind ?? 'any';
    case 'list':
    case 'list-comprehension':
    case 'pattern-comprehension':
      return 'list';
    case 'map':
    case 'map-projection':
      return 'map';
    case 'comparison':
    case 'has-labels':
    case 'is-null':
    case 'quantifier':
    case 'pattern':
      return 'boolean';
    case 'unary':
      return ast.operator === 'not' ? 'boolean' : numeric(kindOf(ast.of, scope));
    case 'binary':
      return kindOfBinary(ast, scope);
    case 'count-star':
      return 'integer';
    case 'call':
      return cypherFunction(ast.name)?.result ?? 'any';
    case 'subquery':
      return ast.mode === 'exists' ? 'boolean' : ast.mode === 'count' ? 'integer' : 'list';
    default:
      return 'any';
  }
}

function kindOfLiteral({value, isFloat}: Ast.Literal): Kind {
  if (value === null) return 'null';
  if (typeof value === 'boolean') return 'boolean';
  if (typeof value === 'string') return 'string';
  return isFloat ? 'float' : 'integer';
}

function kindOfBinary(ast: Ast.Binary, scope: Scope): Kind {
  if (booleanOperators.has(ast.operator)) return 'boolean';
  const left = kindOf(ast.left, scope);
  const right = kindOf(ast.right, scope);
  if (ast.operator === '+' && (left === 'list' || right === 'list')) return 'list';
  if (ast.operator === '^') return left === 'any' || right === 'any' ? 'any' : 'float';
  if (left === 'integer' && right === 'integer') return 'integer';
  return numeric(left) !== 'any' && numeric(right) !== 'any' ? 'float' : 'any';
}

function numeric(kind: Kind): Kind {
  return kind === 'integer' || kind === 'float' ? kind : 'any';
}

const names: Readonly<Record<Kind, string>> = {
  any: 'any value',
  null: 'null',
  boolean: 'a boolean',
  integer: 'an integer',
  float: 'a float',
  string: 'a string',
  list: 'a list',
  map: 'a map',
  node: 'a node',
  relationship: 'a relationship',
  relationships: 'a list of relationships',
  path: 'a path',
};

/** @throws {Refusal} InvalidArgumentType when `kind` is none of those that may be. */
export function requireKind(
  context: BindContext,
  ast: Ast.Expression,
  kind: Kind,
  allowed: readonly Kind[],
  type: 'SyntaxError' | 'TypeError' = 'SyntaxError',
): void {
  if (kind === 'any' || allowed.includes(kind)) return;
  const wanted = allowed.filter(one => one !== 'any' && one !== 'null').map(one => names[one]);
  const what = `${wanted.join(' or ')} is needed here, not ${names[kind]}`;
  throw context.refusal(ast.at, 'InvalidArgumentType', what, type);
}
