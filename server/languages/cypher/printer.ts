/**
 * Syntax tree to Cypher: queries and their clauses, as names of columns hold them.
 *
 * Invariant: the text parses to an equal tree but for offsets; a column whose name was the text of
 * its expression is given that name.
 */
import {unreachable} from '#server/base/assert.ts';
import type {Expression} from './ast-expression.ts';
import type {
  Clause,
  Name,
  ProjectionClause,
  ProjectionItem,
  Query,
  RemoveItem,
  SetItem,
  SubqueryBatches,
} from './ast.ts';
import {ExpressionPrinter, nameText} from './printer-expression.ts';

/** A query as text. */
export function queryText(query: Query): string {
  const joint = query.union === 'all' ? ' UNION ALL ' : ' UNION ';
  return query.parts.map(part => part.clauses.map(clauseText).join(' ')).join(joint);
}

const expressions = new ExpressionPrinter(queryText);
const {print} = expressions;

/** An expression as text, as it would be written again. */
export function printExpression(expression: Expression): string {
  return print(expression);
}

function clauseText(clause: Clause): string {
  switch (clause.kind) {
    case 'match': {
      const patterns = clause.patterns.map(one => expressions.pattern(one)).join(', ');
      const where = expressions.where(clause.where);
      const mode = clause.repeats ? 'REPEATABLE ELEMENTS ' : '';
      return `${clause.optional ? 'OPTIONAL ' : ''}MATCH ${mode}${patterns}${where}`;
    }
    case 'unwind':
      return `UNWIND ${print(clause.list)} AS ${nameText(clause.name.text)}`;
    case 'with':
    case 'return':
      return projectionText(clause);
    case 'call':
      return `${clause.optional ? 'OPTIONAL ' : ''}${callText(clause)}`;
    case 'use':
      return `USE ${nameText(clause.name.text)}`;
    case 'subquery': {
      const {imports} = clause;
      const names = imports === 'star' ? '(*) ' : imports && `(${namesText(imports)}) `;
      const query = `{ ${queryText(clause.query)} }`;
      const batches = clause.batches === undefined ? '' : batchesText(clause.batches);
      return `${clause.optional ? 'OPTIONAL ' : ''}CALL ${names ?? ''}${query}${batches}`;
    }
    case 'load-csv': {
      const headers = clause.withHeaders ? ' WITH HEADERS' : '';
      const separator = clause.separator && ` FIELDTERMINATOR ${print(clause.separator)}`;
      const from = ` FROM ${print(clause.from)} AS ${nameText(clause.name.text)}`;
      return `LOAD CSV${headers}${from}${separator ?? ''}`;
    }
    default:
      return updateText(clause);
  }
}

function batchesText({size, onError, retry, status}: SubqueryBatches): string {
  const rows = size === undefined ? '' : ` OF ${print(size)} ROWS`;
  const then = onError.toUpperCase();
  const error = retry === undefined ? then : `RETRY FOR ${print(retry)} SECONDS THEN ${then}`;
  const report = status === undefined ? '' : ` REPORT STATUS AS ${nameText(status.text)}`;
  return ` IN TRANSACTIONS${rows} ON ERROR ${error}${report}`;
}

type Update = Extract<Clause, {kind: 'create' | 'merge' | 'set' | 'remove' | 'delete' | 'foreach'}>;

function updateText(clause: Update): string {
  switch (clause.kind) {
    case 'create':
      return `CREATE ${clause.patterns.map(one => expressions.pattern(one)).join(', ')}`;
    case 'merge': {
      const {onCreate, onMatch} = clause;
      const created = onCreate.length === 0 ? '' : ` ON CREATE SET ${setsText(onCreate)}`;
      const matched = onMatch.length === 0 ? '' : ` ON MATCH SET ${setsText(onMatch)}`;
      return `MERGE ${expressions.pattern(clause.pattern)}${created}${matched}`;
    }
    case 'set':
      return `SET ${setsText(clause.items)}`;
    case 'remove':
      return `REMOVE ${clause.items.map(removeText).join(', ')}`;
    case 'delete':
      return `${clause.detach ? 'DETACH ' : ''}DELETE ${clause.values.map(print).join(', ')}`;
    case 'foreach': {
      const body = clause.clauses.map(clauseText).join(' ');
      return `FOREACH (${nameText(clause.name.text)} IN ${print(clause.list)} | ${body})`;
    }
    default:
      return unreachable(clause);
  }
}

function namesText(names: readonly Name[]): string {
  return names.map(name => nameText(name.text)).join(', ');
}

function projectionText(clause: ProjectionClause): string {
  const items = [...(clause.star ? ['*'] : []), ...clause.items.map(itemText)].join(', ');
  const keys = clause.orderBy.map(
    ({value, descending}) => `${print(value)}${descending ? ' DESC' : ''}`,
  );
  return [
    `${clause.kind === 'with' ? 'WITH' : 'RETURN'} ${clause.distinct ? 'DISTINCT ' : ''}${items}`,
    ...(keys.length === 0 ? [] : [`ORDER BY ${keys.join(', ')}`]),
    ...(clause.skip === undefined ? [] : [`SKIP ${print(clause.skip)}`]),
    ...(clause.limit === undefined ? [] : [`LIMIT ${print(clause.limit)}`]),
    ...(clause.where === undefined ? [] : [`WHERE ${print(clause.where)}`]),
  ].join(' ');
}

function itemText({value, alias, text}: ProjectionItem): string {
  const printed = print(value);
  if (alias !== undefined) return `${printed} AS ${nameText(alias.text)}`;
  return value.kind === 'variable' || printed === text
    ? printed
    : `${printed} AS ${nameText(text)}`;
}

function callText(clause: Extract<Clause, {kind: 'call'}>): string {
  const {procedure, args, yields} = clause;
  const name = procedure.text.split('.').map(nameText).join('.');
  const list = args === undefined ? '' : `(${args.map(print).join(', ')})`;
  if (yields === undefined) return `CALL ${name}${list}`;
  const columns =
    yields === 'star'
      ? '*'
      : yields
          .map(({column, alias}) => {
            const own = nameText(column.text);
            return alias === undefined ? own : `${own} AS ${nameText(alias.text)}`;
          })
          .join(', ');
  const where = expressions.where(clause.where);
  return `CALL ${name}${list} YIELD ${columns === '' ? '-' : columns}${where}`;
}

function setsText(items: readonly SetItem[]): string {
  return items
    .map(item => {
      if (item.kind === 'labels') return `${nameText(item.name.text)}${labelsText(item.labels)}`;
      if (item.kind === 'properties') {
        return `${nameText(item.name.text)} ${item.adds ? '+=' : '='} ${print(item.value)}`;
      }
      return `${targetText(item)} = ${print(item.value)}`;
    })
    .join(', ');
}

function removeText(item: RemoveItem): string {
  return item.kind === 'labels'
    ? `${nameText(item.name.text)}${labelsText(item.labels)}`
    : targetText(item);
}

function labelsText(labels: readonly Name[]): string {
  return labels.map(label => `:${nameText(label.text)}`).join('');
}

function targetText({
  of,
  name,
}: {
  readonly of: Expression;
  readonly name: Name | Expression;
}): string {
  const at = 0;
  return 'kind' in name
    ? print({kind: 'item', of, key: name, at})
    : print({kind: 'property', of, name, at});
}
