/** The small protocol (line-protocol.ts) at a single server and at a member that does not lead. */
import {once} from 'node:events';
import {type AddressInfo, connect, type Socket} from 'node:net';
import {createInterface} from 'node:readline';
import {resolveSettings} from '#server/base/setting-values.ts';
import type {LeaderChannel} from '#server/forwarding/leader-channel.ts';
import {HealthMonitor} from '#server/monitoring/health-monitor.ts';
import {ServerEvents} from '#server/monitoring/server-events.ts';
import {MetricsDump} from '#server/monitoring/metrics-dump.ts';
import {ServerAdministration} from '#server/node/administration.ts';
import {RuntimeWatch} from '#server/node/monitoring/runtime-watch.ts';
import {createClock, createRandom, createTimers} from '#server/platform/real/clock.ts';
import {createMachine} from '#server/platform/real/machine.ts';
import {PeerClient} from '#server/protocols/http/relay/peer-client.ts';
import {createClusterWays} from '#server/protocols/http/relay/cluster-ways.ts';
import {KnownCluster} from '../cluster/cluster-of-two.ts';
import type {Service} from '#server/session/session.ts';
import {closing} from '../closing.ts';
import {httpWorld, rootPassword} from '../worlds/http-world.ts';
import {profilerWorld} from '../worlds/profiler.ts';
import {ServiceWorld} from '../worlds/service-world.ts';
import {lineProtocol} from './line-protocol.ts';
import {noted} from './vanishing.ts';

export type Fields = Readonly<Record<string, unknown>>;

export class LineClient {
  readonly #socket: Socket;
  readonly #lines: AsyncIterator<string>;
  readonly #events: Fields[] = [];
  readonly #serverSocket: (port: number) => Socket | undefined;
  #id = 0;

  /** @param serverSocket - The server's end of the connection from a port. */
  constructor(port: number, serverSocket: (port: number) => Socket | undefined) {
    this.#serverSocket = serverSocket;
    this.#socket = connect(port, '127.0.0.1').on('error', () => {});
    this.#lines = createInterface({input: this.#socket})[Symbol.asyncIterator]();
  }

  close(): void {
    this.#socket.destroy();
  }

  /** The server finds in this turn that the client is gone. */
  vanish(): void {
    this.#serverSocket(this.#socket.localPort ?? 0)?.destroy();
    this.close();
  }

  /** Sends a request whose answer nobody waits for; resolves when it has left. */
  send(what: string, fields: Fields = {}): Promise<void> {
    const id = String(++this.#id);
    const line = `${JSON.stringify({id, do: what, database: 'db1', ...fields})}\n`;
    return new Promise(resolve => this.#socket.write(line, () => resolve()));
  }

  async ask(what: string, fields: Fields = {}): Promise<Fields> {
    void this.send(what, fields);
    return this.answer();
  }

  /** The answer to the last request; events that come before it are kept. */
  async answer(): Promise<Fields> {
    const id = this.lastId;
    for (;;) {
      const answer = await this.#read();
      if (answer['id'] === id) return {...answer, id: undefined};
      this.#events.push(answer);
    }
  }

  /** What the last request was called, and its cursor is. */
  get lastId(): string {
    return String(this.#id);
  }

  async event(): Promise<Fields> {
    return this.#events.shift() ?? this.#read();
  }

  async #read(): Promise<Fields> {
    const {value} = await this.#lines.next();
    return JSON.parse(String(value)) as Fields;
  }
}

export interface LineLoad {
  readonly transactionsOpen: number;
  readonly queriesRunning: number;
  readonly queriesWaiting: number;
  readonly queryMemoryBytes: number;
  readonly permitsHeld: number;
  readonly loadsRunning: number;
}

/** What protocols have from their service and did not give back. */
interface Opened {
  readonly cursorsOpen: number;
  readonly subscriptionsOpen: number;
}

export interface LineWorld {
  /** What clients have open, on this server and where it has things done. */
  readonly load: () => LineLoad & Opened;
  readonly client: () => LineClient;
  /** Kinds of calls that the leader was asked for. */
  readonly forwarded: () => ReadonlySet<string>;
}

const platform = {
  clock: createClock(),
  timers: createTimers(),
  random: createRandom(),
  logger: {log: () => {}},
};
const schema = [
  'CREATE VERTEX TYPE Person',
  'CREATE PROPERTY Person.n INTEGER',
  'CREATE EDGE TYPE Knows',
];
const settings = {'svc.server.saltIterations': '1000', 'svc.ha.quorumTimeout': '100'};

export const login = {user: 'root', password: rootPassword};
export const places = {'a single server': singleServer, 'a follower': follower};

/** The service, with a count of what it has opened for the protocol. */
function counted(real: Service): {readonly service: Service; readonly opened: () => Opened} {
  const open = {rows: 0, changes: 0};
  const service = new Proxy(real, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return (...args: readonly unknown[]): unknown => {
        const answer: unknown = Reflect.apply(value, target, args);
        if (name !== 'rows' && name !== 'changes') return answer;
        return noted(answer as Promise<{close(): void}>, change => {
          open[name] += change;
        });
      };
    },
  });
  return {service, opened: () => ({cursorsOpen: open.rows, subscriptionsOpen: open.changes})};
}

async function listening(parts: Parameters<typeof lineProtocol>[0]) {
  const {service, opened} = counted(parts.service);
  const server = closing(lineProtocol({...parts, service}));
  const sockets = new Map<number, Socket>();
  server.on('connection', socket => {
    const from = socket.remotePort ?? 0;
    sockets.set(from, socket);
    socket.once('close', () => sockets.delete(from));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const {port} = server.address() as AddressInfo;
  const client = (): LineClient => closing(new LineClient(port, from => sockets.get(from)));
  return {client, opened};
}

export async function singleServer(): Promise<LineWorld> {
  const world = closing(await ServiceWorld.open(settings));
  await world.database(schema);
  const {service, security, engine} = world;
  await security.ensureRoot(rootPassword);
  await security.addVerifier('root', rootPassword);
  const administration = new ServerAdministration({
    ...platform,
    engine,
    events: new ServerEvents(() => 0),
    health: new HealthMonitor({
      clock: platform.clock,
      settings: () => resolveSettings([]).settings,
      warn: () => {},
    }),
    runtime: new RuntimeWatch(platform.timers, createMachine()),
    makeDump: figures => new MetricsDump({...platform, figures}),
    makeProfiler: () => profilerWorld(platform).profiler,
    settings: resolveSettings([]).settings,
    shutdown: () => {},
  });
  const {client, opened} = await listening({...platform, service, security, administration});
  const forwarded = (): ReadonlySet<string> => new Set();
  return {client, load: () => ({...sumOf(service.load), ...opened()}), forwarded};
}

/** A member that does not lead, in front of the same store as the one that does. */
export async function follower(): Promise<LineWorld> {
  const leading = new KnownCluster();
  leading.isLeader = true;
  const leader = await httpWorld({}, undefined, {cluster: leading});
  closing({close: () => leader.server.close(0)});
  const {security, world} = leader;
  // What is written there is here at once, whatever index it has.
  leader.service.appliedIndex = 0;
  await world.database(schema);
  const cluster = new KnownCluster();
  cluster.quorumIndex = 0;
  cluster.leader = {host: '127.0.0.1', port: leader.port};
  const own = closing(world.another(settings, cluster));
  const known = resolveSettings([{name: 'test', values: settings}]).settings;
  const peerClient = new PeerClient({isSecure: () => false, authorities: () => [], ...platform});
  const ways = createClusterWays({
    ...platform,
    cluster,
    service: own,
    settings: () => known,
    peerClient: closing(peerClient),
    authorities: () => [],
  });
  closing(ways.channel);
  const forwarded = callsOver(ways.channel);
  const {service, commands} = ways;
  const {administration} = leader;
  const parts = {...platform, service, security, administration, commands};
  const {client, opened} = await listening(parts);
  const load = (): LineLoad & Opened => ({...sumOf(own.load, world.service.load), ...opened()});
  return {client, load, forwarded: () => forwarded};
}

/** Kinds of the calls that go over a channel from now on. */
function callsOver(channel: LeaderChannel): ReadonlySet<string> {
  const kinds = new Set<string>();
  const [ask, open] = [channel.ask.bind(channel), channel.open.bind(channel)];
  const noted = (callIn: Parameters<LeaderChannel['ask']>[0]) => (restMs: number | undefined) => {
    const call = callIn(restMs);
    kinds.add(call.kind);
    return call;
  };
  channel.ask = (callIn, options) => ask(noted(callIn), options);
  channel.open = (callIn, options) => open(noted(callIn), options);
  return kinds;
}

function sumOf(...loads: readonly LineLoad[]): LineLoad {
  const sum = (name: keyof LineLoad): number => loads.reduce((all, load) => all + load[name], 0);
  return {
    transactionsOpen: sum('transactionsOpen'),
    queriesRunning: sum('queriesRunning'),
    queriesWaiting: sum('queriesWaiting'),
    queryMemoryBytes: sum('queryMemoryBytes'),
    permitsHeld: sum('permitsHeld'),
    loadsRunning: sum('loadsRunning'),
  };
}
