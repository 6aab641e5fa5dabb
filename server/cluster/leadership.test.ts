/** What a server does when it begins to lead its cluster, and when it stops. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {Refusal} from '#server/base/errors.ts';
import {ManualTimers} from '#server/testing/time/manual-timers.ts';
import {KnownCluster} from '#server/testing/cluster/cluster-of-two.ts';
import {root, ServiceWorld} from '#server/testing/worlds/service-world.ts';
import {statementRequest} from '#server/session/statement-request.ts';

interface Member {
  readonly world: ServiceWorld;
  readonly timers: ManualTimers;
  lead(leads: boolean): void;
}

async function member(): Promise<Member> {
  const cluster = new KnownCluster();
  cluster.isLeader = true;
  const timers = new ManualTimers();
  const world = await ServiceWorld.open({}, {cluster, timers});
  const lead = (leads: boolean): void => {
    cluster.isLeader = leads;
    cluster.changed();
  };
  return {world, timers, lead};
}

test('transactions end with the leadership, and their id says why', async () => {
  const {world, lead} = await member();
  try {
    const database = await world.database(['CREATE DOCUMENT TYPE Item']);
    const id = await world.service.begin(root, database.name);
    await database.run('INSERT INTO Item SET n = 1', {transactionId: id});
    lead(true);
    await database.run('INSERT INTO Item SET n = 2', {transactionId: id});
    lead(false);
    await assert.rejects(
      world.service.commit(root, database.name, id, undefined),
      (error: unknown) =>
        error instanceof Refusal &&
        error.code === 'transaction.expired' &&
        error.message.includes('stopped leading'),
    );
    assert.deepEqual(await database.run('SELECT FROM Item'), []);
  } finally {
    await world.close();
  }
});

test('a replica refreshes no view by itself, who begins to lead all of them', async () => {
  const {world, timers, lead} = await member();
  try {
    const count = 'AS SELECT count(*) AS n FROM Item REFRESH';
    const database = await world.database([
      'CREATE DOCUMENT TYPE Item',
      `CREATE MATERIALIZED VIEW Always ${count} INCREMENTAL`,
      `CREATE MATERIALIZED VIEW Often ${count} EVERY 1 SECOND`,
    ]);
    const shown = async (view: string): Promise<readonly unknown[]> =>
      (await database.run(`SELECT n FROM ${view}`)).map(row => row['n']);
    lead(false);
    // As an entry of another leader would arrive.
    await database.run('INSERT INTO Item SET n = 1');
    timers.advance(1_500);
    await new Promise(turn => setImmediate(turn));
    assert.deepEqual([await shown('Always'), await shown('Often')], [[0], [0]]);
    lead(true);
    for (let turn = 0; turn < 500 && (await shown('Always'))[0] === 0; turn++) {
      await new Promise(next => setImmediate(next));
    }
    assert.deepEqual(await shown('Always'), [1]);
  } finally {
    await world.close();
  }
});

test('statements that may write are for the leader', async () => {
  const {world} = await member();
  try {
    const database = await world.database([
      'CREATE DOCUMENT TYPE Item',
      'DEFINE FUNCTION one.make "INSERT INTO Item SET n = 1" LANGUAGE sql',
      'DEFINE FUNCTION one.look "SELECT count(*) AS n FROM Item" LANGUAGE sql',
    ]);
    const needsLeader = (text: string, language = 'sql'): boolean | Promise<boolean> =>
      world.service.needsLeader(root, {...statementRequest(database.name, text), language});
    for (const [expected, text, language] of [
      [false, 'SELECT FROM Item'],
      [false, 'EXPLAIN INSERT INTO Item SET n = 1'],
      [true, 'PROFILE INSERT INTO Item SET n = 1'],
      [true, 'INSERT INTO Item SET n = 1'],
      [true, 'CREATE DOCUMENT TYPE Other'],
      [true, 'SELECT one.make()'],
      [false, 'SELECT one.look()'],
      [true, 'SELECT 1', 'sqlscript'],
      [false, 'MATCH (n) RETURN n', 'cypher'],
      [true, 'CREATE (n:Person) RETURN n', 'cypher'],
    ] as const) {
      assert.equal(needsLeader(text, language), expected, text);
    }
    // Long ones are prepared in turns.
    const many = Array.from({length: 20_000}, (_, at) => at).join();
    assert.equal(await needsLeader(`SELECT FROM Item WHERE n IN [${many}]`), false);
    assert.equal(await needsLeader(`DELETE FROM Item WHERE n IN [${many}]`), true);
    await assert.rejects(async () => needsLeader(`SELECT FROM Nothing WHERE n IN [${many}]`), {
      code: 'schema.unknown-type',
    });
  } finally {
    await world.close();
  }
});
