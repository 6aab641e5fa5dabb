/**
 * Syntax tree to Cypher: statements and clauses.
 *
 * Invariant: the text parses to an equal tree but for offsets; a column whose name was the text of
 * its expression is given that name.
 */
import {unreachable} from '#server/base/assert.ts';
import type {Expression} from './ast-expression.ts';
import type {
  Clause,
  FunctionDefinition,
  Name,
  ProjectionClause,
  ProjectionItem,
  Query,
  RemoveItem,
  SchemaCommand,
  SessionCommand,
  SetItem,
  Statement,
  SubqueryBatches,
  UserCommand,
  ValueType,
} from './ast.ts';
import {ExpressionPrinter, nameText} from './printer-expression.ts';

export function printCypher(statement: Statement): string {
  switch (statement.kind) {
    case 'query':
      return definedText(statement);
    case 'explain':
      return `${statement.profile ? 'PROFILE' : 'EXPLAIN'} ${definedText(statement)}`;
    case 'session':
      return sessionText(statement.command);
    case 'schema':
      return schemaText(statement.command);
    case 'user':
      return userText(statement.command);
    default:
      return unreachable(statement);
  }
}

function definedText({
  functions,
  query,
}: {
  readonly functions: readonly FunctionDefinition[];
  readonly query: Query;
}): string {
  return [...functions.map(definitionText), queryText(query)].join(' ');
}

function definitionText({name, parameters, result, body}: FunctionDefinition): string {
  const names = parameters.map(one => `${nameText(one.name.text)}${valueTypeText(one.type)}`);
  const called = `${nameText(name.text)}(${names.join(', ')})`;
  const head = `DEFINE FUNCTION ${called}${valueTypeText(result)}`;
  return body.kind === 'value'
    ? `${head} = ${print(body.value)}`
    : `${head} { ${queryText(body.query)} }`;
}

function valueTypeText(type: ValueType | undefined): string {
  if (type === undefined) return '';
  const name = type.name.text.split(' ').map(nameText).join(' ');
  return ` :: ${name}${type.notNull ? ' NOT NULL' : ''}`;
}

function sessionText(command: SessionCommand): string {
  if (command.kind === 'set') {
    return `SESSION SET $${nameText(command.name.text)} = ${print(command.value)}`;
  }
  return command.kind === 'begin'
    ? 'START TRANSACTION'
    : command.kind === 'commit' || command.kind === 'rollback'
      ? command.kind.toUpperCase()
      : `SESSION ${command.kind.toUpperCase()}`;
}

function queryText(query: Query): string {
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

function schemaText(command: SchemaCommand): string {
  if (command.kind === 'drop') {
    const kind = command.what === 'index' ? 'INDEX' : 'CONSTRAINT';
    return `DROP ${kind} ${nameText(command.name.text)}${command.ifExists ? ' IF EXISTS' : ''}`;
  }
  const name = command.name === undefined ? '' : ` ${nameText(command.name.text)}`;
  const label = nameText(command.label.text);
  const target = command.entity === 'node' ? `(e:${label})` : `()-[e:${label}]-()`;
  const head = `${name}${command.ifNotExists ? ' IF NOT EXISTS' : ''} FOR ${target}`;
  const properties = command.properties.map(one => `e.${nameText(one.text)}`).join(', ');
  if (command.kind === 'create-constraint') {
    return `CREATE CONSTRAINT${head} REQUIRE (${properties}) IS ${ruleText(command)}`;
  }
  const {family, options} = command;
  const behind = options === undefined ? '' : ` OPTIONS ${print(options)}`;
  if (family === 'FULLTEXT') return `CREATE FULLTEXT INDEX${head} ON EACH [${properties}]${behind}`;
  const kind = family === 'ordered' ? '' : `${family} `;
  return `CREATE ${kind}INDEX${head} ON (${properties})${behind}`;
}

function ruleText({rule, entity}: Extract<SchemaCommand, {kind: 'create-constraint'}>): string {
  if (typeof rule === 'object') return `TYPED ${typeText(rule)}`;
  if (rule === 'key') return entity === 'node' ? 'NODE KEY' : 'RELATIONSHIP KEY';
  return rule === 'unique' ? 'UNIQUE' : 'NOT NULL';
}

function typeText({type, of}: {readonly type: Name; readonly of?: Name}): string {
  const name = type.text.split(' ').map(nameText).join(' ');
  return of === undefined ? name : `${name}<${nameText(of.text)}>`;
}

function userText(command: UserCommand): string {
  if (command.kind === 'drop-user') {
    return `DROP USER ${nameText(command.name.text)}${command.ifExists ? ' IF EXISTS' : ''}`;
  }
  const password = print(command.password);
  if (command.kind === 'create-user') {
    const replaces = command.orReplace ? 'OR REPLACE ' : '';
    const unless = command.ifNotExists ? ' IF NOT EXISTS' : '';
    const name = nameText(command.name.text);
    return `CREATE ${replaces}USER ${name}${unless} SET PASSWORD ${password}`;
  }
  const {name, oldPassword} = command;
  if (name === undefined || oldPassword !== undefined) {
    const old = oldPassword === undefined ? "''" : print(oldPassword);
    return `ALTER CURRENT USER SET PASSWORD FROM ${old} TO ${password}`;
  }
  const unless = command.ifExists ? ' IF EXISTS' : '';
  return `ALTER USER ${nameText(name.text)}${unless} SET PASSWORD ${password}`;
}
