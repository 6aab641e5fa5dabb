/** `query` and `execute_command`: statements in the agent's own words. */
import {Refusal} from '#server/base/errors.ts';
import {text} from '../arguments.ts';
import {
  answerOf,
  databaseArgument,
  languageArgument,
  limitArgument,
  permittedIn,
} from '../statement.ts';
import {tool} from '../tool.ts';
import {ToolRefusal} from '../tool-refusal.ts';

export const query = tool({
  name: 'query',
  description:
    'Runs a statement that only reads: MATCH ... RETURN in Cypher, SELECT or MATCH in SQL. ' +
    'Answers records, each with @rid and @type, and how many they are. A statement that writes ' +
    'is refused: use execute_command for it. Prefer Cypher.',
  annotations: {title: 'Query', readOnlyHint: true, openWorldHint: false},
  profiles: ['rag', 'admin'],
  requires: ['read'],
  input: {
    database: databaseArgument,
    language: languageArgument,
    query: text('The statement'),
    limit: limitArgument,
  },
  async run(call, {database, language, query: words, limit}) {
    call.requireDatabase(database);
    call.require('read', database);
    try {
      return await answerOf(call, {database, language, text: words, limit, readOnly: true});
    } catch (error) {
      if (!(error instanceof Refusal) || error.code !== 'query.not-idempotent') throw error;
      throw new ToolRefusal(
        'Query contains write operations. Use execute_command tool instead of query tool',
      );
    }
  },
});

export const executeCommand = tool({
  name: 'execute_command',
  description:
    'Runs a statement that writes: CREATE, MERGE, SET or DELETE in Cypher; INSERT, UPDATE, ' +
    'DELETE, CREATE TYPE and the like in SQL. What it may do is decided by what it does, ' +
    'functions and triggers included. Answers records and how many they are. Prefer Cypher.',
  annotations: {
    title: 'Execute a command',
    readOnlyHint: false,
    destructiveHint: true,
    idempotentHint: false,
    openWorldHint: false,
  },
  profiles: ['admin'],
  requires: [],
  input: {
    database: databaseArgument,
    language: languageArgument,
    command: text('The statement'),
    limit: limitArgument,
  },
  run(call, {database, language, command, limit}) {
    call.requireDatabase(database);
    const permitted = permittedIn(call, database);
    return answerOf(call, {database, language, text: command, limit, permitted});
  },
});
