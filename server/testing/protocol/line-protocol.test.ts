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
import {KnownCluster} from '../cluster/cluster-of-two.ts';
import {closing} from '../closing.ts';
import {eventually} from '../time/eventually.ts';
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

async function open(cluster?: KnownCluster): Promise<{
  readonly world: ServiceWorld;
  readonly client: () => LineClient;
}> {
  const world = closing(await ServiceWorld.open({'svc.server.saltIterations': '1000'}));
  await world.database(['CREATE VERTEX TYPE Person', 'CREATE PROPERTY Person.n INTEGER']);
  const {service, security, engine} = world;
  await security.ensureRoot('root-password');
  const platform = {clock: createClock(), timers: createTimers(), logger: {log: () => {}}};
  const administration = new ServerAdministration({
    engine,
    events: new ServerEvents(() => 0),
    health: new HealthMonitor({clock: platform.clock, isEnabled: () => false, warn: () => {}}),
    runtime: new RuntimeWatch(platform.timers, createMachine()),
    makeDump: figures => new MetricsDump({...platform, figures}),
    makeProfiler: () => profilerWorld(platform).profiler,
    random: createRandom(),
    settings: resolveSettings([]).settings,
    shutdown: () => {},
  });
  const server = lineProtocol({...platform, service, security, administration, cluster});
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing(server);
  const {port} = server.address() as AddressInfo;
  return {world, client: () => closing(new LineClient(port))};
}

const login = {user: 'root', password: 'root-password'};

test('it authenticates, prepares, pages, writes, loads, subscribes, administrates', async () => {
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
  await one.ask('create user {"name": "anna", "password": "anna-password"}');
  const anna = client();
  await anna.ask('login', {user: 'anna', password: 'anna-password'});
  assert.equal((await anna.ask('list databases'))['answer'], '[]');
  assert.equal((await anna.ask('drop database db1'))['refused'], 'security.root-only');
  assert.equal((await anna.ask('run', {text}))['refused'], 'security.denied');
});

test('a client that goes leaves nothing behind', async () => {
  const {world, client} = await open();
  const one = client();
  await one.ask('login', login);
  const {transaction} = await one.ask('begin');
  await one.ask('insert', {type: 'Person', values: {n: 1}, transaction});
  await one.ask('subscribe');
  await one.ask('run', {text: 'UNWIND range(1, 5000000) AS n RETURN n'});
  one.close();
  await eventually('its transaction and statements end', () => {
    const {transactionsOpen, queriesRunning} = world.service.load;
    return transactionsOpen === 0 && queriesRunning === 0;
  });
  const next = client();
  await next.ask('login', login);
  await next.ask('run', {text: 'SELECT count(*) AS c FROM Person'});
  assert.deepEqual((await next.ask('next', {cursor: '2', rows: 1}))['rows'], [[0]]);
});

test('at a follower it reads, and is told who leads for what it may not do', async () => {
  const cluster = new KnownCluster();
  cluster.leader = {host: 'the-leader', port: 1};
  const {client} = await open(cluster);
  const one = client();
  await one.ask('login', login);
  const reading = await one.ask('run', {text: 'SELECT count(*) AS c FROM Person'});
  assert.deepEqual(reading['columns'], ['c']);
  const writing = await one.ask('run', {text: 'INSERT INTO Person SET n = 1'});
  assert.equal(writing['refused'], 'cluster.not-leader');
});
