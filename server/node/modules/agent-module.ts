/** The agent tool server, as the rest of a server sees it; a build may be without it. */
import type {Settings} from '#server/base/setting-values.ts';
import type {Cluster} from '#server/cluster/cluster.ts';
import type {Clock, Random} from '#server/platform/clock.ts';
import type {Logger} from '#server/platform/logger.ts';
import type {AgentEndpoint} from '#server/protocols/http/routes/agents.ts';
import type {Administration} from '#server/session/administration.ts';
import type {Service} from '#server/session/session.ts';

export interface AgentModuleOptions {
  readonly service: Service;
  readonly administration: Administration;
  readonly cluster: Cluster | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** The settings of the start. */
  readonly settings: Settings;
  /** Names of all that the server has. */
  readonly databases: () => readonly string[];
  readonly store: {read(): Uint8Array | undefined; write(bytes: Uint8Array): Promise<void>};
}

export interface AgentModule {
  readonly endpoint: AgentEndpoint;
  /** The document of its configuration may have changed. */
  reload(): void;
}
