/**
 * The agent tool server over HTTP: `/mcp`, and its configuration at `/mcp/config` (docs/mcp.md).
 *
 * What messages mean is not known here; this is the way of one POST to whoever knows it.
 */
import type {Principal} from '#server/security/principal.ts';
import type {Exchange} from '../message/exchange.ts';
import {PlainFailure} from '../message/failure.ts';
import {lateRefusal} from '../message/late-refusal.ts';
import {clusterTokenHeader} from '../relay/forwarded-headers.ts';
import type {AgentEndpoint} from '../agent-endpoint.ts';
import {conversationHeader} from '../protocol-names.ts';
import type {Route} from '../router.ts';
import {contextOf} from './statement.ts';

export const agentRoutes: readonly Route[] = [
  {
    path: '/mcp',
    admits: admitsOrigin,
    otherMethods: refuseMethod,
    operations: {POST: {access: 'user', at: 'fresh', run: answerMessages}},
  },
  {
    path: '/mcp/config',
    operations: {
      GET: {access: 'user', at: 'fresh', run: showConfiguration},
      POST: {access: 'root', at: 'leader', run: changeConfiguration},
    },
  },
];

/** The headers of an answer that begins one. */
export function conversationHeaders(begun: string | undefined): readonly string[] {
  return begun === undefined ? [] : ['Mcp-Session-Id', begun];
}

/** The code that JSON-RPC has for requests that are none. */
const invalidRequest = -32_600;

/** A page in a browser is asked where it comes from; another member has asked it already. */
function admitsOrigin(exchange: Exchange): boolean {
  const origin = exchange.header('origin');
  const isRelayed = exchange.header(clusterTokenHeader) !== undefined;
  if (origin === undefined || isRelayed) return true;
  if (agentsOf(exchange).accepts(origin, exchange.header('host'))) return true;
  exchange.answer(403, failureOf('Origin not allowed'));
  return false;
}

function refuseMethod(exchange: Exchange): void {
  const text = failureOf('Method Not Allowed: the MCP endpoint accepts POST only');
  exchange.answer(405, text, undefined, ['Allow', 'POST']);
}

async function answerMessages(exchange: Exchange, principal: Principal): Promise<void> {
  const {requestId} = exchange;
  const conversation = exchange.header(conversationHeader);
  const late = (error: unknown) => lateRefusal(exchange.context, exchange.caller, error);
  const context = contextOf(exchange);
  const caller = {principal, requestId, context, conversation, late};
  const answer = await agentsOf(exchange).answer(await exchange.body(), caller);
  const {status, body, conversation: begun} = answer;
  exchange.answer(status, body, undefined, conversationHeaders(begun));
}

function showConfiguration(exchange: Exchange): void {
  exchange.answer(200, agentsOf(exchange).configurationText());
}

async function changeConfiguration(exchange: Exchange): Promise<void> {
  const agents = agentsOf(exchange);
  const body = await exchange.body();
  if (body.length === 0) throw new PlainFailure(400, 'Request body is required');
  const fault = await agents.configure(body.toString('utf8'));
  if (fault !== undefined) throw new PlainFailure(400, fault);
  exchange.answer(200, agents.configurationText());
}

function failureOf(message: string): string {
  return JSON.stringify({jsonrpc: '2.0', id: null, error: {code: invalidRequest, message}});
}

/** The routes are in the table only where there is one. */
function agentsOf({context}: Exchange): AgentEndpoint {
  const {agents} = context.options;
  if (agents === undefined) throw new PlainFailure(404, 'Not found');
  return agents;
}
