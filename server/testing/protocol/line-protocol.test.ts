/** What a protocol gets from the service it stands on, shown by the smallest one there can be. */
import assert from 'node:assert/strict';
import {once} from 'node:events';
import {type AddressInfo, connect, type Socket} from 'node:net';
import {createInterface} from 'node:readline';
import {test} from 'node:test';
import {resolveSettings} from '#server/base/setting-values.ts';
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
import {closing} from '../closing.ts';
import {eventually} from '../time/eventually.ts';
import {httpWorld, rootPassword} from '../worlds/http-world.ts';
import {profilerWorld} from '../worlds/profiler.ts';
import {ServiceWorld} from '../worlds/service-world.ts';
import {lineProtocol} from './line-protocol.ts';

type Fields = Readonly<Record<string, unknown>>;

class LineClient {
  readonly #socket: Socket;
  readonly #lines: AsyncIterator<string>;
  readonly #events: Fields[] = [];
  #id = 0;

  constructor(port: number) {
    this.#socket = connect(port, '127.0.0.1');
    this.#lines = createInterface({input: this.#socket})[Symbol.asyncIterator]();
  }

  close(): void {
    this.#socket.destroy();
  }

  async ask(what: string, fields: Fields = {}): Promise<Fields> {
    const id = String(++this.#id);
    this.#socket.write(`${JSON.stringify({id, do: what, database: 'db1', ...fields})}\n`);
    for (;;) {
      const answer = await this.#read();
      if (answer['id'] === id) return {...answer, id: undefined};
      this.#events.push(answer);
    }
  }

  async event(): Promise<Fields> {
    return this.#events.shift() ?? this.#read();
  }

  async #read(): Promise<Fields> {
    const {value} = await this.#lines.next();
    return JSON.parse(String(value)) as Fields;
  }
}

interface LineWorld {
  /** Where what a client opened is counted. */
  readonly load: () => {readonly transactionsOpen: number; readonly queriesRunning: number};
  readonly client: () => LineClient;
}

const platform = {
  clock: createClock(),
  timers: createTimers(),
  random: createRandom(),
  logger: {log: () => {}},
};
const schema = ['CREATE VERTEX TYPE Person', 'CREATE PROPERTY Person.n INTEGER'];
const settings = {'svc.server.saltIterations': '1000'};

async function listening(parts: Parameters<typeof lineProtocol>[0]): Promise<() => LineClient> {
  const server = closing(lineProtocol(parts));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const {port} = server.address() as AddressInfo;
  return () => closing(new LineClient(port));
}

async function singleServer(): Promise<LineWorld> {
  const world = closing(await ServiceWorld.open(settings));
  await world.database(schema);
  const {service, security, engine} = world;
  await security.ensureRoot(rootPassword);
  const administration = new ServerAdministration({
    ...platform,
    engine,
    events: new ServerEvents(() => 0),
    health: new HealthMonitor({clock: platform.clock, isEnabled: () => false, warn: () => {}}),
    runtime: new RuntimeWatch(platform.timers, createMachine()),
    makeDump: figures => new MetricsDump({...platform, figures}),
    makeProfiler: () => profilerWorld(platform).profiler,
    settings: resolveSettings([]).settings,
    shutdown: () => {},
  });
  const client = await listening({...platform, service, security, administration});
  return {client, load: () => service.load};
}

/** A member that does not lead, in front of the same store as the one that does. */
async function follower(): Promise<LineWorld> {
  const leading = new KnownCluster();
  leading.isLeader = true;
  const leader = await httpWorld({}, undefined, {cluster: leading});
  closing({close: () => leader.server.close(0)});
  const {security, world} = leader;
  // What is written there is here at once, whatever index it has.
  leader.service.appliedIndex = 0;
  await world.database(schema);
  const cluster = new KnownCluster();
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
  const {service, commands} = ways;
  const {administration} = leader;
  const client = await listening({...platform, service, security, administration, commands});
  return {client, load: () => world.service.load};
}

const login = {user: 'root', password: rootPassword};
const places = {'a single server': singleServer, 'a follower': follower};

for (const [place, open] of Object.entries(places)) {
  test(`all that a protocol needs is there at ${place}`, async () => {
    const {client} = await open();
    const one = client();
    assert.equal((await one.ask('run', {text: 'SELECT 1'}))['refused'], 'security.unauthenticated');
    const wrong = await one.ask('login', {...login, password: 'wrong-password'});
    assert.equal(wrong['refused'], 'security.unauthenticated');
    assert.equal((await one.ask('login', login))['done'], true);

    const text = 'SELECT n FROM Person WHERE n < :top ORDER BY n';
    const known = {columns: {n: 'INTEGER'}, parameters: {top: 'INTEGER'}};
    assert.deepEqual(await one.ask('prepare', {text}), {id: undefined, ...known});
    const records = Array.from({length: 5}, (_one, n) => ({n}));
    assert.equal((await one.ask('load', {type: 'Person', records}))['loaded'], 5);
    const run = await one.ask('run', {text, values: {top: 4}});
    assert.deepEqual(run['columns'], ['n']);
    const page = {cursor: '6', rows: 3};
    assert.deepEqual((await one.ask('next', page))['rows'], [[0], [1], [2]]);
    assert.deepEqual((await one.ask('next', page))['rows'], [[3]]);

    await one.ask('subscribe');
    const made = await one.ask('insert', {type: 'Person', values: {n: 9}});
    const {'@rid': rid, n} = made['record'] as Fields;
    assert.equal(n, 9);
    assert.deepEqual(await one.event(), {event: 'create', type: 'Person'});
    assert.equal((await one.ask('delete', {rid}))['deleted'], true);
    assert.deepEqual(await one.event(), {event: 'delete', type: 'Person'});

    assert.match(String((await one.ask('list databases'))['answer']), /db1/);
    await one.ask('create user {"name": "lina", "password": "lina-password"}');
    const lina = client();
    await lina.ask('login', {user: 'lina', password: 'lina-password'});
    assert.equal((await lina.ask('list databases'))['answer'], '[]');
    assert.equal((await lina.ask('drop database db1'))['refused'], 'security.root-only');
    assert.equal((await lina.ask('run', {text}))['refused'], 'security.denied');
  });

  test(`a client of ${place} that goes leaves nothing behind`, async () => {
    const {load, client} = await open();
    const one = client();
    await one.ask('login', login);
    const {transaction} = await one.ask('begin');
    await one.ask('insert', {type: 'Person', values: {n: 1}, transaction});
    await one.ask('subscribe');
    await one.ask('run', {text: 'UNWIND range(1, 5000000) AS n RETURN n'});
    one.close();
    await eventually('its transaction and statements end', () => {
      const {transactionsOpen, queriesRunning} = load();
      return transactionsOpen === 0 && queriesRunning === 0;
    });
    const next = client();
    await next.ask('login', login);
    await next.ask('run', {text: 'SELECT count(*) AS c FROM Person'});
    assert.deepEqual((await next.ask('next', {cursor: '2', rows: 1}))['rows'], [[0]]);
  });
}
