/**
 * Ties the parts of one server together, in the order they depend on each other.
 *
 * This is the only file that knows all of them: platform, stores, engine, session service,
 * security, HTTP. A start that is refused half way closes what was opened.
 */
import {existsSync, readFileSync} from 'node:fs';
import {join, resolve} from 'node:path';
import {assert} from '#server/base/assert.ts';
import {Refusal} from '#server/base/errors.ts';
import {fingerprintDatabase} from '#server/integrity/digest.ts';
import type {ExchangeService} from '#server/exchange/exchange-service.ts';
import type {Settings} from '#server/base/setting-values.ts';
import type {Clock, Random, Timers} from '#server/platform/clock.ts';
import {createClock, createRandom, createTimers} from '#server/platform/real/clock.ts';
import {createDisk} from '#server/platform/real/disk.ts';
import type {Machine} from '#server/platform/machine.ts';
import {createMachine} from '#server/platform/real/machine.ts';
import {hasProcessorQuota} from '#server/platform/real/processor-quota.ts';
import {loadJavaScript} from '#server/platform/real/javascript.ts';
import type {JavaScriptEngine} from '#server/platform/javascript.ts';
import {processMemory} from '#server/platform/real/process-memory.ts';
import {createSourceReader} from '#server/platform/real/source-reader.ts';
import {createLogger} from '#server/platform/real/logger.ts';
import {EventFiles} from '#server/monitoring/event-files.ts';
import {HealthMonitor} from '#server/monitoring/health-monitor.ts';
import {MetricsDump} from '#server/monitoring/metrics-dump.ts';
import type {Figures} from '#server/monitoring/figures.ts';
import {ServerEvents} from '#server/monitoring/server-events.ts';
import {Telemetry} from '#server/monitoring/telemetry.ts';
import type {HttpOptions} from '#server/protocols/http/context.ts';
import {AskedMembers} from '#server/protocols/http/relay/asked-members.ts';
import {MemberCopies} from '#server/protocols/http/relay/member-copies.ts';
import {
  type ClusterWays,
  type ClusterWaysOptions,
  createClusterWays,
} from '#server/protocols/http/relay/cluster-ways.ts';
import {PeerClient} from '#server/protocols/http/relay/peer-client.ts';
import {createHttpServer, type HttpServer} from '#server/protocols/http/server.ts';
import {createBatchHandler} from '#server/protocols/http/routes/batch.ts';
import type {Cluster} from '#server/cluster/cluster.ts';
import type {MemberRequests} from '#server/administration/member-requests.ts';
import {DatabaseDigests} from '#server/session/database-digests.ts';
import type {Principal} from '#server/security/principal.ts';
import {Security, type SecurityDocument} from '#server/security/security.ts';
import {SessionService} from '#server/session/service.ts';
import {
  awakeKeeper,
  chooseEngine,
  memoryTrimmer,
  openStore,
  type Engine as StoreEngine,
} from '#server/storage/rocksdb/open.ts';
import {defaultCommitLimits} from '#server/transactions/coordinator.ts';
import {type Engine, openEngine} from '#server/engine/engine.ts';
import type {EngineSettings} from '#server/engine/engine-options.ts';
import {formatsOf} from '#server/engine/formats/levels.ts';
import {createDiskStoreFactory} from '#server/engine/store-factory.ts';
import {ServerAdministration} from './administration.ts';
import {StoreCompactions} from './compaction/store-compactions.ts';
import {joinedCluster} from './cluster/cluster-start.ts';
import type {ClusterNode} from './cluster/cluster-node.ts';
import {ClusterView} from './cluster/cluster-view.ts';
import {TrustStore} from './keys/trust-store.ts';
import {ClusterWatch} from './cluster/cluster-watch.ts';
import {type JoinProbe, startJoinProbe} from './cluster/join-probe.ts';
import {startRehearsal} from './cluster/write-warmup.ts';
import {compileSooner} from './runtime/jit-flags.ts';
import {startCommitThreads} from './commit/commit-threads.ts';
import {createServerExchange} from './backup/server-exchange.ts';
import {mcpModule} from './modules/mcp.ts';
import type {Configuration} from './configuration.ts';
import {checkPlugins} from './modules/plugins.ts';
import type {AgentModule, AgentModuleOptions, AgentStreams} from './modules/agent-module.ts';
import {createServerBackups, type ServerBackups} from './backup/server-backups.ts';
import {dataPathsIn} from './data-paths.ts';
import {createDefaultDatabases} from './default-databases.ts';
import {createProfiler} from './monitoring/create-profiler.ts';
import {RuntimeWatch} from './monitoring/runtime-watch.ts';
import type {GraphFiles} from '#server/caches/vector-graph.ts';
import {createGraphFolders} from './runtime/vector-graph-files.ts';
import {keepMemorySmall, threadBusyShare} from './runtime/heap-trimmer.ts';
import {scanHeapMegabytes, ScanThreads} from './scan-threads.ts';
import {openStartFront, type StartFront} from './start-front.ts';
import {firstRootPassword, type PasswordPrompt} from './root-password.ts';
import {version} from './version.ts';

export interface RunningServer {
  readonly version: string;
  readonly url: string;
  /** The URL of HTTPS, where that is on. */
  readonly secureUrl: string | undefined;
  readonly port: number;
  readonly isDefaultPort: boolean;
  readonly hasDemo: boolean;
  /** Where the password of root was read from; empty when not from a file. */
  readonly rootPasswordPath: string;
  /** Resolves with the reason when the server must stop by itself. */
  readonly ended: Promise<string>;
  /** Why it had to, if so. */
  readonly failure: string | undefined;
  /**
   * Serves an agent as root until the input ends.
   *
   * @throws {Refusal} `start.refused` without the module, and where the password of root is not the
   *   one of the settings.
   */
  serveAgent(streams: AgentStreams): Promise<void>;
  close(): Promise<void>;
}

const defaultPort = 2480;

/** @throws {Refusal} `start.refused` and whatever else stands in the way of a start. */
export async function startServer(
  settings: Settings,
  prompt: PasswordPrompt,
  {passedOver, kept}: Pick<Configuration, 'passedOver' | 'kept'>,
): Promise<RunningServer> {
  checkPlugins(settings);
  const inForce: SettingsHolder = {settings: () => settings};
  const events = new ServerEvents(() => Date.now());
  const logger = events.tee(
    createLogger({
      level: () => inForce.settings().get('svc.log.level'),
      format: logFormat(settings),
      fields: {node: settings.get('svc.server.name')},
    }),
  );
  for (const {key, origin, reason} of passedOver) {
    logger.log('warn', 'setting.without-meaning', {
      setting: key,
      origin,
      reason: `${key}: ${reason}`,
    });
  }
  const front = await openStartFront(settings, logger);
  try {
    return await startBehind(front, settings, {events, logger, prompt, inForce, kept});
  } catch (error) {
    front.close();
    throw error;
  }
}

/** Everything behind the ports; closes what it opened when it fails, but for `front`. */
async function startBehind(
  front: StartFront,
  settings: Settings,
  given: Pick<Parts, 'events' | 'logger' | 'prompt' | 'inForce' | 'kept'>,
): Promise<RunningServer> {
  const {logger, inForce} = given;
  const rootPath = resolve(settings.get('svc.server.rootPath'));
  const trust = await TrustStore.open(settings);
  const cluster = await joinedCluster(settings, () => inForce.settings(), logger);
  if (cluster !== undefined) {
    cluster.listensOn(front.port, front.securePort);
    front.describe = () => cluster.startState;
  }
  const isSecure = (): boolean => inForce.settings().get('svc.ssl.enabled');
  const peerClient = new PeerClient({isSecure, authorities: () => trust.authorities, logger});
  const probe = cluster && startJoinProbe(cluster, settings, {peerClient, logger});
  const threads = startCommitThreads({withLog: cluster === undefined});
  let engine: Engine;
  let storeEngine: StoreEngine;
  try {
    storeEngine = chooseEngine({
      setting: storageEngine(settings.get('svc.storage.engine')),
      dataRoot: rootPath,
      logger,
    });
    const parts = {inForce, threads, logger, storeEngine, cluster};
    engine = await openServerEngine(settings, parts);
  } catch (error) {
    probe?.end();
    await threads.abandon();
    await cluster?.links.close();
    throw error;
  }
  try {
    const members = {cluster, probe, peerClient, trust};
    const onRequest = (client: unknown): void => threads.asked(client);
    const parts = {...given, ...members, engine, storeEngine, front, inForce, onRequest};
    return await serve(settings, parts);
  } catch (error) {
    probe?.end();
    await engine.close();
    throw error;
  }
}

/** On a terminal for people, elsewhere for machines. */
function logFormat(settings: Settings): 'json' | 'text' {
  const format = settings.get('svc.server.logFormat');
  if (format !== 'auto') return format === 'text' ? 'text' : 'json';
  return process.stderr.isTTY === true ? 'text' : 'json';
}

type Logger = ReturnType<typeof createLogger>;

/** The settings as they are now; those given, until the server's own are read. */
interface SettingsHolder {
  settings: () => Settings;
}

function engineSettings(settings: Settings, inForce: SettingsHolder): EngineSettings {
  const raftStorage = settings.get('svc.ha.raftStorageDirectory');
  return {
    segmentBytes: settings.get('svc.ha.logSegmentSize'),
    walFlush: walFlush(settings.get('svc.txWalFlush')),
    formats: formatsOf(version),
    freeBytesMin: settings.get('svc.storage.freeSpaceMin'),
    commit: {...defaultCommitLimits, entryBytesMax: settings.get('svc.ha.appendBufferSize')},
    transaction: {
      get writeBytesMax() {
        return inForce.settings().get('svc.txSizeMax');
      },
      get durationMsMax() {
        const durationMs = inForce.settings().get('svc.txTimeout');
        return durationMs === 0 ? Number.POSITIVE_INFINITY : durationMs;
      },
    },
    ...(raftStorage === '' ? {} : {raftStorageParent: resolve(raftStorage)}),
  };
}

function walFlush(value: number): 0 | 1 | 2 {
  assert(value === 0 || value === 1 || value === 2, 'svc.txWalFlush is 0, 1 or 2');
  return value;
}

interface EngineParts {
  readonly inForce: SettingsHolder;
  readonly threads: ReturnType<typeof startCommitThreads>;
  readonly logger: Logger;
  readonly storeEngine: StoreEngine;
  readonly cluster: ClusterNode | undefined;
}

function openServerEngine(
  settings: Settings,
  {inForce, threads, logger, storeEngine, cluster}: EngineParts,
): Promise<Engine> {
  const disk = createDisk();
  const timers = createTimers();
  // Of a quota it would take what requests need.
  const spinFor = hasProcessorQuota() ? undefined : awakeKeeper(storeEngine);
  return openEngine({
    ...dataPathsIn(settings),
    nodeName: settings.get('svc.server.name'),
    disk,
    clock: createClock(),
    timers,
    random: createRandom(),
    logger,
    stores: createDiskStoreFactory(disk, (path, options) =>
      openStore(path, {
        ...options,
        engine: storeEngine,
        memtableBytes: settings.get('svc.storage.writeBufferSize'),
        blockCacheBytes: settings.get('svc.storage.blockCacheSize'),
        backgroundJobs: settings.get('svc.storage.backgroundJobs'),
      }),
    ),
    settings: engineSettings(settings, inForce),
    startPipe: parts => threads.startPipe(parts, spinFor),
    ...(cluster && {
      memberLog: cluster,
      fingerprint: reader => fingerprintDatabase(reader, () => timers.yield()),
    }),
  });
}

function storageEngine(word: string): 'auto' | 'native' | 'fallback' {
  return word === 'native' || word === 'fallback' ? word : 'auto';
}

interface Parts extends Pick<Configuration, 'kept'> {
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
  readonly events: ServerEvents;
  readonly prompt: PasswordPrompt;
  /** Hears of every request to the service. */
  readonly onRequest: (client: unknown) => void;
}

interface Services {
  readonly service: SessionService;
  readonly security: Security;
  readonly administration: ServerAdministration;
  readonly digests: DatabaseDigests;
  /** Undefined: a server alone. */
  readonly copies: MemberCopies | undefined;
  /** How requests get to the leader; undefined: a server alone. */
  readonly ways: ClusterWays | undefined;
  readonly archives: ServerBackups;
  readonly exchanges: ExchangeService;
  /** Asks single members of the cluster; undefined on a server alone. */
  readonly members: MemberRequests | undefined;
  /** Undefined in a build without it. */
  readonly agents: AgentModule | undefined;
  /** Resolves with the reason when somebody asks the server to stop. */
  readonly stop: PromiseWithResolvers<string>;
}

interface StartDependencies {
  /** Undefined: a server alone. */
  readonly cluster: Cluster | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly timers: Timers;
  readonly javascript: JavaScriptEngine;
}

function createServices(given: Settings, parts: Parts, means: StartDependencies): Services {
  const {engine, logger} = parts;
  const stop = Promise.withResolvers<string>();
  const shutdown = (): void => {
    means.timers.after(shutdownDelayMs, () => stop.resolve('shutdown command'));
  };
  const administration = createAdministration(given, parts, means, shutdown);
  const settings = (): Settings => administration.settings();
  parts.inForce.settings = settings;
  const {cluster} = means;
  const members = cluster && new AskedMembers(cluster, parts.peerClient);
  // Each knows the other: a dropped user's sessions end, a session asks what its user may do.
  const security: Security = new Security({
    ...means,
    store: {
      read: name => documentStore(engine, given, name).read(),
      write: (name, bytes) => documentStore(engine, given, name).write(bytes),
    },
    settings,
    endSessionsOf: (user, reason) => service.endSessionsOf(user, reason),
    loginMembers: members,
  });
  const serverName = given.get('svc.server.name');
  const digests = new DatabaseDigests({engine, timers: means.timers, serverName});
  const copies = cluster && new MemberCopies(cluster, digests, parts.peerClient);
  const machine = createMachine();
  const threads = scanThreads(given, machine, means.timers);
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
    graphFiles: graphFolders(engine, logger, resolve(given.get('svc.server.rootPath'))),
    onRequest: parts.onRequest,
    profiler: administration.profiler,
    ...(threads && {threads}),
  });
  administration.use(service);
  const configurationStore = documentStore(engine, given, 'backup.json');
  const transfer = {...means, engine, service, settings, logger, copies, configurationStore};
  const archives = createServerBackups({...transfer, storeEngine: parts.storeEngine});
  const {backups} = archives;
  administration.useBackups(backups);
  const disk = createDisk();
  const sourceReader = createSourceReader();
  const exchanges = createServerExchange({...transfer, disk, sourceReader, backups});
  service.useTransfers(exchanges);
  const ways = cluster && waysOf(parts, {...means, cluster, service, settings});
  const agents = createAgents(given, parts, {
    ...means,
    service: ways?.service ?? service,
    administration,
  });
  const served = {service, security, administration, agents, ways};
  return {...served, digests, copies, members, archives, exchanges, stop};
}

/** Undefined: long reads run on the network thread. */
function scanThreads(given: Settings, machine: Machine, timers: Timers): ScanThreads | undefined {
  const wished = given.get('svc.scanWorkers');
  const threadsMax = wished < 0 ? Math.max(1, machine.processors - 1) : wished;
  if (threadsMax === 0) return undefined;
  const heapMegabytesMax = scanHeapMegabytes(processMemory(), threadsMax);
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
      isEnabled: () => inForce.settings().get('svc.server.healthCheck.enabled'),
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

async function serveAgent(
  given: Settings,
  {agents, security}: Services,
  streams: AgentStreams,
): Promise<void> {
  if (agents === undefined) throw new Refusal('start.refused', 'this build has no module mcp');
  const password = given.get('svc.server.rootPassword');
  let root: Principal;
  try {
    root = await security.authenticate('root', password);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const message = 'svc.server.rootPassword is not the password of root in this server';
    throw new Refusal('start.refused', message, {cause: error});
  }
  await agents.serve(root, streams);
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
function graphFolders(
  engine: Engine,
  logger: Logger,
  rootPath: string,
): (databaseId: number) => GraphFiles {
  const ids = engine
    .databases()
    .map(name => (engine.status(name) === 'open' ? engine.database(name)?.id : undefined));
  return createGraphFolders(createDisk(), {rootPath, logger}, ids);
}

async function serve(given: Settings, parts: Parts): Promise<RunningServer> {
  const {engine, logger} = parts;
  const means: StartDependencies = {
    ...createMeans(given, parts),
    javascript: await loadJavaScript(),
  };
  const {clock, timers} = means;
  const services = createServices(given, parts, means);
  const {service, stop} = services;
  // In a cluster its leader's work.
  if (parts.cluster === undefined) await writeFirst(given, parts, services, parts.prompt);
  await services.archives.backups.start();
  await services.exchanges.start(parts.cluster === undefined);
  warnOfMetrics(given, logger);
  const watch = watchCluster(given, parts, services, means);
  const telemetry = createTelemetry(given, parts, means, () => http.figures());
  const http: HttpServer = createHttp(given, parts, services, {
    ...means,
    traces: telemetry.traces ? telemetry : undefined,
    replicaHealth: watch?.health,
    ownTroubles: watch && (() => watch.troubles),
  });
  const host = given.get('svc.server.httpIncomingHost');
  const {port, secure} = await listenBeside(http, given, parts, means);
  followEngine(given, parts, services);
  logger.log('info', 'server.ready', {host, port, securePort: secure?.port, version});
  services.administration.start();
  const leaveCompiler = compileSooner(timers);
  const endRehearsal = parts.cluster && rehearseWrites(given, parts, means);
  const leaveMemory = keepMemorySmall({
    clock,
    timers,
    trim: memoryTrimmer(parts.storeEngine),
    shed: () => service.dropViews(),
    busyShare: threadBusyShare(clock),
  });
  const dialled = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return {
    version,
    url: `http://${dialled}:${port}`,
    secureUrl: secure && `https://${dialled}:${secure.port}`,
    port,
    isDefaultPort: port === defaultPort,
    hasDemo: given.get('svc.server.sampleDatabase') !== '',
    rootPasswordPath: given.get('svc.server.rootPasswordPath'),
    ended: stop.promise,
    get failure() {
      return engine.failure;
    },
    serveAgent: streams => serveAgent(given, services, streams),
    async close() {
      leaveMemory();
      leaveCompiler();
      parts.probe?.end();
      watch?.end();
      await endRehearsal?.();
      secure?.end();
      await parts.cluster?.stepDown();
      await http.close(given.get('svc.server.shutdownTimeout'));
      await telemetry.end();
      services.administration.end();
      services.agents?.close();
      await services.archives.close();
      closeWays(parts, services);
      await service.close();
      await parts.cluster?.snapshots?.close();
      await engine.close();
      closeRest(parts);
    },
  };
}

function closeWays({peerClient}: Parts, {ways}: Services): void {
  ways?.channel.close();
  peerClient.close();
}

function createMeans(given: Settings, parts: Parts): Omit<StartDependencies, 'javascript'> {
  const {cluster, trust, engine, storeEngine, peerClient, logger} = parts;
  const clock = createClock();
  keepEvents(given, parts, clock.now());
  const timers = createTimers();
  const random = createRandom();
  const view = cluster && new ClusterView(cluster, {clock, timers});
  cluster?.useSnapshots({
    engine,
    storeEngine,
    clock,
    random,
    timers,
    logger,
    authorities: () => trust.authorities,
    warnOfClear: target => peerClient.warnOfClear(target),
    disk: createDisk(),
    databaseDirectory: dataPathsIn(given).databaseDirectory,
  });
  return {cluster: view, clock, random, timers};
}

/** What is open as long as the process has anything to tell. */
function closeRest({front, events}: Parts): void {
  front.close();
  events.close();
}

/** Events are written from now on: the folder is this server's alone. */
function keepEvents(given: Settings, {events, logger}: Parts, startedAt: number): void {
  const directory = resolve(given.get('svc.server.logsDirectory'));
  events.keepIn(new EventFiles({disk: createDisk(), directory, startedAt, logger}));
}

/** Runs after the start of a member, which may lead in a moment. */
function rehearseWrites(given: Settings, {storeEngine, logger}: Parts, means: StartDependencies) {
  // As a server alone: nobody else hears of it.
  const {cluster: _, ...own} = means;
  const disk = createDisk();
  return startRehearsal({
    ...own,
    logger,
    disk,
    path: join(resolve(given.get('svc.server.rootPath')), 'rehearsal'),
    sourceReader: createSourceReader(),
    machine: createMachine(),
    settings: () => given,
    stores: createDiskStoreFactory(disk, (path, options) =>
      openStore(path, {
        ...options,
        engine: storeEngine,
        memtableBytes: 1 << 20,
        blockCacheBytes: 0,
        backgroundJobs: 1,
      }),
    ),
  });
}

/** Looks after the other members; undefined on a server alone. */
function watchCluster(
  given: Settings,
  {cluster: node, engine, logger}: Parts,
  {administration, copies}: Services,
  {cluster, ...means}: StartDependencies,
): ClusterWatch | undefined {
  if (node === undefined || cluster === undefined || copies === undefined) return undefined;
  const directory = dataPathsIn(given).databaseDirectory;
  return new ClusterWatch({
    ...means,
    cluster,
    copies,
    links: node.links,
    settings: () => administration.settings(),
    logger,
    databases: () => engine.databases(),
    formats: {
      written: () => engine.formatLevel,
      newest: node.introduction.formats.to,
      raise: () => engine.raiseFormat(),
    },
    unusable: () =>
      administration
        .fencedDatabases()
        .map(name => ({name, isMissing: !existsSync(join(directory, name))})),
  });
}

function createTelemetry(
  settings: Settings,
  {logger}: Parts,
  means: StartDependencies,
  figures: () => Figures,
): Telemetry {
  return new Telemetry({...means, settings, logger, version, figures});
}

function createHttp(
  given: Settings,
  parts: Parts,
  services: Services,
  means: StartDependencies & Pick<HttpOptions, 'replicaHealth' | 'ownTroubles' | 'traces'>,
): HttpServer {
  const {service, security, administration} = services;
  return createHttpServer({
    ...means,
    service,
    security,
    administration,
    logger: parts.logger,
    peerClient: parts.peerClient,
    authorities: () => parts.trust.authorities,
    snapshots: parts.cluster?.snapshots?.shelf,
    copies: services.copies,
    members: services.members,
    placement: services.ways?.placement,
    backups: services.archives.backups,
    exchanges: services.exchanges,
    agents: services.agents?.endpoint,
    batch: createBatchHandler({
      ...means,
      service,
      security,
      settings: () => administration.settings(),
      disk: createDisk(),
      temporaryDirectory: join(resolve(given.get('svc.server.rootPath')), 'temporary'),
    }),
  });
}

/** A word that nobody understands must not open what is closed. */
function warnOfMetrics(given: Settings, logger: Logger): void {
  const setting = 'svc.serverMetrics.prometheus.requireAuthentication';
  if (['true', 'false'].includes(given.get(setting))) return;
  const reason = 'only true and false are known: scrapers must be users';
  logger.log('warn', 'setting.without-effect', {setting, reason});
}

/** What a server or a cluster begins with: root, and the databases that the settings name. */
async function writeFirst(
  given: Settings,
  {engine}: Parts,
  {service, security}: Services,
  prompt: PasswordPrompt,
): Promise<void> {
  if (!security.hasRoot) await security.ensureRoot(await firstRootPassword(given, prompt));
  await createDefaultDatabases(given, {engine, service, security});
}

/** What becomes of the rest when the engine fails, or another server's entry is executed. */
function followEngine(given: Settings, parts: Parts, services: Services): void {
  const {engine, cluster, logger} = parts;
  const {service, security, digests, agents, stop} = services;
  const {backups} = services.archives;
  // What a leader cannot finish is done by the next one.
  const lead = (): void => {
    Promise.all([backups.leads(), services.exchanges.sweep()]).catch((error: unknown) => {
      logger.log('error', 'database.not-swept', {error});
    });
    writeFirst(given, parts, services, nobodyToAsk).catch((error: unknown) => {
      logger.log('error', 'cluster.not-begun', {error});
    });
  };
  const failed = (reason: string): void => {
    // A member may stay and answer reads: the others serve what is newer.
    const stays = cluster !== undefined && !given.get('svc.ha.stopServerOnReplicationFailure');
    if (stays) logger.log('error', 'cluster.halted', {reason});
    else stop.resolve(reason);
  };
  engine.listen({
    failed,
    documentChanged: () => {
      security.reload();
      agents?.reload();
      backups.configurationChanged();
    },
    databasesChanged: () => backups.databasesChanged(),
    dropping: database => {
      digests.release();
      service.databaseDropped(database);
    },
    marked: (marker, database) => digests.hold(marker, database),
    leadership: leads => {
      cluster?.leadershipChanged();
      if (!leads) return;
      service.resumeWork();
      lead();
    },
  });
  if (engine.failure !== undefined) failed(engine.failure);
  if (cluster?.member?.log.isLeading === true) lead();
}

const nobodyToAsk: PasswordPrompt = {
  isTerminal: false,
  ask: () => Promise.resolve(''),
  tell: () => {},
};

const shutdownDelayMs = 200;

/** Takes the ports over from what answered there while this server started. */
async function listenBeside(
  http: HttpServer,
  given: Settings,
  {front, trust, logger}: Parts,
  means: StartDependencies,
): Promise<{readonly port: number; readonly secure: SecureListening | undefined}> {
  const {keyStore, port, securePort} = front;
  const host = given.get('svc.server.httpIncomingHost');
  await http.listen(host, given.get('svc.server.httpIncomingPort'), port);
  let secure: SecureListening | undefined;
  if (keyStore !== undefined && securePort !== undefined) {
    const ports = given.get('svc.server.httpsIncomingPort');
    await http.listenSecurely(host, ports, keyStore.options, securePort);
    const endKeys = keyStore.watch(means, keys => http.renew(keys));
    const endTrust = trust.watch({...means, logger});
    secure = {port: securePort, end: () => [endKeys, endTrust].forEach(end => end())};
  }
  front.giveWay();
  return {port, secure};
}

interface SecureListening {
  readonly port: number;
  readonly end: () => void;
}

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
      return existsSync(path) ? readFileSync(path) : undefined;
    },
    async write(bytes) {
      await engine.putServerDocument(name, bytes);
    },
  };
}
