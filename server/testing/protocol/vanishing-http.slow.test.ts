/**
 * Clients of HTTP that vanish in every turn of what they ask for (vanishing.ts): of a server alone,
 * and of a member that has the leader do it. What they had open is given back on both.
 */
import assert from 'node:assert/strict';
import {test, type TestContext} from 'node:test';
import {createClock, createTimers} from '#server/platform/real/clock.ts';
import {createBatchHandler} from '#server/protocols/http/routes/batch.ts';
import type {BatchHandler} from '#server/protocols/http/server.ts';
import {KnownCluster} from '../cluster/cluster-of-two.ts';
import {closing} from '../closing.ts';
import {ByteClient} from '../worlds/byte-client.ts';
import {type HttpWorld, httpWorld, rootPassword} from '../worlds/http-world.ts';
import {noted, type ReadyClient, vanishInTurns} from './vanishing.ts';

interface Request {
  readonly path: string;
  /** Undefined: it is a GET. */
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** It belongs to a transaction that is open. */
  readonly isInside?: boolean;
  /** What is sent behind it. */
  readonly behind?: string;
  /** It is cut short when this has come of its answer, at the latest. */
  readonly isEnough?: (answer: string) => boolean;
}

const cypher = (command: string): object => ({language: 'cypher', command, limit: -1});
const endless = cypher('UNWIND range(1, 3000) AS a UNWIND range(1, 3000) AS n RETURN n');
const rows = cypher('UNWIND range(1, 5000) AS n RETURN n');
const written = cypher('CREATE (i:Item {n: 1}) WITH i UNWIND range(1, 5000) AS n RETURN n');
const isLong = (answer: string): boolean => answer.length > 3_000_000;
const ndjson = {Accept: 'application/x-ndjson'};
const lines = Array.from({length: 1_500}, (_one, n) =>
  JSON.stringify({'@type': 'v', '@class': 'Item', '@id': `p${n}`, n}),
).join('\n');
const call = (name: string, given: object): object => {
  return {jsonrpc: '2.0', id: 1, method: 'tools/call', params: {name, arguments: given}};
};

/** A text frame of a client of `/ws`, masked with zeros. */
function frameOf(text: string): string {
  return `\u0081${String.fromCharCode(0x80 + text.length)}${'\0'.repeat(4)}${text}`;
}

/** The last thing that a client does. */
const requests: Readonly<Record<string, Request>> = {
  query: {path: '/api/v1/query/db', body: rows},
  'query, streamed': {path: '/api/v1/query/db', body: rows, headers: ndjson},
  'query without an end, streamed': {
    path: '/api/v1/query/db',
    body: endless,
    headers: ndjson,
    isEnough: isLong,
  },
  write: {path: '/api/v1/command/db', body: cypher('CREATE (i:Item {n: 1})')},
  'write with many rows': {path: '/api/v1/command/db', body: written},
  begin: {path: '/api/v1/begin/db', body: {}},
  'query in a transaction': {path: '/api/v1/query/db', body: rows, isInside: true},
  'query without an end in a transaction': {
    path: '/api/v1/query/db',
    body: endless,
    headers: ndjson,
    isInside: true,
    isEnough: isLong,
  },
  'write in a transaction': {path: '/api/v1/command/db', body: written, isInside: true},
  commit: {path: '/api/v1/commit/db', body: {}, isInside: true},
  rollback: {path: '/api/v1/rollback/db', body: {}, isInside: true},
  batch: {path: '/api/v1/batch/db', body: lines, headers: {'Content-Type': 'application/x-ndjson'}},
  administrate: {path: '/api/v1/server', body: {command: 'list databases'}},
  subscribe: {
    path: '/ws',
    body: undefined,
    headers: {
      Upgrade: 'websocket',
      Connection: 'Upgrade',
      'Sec-WebSocket-Version': '13',
      'Sec-WebSocket-Key': Buffer.alloc(16).toString('base64'),
    },
    behind: frameOf(JSON.stringify({action: 'subscribe', database: 'db'})),
    isEnough: answer => answer.includes('"result":"ok"'),
  },
  'a tool of an agent': {
    path: '/api/v1/mcp',
    body: call('query', {database: 'db', language: 'sql', query: 'SELECT FROM Item LIMIT 100'}),
  },
  'a tool of an agent that writes': {
    path: '/api/v1/mcp',
    body: call('execute_command', {database: 'db', language: 'sql', command: 'INSERT INTO Item'}),
  },
};

interface Place {
  readonly client: HttpWorld;
  readonly worlds: readonly HttpWorld[];
}

let subscriptionsOpen = 0;
const settings = {'svc.server.httpSessionExpireTimeout': 3, 'svc.ha.quorumTimeout': 100};

async function world(...[batch, member]: [BatchHandler?, Parameters<typeof httpWorld>[2]?]) {
  const opened = await httpWorld(settings, batch, member);
  closing({close: () => opened.server.close(0)});
  const {service} = opened;
  const changes = service.changes.bind(service);
  service.changes = (...given) =>
    noted(changes(...given), change => {
      subscriptionsOpen += change;
    });
  await opened.agents.configure('{"enabled":true,"allowInsert":true}');
  return opened;
}

async function leading(cluster?: KnownCluster): Promise<HttpWorld> {
  const platform = {clock: createClock(), timers: createTimers()};
  const leader: HttpWorld = await world(
    (...given) => createBatchHandler({...platform, loads: leader.world.service.loads})(...given),
    cluster && {cluster},
  );
  const made = await leader.call('/command/db', {body: cypher('CREATE (i:Item {n: 0})')});
  assert.equal(made.status, 200, made.text);
  return leader;
}

const places: Readonly<Record<string, () => Promise<Place>>> = {
  'a single server': async () => {
    const alone = await leading();
    return {client: alone, worlds: [alone]};
  },
  'a follower': async () => {
    const clusters = [new KnownCluster(), new KnownCluster()] as const;
    clusters[0].isLeader = true;
    const leader = await leading(clusters[0]);
    const follower = await world(undefined, {cluster: clusters[1], beside: leader});
    clusters[1].leader = {host: '127.0.0.1', port: leader.port};
    clusters[1].quorumIndex = 0;
    for (const {service} of [leader, follower]) service.appliedIndex = 0;
    return {client: follower, worlds: [leader, follower]};
  },
};

const credentials = Buffer.from(`root:${rootPassword}`).toString('base64');

function textOf({path, body, headers, behind = ''}: Request, session: string | undefined): string {
  const content = typeof body === 'string' ? body : JSON.stringify(body ?? '');
  const fields = {
    Host: 'localhost',
    Authorization: `Basic ${credentials}`,
    'Content-Type': 'application/json',
    ...(session === undefined ? {} : {'svc-session-id': session}),
    ...headers,
  };
  const head = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  const common = ` ${path} HTTP/1.1\r\n${head.join('')}`;
  if (body === undefined) return `GET${common}\r\n${behind}`;
  return `POST${common}Content-Length: ${content.length}\r\n\r\n${content}`;
}

async function ready({client: {port, call: ask}}: Place, request: Request): Promise<ReadyClient> {
  const session = request.isInside
    ? (await ask('/begin/db', {body: {}})).headers.get('svc-session-id')
    : undefined;
  assert.notEqual(session, null);
  const client = closing(new ByteClient(port));
  return {
    send: async () => void (await client.send(textOf(request, session ?? undefined))),
    async answered() {
      const {isEnough} = request;
      if (isEnough !== undefined) {
        await client.received(isEnough);
        assert.ok(!client.isEnded, `${request.path}: ${client.rest().slice(0, 500)}`);
        return;
      }
      const answer = await client.answer();
      assert.match(answer, /^HTTP\/1\.1 20/, `${request.path}: ${answer.slice(0, 500)}`);
    },
    vanish: () => client.socket.resetAndDestroy(),
  };
}

/** What is open on any of the servers; transactions of clients that vanished end in time. */
function openOn({worlds}: Place): object {
  const [{world: first}] = worlds as [HttpWorld];
  const services = worlds.map(({service}) => service);
  const sum = (count: (service: HttpWorld['service']) => number): number =>
    services.reduce((all, service) => all + count(service), 0);
  const {queriesRunning, queriesWaiting, queryMemoryBytes, permitsHeld, loadsRunning} =
    first.service.load;
  return {
    queriesRunning,
    queriesWaiting,
    queryMemoryBytes,
    permitsHeld,
    loadsRunning,
    subscriptionsOpen,
    cursorsOpen: sum(({openCursors}) => openCursors),
    statementsRunning: sum(({running}) => running.size),
    transactions: sum(({open}) => open.size),
  };
}

for (const [name, open] of Object.entries(places)) {
  test(`clients of HTTP of ${name} vanish in every turn`, async (context: TestContext) => {
    const place = await open();
    let count = 0;
    for (const [what, request] of Object.entries(requests)) {
      const {turns, clients} = await vanishInTurns(
        () => ready(place, request),
        () => openOn(place),
      );
      count += clients;
      context.diagnostic(`${what}: ${turns} turns, cut short in ${clients} of them`);
    }
    context.diagnostic(`${count} clients vanished, ${JSON.stringify(openOn(place))} is left`);
  });
}
