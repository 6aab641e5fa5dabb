/**
 * A tool: what an agent may call, with which arguments, and what it answers.
 *
 * A tool is declared once, by `tool`: its name, the fields of its arguments (from which the JSON
 * schema is printed and by which arguments are checked), the profiles that contain it, and what it
 * does. Checked in this order before `run`: the profile, the arguments, and `requires`. What
 * depends on the statement or the database `run` asks of the call, after all arguments have been
 * found good.
 */
import type {MapValue} from '#server/model/value.ts';
import type {Clock} from '#server/platform/clock.ts';
import type {Cluster} from '#server/cluster/cluster.ts';
import type {Principal} from '#server/security/principal.ts';
import type {Administration} from '#server/session/administration.ts';
import type {RequestContext, Service} from '#server/session/session.ts';
import {
  type ArgumentFields,
  type Arguments,
  type JsonSchema,
  readArguments,
  schemaOf,
} from './arguments.ts';
import type {Permission} from './permissions.ts';
import {ToolRefusal} from './tool-refusal.ts';

/** The profiles besides `all`, which contains every tool. */
export type ToolProfile = 'rag' | 'admin';

/** What clients show, and by which they decide whether to ask their user first. */
export interface ToolAnnotations {
  readonly title: string;
  readonly readOnlyHint: boolean;
  readonly destructiveHint?: boolean;
  readonly idempotentHint?: boolean;
  /** Whether it reaches beyond this server. */
  readonly openWorldHint?: boolean;
}

/** What `tools/list` shows, and who may call it. */
export interface ToolHead {
  readonly name: string;
  /** Tells the model what the tool does, when to use it, what comes back. */
  readonly description: string;
  readonly annotations: ToolAnnotations;
  readonly profiles: readonly ToolProfile[];
  /** Permissions for the whole server, whatever the arguments are. */
  readonly requires: readonly Permission[];
}

export interface ToolDeclaration<F extends ArgumentFields> extends ToolHead {
  readonly input: F;
  /**
   * Answers the payload as JSON text.
   *
   * @param raw - The arguments as they came, for those that others read.
   * @throws {ToolRefusal} what the agent can correct; its words are shown in every mode.
   * @throws {Refusal} whatever the session refuses; concealed in production.
   */
  readonly run: (
    call: ToolCall,
    given: Arguments<F>,
    raw: MapValue,
  ) => Promise<ToolResult> | ToolResult;
}

/** A declared tool. */
export interface Tool extends ToolHead {
  readonly inputSchema: JsonSchema;
  /** Reads the arguments, asks `requires`, then runs; throws like `run`. */
  readonly call: (call: ToolCall, given: MapValue) => Promise<ToolResult> | ToolResult;
}

/** JSON text. */
export type ToolResult = string;

/** Who calls, what the caller may do, and what a tool works with; one for each call. */
export interface ToolCall {
  readonly principal: Principal;
  /** Asks the native rights of the principal, whatever is permitted here. */
  readonly service: Service;
  readonly administration: Administration;
  /** Undefined: a server alone. */
  readonly cluster: Cluster | undefined;
  readonly clock: Clock;
  readonly requestId: string;
  /** What goes along with what the tool asks of the service. */
  readonly context: RequestContext;
  /** Whether the configuration permits it for the whole server, or in a database. */
  allows(permission: Permission, database?: string): boolean;
  /** @throws {ToolRefusal} which says what is not permitted. */
  require(permission: Permission, database?: string): void;
  /**
   * Passes a database that the caller may use and may know of; asks no permission.
   *
   * @throws {ToolRefusal} alike for one that does not exist and one that is not granted; it lists
   *   those that are.
   */
  requireDatabase(name: string): void;
  /** Names of the databases that the caller may read, in order. */
  readableDatabases(): readonly string[];
}

export function tool<F extends ArgumentFields>(declaration: ToolDeclaration<F>): Tool {
  const {input, run, ...head} = declaration;
  return {
    ...head,
    inputSchema: schemaOf(input),
    call(call, raw) {
      const given = readArguments(input, raw);
      for (const permission of head.requires) call.require(permission);
      return run(call, given, raw);
    },
  };
}

/** What concerns the whole server is root's alone, whatever is permitted. */
export function requireAdministrator({principal}: ToolCall): void {
  if (principal.root) return;
  throw new ToolRefusal(
    `User '${principal.name}' is not allowed to administer the server: only root is`,
  );
}
