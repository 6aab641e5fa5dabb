/**
 * Syntax tree to Cypher: every statement, so that what is parsed can be parsed again and compared.
 * Queries and their expressions are printed by the language itself (languages/cypher/printer.ts).
 */
import {unreachable} from '#server/base/assert.ts';
import type {
  FunctionDefinition,
  Name,
  Query,
  SchemaCommand,
  SessionCommand,
  Statement,
  UserCommand,
  ValueType,
} from '#server/languages/cypher/ast.ts';
import {printExpression as print, queryText} from '#server/languages/cypher/printer.ts';
import {nameText} from '#server/languages/cypher/printer-expression.ts';

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
