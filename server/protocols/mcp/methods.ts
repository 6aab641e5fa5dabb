/** The methods of the protocol, by name: from parameters to the text of a result. */
import {Corruption, Refusal} from '#server/base/errors.ts';
import type {MapValue} from '#server/model/value.ts';
import {schemaDocument} from '#server/session/schema-document.ts';
import type {AgentCall} from './agent-call.ts';
import {instructionsFor} from './instructions.ts';
import {codes, type Request, RpcError} from './message.ts';
import {notPermitted} from './permissions.ts';
import {type Prompt, prompts} from './prompts.ts';
import type {Tool} from './tool.ts';
import {ToolRefusal} from './tool-refusal.ts';
import {tools} from './tools/tool-list.ts';

/** The version of the protocol; what a client asks for makes no difference. */
const protocolVersion = '2025-03-26';

type Method = (call: AgentCall, params: MapValue) => Promise<string> | string;

const none: MapValue = new Map();
const toolsByName: ReadonlyMap<string, Tool> = new Map(tools.map(tool => [tool.name, tool]));
const promptsByName: ReadonlyMap<string, Prompt> = new Map(
  prompts.map(prompt => [prompt.name, prompt]),
);

const methods: ReadonlyMap<string, Method> = new Map<string, Method>([
  ['initialize', initialize],
  ['ping', () => '{}'],
  ['tools/list', listTools],
  ['tools/call', callTool],
  ['resources/list', listResources],
  ['resources/read', readResource],
  ['prompts/list', listPrompts],
  ['prompts/get', getPrompt],
]);

/** The text of the result. @throws {RpcError} */
export function carryOut({method, params}: Request, call: AgentCall): Promise<string> | string {
  const known = methods.get(method);
  if (known !== undefined) return known(call, params);
  throw new RpcError(codes.methodNotFound, `Method not found: ${method.slice(0, 100)}`);
}

function initialize(call: AgentCall): string {
  call.beginConversation();
  const {version} = call.administration.identity;
  return JSON.stringify({
    protocolVersion,
    serverInfo: {name: 'svc', version},
    capabilities: {
      tools: {listChanged: false},
      resources: {listChanged: false, subscribe: false},
      prompts: {listChanged: false},
    },
    instructions: instructionsFor(name => has(call, name)),
  });
}

function has(call: AgentCall, name: string): boolean {
  const tool = toolsByName.get(name);
  return tool !== undefined && call.policy.contains(tool);
}

function listTools(call: AgentCall): string {
  const listed = tools
    .filter(tool => call.policy.contains(tool))
    .map(({name, description, inputSchema, annotations}) => ({
      name,
      description,
      inputSchema,
      annotations,
    }));
  return JSON.stringify({tools: listed});
}

async function callTool(call: AgentCall, params: MapValue): Promise<string> {
  const name = params.get('name') ?? '';
  const given = params.get('arguments') ?? none;
  if (typeof name !== 'string' || !(given instanceof Map)) {
    throw invalidParams("'name' must be a string and 'arguments' an object");
  }
  try {
    const tool = toolsByName.get(name);
    if (tool === undefined) throw new ToolRefusal(`Unknown tool: ${name.slice(0, 100)}`);
    if (!call.policy.contains(tool)) {
      throw new ToolRefusal(`Tool '${name}' is not available in ${call.policy.profileWords}`);
    }
    const payload = await tool.call(call, given as MapValue);
    return toolResult(payload, false);
  } catch (error) {
    await call.caller.late?.(error);
    return toolResult(refusalText(error, call), true);
  }
}

function toolResult(text: string, isError: boolean): string {
  return `{"content":[{"type":"text","text":${JSON.stringify(text)}}],"isError":${isError}}`;
}

/**
 * What a model reads of a failure. What the engine refuses may hold what its data holds, so that in
 * production it stands in the log alone.
 */
function refusalText(error: unknown, call: AgentCall): string {
  if (error instanceof ToolRefusal) return error.message;
  const isOfEngine = error instanceof Refusal || error instanceof Corruption;
  if (!isOfEngine) throw error;
  if (call.administration.settings().get('svc.server.mode') !== 'production') {
    return error.message;
  }
  const {requestId} = call;
  call.server.options.logger.log('warn', 'mcp.tool', {requestId, reason: error.message});
  return 'The request failed. Check the server log for the details';
}

function listResources(call: AgentCall): string {
  const resources = call.readableDatabases().map(database => ({
    uri: `svc://${database}/schema`,
    name: `${database} schema`,
    description: `Schema of the Svc database '${database}': types, properties, indexes, parents.`,
    mimeType: 'application/json',
  }));
  return JSON.stringify({resources});
}

/** The same for a database that does not exist, one that is not granted, and no address at all. */
function readResource(call: AgentCall, params: MapValue): string {
  const uri = params.get('uri') ?? '';
  if (typeof uri !== 'string') throw invalidParams("'uri' must be a string");
  if (!call.allows('read')) {
    throw new RpcError(codes.invalidRequest, notPermitted('read').message);
  }
  const [, database = ''] = /^svc:\/\/([^/?#]+)\/schema$/.exec(uri) ?? [];
  if (!call.readableDatabases().includes(database)) {
    throw new RpcError(codes.resourceNotFound, `Resource not found: ${uri.slice(0, 256)}`);
  }
  const text = schemaDocument(database, call.service.schemaOf(call.principal, database));
  return JSON.stringify({contents: [{uri, mimeType: 'application/json', text}]});
}

function listPrompts(call: AgentCall): string {
  const listed = prompts
    .filter(prompt => isAvailable(prompt, call))
    .map(({name, description, arguments: fields}) => ({name, description, arguments: fields}));
  return JSON.stringify({prompts: listed});
}

function isAvailable({tools: named, requires}: Prompt, call: AgentCall): boolean {
  return named.every(name => has(call, name)) && requires.every(needed => call.allows(needed));
}

function getPrompt(call: AgentCall, params: MapValue): string {
  const name = params.get('name') ?? '';
  const given = params.get('arguments') ?? none;
  if (typeof name !== 'string' || !(given instanceof Map)) {
    throw invalidParams("'name' must be a string and 'arguments' an object");
  }
  const prompt = promptsByName.get(name);
  if (prompt === undefined) throw invalidParams(`Unknown prompt: ${name.slice(0, 100)}`);
  if (!isAvailable(prompt, call)) {
    throw new RpcError(
      codes.invalidRequest,
      `Prompt '${name}' is not available with the current MCP tool profile and permissions`,
    );
  }
  const values = new Map<string, string>();
  for (const {name: field} of prompt.arguments) {
    values.set(field, promptArgument(given as MapValue, field));
  }
  const text = prompt.render(values, call.server.fence);
  const {description} = prompt;
  const messages = [{role: 'user', content: {type: 'text', text}}];
  return JSON.stringify({description, messages});
}

function promptArgument(given: MapValue, name: string): string {
  const value = given.get(name) ?? '';
  if (typeof value !== 'string') throw invalidParams(`'${name}' must be a string`);
  if (value.trim() === '') throw invalidParams(`'${name}' is required`);
  return value;
}

function invalidParams(what: string): RpcError {
  return new RpcError(codes.invalidParams, `Invalid params: ${what}`);
}
