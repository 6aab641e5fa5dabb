/**
 * Ties the parts of one server together, in the order they depend on each other.
 *
 * The engine comes from server-engine.ts, the services from create-services.ts; begin-services.ts
 * says what they begin with. A start that is refused half way closes what was opened.
 */
import {existsSync} from 'node:fs';
import {join, resolve} from 'node:path';
import {Refusal} from '#server/base/errors.ts';
import type {Settings} from '#server/base/setting-values.ts';
import {createClock, createRandom, createTimers} from '#server/platform/real/clock.ts';
import {createDisk} from '#server/platform/real/disk.ts';
import {createMachine} from '#server/platform/real/machine.ts';
import {loadJavaScript} from '#server/platform/real/javascript.ts';
import {createSourceReader} from '#server/platform/real/source-reader.ts';
import {EventFiles} from '#server/monitoring/event-files.ts';
import type {Figures} from '#server/monitoring/figures.ts';
import {ServerEvents} from '#server/monitoring/server-events.ts';
import {Telemetry} from '#server/monitoring/telemetry.ts';
import type {HttpOptions} from '#server/protocols/http/context.ts';
import {PeerClient} from '#server/protocols/http/relay/peer-client.ts';
import type {ProtocolServer} from '#server/listeners/stream-listener.ts';
import {createHttpServer, type HttpServer} from '#server/protocols/http/server.ts';
import {createBatchHandler} from '#server/protocols/http/routes/batch.ts';
import {securityDocuments} from '#server/security/documents.ts';
import type {Principal} from '#server/security/principal.ts';
import {
  addonPath,
  chooseEngine,
  memoryTrimmer,
  openStore,
  type Engine as StoreEngine,
} from '#server/storage/rocksdb/open.ts';
import type {Engine} from '#server/engine/engine.ts';
import {createDiskStoreFactory} from '#server/engine/store-factory.ts';
import {joinedCluster} from './cluster/cluster-start.ts';
import {NodeCluster} from './cluster/node-cluster.ts';
import {TrustStore} from './keys/trust-store.ts';
import {ClusterWatch} from './cluster/cluster-watch.ts';
import {startJoinProbe} from './cluster/join-probe.ts';
import {startWriteWarmup} from './cluster/write-warmup.ts';
import {compileSooner} from './runtime/jit-flags.ts';
import {startCommitThreads} from './commit/commit-threads.ts';
import type {Configuration} from './configuration.ts';
import {beginServices, followEngine} from './begin-services.ts';
import {checkPlugins} from './modules/plugins.ts';
import type {AgentStreams} from './modules/agent-module.ts';
import {createServerLog} from './monitoring/server-logger.ts';
import {dataPathsIn} from './data-paths.ts';
import {keepMemorySmall, processBusyShare} from './runtime/heap-trimmer.ts';
import {openStartFront, type StartFront} from './start-front.ts';
import type {PasswordPrompt} from './root-password.ts';
import {openServerEngine, storageEngine} from './server-engine.ts';
import {offerIdleClass} from './threads/priority.ts';
import {version} from './version.ts';
import {watchDocuments} from './written-documents.ts';
import {
  createMemberChanges,
  createServices,
  type Logger,
  type Parts,
  type Services,
  type SettingsHolder,
  type StartDependencies,
} from './create-services.ts';

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
  const {logger, scope} = createServerLog(settings, inForce, events, passedOver);
  const front = await openStartFront(settings, logger);
  try {
    return await startBehind(front, settings, {events, logger, scope, prompt, inForce, kept});
  } catch (error) {
    front.close();
    throw error;
  }
}

/** Everything behind the ports; closes what it opened when it fails, but for `front`. */
async function startBehind(
  front: StartFront,
  settings: Settings,
  given: Pick<Parts, 'events' | 'logger' | 'scope' | 'prompt' | 'inForce' | 'kept'>,
): Promise<RunningServer> {
  const {logger, inForce, scope} = given;
  const rootPath = resolve(settings.get('svc.server.rootPath'));
  const trust = await TrustStore.open(settings);
  const cluster = await joinedCluster(settings, () => inForce.settings(), logger);
  if (cluster !== undefined) {
    cluster.listensOn(front.port, front.securePort);
    front.describe = () => cluster.startState;
  }
  const isSecure = (): boolean => inForce.settings().get('svc.ssl.enabled');
  const authorities = (): readonly string[] => trust.authorities;
  const peerClient = new PeerClient({isSecure, authorities, logger, scope});
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
    offerIdleClass(addonPath(storeEngine));
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

async function serve(given: Settings, parts: Parts): Promise<RunningServer> {
  const {engine, logger} = parts;
  const means: StartDependencies = {
    ...createMeans(given, parts),
    javascript: await loadJavaScript(),
  };
  const services = createServices(given, parts, means);
  const {service, stop} = services;
  await beginServices(given, parts, services);
  warnOfMetrics(given, logger);
  const watch = watchCluster(given, parts, services, means);
  const telemetry = createTelemetry(given, parts, means, () => http.figures());
  const http: HttpServer = createHttp(given, parts, services, {
    ...means,
    traces: telemetry.traces ? telemetry : undefined,
    replicaHealth: watch?.health,
    ownTroubles: watch && (() => watch.troubles),
  });
  const protocols: readonly ProtocolServer[] = [http];
  const host = given.get('svc.server.httpIncomingHost');
  const {port, secure} = await listenBeside(http, protocols, parts, {...means, given});
  followEngine(given, parts, services);
  logger.log('info', 'server.ready', {host, port, securePort: secure?.port, version});
  services.administration.start();
  const endWarmup = parts.cluster && warmUpWrites(given, parts, means);
  const endCare = careForItself(given, parts, services, means);
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
      endCare();
      parts.probe?.end();
      watch?.end();
      await endWarmup?.();
      secure?.end();
      await parts.cluster?.stepDown();
      const graceMs = given.get('svc.server.shutdownTimeout');
      await Promise.all(protocols.map(one => one.close(graceMs)));
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

/** What a server does by itself as long as it serves; the answered function ends it. */
function careForItself(
  given: Settings,
  {engine, storeEngine, logger}: Parts,
  {service, security}: Services,
  {clock, timers}: StartDependencies,
): () => void {
  const ends = [
    compileSooner(timers),
    keepMemorySmall({
      clock,
      timers,
      trim: memoryTrimmer(storeEngine),
      shed: () => service.dropViews(),
      busyShare: processBusyShare(clock),
    }),
    watchDocuments({
      configDirectory: dataPathsIn(given).configDirectory,
      names: securityDocuments,
      kept: name => engine.serverDocument(name)?.bytes,
      adopt: (name, bytes) => security.adopt(name, bytes),
      timers,
      logger,
      event: 'security.document',
    }),
  ];
  return () => ends.forEach(end => end());
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
  return {cluster: cluster && new NodeCluster(cluster, {clock, timers}), clock, random, timers};
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
function warmUpWrites(given: Settings, {storeEngine, logger}: Parts, means: StartDependencies) {
  // As a server alone: nobody else hears of it.
  const {cluster: _, ...own} = means;
  const disk = createDisk();
  return startWriteWarmup({
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
  {logger, scope}: Parts,
  means: StartDependencies,
  figures: () => Figures,
): Telemetry {
  return new Telemetry({...means, settings, logger, scope, version, figures});
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
    members: createMemberChanges(given, parts, means),
    placement: services.ways?.placement,
    backups: services.archives.backups,
    scheduler: services.scheduler,
    exchanges: services.exchanges,
    agents: services.agents?.endpoint,
    batch: createBatchHandler({...means, loads: service.loads}),
  });
}

/** A word that nobody understands must not open what is closed. */
function warnOfMetrics(given: Settings, logger: Logger): void {
  const setting = 'svc.serverMetrics.prometheus.requireAuthentication';
  if (['true', 'false'].includes(given.get(setting))) return;
  const reason = 'only true and false are known: scrapers must be users';
  logger.log('warn', 'setting.without-effect', {setting, reason});
}

/** Takes the ports over from what answered there while this server started. */
async function listenBeside(
  http: HttpServer,
  protocols: readonly ProtocolServer[],
  {front, trust, logger}: Parts,
  {given, ...means}: StartDependencies & {readonly given: Settings},
): Promise<{readonly port: number; readonly secure: SecureListening | undefined}> {
  const {keyStore, port, securePort} = front;
  const host = given.get('svc.server.httpIncomingHost');
  await http.listen(host, given.get('svc.server.httpIncomingPort'), port);
  let secure: SecureListening | undefined;
  if (keyStore !== undefined && securePort !== undefined) {
    const ports = given.get('svc.server.httpsIncomingPort');
    await http.listenSecurely(host, ports, keyStore.options, securePort);
    const endKeys = keyStore.watch(means, keys => protocols.forEach(one => one.renew(keys)));
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
