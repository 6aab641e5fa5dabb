/** One request of a caller to the agent tool server: what tools ask and work with. */
import type {AgentCaller, AgentServer} from './agent-server.ts';
import type {RequestId} from './message.ts';
import {notPermitted, type Permission} from './permissions.ts';
import {Policy} from './policy.ts';
import type {ToolCall} from './tool.ts';
import {ToolRefusal} from './tool-refusal.ts';

const namesShownMax = 100;
const conversationBytes = 16;

export class AgentCall implements ToolCall {
  readonly server: AgentServer;
  readonly caller: AgentCaller;
  /** The policy of the configuration as it is when the request begins. */
  readonly policy: Policy;
  /** Aborted when the client is gone, or cancels the message that is carried out. */
  signal: AbortSignal | undefined;
  /** The conversation that a message has begun. */
  begun: string | undefined;

  constructor(server: AgentServer, caller: AgentCaller) {
    this.server = server;
    this.caller = caller;
    this.policy = new Policy(server.configuration.value, caller.principal.name);
    this.signal = caller.signal;
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
