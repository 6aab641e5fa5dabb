/** `vector_search`, `full_text_search` and `hybrid_search`: the searches of every protocol. */
import type {MapValue} from '#server/model/value.ts';
import {readSearchArguments, runSearch, type SearchKind} from '#server/session/searches.ts';
import {
  anyText,
  flag,
  integer,
  numbers,
  object,
  oneOf,
  optional,
  readBehind,
  text,
  texts,
  withDefault,
} from '../arguments.ts';
import {databaseArgument, inWordsOfTools, requireSize} from '../statement.ts';
import {tool, type ToolCall} from '../tool.ts';

/** Always written by a careful client; who leaves it out means 10. */
const countArgument = {
  ...withDefault(integer('Most records of the answer', 1, 1_000), 10),
  isRequired: true,
};

const vectorArguments = {
  queryVector: numbers('A dense vector, or the weights of a sparse one'),
  queryIndices: optional(
    numbers('Dimensions of the weights of a sparse vector; left out: their positions', {
      type: 'integer',
      minimum: 0,
    }),
  ),
  k: countArgument,
  efSearch: optional(
    integer('How widely a dense index is searched: more finds more and takes longer', 1, 10_000),
  ),
  filter: optional(
    text(
      'A condition in SQL on the records found, which only reads: their properties, @rid, ' +
        '@type, record, and distance (dense) or score (sparse). With it, at most 8 records are ' +
        'looked at for each one asked for, and never more than 8000',
      4_096,
    ),
  ),
  sparse: withDefault(flag('Whether the index is LSM_SPARSE_VECTOR'), false),
};

const expandSchema = {
  properties: {
    edgeTypes: {
      type: 'array',
      items: {type: 'string'},
      description: 'Types of the edges to follow; left out: all',
    },
    direction: {
      type: 'string',
      enum: ['out', 'in', 'both'],
      default: 'out',
      description: 'Which way edges are followed',
    },
    maxDepth: {type: 'integer', minimum: 1, maximum: 3, default: 1, description: 'Most steps'},
  },
} as const;

const weightsSchema = {
  properties: {
    vector: {type: 'number', default: 1},
    fulltext: {type: 'number', default: 1},
    expand: {type: 'number', default: 0.5},
  },
} as const;

const annotations = (title: string) => ({title, readOnlyHint: true, openWorldHint: false}) as const;

export const vectorSearch = tool({
  name: 'vector_search',
  description:
    'Finds the records whose vectors are nearest to one that you bring. A dense index ' +
    '(LSM_VECTOR) answers distances, the least first; a sparse one (LSM_SPARSE_VECTOR, with ' +
    'sparse: true) scores, the greatest first. truncated says that there may be more: ask with ' +
    'a larger k. The server makes no vectors of texts.',
  annotations: annotations('Search by vector'),
  profiles: ['rag'],
  requires: ['read'],
  input: {
    database: databaseArgument,
    ...readBehind({
      indexName: text('The name of a vector index, such as Doc[embedding]'),
      ...vectorArguments,
    }),
  },
  run: (call, {database}, raw) => search(call, 'search', database, raw),
});

export const fullTextSearch = tool({
  name: 'full_text_search',
  description:
    "Finds the records whose texts match a query, best first: 'a b' either word, '+a +b' both, " +
    "'a -b' not b, '\"a b\"' both in one record whatever their order, 'pre*' beginnings, 'word~' " +
    "words like it, 'property:word' in one property, 'word^2' counts more. Name the index, or a " +
    'type whose only full-text index it is. similarity says what scores are: BM25 or CLASSIC.',
  annotations: annotations('Search by text'),
  profiles: ['rag'],
  requires: ['read'],
  input: {
    database: databaseArgument,
    ...readBehind({
      queryText: anyText('The query'),
      indexName: optional(text('The name of a full-text index, such as Doc[body]')),
      typeName: optional(text('The type that has the index; indexName goes before it')),
      properties: optional(texts('The properties of the index, beside typeName')),
      limit: withDefault(integer('Most records of the answer', 1, 1_000), 10),
    }),
  },
  run: (call, {database}, raw) => search(call, 'fulltext', database, raw),
});

export const hybridSearch = tool({
  name: 'hybrid_search',
  description:
    'Finds records by vector and, as you ask, by text (fulltextIndexName with fulltextQuery) and ' +
    'along edges from what these find (expand), and makes one ranking of all. sources says which ' +
    'of them found a record; one found along edges has its depth and the path from where it ' +
    'began. With neither text nor expand it is a search by vector, and fused is false.',
  annotations: annotations('Search by vector, text and graph'),
  profiles: ['rag'],
  requires: ['read'],
  input: {
    database: databaseArgument,
    ...readBehind({
      vectorIndexName: text('The name of a vector index, such as Doc[embedding]'),
      ...vectorArguments,
      fulltextIndexName: optional(text('The name of a full-text index; with fulltextQuery')),
      fulltextQuery: optional(anyText('A query as full_text_search takes it')),
      expand: optional(object('Follows edges from what was found', expandSchema)),
      fusionStrategy: withDefault(
        oneOf('How rankings become one; DBSF and LINEAR go by scores, which expand has none of', [
          'RRF',
          'DBSF',
          'LINEAR',
        ]),
        'RRF',
      ),
      weights: optional(object('What each source of records counts', weightsSchema)),
    }),
  },
  run: (call, {database}, raw) => search(call, 'hybrid', database, raw),
});

async function search(
  call: ToolCall,
  kind: SearchKind,
  database: string,
  given: MapValue,
): Promise<string> {
  const {service, principal, context} = call;
  try {
    readSearchArguments(kind, given);
    call.requireDatabase(database);
    call.require('read', database);
    const found = await runSearch(service, principal, {...context, kind, database, given});
    requireSize(call, Buffer.byteLength(found));
    return found;
  } catch (error) {
    throw inWordsOfTools(error);
  }
}
