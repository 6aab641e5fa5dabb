/** Expressions that stand alone: defaults of properties, conditions of scripts. */
import type {Catalog} from '#server/catalog/catalog.ts';
import type {Expression} from '#server/plan/expression.ts';
import type * as Ast from './ast.ts';
import {BindContext, makeScope} from './bind-context.ts';
import {bindExpression} from './bind-expression.ts';
import {bindQuery} from './bind-statement.ts';
import {parseLoneExpression} from './parser.ts';

/** @throws {Refusal} as for a statement; places count in `text`. */
export function bindLoneExpression(text: string, catalog: Catalog): Expression {
  return bindParsedExpression(text, parseLoneExpression(text), catalog);
}

/** `text` is what `ast` was parsed from, for the places of errors. */
export function bindParsedExpression(
  text: string,
  ast: Ast.Expression,
  catalog: Catalog,
): Expression {
  const context = new BindContext(text, catalog, bindQuery);
  return bindExpression(context, makeScope(undefined, undefined), ast);
}
