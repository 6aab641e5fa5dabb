/**
 * What `initialize` tells a model about this server: one of three texts, and of its sentences those
 * whose tools the caller has.
 */

/** @param has - Whether the caller's profile contains a tool. */
export function instructionsFor(has: (tool: string) => boolean): string {
  const mayAdminister = has('execute_command');
  const mayRetrieve = has('vector_search');
  const opening = mayAdminister
    ? 'This is Svc, a database server for graphs, documents, vectors, text and time series.'
    : mayRetrieve
      ? 'This is Svc, a database server, here as memory and source of an agent: search it, cite ' +
        'it, keep what you learn in it.'
      : 'This is Svc, a database server, of which you see a part: only the tools that tools/list ' +
        'shows can be called.';
  const said = sentences
    .filter(({tools}) => tools.every(has))
    .map(({says}, at) => `${at + 1}. ${says}`);
  return [opening, ...said].join('\n');
}

const sentences: readonly {readonly tools: readonly string[]; readonly says: string}[] = [
  {
    tools: ['list_databases'],
    says: 'Do not guess the name of a database: list_databases tells those that you may read.',
  },
  {
    tools: ['get_schema'],
    says:
      'Read the schema of a database before the first statement: get_schema, or the resource ' +
      'svc://<database>/schema with the same content. Names of types are case-sensitive.',
  },
  {
    tools: ['query'],
    says:
      "query reads, in the language you name: 'cypher' suits paths and patterns, 'sql' filters " +
      'and aggregates. It refuses statements that write.',
  },
  {
    tools: ['execute_command'],
    says: 'execute_command writes, as far as an administrator permits the kind of change.',
  },
  {
    tools: ['sample_records'],
    says: 'sample_records shows a few records of each type, when the schema does not say enough.',
  },
  {
    tools: ['vector_search', 'full_text_search', 'hybrid_search'],
    says:
      'To retrieve, prefer full_text_search, vector_search and hybrid_search to statements. This ' +
      'server makes no embeddings: bring vectors of the model that made those in the index.',
  },
  {
    tools: ['upsert_entity', 'upsert_relationship'],
    says:
      'To remember things, use upsert_entity and upsert_relationship with the same match keys ' +
      'every time; nothing is written twice then.',
  },
  {
    tools: ['profiler_start'],
    says: 'Slow statements are found with profiler_start, profiler_status and profiler_stop.',
  },
  {
    tools: [],
    says: 'An empty answer may be a misspelt name: compare with the schema before you conclude.',
  },
  {
    tools: ['get_schema', 'vector_search'],
    says: 'prompts/list offers procedures for retrieval and for building a graph, where permitted.',
  },
];
