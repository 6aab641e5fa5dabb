/** `get_schema`: what there is to ask for. */
import {schemaDocument} from '#server/session/schema-document.ts';
import {databaseArgument} from '../statement.ts';
import {tool} from '../tool.ts';

export const getSchema = tool({
  name: 'get_schema',
  description:
    'Answers the schema of a database: its types (vertex, edge or document) with their parents, ' +
    'properties and indexes. Call it before you write statements for a database you do not know.',
  annotations: {title: 'Get the schema', readOnlyHint: true, openWorldHint: false},
  profiles: ['rag', 'admin'],
  requires: ['read'],
  input: {database: databaseArgument},
  run(call, {database}) {
    call.requireDatabase(database);
    call.require('read', database);
    return schemaDocument(database, call.service.schemaOf(call.principal, database));
  },
});
