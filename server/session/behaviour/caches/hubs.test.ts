/** A vertex with very many edges: counted, shown, refused and deleted without standing still. */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {Refusal} from '#server/base/errors.ts';
import {sliceMs} from '#server/execution/budget.ts';
import {SteppingClock} from '#server/testing/time/stepping-clock.ts';
import {WatchedTimers} from '#server/testing/time/watched-timers.ts';
import {root, ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';

const edges = 30_000;
const clock = new SteppingClock();
const timers = new WatchedTimers();

let world: ServiceWorld;
let database: TestDatabase;

before(async () => {
  world = await ServiceWorld.open({}, {writeBytesMax: 2 << 20, clock, timers});
  database = await world.database(['CREATE VERTEX TYPE V', 'CREATE EDGE TYPE E']);
  await ask('CREATE (:V {name: "hub"})');
  for (let made = 0; made < edges; made += 5_000) {
    await ask('MATCH (h:V {name: "hub"}) UNWIND range(1, 5000) AS i CREATE (h)-[:E]->(:V)');
  }
});
after(() => world.close());

async function ask(text: string, language = 'cypher'): Promise<unknown[]> {
  const cursor = await database.service.run(root, {...database.request(text), language});
  const pieces: string[] = [];
  for (let piece = await cursor.next(); piece !== undefined; piece = await cursor.next()) {
    pieces.push(piece.toString());
  }
  cursor.close();
  return JSON.parse(`[${pieces.join('')}]`) as unknown[];
}

test('its edges are counted, and a few of them shown, without a row for each', async () => {
  assert.deepEqual(await ask('MATCH (:V {name: "hub"})-[:E]->() RETURN count(*) AS n'), [
    {n: edges},
  ]);
  assert.deepEqual(await ask("SELECT out('E').size() AS n FROM V WHERE name = 'hub'", 'sql'), [
    {n: edges},
  ]);
  const few = await ask('MATCH (:V {name: "hub"})-[:E]->(v) RETURN id(v) AS id LIMIT 3');
  assert.equal(few.length, 3);
});

test('a delete that is too large is refused in turns, and names the setting', async () => {
  let pauses = 0;
  timers.onPause = () => {
    pauses += 1;
  };
  clock.stepMs = sliceMs;
  await assert.rejects(ask('MATCH (h:V {name: "hub"}) DETACH DELETE h'), (error: unknown) => {
    assert.ok(error instanceof Refusal);
    assert.match(error.message, /svc\.txSizeMax/);
    return error.code === 'transaction.too-large';
  });
  clock.stepMs = 0;
  assert.ok(pauses >= edges, `${pauses} looks at the clock, at least one for each edge`);
  assert.deepEqual(await ask('MATCH (:V {name: "hub"})-[:E]->() RETURN count(*) AS n'), [
    {n: edges},
  ]);
});

test('its edges go some at a time, and then the vertex', async () => {
  await ask("DELETE FROM E WHERE @out.name = 'hub' BATCH 5000", 'sql');
  await ask('MATCH (h:V {name: "hub"}) DETACH DELETE h');
  assert.deepEqual(await ask('MATCH ()-[e:E]->() RETURN count(*) AS n'), [{n: 0}]);
});
