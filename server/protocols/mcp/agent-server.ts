/**
 * The agent tool server (MCP 2025-03-26): bytes of one POST, or one line of standard input, to the
 * text of the answer.
 *
 * Each message is decided by the configuration as it is now: whether there is a server at all, who
 * may speak with it, which tools there are, what they may do. Elements of a batch are carried out
 * one after the other. What a tool refuses is a result that says so, as the model shall read it;
 * errors of JSON-RPC are for the program around it. Source: docs/mcp.md.
 */
import {AssertionFailure} from '#server/base/assert.ts';
import {Refusal} from '#server/base/errors.ts';
import {JsonParser} from '#server/model/json-parser.ts';
import {parseInTurns} from '#server/model/json-pieces.ts';
import type {Value} from '#server/model/value.ts';
import type {Cluster} from '#server/cluster/cluster.ts';
import type {Clock, Random, Timers} from '#server/platform/clock.ts';
import type {Logger} from '#server/platform/logger.ts';
import type {Principal} from '#server/security/principal.ts';
import type {Administration} from '#server/session/administration.ts';
import type {Service} from '#server/session/session.ts';
import {AgentConfiguration, type ConfigurationStore} from './agent-configuration.ts';
import {AgentCall, type AgentCaller} from './agent-call.ts';
import {ConfigurationFault} from './configuration.ts';
import {
  codes,
  errorText,
  idText,
  noId,
  type Notification,
  readMessage,
  type Request,
  resultText,
  RpcError,
} from './message.ts';
import {carryOut} from './methods.ts';
import {type LineServerOptions, serveLines} from './line-server.ts';
import {acceptsOrigin} from './origin.ts';
import {Policy} from './policy.ts';
import {fencedBy, type Fence} from './prompts.ts';
import {RunningRequests} from './running-requests.ts';

export interface AgentServerOptions {
  readonly service: Service;
  readonly administration: Administration;
  /** Undefined: a server alone. */
  readonly cluster: Cluster | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly timers: Timers;
  readonly logger: Logger;
  readonly store: ConfigurationStore;
  /** Names and addresses by which the settings say that this server is reached. */
  readonly ownHosts: readonly string[];
}

/** A status of HTTP, and JSON text; empty where nothing is to be answered. */
export interface AgentAnswer {
  readonly status: 200 | 202 | 403 | 503;
  readonly body: string;
  /** The conversation that has begun, which later requests may name. */
  readonly conversation?: string | undefined;
}

/** The answer to one message of a batch. */
interface MessageAnswer {
  readonly status: AgentAnswer['status'];
  readonly text: string;
}

/** Deepest nesting of a message, and most values in it. */
const depthMax = 64;
const valuesMax = 2_000_000;
/** A larger message is read in pieces. */
const largeBytes = 64 << 10;

export class AgentServer {
  readonly configuration: AgentConfiguration;
  readonly options: AgentServerOptions;
  readonly fence: Fence;
  readonly running = new RunningRequests();
  readonly #json = new JsonParser(depthMax, valuesMax);

  constructor(options: AgentServerOptions) {
    this.options = options;
    this.configuration = new AgentConfiguration(options.store, options.logger);
    this.fence = fencedBy(options.random);
  }

  /** Whether a page of that origin may speak with the server; see origin.ts. */
  accepts(origin: string, host: string | undefined): boolean {
    const {allowedOrigins} = this.configuration.value;
    return acceptsOrigin({origin, host, ownHosts: this.options.ownHosts}, allowedOrigins);
  }

  /** Answers a message or a batch; never refuses. */
  async answer(bytes: Uint8Array, caller: AgentCaller): Promise<AgentAnswer> {
    let value: Value;
    try {
      value = await this.#read(bytes);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (bytes.length === 0) return this.#answerEmpty();
      return {status: 200, body: unreadable(error)};
    }
    const call = new AgentCall(this, caller);
    if (!Array.isArray(value)) {
      const {status, text} = await this.#answerOne(value, call);
      return {status: text === '' ? 202 : status, body: text, conversation: call.begun};
    }
    const fault = this.#batchFault(value.length);
    if (fault !== undefined) {
      return {status: 200, body: errorText(noId, codes.invalidRequest, fault)};
    }
    return await this.#answerBatch(value as readonly Value[], call);
  }

  #read(bytes: Uint8Array): Value | Promise<Value> {
    if (bytes.length <= largeBytes) return this.#json.parse(bytes);
    return parseInTurns(this.#json, bytes, () => this.options.timers.yield());
  }

  /** Whether the configuration lets the principal speak with the server at all. */
  admits({name}: Principal): boolean {
    return new Policy(this.configuration.value, name).isAdmitted;
  }

  /** Serves messages a line each until the input ends; the server is enabled from then on. */
  async serveLines(
    principal: Principal,
    {input, write}: Pick<LineServerOptions, 'input' | 'write'>,
  ): Promise<void> {
    this.configuration.forceEnabled();
    const {administration} = this.options;
    const most = administration.settings().get('svc.server.httpBodyContentMaxSize');
    let count = 0;
    await serveLines({
      input,
      write,
      lineBytesMax: most < 0 ? Number.POSITIVE_INFINITY : most,
      tooLong: () => errorText(noId, codes.invalidRequest, tooLong(most)),
      answer: async (line, begin) => {
        const requestId = `line-${(++count).toString(36)}`;
        const known = {conversation: 'lines', context: {}};
        const caller = {...known, principal, requestId, begin};
        return (await this.answer(line, caller)).body;
      },
    });
  }

  configurationText(): string {
    return this.configuration.print();
  }

  /** Merges a partial configuration. Answers what is wrong with it; then nothing has changed. */
  async configure(change: string): Promise<string | undefined> {
    try {
      await this.configuration.change(change);
      return undefined;
    } catch (error) {
      if (error instanceof ConfigurationFault) return error.message;
      throw error;
    }
  }

  async #answerBatch(elements: readonly Value[], call: AgentCall): Promise<AgentAnswer> {
    let status: AgentAnswer['status'] = 200;
    const texts: string[] = [];
    for (const element of elements) {
      const answer = await this.#answerOne(element, call, 'batch element');
      if (answer.text === '') continue;
      if (answer.status !== 200) status = answer.status;
      texts.push(answer.text);
    }
    if (texts.length === 0) return {status: 202, body: ''};
    return {status, body: `[${texts.join(',')}]`};
  }

  #answerEmpty(): AgentAnswer {
    if (!this.configuration.value.enabled) {
      return {status: 503, body: errorText(noId, codes.invalidRequest, disabled)};
    }
    return {status: 200, body: errorText(noId, codes.parse, 'Parse error: empty request body')};
  }

  #batchFault(length: number): string | undefined {
    if (length === 0) return 'Invalid Request: empty batch';
    const most = this.options.administration.settings().get('svc.mcp.batchSizeMax');
    if (length <= most) return undefined;
    return `Invalid Request: a batch holds at most ${most} messages (svc.mcp.batchSizeMax)`;
  }

  /** `text` is empty for what is not answered. */
  async #answerOne(value: Value, call: AgentCall, what?: string): Promise<MessageAnswer> {
    const message = readMessage(value, what);
    switch (message.kind) {
      case 'notification':
        this.#take(message, call);
        return {status: 200, text: ''};
      case 'malformed':
        return {status: 200, text: errorText(noId, codes.invalidRequest, message.says)};
      default:
    }
    const {id} = message;
    if (!call.isEnabled) {
      return {status: 503, text: errorText(id, codes.invalidRequest, disabled)};
    }
    if (!call.policy.isAdmitted) {
      return {status: 403, text: errorText(id, codes.invalidRequest, notAdmitted)};
    }
    if (message.kind === 'invalid') {
      return {status: 200, text: errorText(id, codes.invalidRequest, message.says)};
    }
    return {status: 200, text: await this.#answerRequest(message, call)};
  }

  /** Hears a client that no longer wants an answer; nothing else that clients tell matters here. */
  #take({method, params}: Notification, call: AgentCall): void {
    if (method !== 'notifications/cancelled') return;
    const id = idText(params.get('requestId') ?? null);
    if (id !== undefined && call.isEnabled && call.policy.isAdmitted) call.cancel(id);
  }

  /** The answer; empty for a request that has been cancelled. */
  async #answerRequest(request: Request, call: AgentCall): Promise<string> {
    const {conversation, principal, context} = call.caller;
    if (conversation === undefined) return await this.#carryOut(request, call);
    const name = {user: principal.name, conversation, id: request.id};
    return await this.running.run(name, context.signal, async both => {
      const done = await call.caller.begin?.();
      call.signal = both;
      try {
        const text = both.aborted ? '' : await this.#carryOut(request, call);
        return both.aborted ? '' : text;
      } finally {
        done?.();
      }
    });
  }

  async #carryOut(request: Request, call: AgentCall): Promise<string> {
    const {id, method} = request;
    try {
      return resultText(id, await carryOut(request, call));
    } catch (error) {
      if (error instanceof RpcError) return errorText(id, error.code, error.message);
      if (error instanceof AssertionFailure) throw error;
      const {requestId} = call;
      const reason = error instanceof Error ? error.stack : String(error);
      this.options.logger.log('error', 'mcp.failed', {requestId, method, reason});
      return errorText(id, codes.internal, 'Internal error: the log of the server tells more');
    }
  }
}

const disabled = 'MCP server is disabled';
const notAdmitted = 'User not authorized for MCP access';

function tooLong(most: number): string {
  return `Invalid Request: a line has at most ${most} bytes (svc.server.httpBodyContentMaxSize)`;
}

/** An answer to a text that is not one document of JSON. */
function unreadable(error: Refusal): string {
  const isLimit = error.code.startsWith('limit.');
  return isLimit
    ? errorText(noId, codes.invalidRequest, `Invalid Request: ${error.message}`)
    : errorText(noId, codes.parse, 'Parse error: the request body is not valid JSON');
}
