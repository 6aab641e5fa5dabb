/** One request of a caller to the agent tool server: what tools ask and work with. */
import type {Random} from '#server/platform/clock.ts';
import type {Logger} from '#server/platform/logger.ts';
import type {AgentConfiguration} from './agent-configuration.ts';
import type {Fence} from './prompts.ts';
import type {RunningRequests} from './running-requests.ts';
import type {RequestId} from './message.ts';
import {notPermitted, type Permission} from './permissions.ts';
import {Policy} from './policy.ts';
import type {ToolCall} from './tool.ts';
import {ToolRefusal} from './tool-refusal.ts';
import type {Principal} from '#server/security/principal.ts';
import type {RequestContext} from '#server/session/session.ts';

/** Who sends messages, and what belongs to the request that carries them. */
export interface AgentCaller {
  readonly principal: Principal;
  readonly requestId: string;
  readonly context: RequestContext;
  /** The conversation that the request says it belongs to; without one nothing can be cancelled. */
  readonly conversation: string | undefined;
  /** Waits until a request of a conversation may be carried out; answers what ends that. */
  readonly begin?: () => Promise<() => void>;
  /** When a refusal of the engine may be told; absent, or undefined: now. */
  readonly late?: (error: unknown) => Promise<void> | undefined;
}

const namesShownMax = 100;
const conversationBytes = 16;

/** What a call asks of the server that carries it out. */
interface CallServer {
  readonly configuration: AgentConfiguration;
  readonly options: Pick<ToolCall, 'service' | 'administration' | 'cluster' | 'clock'> & {
    readonly random: Random;
    readonly logger: Logger;
  };
  readonly fence: Fence;
  readonly running: RunningRequests;
}

export class AgentCall implements ToolCall {
  readonly server: CallServer;
  readonly caller: AgentCaller;
  /** The policy of the configuration as it is when the request begins. */
  readonly policy: Policy;
  /** Aborted when the client is gone, or cancels the message that is carried out. */
  signal: AbortSignal | undefined;
  /** The conversation that a message has begun. */
  begun: string | undefined;

  constructor(server: CallServer, caller: AgentCaller) {
    this.server = server;
    this.caller = caller;
    this.policy = new Policy(server.configuration.value, caller.principal.name);
    this.signal = caller.context.signal;
  }

  /** Whether there is an agent tool server. */
  get isEnabled(): boolean {
    return this.server.configuration.value.enabled;
  }

  get principal(): ToolCall['principal'] {
    return this.caller.principal;
  }

  get service(): ToolCall['service'] {
    return this.server.options.service;
  }

  get administration(): ToolCall['administration'] {
    return this.server.options.administration;
  }

  get cluster(): ToolCall['cluster'] {
    return this.server.options.cluster;
  }

  get clock(): ToolCall['clock'] {
    return this.server.options.clock;
  }

  get context(): RequestContext {
    return {...this.caller.context, protocol: 'mcp', signal: this.signal};
  }

  get requestId(): string {
    return this.caller.requestId;
  }

  allows(permission: Permission, database?: string): boolean {
    return this.policy.allows(permission, database);
  }

  require(permission: Permission, database?: string): void {
    if (!this.allows(permission, database)) throw notPermitted(permission);
  }

  requireDatabase(name: string): void {
    const isKnown = this.service.databaseExists(this.principal, name);
    if (isKnown && this.policy.admits(name)) return;
    const names = this.readableDatabases();
    const shown = names.slice(0, namesShownMax).join(', ');
    const more = names.length > namesShownMax ? ', ...' : '';
    throw new ToolRefusal(
      `Database '${name.slice(0, 128)}' does not exist. Available databases: [${shown}${more}]. ` +
        'Use one of these names or call list_databases to refresh the list.',
    );
  }

  readableDatabases(): readonly string[] {
    const names = this.service.databaseNames(this.principal);
    return names.filter(name => this.allows('read', name));
  }

  /** Names what follows, so that requests of it can be cancelled. */
  beginConversation(): void {
    const bytes = new Uint8Array(conversationBytes);
    this.server.options.random.fill(bytes);
    this.begun = Buffer.from(bytes).toString('hex');
  }

  /** Ends a request that runs here; one that does not is passed over. */
  cancel(id: RequestId): void {
    const {conversation, principal} = this.caller;
    if (conversation === undefined) return;
    this.server.running.cancel({user: principal.name, conversation, id});
  }
}
