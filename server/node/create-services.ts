/**
 * The services of one server, made in the order in which they need each other: administration,
 * security, sessions, backups, exchanges, agents.
 */
import {existsSync} from 'node:fs';
import {join, resolve} from 'node:path';
import type {ExchangeService} from '#server/exchange/exchange-service.ts';
import type {Settings} from '#server/base/setting-values.ts';
import type {Clock, Random, Timers} from '#server/platform/clock.ts';
import {readWhole} from '#server/platform/checked-file.ts';
import {createDisk} from '#server/platform/real/disk.ts';
import type {Machine} from '#server/platform/machine.ts';
import {createMachine} from '#server/platform/real/machine.ts';
import type {JavaScriptEngine} from '#server/platform/javascript.ts';
import {processMemory} from '#server/platform/real/process-memory.ts';
import {createSourceReader} from '#server/platform/real/source-reader.ts';
import type {createLogger} from '#server/platform/real/logger.ts';
import type {TraceScope} from '#server/platform/trace-scope.ts';
import {HealthMonitor} from '#server/monitoring/health-monitor.ts';
import {MetricsDump} from '#server/monitoring/metrics-dump.ts';
import type {ServerEvents} from '#server/monitoring/server-events.ts';
import {AskedMembers} from '#server/protocols/http/relay/asked-members.ts';
import {MemberChanges} from '#server/protocols/http/relay/member-changes.ts';
import {MemberCopies} from '#server/protocols/http/relay/member-copies.ts';
import {
  type ClusterWays,
  type ClusterWaysOptions,
  createClusterWays,
} from '#server/protocols/http/relay/cluster-ways.ts';
import type {PeerClient} from '#server/protocols/http/relay/peer-client.ts';
import type {Cluster} from '#server/cluster/cluster.ts';
import {type ReplicaHealth, statusesOf} from '#server/cluster/replica-health.ts';
import {DatabaseDigests} from '#server/session/database-digests.ts';
import type {SecurityDocument} from '#server/security/documents.ts';
import {Security} from '#server/security/security.ts';
import {Scheduler} from '#server/schedule/scheduler.ts';
import {SessionService} from '#server/session/service.ts';
import {type Engine as StoreEngine, largePages} from '#server/storage/rocksdb/open.ts';
import type {Engine} from '#server/engine/engine.ts';
import {ServerAdministration} from './administration.ts';
import {StoreCompactions} from './compaction/store-compactions.ts';
import type {ClusterNode} from './cluster/cluster-node.ts';
import {peerAt} from './cluster/cluster-plan.ts';
import type {TrustStore} from './keys/trust-store.ts';
import type {JoinProbe} from './cluster/join-probe.ts';
import {createServerExchange} from './backup/server-exchange.ts';
import {mcpModule} from './modules/mcp.ts';
import type {Configuration} from './configuration.ts';
import type {AgentModule, AgentModuleOptions} from './modules/agent-module.ts';
import {createServerBackups, type ServerBackups} from './backup/server-backups.ts';
import {dataPathsIn} from './data-paths.ts';
import {createProfiler} from './monitoring/create-profiler.ts';
import {RuntimeWatch} from './monitoring/runtime-watch.ts';
import {indexFamilies} from '#server/caches/index-families.ts';
import type {IndexFolders} from '#server/caches/index-caches.ts';
import {createGraphFolders} from './runtime/vector-graph-files.ts';
import {HashThreads} from './passwords/hash-threads.ts';
import {scanHeapMegabytes, ScanThreads, scanThreadsMax} from './scan-threads.ts';
import type {StartFront} from './start-front.ts';
import type {PasswordPrompt} from './root-password.ts';

export type Logger = ReturnType<typeof createLogger>;

/** The settings as they are now; those given, until the server's own are read. */
export interface SettingsHolder {
  settings: () => Settings;
}

export interface Parts extends Pick<Configuration, 'kept'> {
  /** Its ports, until this server listens there. */
  readonly front: StartFront;
  readonly engine: Engine;
  /** What opens its stores. */
  readonly storeEngine: StoreEngine;
  /** Undefined: a server alone. */
  readonly cluster: ClusterNode | undefined;
  /** Set in a pod. */
  readonly probe: JoinProbe | undefined;
  /** Asks other members. */
  readonly peerClient: PeerClient;
  /** Whose certificates are believed of the other members. */
  readonly trust: TrustStore;
  readonly inForce: SettingsHolder;
  readonly logger: Logger;
  readonly scope: TraceScope;
  readonly events: ServerEvents;
  readonly prompt: PasswordPrompt;
  /** Hears of every request to the service. */
  readonly onRequest: (client: unknown) => void;
}

export interface Services {
  readonly service: SessionService;
  readonly security: Security;
  readonly administration: ServerAdministration;
  readonly digests: DatabaseDigests;
  /** Undefined: a server alone. */
  readonly copies: MemberCopies | undefined;
  /** How requests get to the leader; undefined: a server alone. */
  readonly ways: ClusterWays | undefined;
  readonly archives: ServerBackups;
  readonly scheduler: Scheduler;
  readonly exchanges: ExchangeService;
  /** Undefined in a build without it. */
  readonly agents: AgentModule | undefined;
  /** Resolves with the reason when somebody asks the server to stop. */
  readonly stop: PromiseWithResolvers<string>;
}

export interface StartDependencies {
  /** Undefined: a server alone. */
  readonly cluster: Cluster | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly timers: Timers;
  readonly javascript: JavaScriptEngine;
}

export function createServices(given: Settings, parts: Parts, means: StartDependencies): Services {
  const {engine, logger} = parts;
  const stop = Promise.withResolvers<string>();
  const shutdown = (): void => {
    means.timers.after(shutdownDelayMs, () => stop.resolve('shutdown command'));
  };
  const administration = createAdministration(given, parts, means, shutdown);
  const settings = (): Settings => administration.settings();
  parts.inForce.settings = settings;
  const {cluster} = means;
  // Each knows the other: a dropped user's sessions end, a session asks what its user may do.
  const security: Security = new Security({
    ...means,
    deriveKey: new HashThreads(means.timers).derive,
    store: {
      read: name => documentStore(engine, given, name).read(),
      write: (name, bytes) => documentStore(engine, given, name).write(bytes),
    },
    settings,
    endSessionsOf: (user, reason) => service.endSessionsOf(user, reason),
    loginMembers: cluster && new AskedMembers(cluster, parts.peerClient),
  });
  const serverName = given.get('svc.server.name');
  const digests = new DatabaseDigests({engine, timers: means.timers, serverName});
  const copies = cluster && new MemberCopies(cluster, digests, parts.peerClient);
  const machine = createMachine(largePages(parts.storeEngine));
  const threads = scanThreads(given, machine, means.timers);
  const scheduler = new Scheduler(means);
  const disk = createDisk();
  const service: SessionService = new SessionService({
    ...means,
    engine,
    security,
    logger,
    sourceReader: createSourceReader(),
    machine,
    settings,
    copies,
    compactions: new StoreCompactions(),
    families: indexFamilies,
    indexFiles: graphFolders(engine, logger, resolve(given.get('svc.server.rootPath'))),
    scheduler,
    temporary: {disk, directory: join(resolve(given.get('svc.server.rootPath')), 'temporary')},
    onRequest: parts.onRequest,
    profiler: administration.profiler,
    ...(threads && {threads}),
  });
  administration.use(service);
  const configurationStore = documentStore(engine, given, 'backup.json');
  const transfer = {...means, engine, service, settings, logger, copies, configurationStore, disk};
  const archives = createServerBackups({...transfer, scheduler});
  const {backups} = archives;
  administration.useBackups(backups);
  const sourceReader = createSourceReader();
  const exchanges = createServerExchange({...transfer, sourceReader, backups});
  service.useTransfers(exchanges);
  const ways = cluster && waysOf(parts, {...means, cluster, service, settings});
  const agents = createAgents(given, parts, {
    ...means,
    service: ways?.service ?? service,
    administration,
  });
  const served = {service, security, administration, agents, ways, scheduler};
  return {...served, digests, copies, archives, exchanges, stop};
}

/** Undefined: long reads run on the network thread. */
function scanThreads(given: Settings, machine: Machine, timers: Timers): ScanThreads | undefined {
  const wished = given.get('svc.scanWorkers');
  if (wished === 0) return undefined;
  const memory = processMemory();
  const concurrentMax = given.get('svc.queryMaxConcurrent');
  const {processors} = machine;
  const threadsMax = wished > 0 ? wished : scanThreadsMax(memory, {processors, concurrentMax});
  const heapMegabytesMax = scanHeapMegabytes(memory, threadsMax);
  return new ScanThreads({threadsMax, timers, heapMegabytesMax});
}

function waysOf(
  {peerClient, logger, trust}: Parts,
  means: Pick<ClusterWaysOptions, 'cluster' | 'service' | 'settings' | 'clock' | 'timers'>,
): ClusterWays {
  return createClusterWays({...means, peerClient, logger, authorities: () => trust.authorities});
}

function createAdministration(
  given: Settings,
  {engine, events, logger, inForce, kept}: Parts,
  means: StartDependencies,
  shutdown: () => void,
): ServerAdministration {
  return new ServerAdministration({
    engine,
    events,
    runtime: new RuntimeWatch(means.timers, createMachine()),
    health: new HealthMonitor({
      clock: means.clock,
      settings: () => inForce.settings(),
      warn: message => events.add('WARNING', 'JVM', message),
    }),
    makeDump: figures => new MetricsDump({timers: means.timers, logger, figures}),
    makeProfiler: snapshot => createProfiler(given, {...means, logger, snapshot}),
    random: means.random,
    settings: given,
    kept,
    shutdown,
  });
}

/** How administrators change the members; undefined: a server alone. */
export function createMemberChanges(
  given: Settings,
  {peerClient}: Parts,
  {
    cluster,
    replicaHealth,
  }: Pick<StartDependencies, 'cluster'> & {readonly replicaHealth?: ReplicaHealth | undefined},
): MemberChanges | undefined {
  if (cluster === undefined) return undefined;
  const replicaStatus = statusesOf(replicaHealth);
  return new MemberChanges({
    cluster,
    peerClient,
    replicaStatus,
    peerAt: entry => peerAt(given, entry),
  });
}

/** Undefined in a build without the agent tool server. */
function createAgents(
  given: Settings,
  {engine, logger}: Parts,
  means: StartDependencies & Pick<AgentModuleOptions, 'service' | 'administration'>,
): AgentModule | undefined {
  return mcpModule?.({
    ...means,
    logger,
    settings: given,
    databases: () => engine.databases(),
    store: documentStore(engine, given, 'mcp-config.json'),
  });
}

/** Keeps the graphs of vector indexes; folders of databases that are gone are removed. */
function graphFolders(engine: Engine, logger: Logger, rootPath: string): IndexFolders {
  const ids = engine
    .databases()
    .map(name => (engine.status(name) === 'open' ? engine.database(name)?.id : undefined));
  return createGraphFolders(createDisk(), {rootPath, logger}, ids);
}

const shutdownDelayMs = 200;

/** A document of the server: what the log says, else the file that an administrator put there. */
function documentStore(
  engine: Engine,
  settings: Settings,
  name: SecurityDocument | 'mcp-config.json' | 'backup.json',
): {read(): Uint8Array | undefined; write(bytes: Uint8Array): Promise<void>} {
  return {
    read() {
      const document = engine.serverDocument(name);
      if (document !== undefined) return document.bytes;
      const path = join(dataPathsIn(settings).configDirectory, name);
      return existsSync(path) ? readWhole(createDisk(), path) : undefined;
    },
    async write(bytes) {
      await engine.putServerDocument(name, bytes);
    },
  };
}
