/** The agent tool server in the OpenAPI document. */
import type {Row} from './openapi-row.ts';

const flag = {type: 'boolean'};
const names = {type: 'array', items: {type: 'string'}};
const profile = {enum: ['all', 'rag', 'admin']};
const flags = {
  allowReads: flag,
  allowInsert: flag,
  allowUpdate: flag,
  allowDelete: flag,
  allowSchemaChange: flag,
  allowAdmin: flag,
};

export const agentRows: readonly Row[] = [
  {
    at: 'post /mcp',
    tag: 'Agents',
    summary: 'Messages of an agent',
    description:
      'One message of JSON-RPC 2.0 (MCP 2025-03-26), or an array of them. Answered with 202 and ' +
      'no body where nothing is to be answered; with 503 while the agent tool server is disabled.',
    body: {
      type: 'object',
      required: ['jsonrpc', 'method'],
      properties: {
        jsonrpc: {const: '2.0'},
        id: {type: ['string', 'integer']},
        method: {type: 'string', example: 'tools/list'},
        params: {type: 'object'},
      },
    },
    answers: [200, 202, 401, 403, 503],
  },
  {
    at: 'get /mcp/config',
    tag: 'Agents',
    summary: 'What agents may do',
    description: 'The configuration of the agent tool server that is in force.',
    answers: [200, 401],
  },
  {
    at: 'post /mcp/config',
    tag: 'Agents',
    summary: 'Change what agents may do',
    description:
      'Merges a part of the configuration and answers all of it. Null removes a principal or a ' +
      'database, or all of them. Root only.',
    body: {
      type: 'object',
      properties: {
        enabled: flag,
        ...flags,
        profile,
        allowedUsers: names,
        allowedOrigins: names,
        principalProfiles: {type: ['object', 'null'], additionalProperties: profile},
        databases: {
          type: ['object', 'null'],
          additionalProperties: {
            type: ['object', 'null'],
            properties: {...flags, allowedUsers: names},
            additionalProperties: false,
          },
        },
      },
    },
    answers: [200, 400, 401, 403],
  },
];
