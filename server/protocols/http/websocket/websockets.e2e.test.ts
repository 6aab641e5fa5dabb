/** Three real servers: each tells the changes of the whole cluster, also across a new leader. */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {closing} from '#server/testing/closing.ts';
import type {Client} from '#server/client/client.ts';
import {untilLed} from '#server/testing/cluster/cluster-system.ts';
import {
  calmElections,
  startSvcCluster,
  type SvcCluster,
} from '#server/testing/cluster/svc-cluster.ts';
import {WebSocketClient} from '#server/testing/worlds/web-socket-client.ts';
import {rootPassword} from '#server/testing/worlds/server-process.ts';

let cluster: SvcCluster;

before(async () => {
  cluster = await startSvcCluster({
    size: 3,
    settings: calmElections,
  });
});
after(() => cluster.dispose());

async function subscriber(url: string, from?: unknown): Promise<WebSocketClient> {
  const client = await WebSocketClient.open(new URL(url).host, `root:${rootPassword}`);
  const answer = await client.ask({
    action: 'subscribe',
    database: 'shop',
    positions: true,
    ...(from === undefined ? {} : {from}),
  });
  assert.equal(answer['result'], 'ok', JSON.stringify(answer));
  return closing(client);
}

interface Told {
  readonly n: number[];
  position: unknown;
}

/** Takes events up to the one of record `last`. */
async function until(client: WebSocketClient, last: number): Promise<Told> {
  const told: Told = {n: [], position: undefined};
  while (told.n.at(-1) !== last) {
    const {record, position} = await client.next();
    told.n.push(Number((record as Readonly<Record<string, unknown>>)['n']));
    told.position = position;
  }
  return told;
}

const upTo = (first: number, last: number): readonly number[] =>
  Array.from({length: last - first + 1}, (_one, at) => first + at);

async function insert(client: Client, first: number, last: number): Promise<void> {
  for (let n = first; n <= last; n++) {
    await client.command('shop', 'INSERT INTO Item SET n = :n', {params: {n}});
  }
}

test('all members tell the same, in one order, and a client may go on with another', async () => {
  const [first] = cluster.members.map(cluster.clientOf) as [Client];
  await first.createDatabase('shop');
  await first.command('shop', 'CREATE DOCUMENT TYPE Item');
  await first.command('shop', 'INSERT INTO Item SET n = 0');
  for (const member of cluster.members) {
    const {status} = await cluster.clientOf(member).send({
      method: 'POST',
      again: true,
      path: '/api/v1/query/shop',
      headers: {'Content-Type': 'application/json', 'X-Svc-Read-Consistency': 'linearizable'},
      body: JSON.stringify({language: 'sql', command: 'SELECT FROM Item'}),
    });
    assert.equal(status, 200);
  }
  const clients = await Promise.all(cluster.members.map(({url}) => subscriber(url)));
  await Promise.all(
    cluster.members.map(async (member, at) =>
      insert(cluster.clientOf(member), 10 * at + 1, 10 * at + 9),
    ),
  );
  await insert(first, 100, 100);
  const told = await Promise.all(clients.map(client => until(client, 100)));
  assert.equal(new Set(told[0]?.n).size, 28);
  for (const one of told) assert.deepEqual(one, told[0]);

  const leader = await untilLed(cluster);
  const others = cluster.members.filter(member => member !== leader);
  const [stays, goes] = others as [(typeof others)[0], (typeof others)[0]];
  const atStays = clients[cluster.members.indexOf(stays)] as WebSocketClient;
  clients[cluster.members.indexOf(goes)]?.close();
  await insert(cluster.clientOf(stays), 101, 110);
  await cluster
    .clientOf(leader)
    .send({method: 'POST', path: '/api/v1/cluster/stepdown', again: false});
  await insert(cluster.clientOf(stays), 111, 120);
  assert.deepEqual((await until(atStays, 120)).n, upTo(101, 120));
  const moved = await subscriber(leader.url, told[0]?.position);
  assert.deepEqual((await until(moved, 120)).n, upTo(101, 120));
});
