/** The agent tool server, as the rest of a server sees it; a build may be without it. */
import type {Settings} from '#server/base/setting-values.ts';
import type {Cluster} from '#server/cluster/cluster.ts';
import type {Clock, Random, Timers} from '#server/platform/clock.ts';
import type {Logger} from '#server/platform/logger.ts';
import type {AgentEndpoint} from '#server/protocols/http/agent-endpoint.ts';
import type {Principal} from '#server/security/principal.ts';
import type {Administration} from '#server/session/administration.ts';
import type {Service} from '#server/session/session.ts';

export interface AgentModuleOptions {
  readonly service: Service;
  readonly administration: Administration;
  readonly cluster: Cluster | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly timers: Timers;
  readonly logger: Logger;
  /** The settings of the start. */
  readonly settings: Settings;
  /** Names of all that the server has. */
  readonly databases: () => readonly string[];
  readonly store: {read(): Uint8Array | undefined; write(bytes: Uint8Array): Promise<void>};
}

/** Messages a line each. */
export interface AgentStreams {
  readonly input: AsyncIterable<Uint8Array>;
  /** Resolves when the reader has room for more. */
  readonly write: (line: string) => Promise<void>;
}

export interface AgentModule {
  readonly endpoint: AgentEndpoint;
  /** The document of its configuration may have changed. */
  reload(): void;
  /**
   * Serves one user over a pair of streams until the input ends.
   *
   * @throws {Refusal} `start.refused` when the configuration does not admit the user.
   */
  serve(principal: Principal, streams: AgentStreams): Promise<void>;
  /** Ends what it does by itself. */
  close(): void;
}
