/**
 * No statement keeps the thread for long: whoever wants to stop it is heard within 50 ms.
 *
 * Each case runs an operator over much data and is stopped on the way. Measured is the processor
 * time of the longest turn of the event loop, and of several attempts the best one counts: a
 * statement that keeps the thread does so every time, while a cache that others have emptied, or a
 * collection of garbage, makes one turn of one attempt long.
 */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {Refusal} from '#server/base/errors.ts';
import {longestTurn} from '#server/testing/time/longest-turn.ts';
import {root, ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';

const turnMsMax = 50;
/** Turns after which a statement is stopped, unless it has ended. */
const turnsMax = 30;
const attemptsMax = 6;

/** Some hundred microseconds a row. */
const digest = "util.sha512(text.lpad(t, 50000, 'ab')).length()";

const statements: readonly (readonly [language: string, text: string])[] = [
  ['sql', "SELECT sum(n) FROM D WHERE t LIKE '%9%'"],
  ['sql', 'SELECT FROM D ORDER BY t DESC, n'],
  ['sql', 'SELECT FROM D ORDER BY t DESC, n LIMIT 5'],
  ['sql', 'SELECT t, count(*), list(n) FROM D GROUP BY t'],
  ['sql', 'SELECT DISTINCT t, n FROM D'],
  ['sql', 'SELECT expand(list(n)) FROM D'],
  ['sql', 'SELECT n, (SELECT sum(n) FROM D WHERE n < $parent.$current.n) AS s FROM V'],
  ['sql', 'SELECT FROM V WHERE n IN (SELECT n FROM D WHERE n > $parent.$current.n)'],
  ['sql', 'SELECT FROM V ORDER BY (SELECT count(*) FROM D WHERE n > $parent.$current.n)'],
  // Each row takes long.
  ['sql', `SELECT count(*) FROM D WHERE ${digest} > 3`],
  ['sql', `SELECT ${digest} AS s FROM D`],
  ['sql', `SELECT sum(${digest}) FROM D`],
  ['sql', `SELECT FROM D ORDER BY ${digest}`],
  ['sql', 'TRAVERSE both() FROM V'],
  ['sql', 'MATCH {type: V, as: a}-E-{as: b, while: (true), maxDepth: 9} RETURN count(*)'],
  ['sql', 'MATCH {type: V, as: a}, {type: V, as: b}, {type: V, as: c} RETURN count(*)'],
  ['sql', 'UPDATE W SET x = n + 1'],
  ['sql', 'UPDATE W SET x = (SELECT sum(n) FROM D WHERE n < $parent.$current.n)'],
  ['sql', 'UPDATE W SET x = 1, y = (SELECT n FROM D WHERE n > $parent.$current.n) WHERE n < 9'],
  ['sql', 'UPDATE U SET x = (SELECT sum(n) FROM D WHERE t LIKE "%9%") UPSERT WHERE k = 1'],
  ['sql', 'DELETE FROM W WHERE n > 1'],
  ['sql', 'INSERT INTO W FROM SELECT n, t FROM D'],
  ['sql', 'CREATE EDGE E FROM (SELECT FROM V) TO (SELECT FROM V)'],
  ['sqlscript', 'LET $x = 0; WHILE (true) { LET $x = $x + 1; }'],
  ['sqlscript', 'FOREACH ($i IN (SELECT FROM D)) { LET $x = $i; }'],
  ['cypher', 'UNWIND range(1, 100000) AS a UNWIND range(1, 100000) AS b RETURN count(*)'],
  ['cypher', 'UNWIND range(1, 100000) AS a RETURN DISTINCT a % 100 + a'],
  ['cypher', 'MATCH (a:V) RETURN a.n, COUNT { MATCH (a)--(b)--(c)--(d) }'],
  ['cypher', 'MATCH (a:V) RETURN a.n, size([(a)--(b)--(c)--(d) | d.n])'],
  ['cypher', 'MATCH (a:V) WHERE EXISTS { MATCH (a)--(b)--(c)--(d) WHERE d.n < 0 } RETURN a'],
  ['cypher', 'MATCH (a:V) CALL { WITH a MATCH (a)--(b)--(c)--(d) RETURN count(*) AS n } RETURN n'],
  ['cypher', 'MATCH (a)-[*]-(b) RETURN count(*)'],
  ['cypher', 'MATCH p = allShortestPaths((a)-[*]-(b)) RETURN count(p)'],
  ['cypher', 'MATCH (a:V), (b:V) WHERE a.n + b.n = 7 RETURN a, b'],
  ['cypher', 'MATCH (a:V) OPTIONAL MATCH (a)--(b)--(c) RETURN a, count(DISTINCT c)'],
  ['cypher', 'UNWIND range(1, 100000) AS a MERGE (:M {n: a})'],
  ['cypher', 'MATCH (a:V) SET a.x = COUNT { MATCH (a)--(b)--(c)--(d) }'],
];

let world: ServiceWorld;
let database: TestDatabase;

before(async () => {
  world = await ServiceWorld.open();
  const types = ['DOCUMENT TYPE D', 'DOCUMENT TYPE W', 'VERTEX TYPE V', 'EDGE TYPE E'];
  database = await world.database(types.map(type => `CREATE ${type}`));
  await database.run('CREATE DOCUMENT TYPE U');
  await database.run('CREATE PROPERTY U.k LONG');
  await database.run('CREATE INDEX ON U (k) UNIQUE');
  await fill('D');
  await fill('W');
  const vertices = Array.from({length: 300}, (_, at) => `(${at})`);
  await database.run(`INSERT INTO V (n) VALUES ${vertices.join(',')}`);
  await database.run('CREATE EDGE E FROM (SELECT FROM V) TO (SELECT FROM V WHERE n < 20)');
  // What is compiled when it is first used is not what is measured.
  for (const [language, text] of statements) await longestTurnOf(language, text);
  await fill('W');
});

async function fill(type: string): Promise<void> {
  const documents = Array.from({length: 20_000}, (_, at) => `(${at}, 'text ${at}')`);
  await database.run(`INSERT INTO ${type} (n, t) VALUES ${documents.join(',')}`);
}

after(() => world.close());

for (const [language, text] of statements) {
  test(`gives the thread away: ${text}`, async () => {
    const longest: number[] = [];
    while (longest.length < attemptsMax && !longest.some(millis => millis < turnMsMax)) {
      longest.push(await longestTurnOf(language, text));
    }
    const told = longest.map(millis => `${Math.round(millis)} ms`).join(', ');
    assert.ok(Math.min(...longest) < turnMsMax, `in each attempt a turn took long: ${told}`);
  });
}

/** Measures the longest turn of a statement, up to its end or stop. */
async function longestTurnOf(language: string, text: string): Promise<number> {
  const stop = new AbortController();
  const running = run(language, text, stop.signal);
  const longest = await longestTurn(running, turn => {
    if (turn === turnsMax) stop.abort();
  });
  await running;
  return longest;
}

async function run(language: string, text: string, signal: AbortSignal): Promise<void> {
  try {
    const request = {...database.request(text), language, signal};
    const cursor = await database.service.run(root, request);
    while ((await cursor.next()) !== undefined);
    cursor.close();
  } catch (error) {
    assert.ok(error instanceof Refusal && error.code === 'query.terminated', String(error));
  }
}
