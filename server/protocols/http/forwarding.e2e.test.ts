/**
 * Three real servers: whichever is asked, the answer is that of the cluster; and what a client is
 * told when the leader is killed or falls silent in the middle of its requests.
 */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import type {Client} from '#server/client/client.ts';
import {ServerError, UnknownOutcome} from '#server/client/server-error.ts';
import {type Member, untilLed} from '#server/testing/cluster/cluster-system.ts';
import {
  calmElections,
  startSvcCluster,
  type SvcCluster,
} from '#server/testing/cluster/svc-cluster.ts';
import {eventually} from '#server/testing/time/eventually.ts';

let cluster: SvcCluster;

before(async () => {
  cluster = await startSvcCluster({
    size: 3,
    settings: calmElections,
  });
});
after(() => cluster.dispose());

function replicasOf(leader: Member): readonly Client[] {
  return cluster.members.filter(member => member !== leader).map(cluster.clientOf);
}

async function count(client: Client, where: string): Promise<unknown> {
  const text = `SELECT count(*) AS n FROM Item WHERE ${where}`;
  return (await client.query('shop', text)).result[0]?.['n'];
}

test('every member does everything, and its clients read what they wrote', async () => {
  const [first, second, third] = cluster.members.map(cluster.clientOf) as [Client, Client, Client];
  await first.createDatabase('shop');
  for (const client of [first, second, third]) {
    assert.ok((await client.databases()).includes('shop') || client !== first);
  }
  await second.command('shop', 'CREATE VERTEX TYPE Item');
  await second.command('shop', 'CREATE PROPERTY Item.sku STRING');
  await third.command('shop', 'CREATE INDEX ON Item (sku) UNIQUE');
  for (const [place, client] of [first, second, third].entries()) {
    await client.command('shop', 'INSERT INTO Item SET sku = :sku', {params: {sku: `a${place}`}});
    assert.equal(await count(client, `sku = 'a${place}'`), 1);
    await assert.rejects(
      client.command('shop', 'INSERT INTO Item SET sku = :sku', {params: {sku: `a${place}`}}),
      (error: unknown) =>
        error instanceof ServerError &&
        error.status === 409 &&
        error.exceptionName === 'DuplicatedKeyException' &&
        error.exceptionArgs?.startsWith('Item[sku]|') === true,
    );
    const session = await client.begin('shop');
    await session.command('shop', `INSERT INTO Item SET sku = 'session ${place}'`);
    assert.equal(await count(client, `sku = 'session ${place}'`), 0);
    await session.commit();
    assert.equal(await count(client, `sku = 'session ${place}'`), 1);
    const lines = Array.from(
      {length: 500},
      (_, line) => `{"@type":"v","@class":"Item","sku":"b${place}-${line}"}\n`,
    );
    const told: unknown[] = [];
    const loaded = await client.batch('shop', lines.join(''), {
      query: {vertexBatchSize: 100},
      onProgress: counts => told.push(counts.verticesCreated),
    });
    assert.equal(loaded.verticesCreated, 500);
    assert.ok(told.length > 0);
    assert.equal(await count(client, `sku LIKE 'b${place}-%'`), 500);
  }
});

test('a user who is made at one member is known at all, and forgotten by all', async () => {
  const [first, second] = cluster.members.map(cluster.clientOf) as [Client, Client];
  const user = {name: 'clerk', password: 'clerk-password', databases: {shop: ['admin']}};
  await second.serverCommand(`create user ${JSON.stringify(user)}`);
  const asClerk = async ({url}: Member): Promise<number> => {
    const authorization = `Basic ${Buffer.from('clerk:clerk-password').toString('base64')}`;
    const body = JSON.stringify({language: 'sql', command: 'INSERT INTO Item SET n = 1'});
    const headers = {authorization};
    return (await fetch(`${url}/api/v1/command/shop`, {method: 'POST', headers, body})).status;
  };
  for (const member of cluster.members) {
    // A member learns of it a moment after it was told to be done elsewhere.
    await eventually('the user is known', async () => (await asClerk(member)) !== 401);
    assert.equal(await asClerk(member), 200);
  }
  await first.serverCommand('drop user clerk');
  for (const member of cluster.members) {
    await eventually('the user is forgotten', async () => (await asClerk(member)) !== 200);
    assert.equal(await asClerk(member), 401);
  }
});

/** Also from one that was away. */
async function everything(client: Client): Promise<readonly unknown[]> {
  const answer = await client.send({
    method: 'POST',
    path: '/api/v1/query/shop',
    headers: {'Content-Type': 'application/json', 'X-Svc-Read-Consistency': 'linearizable'},
    body: JSON.stringify({
      language: 'sql',
      command: 'SELECT sku FROM Item WHERE sku IS NOT NULL',
      limit: -1,
    }),
    again: true,
  });
  assert.equal(answer.status, 200, answer.text);
  const {result} = JSON.parse(answer.text) as {readonly result: readonly {sku?: string}[]};
  return result.map(({sku}) => sku);
}

/** Writes through the replicas until told to stop; every row has a name of its own. */
class Writers {
  readonly written: string[] = [];
  readonly refused: string[] = [];
  #stops = false;
  readonly #ends: Promise<void>;

  constructor(replicas: readonly Client[], name: string) {
    this.#ends = Promise.all(
      [0, 1, 2, 3].map(place => this.#write(replicas[place % 2] as Client, `${name}${place}`)),
    ).then(() => undefined);
  }

  async #write(client: Client, name: string): Promise<void> {
    for (let number = 0; !this.#stops; number++) {
      const sku = `${name}-${number}`;
      try {
        await client.command('shop', 'INSERT INTO Item SET sku = :sku', {
          params: {sku},
          requestId: sku,
        });
        this.written.push(sku);
      } catch (error) {
        const isDone =
          error instanceof ServerError &&
          error.exceptionName === 'TransactionCommittedRemotelyException';
        if (isDone) this.written.push(sku);
        else if (error instanceof ServerError || error instanceof UnknownOutcome) {
          this.refused.push(error.message);
        } else throw error;
      }
    }
  }

  async until(rows: number): Promise<void> {
    const wanted = this.written.length + rows;
    await eventually(`${wanted} rows are written`, () => this.written.length >= wanted);
  }

  async stop(): Promise<void> {
    this.#stops = true;
    await this.#ends;
  }
}

for (const [how, end] of [
  ['is killed', (leader: Member) => leader.process.kill()],
  ['falls silent', async (leader: Member) => leader.process.freeze()],
] as const) {
  test(`when the leader ${how}, writes with ids go on, each once, and sessions end`, async () => {
    const leader = await untilLed(cluster);
    const replicas = replicasOf(leader);
    const [replica] = replicas as [Client];
    const session = await replica.begin('shop');
    await session.command('shop', "INSERT INTO Item SET sku = 'never'");
    const writers = new Writers(replicas, how);
    await writers.until(20);
    await end(leader);
    await writers.until(20);
    await assert.rejects(
      session.commit(),
      (error: unknown) => error instanceof ServerError && error.status === 404,
    );
    await writers.stop();
    assert.deepEqual(writers.refused, []);

    if (leader.process.isRunning) leader.process.thaw();
    else leader.process.start();
    await untilLed(cluster);
    for (const member of cluster.members) {
      const stored = await everything(cluster.clientOf(member));
      const found = writers.written.filter(sku => stored.includes(sku));
      assert.equal(found.length, writers.written.length);
      assert.equal(new Set(stored).size, stored.length);
      assert.ok(!stored.includes('never'));
    }
  });
}
