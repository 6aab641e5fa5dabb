/**
 * The query of a view with the record that each row comes from, for all records or for some.
 *
 * For queries of one type whose rows come from a record each. A row tells its record by the column
 * `@source`; where the query answers whole records, they tell it themselves.
 */
import type {Expression, Select} from './ast.ts';
import {parseLoneExpression, parseStatement} from './parser.ts';
import {printQuery} from './printer.ts';

/** The column that holds the id of a row's record. */
export const sourceColumn = '@source';
/** The parameter that holds the ids of the records asked for. */
export const sourcesParameter = 'sources';

export interface TracedQuery {
  readonly all: string;
  readonly some: string;
}

/** Undefined for a query that is no SELECT of a type. */
export function traceQuery(text: string): TracedQuery | undefined {
  const ast = parseStatement(text);
  if (ast.kind !== 'select' || ast.from?.kind !== 'type-target') return undefined;
  const {at} = ast;
  const rid: Expression = {kind: 'attribute', at, name: 'rid'};
  const source = {kind: 'item', at, expression: rid, alias: {at, text: sourceColumn}} as const;
  const traced: Select = ast.items.length === 0 ? ast : {...ast, items: [...ast.items, source]};
  const sources: Expression = {kind: 'parameter', at, form: 'named', name: sourcesParameter};
  // A record that was given another type is none of the type's any more.
  const isOfType = parseLoneExpression(`@this INSTANCEOF ${JSON.stringify(ast.from.name)}`);
  const some: Select = {
    ...traced,
    from: {kind: 'expression-target', at, expression: sources},
    where: ast.where ? {kind: 'and', at, operands: [isOfType, ast.where]} : isOfType,
  };
  return {all: printQuery(traced), some: printQuery(some)};
}
