/**
 * Answers of the agent tool server, held against the types of MCP 2025-03-26 as the official
 * library of that version has them.
 *
 * One thing the protocol has no word for: a request without an id that could be named is answered
 * under `null`, as JSON-RPC asks, while the types want a string or an integer.
 */
import {
  CallToolResultSchema,
  EmptyResultSchema,
  GetPromptResultSchema,
  InitializeResultSchema,
  JSONRPCErrorSchema,
  JSONRPCResponseSchema,
  LATEST_PROTOCOL_VERSION,
  ListPromptsResultSchema,
  ListResourcesResultSchema,
  ListToolsResultSchema,
  ReadResourceResultSchema,
} from 'mcp-2025-03-26/types.js';

export const typesVersion: string = LATEST_PROTOCOL_VERSION;

const results = {
  initialize: InitializeResultSchema,
  ping: EmptyResultSchema,
  'tools/list': ListToolsResultSchema,
  'tools/call': CallToolResultSchema,
  'resources/list': ListResourcesResultSchema,
  'resources/read': ReadResourceResultSchema,
  'prompts/list': ListPromptsResultSchema,
  'prompts/get': GetPromptResultSchema,
} as const;

export type KnownMethod = keyof typeof results;
export const knownMethods = Object.keys(results) as readonly KnownMethod[];

/**
 * Holds one answer against the types; without a method, its result against those of all methods.
 *
 * @throws what the library says of the first difference.
 */
export function checkProtocolTypes(answer: unknown, method?: KnownMethod): void {
  const fields = answer as {readonly id?: unknown; readonly error?: unknown};
  if (fields.error !== undefined) {
    JSONRPCErrorSchema.parse(fields.id === null ? {...fields, id: ''} : answer);
    return;
  }
  const {result} = JSONRPCResponseSchema.parse(answer);
  const kinds = method === undefined ? Object.values(results) : [results[method]];
  const fits = kinds.some(kind => kind.strict().safeParse(result).success);
  if (!fits) kinds[0]?.strict().parse(result);
}
