/** Searches of vectors and text in the OpenAPI document; arguments as session/search reads them. */
import type {Row} from './openapi-row.ts';

const vector = {
  queryVector: {type: 'array', items: {type: 'number'}},
  queryIndices: {type: 'array', items: {type: 'integer', minimum: 0}},
  k: {type: 'integer', minimum: 1, maximum: 1000, default: 10},
  efSearch: {type: 'integer', minimum: 1, maximum: 10_000},
  filter: {type: 'string', maxLength: 4096},
  sparse: {type: 'boolean', default: false},
};

export const searchRows: readonly Row[] = [
  {
    at: 'post /vector/{database}/search',
    tag: 'Search',
    summary: 'Nearest vectors',
    description:
      'The nearest records of a dense or sparse vector index. With `filter`, a condition of SQL, ' +
      'up to min(8 k, 8000) records are looked at.',
    body: {
      type: 'object',
      required: ['indexName', 'queryVector'],
      properties: {indexName: {type: 'string'}, ...vector},
    },
    answers: [200, 400],
  },
  {
    at: 'post /vector/{database}/fulltext',
    tag: 'Search',
    summary: 'Full text',
    description:
      'The best records of a full-text index, named by `indexName`, or by `typeName` where that ' +
      'type has one (on `properties`).',
    body: {
      type: 'object',
      required: ['queryText'],
      properties: {
        queryText: {type: 'string', example: '+apple -green'},
        indexName: {type: 'string'},
        typeName: {type: 'string'},
        properties: {type: 'array', items: {type: 'string'}},
        limit: {type: 'integer', minimum: 1, maximum: 1000, default: 10},
      },
    },
    answers: [200, 400],
  },
  {
    at: 'post /vector/{database}/hybrid',
    tag: 'Search',
    summary: 'Fused search',
    description:
      'Vectors, full text and an expansion over edges, fused into one ranking by RRF, DBSF or ' +
      'LINEAR.',
    body: {
      type: 'object',
      required: ['vectorIndexName', 'queryVector'],
      properties: {
        vectorIndexName: {type: 'string'},
        ...vector,
        fulltextIndexName: {type: 'string'},
        fulltextQuery: {type: 'string'},
        expand: {
          type: 'object',
          properties: {
            edgeTypes: {type: 'array', items: {type: 'string'}},
            direction: {enum: ['out', 'in', 'both'], default: 'out'},
            maxDepth: {type: 'integer', minimum: 1, maximum: 3, default: 1},
          },
        },
        fusionStrategy: {enum: ['RRF', 'DBSF', 'LINEAR'], default: 'RRF'},
        weights: {
          type: 'object',
          properties: {
            vector: {type: 'number', default: 1},
            fulltext: {type: 'number', default: 1},
            expand: {type: 'number', default: 0.5},
          },
        },
      },
    },
    answers: [200, 400],
  },
];
