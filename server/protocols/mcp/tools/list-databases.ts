/** `list_databases`: the names that every other tool takes. */
import {tool} from '../tool.ts';

export const listDatabases = tool({
  name: 'list_databases',
  description: 'Lists the databases that you may read. Call it first: other tools take a name.',
  annotations: {title: 'List databases', readOnlyHint: true, openWorldHint: false},
  profiles: ['rag', 'admin'],
  requires: [],
  input: {},
  run: call => JSON.stringify({databases: call.readableDatabases()}),
});
