/**
 * The real HTTP server over a socket, in front of the real service over an engine whose commits
 * run inline. Statements may be given as words (word-service.ts).
 */
import {connect} from 'node:net';
import {resolveSettings, type Settings} from '#server/base/setting-values.ts';
import type {AddedPeer, Cluster} from '#server/cluster/cluster.ts';
import {statusesOf} from '#server/cluster/replica-health.ts';
import {peerAt} from '#server/node/cluster/cluster-plan.ts';
import type {Clock} from '#server/platform/clock.ts';
import {createClock, createRandom, createTimers} from '#server/platform/real/clock.ts';
import {
  type BatchHandler,
  createHttpServer,
  type HttpServer,
} from '#server/protocols/http/server.ts';
import {ServerEvents} from '#server/monitoring/server-events.ts';
import {AgentServer, type AgentServerOptions} from '#server/protocols/mcp/agent-server.ts';
import type {HttpOptions} from '#server/protocols/http/context.ts';
import {type ClusterWays, createClusterWays} from '#server/protocols/http/relay/cluster-ways.ts';
import {MemberChanges} from '#server/protocols/http/relay/member-changes.ts';
import {PeerClient} from '#server/protocols/http/relay/peer-client.ts';
import type {SettingKey} from '#server/base/settings.ts';
import type {Administration} from '#server/session/administration.ts';
import type {Security} from '#server/security/security.ts';
import {profilerWorld} from './profiler.ts';
import {ServiceWorld} from './service-world.ts';
import {WordService} from './word-service.ts';

export const rootPassword = 'root:pass:word';

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as JSON; undefined when it is none. */
  readonly json: unknown;
}

export interface Call {
  readonly method?: string;
  /** Written `user:password`; `none` sends nothing; anything with a blank is sent as it is. */
  readonly as?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A text or bytes are sent as they are, anything else as JSON. */
  readonly body?: unknown;
}

export interface HttpWorld {
  readonly port: number;
  readonly service: WordService;
  readonly security: Security;
  /** What the service of words stands on. */
  readonly world: ServiceWorld;
  readonly administration: Administration;
  readonly server: HttpServer;
  readonly agents: AgentServer;
  /** The service of the cluster, on its member; undefined: a server alone. */
  readonly everywhere: ClusterWays | undefined;
  readonly logged: string[];
  isShutDown: () => boolean;
  /** Changes a setting while the server runs. */
  set(key: SettingKey, value: string | number | boolean): void;
  /** Sends a request below `/api/v1`, or to any path that starts with `//`. */
  call(path: string, call?: Call): Promise<HttpAnswer>;
  command(text: string, call?: Call): Promise<HttpAnswer>;
  /** Sends bytes as they are and gives all that came back until the connection ends. */
  raw(text: string): Promise<string>;
}

type MemberParts = Pick<HttpOptions, 'authorities' | 'cluster' | 'replicaHealth' | 'snapshots'> &
  Partial<Pick<HttpOptions, 'clock'>> & {
    /** Whose log it shares; it is closed before that one. Default: it has one of its own. */
    readonly beside?: HttpWorld;
  };

/** Starts a server on a free port. Close it at the end of the test. */
export async function httpWorld(
  settingValues: Readonly<Record<string, string | number | boolean>> = {},
  batch: BatchHandler = async exchange => exchange.answerJson(200, {batch: true}),
  {beside, ...member}: MemberParts = {},
): Promise<HttpWorld> {
  const values = {'svc.server.saltIterations': 1_000, ...settingValues};
  let {settings} = resolveSettings([{name: 'test', values}]);
  const {clock = createClock()} = member;
  const platform = {clock, random: createRandom(), timers: createTimers()};
  const {authorities = () => [], cluster} = member;
  const texts = textsOf(values);
  const serviceWorld = beside?.world ?? (await openWorld(texts, clock));
  const {security} = serviceWorld;
  const real = beside && serviceWorld.another(texts, cluster);
  const service = await WordService.over(real ?? serviceWorld.service);
  let [shutDown, generation] = [false, 0];
  const administration: Administration = {
    ...quietAdministration(platform),
    settings: () => settings,
    setServerSetting: (key, value) => {
      settings = settings.with(key, value, 'command');
    },
    databaseIdentity: name => `${name}-${service.databases.has(name) ? generation : ++generation}`,
    shutdown: () => {
      shutDown = true;
    },
  };
  const logged: string[] = [];
  const logger = {log: (_level: unknown, event: string) => void logged.push(event)};
  const isSecure = (): boolean => settings.get('svc.ssl.enabled');
  const peerClient = new PeerClient({isSecure, authorities, logger});
  const shared = {...platform, settings: () => settings, logger, peerClient, authorities};
  const ways = cluster && createClusterWays({...shared, cluster, service});
  const everywhere = ways?.service ?? service;
  const agents = agentServer({...platform, service: everywhere, administration, logger}, cluster);
  const own = {service, security, administration, peerClient, batch, agents};
  const members = cluster && membersOf(cluster, peerClient, settings);
  const forMember = {...member, members, placement: ways?.placement};
  const server = createHttpServer({...own, ...platform, logger, ...forMember});
  const closeServer = server.close.bind(server);
  let closed: Promise<void> | undefined;
  const closeWorld = (): Promise<void> => {
    ways?.channel.close();
    return real === undefined ? serviceWorld.close() : real.close();
  };
  server.close = graceMs => (closed ??= closeServer(graceMs).then(closeWorld));
  const port = await server.listen('127.0.0.1', {from: 0, to: 0});
  const call = (path: string, options: Call = {}): Promise<HttpAnswer> =>
    send(
      `http://127.0.0.1:${port}${path.startsWith('//') ? path.slice(1) : `/api/v1${path}`}`,
      options,
    );
  return {
    port,
    service,
    security,
    server,
    agents,
    logged,
    isShutDown: () => shutDown,
    set: (key, value) => administration.setServerSetting(key, String(value)),
    call,
    command: (text, options = {}) => call('/server', {body: {command: text}, ...options}),
    everywhere: ways,
    world: serviceWorld,
    administration,
    raw: text => exchangeRaw(port, text),
  };
}

function textsOf(values: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, String(value)]));
}

function membersOf(cluster: Cluster, peerClient: PeerClient, settings: Settings): MemberChanges {
  const peerAtEntry = (entry: string): AddedPeer => peerAt(settings, entry);
  const replicaStatus = statusesOf(undefined);
  return new MemberChanges({cluster, peerClient, replicaStatus, peerAt: peerAtEntry});
}

async function openWorld(
  settings: Readonly<Record<string, string>>,
  clock: Clock,
): Promise<ServiceWorld> {
  const world = await ServiceWorld.open(settings, {clock});
  await world.security.ensureRoot(rootPassword);
  await world.security.addVerifier('root', rootPassword);
  const anna = {name: 'anna', password: 'anna-pass', databases: {db: ['admin']}};
  await world.security.createUser(anna);
  return world;
}

/** Administration of a server about which there is nothing to say. */
function quietAdministration(
  platform: Parameters<typeof profilerWorld>[0],
): Omit<Administration, 'settings' | 'setServerSetting' | 'databaseIdentity' | 'shutdown'> {
  const events = new ServerEvents(() => 0);
  return {
    identity: {serverName: 'svc_0', version: '1.0', instanceId: 'i', languages: ['sql']},
    profiler: profilerWorld(platform).profiler,
    setDatabaseSetting: async () => {},
    figures: () => ({}),
    disk: () => ({}),
    metrics: () => ({}),
    events: file => (file === undefined ? events.list() : events.read(file)),
    eventFiles: () => [],
    fencedDatabases: () => [],
  };
}

/** An agent tool server whose configuration lies in memory. */
function agentServer(
  parts: Omit<AgentServerOptions, 'cluster' | 'store' | 'ownHosts'>,
  cluster: AgentServerOptions['cluster'],
): AgentServer {
  let document: Uint8Array | undefined;
  const store = {
    read: () => document,
    write: async (bytes: Uint8Array) => {
      document = bytes;
    },
  };
  return new AgentServer({...parts, cluster, store, ownHosts: []});
}

async function send(url: string, call: Call): Promise<HttpAnswer> {
  const {as = `root:${rootPassword}`, body, headers = {}} = call;
  const authorization = as.includes(' ') ? as : `Basic ${Buffer.from(as).toString('base64')}`;
  const bytes = typeof body === 'string' || body instanceof Uint8Array;
  const response = await fetch(url, {
    method: call.method ?? (body === undefined ? 'GET' : 'POST'),
    headers: {...(as === 'none' ? {} : {authorization}), ...headers},
    ...(body === undefined ? {} : {body: bytes ? (body as string) : JSON.stringify(body)}),
  });
  const text = await response.text();
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    json = undefined;
  }
  return {status: response.status, headers: response.headers, text, json};
}

function exchangeRaw(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let received = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(text));
    socket.on('data', data => {
      received += data;
    });
    socket.on('close', () => resolve(received));
    socket.on('error', reject);
  });
}
