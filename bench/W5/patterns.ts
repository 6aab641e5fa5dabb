/**
 * W5: patterns over a network with hubs, in Cypher against the same patterns in SQL: one server,
 * one protocol, the same rows. And the share of the edges that the bidirectional search for a
 * shortest path touches.
 */
import assert from 'node:assert/strict';
import {startSvc} from '../peers/svc.ts';
import {type Measured, measure, prepare, type Target} from '../peers/target.ts';
import {pinned, warmUp} from '../processes.ts';
import type {Report} from '../report.ts';
import {shortestEffort} from './effort.ts';
import {powerLawNetwork} from './network.ts';
import type {BenchOptions} from '../bench-options.ts';

const vertices = 20_000;
const edgesPerVertex = 8;
const seed = 7;
const clients = 4;
const database = 'bench';

interface Pattern {
  readonly name: string;
  readonly sql: string;
  readonly cypher: string;
}

const me = '{type: Person, where: (id = :id)}';

const patterns: readonly Pattern[] = [
  {
    name: 'one hop',
    sql: `MATCH ${me}.out('Knows'){as: f} RETURN f.id AS id`,
    cypher: 'MATCH (:Person {id: $id})-[:Knows]->(f) RETURN f.id AS id',
  },
  {
    name: 'two hops, distinct',
    sql: `SELECT count(*) AS n FROM (
            MATCH ${me}.out('Knows').out('Knows'){as: f} RETURN DISTINCT f)`,
    cypher: 'MATCH (:Person {id: $id})-[:Knows]->()-[:Knows]->(f) RETURN count(DISTINCT f) AS n',
  },
  {
    name: 'two hops, filtered and grouped',
    sql: `SELECT city, count(*) AS n FROM (
            MATCH ${me}.out('Knows').out('Knows'){as: f, where: (age >= 50)}
            RETURN f.city AS city)
          GROUP BY city ORDER BY city`,
    cypher: `MATCH (:Person {id: $id})-[:Knows]->()-[:Knows]->(f) WHERE f.age >= 50
             RETURN f.city AS city, count(*) AS n ORDER BY city`,
  },
  {
    name: 'triangles',
    sql: `MATCH {type: Person, as: a, where: (id = :id)}.out('Knows'){as: b}.out('Knows'){as: c},
            {as: a}.out('Knows'){as: c} RETURN count(*) AS n`,
    cypher: `MATCH (a:Person {id: $id})-[:Knows]->(b)-[:Knows]->(c), (a)-[:Knows]->(c)
             RETURN count(*) AS n`,
  },
  {
    name: 'shortest path',
    sql: `SELECT shortestPath($a, $b, 'BOTH', 'Knows').size() - 1 AS n
          LET $a = (SELECT FROM Person WHERE id = :id), $b = (SELECT FROM Person WHERE id = 17)`,
    cypher: `MATCH (a:Person {id: $id}), (b:Person {id: 17})
             MATCH p = shortestPath((a)-[:Knows*]-(b)) RETURN length(p) AS n`,
  },
];

export async function networkPatterns(report: Report, options: BenchOptions): Promise<void> {
  report.say(`W5: ${vertices} vertices, ${edgesPerVertex} edges each, ${clients} clients`);
  const server = await startSvc();
  try {
    await fill(server);
    for (const pattern of patterns) {
      await compare(server, pattern);
      await rounds(report, options, {server, pattern});
    }
  } finally {
    await server.dispose();
  }
  const {pairs} = shortestEffort(1_000, 10, seed);
  const searched = pairs.reduce((sum, pair) => sum + pair.searched, 0);
  const visited = pairs.reduce((sum, pair) => sum + pair.visited, 0);
  report.add({
    class: 'W5',
    point: 'edges of a shortest path',
    unit: 'edges',
    ours: [searched],
    peer: 'a search of everybody',
    theirs: [visited],
    durability: 'reads',
    gate: {at: 'most', bound: 0.1},
    notes: {pairs: pairs.length},
  });
}

async function fill(server: Target): Promise<void> {
  await prepare(server, database, [
    'CREATE VERTEX TYPE Person',
    'CREATE PROPERTY Person.id LONG',
    'CREATE INDEX ON Person (id) UNIQUE',
    'CREATE EDGE TYPE Knows',
  ]);
  const counts = await server.client.batch(database, lines(), {query: {idMapping: false}});
  assert.equal(counts.verticesCreated, vertices);
}

async function* lines(): AsyncGenerator<string> {
  const linesAtOnce = 1_000;
  let chunk: string[] = [];
  for (const line of allLines()) {
    chunk.push(line);
    if (chunk.length < linesAtOnce) continue;
    yield chunk.join('');
    chunk = [];
  }
  yield chunk.join('');
}

function* allLines(): Generator<string> {
  for (let id = 0; id < vertices; id += 1) {
    const city = `city${id % 7}`;
    const person = {'@type': 'v', '@class': 'Person', '@id': `p${id}`, id, age: id % 90, city};
    yield `${JSON.stringify(person)}\n`;
  }
  for (const [from, to] of powerLawNetwork(vertices, edgesPerVertex, seed).edges) {
    const edge = {'@type': 'e', '@class': 'Knows', '@from': `p${from}`, '@to': `p${to}`};
    yield `${JSON.stringify(edge)}\n`;
  }
}

/** Both languages must give the same rows before either is timed. */
async function compare({client}: Target, {name, sql, cypher}: Pattern): Promise<void> {
  for (let id = 20; id < vertices; id += 997) {
    const rows = async (language: string, statement: string): Promise<string[]> => {
      const {result} = await client.query(database, statement, {language, params: {id}});
      return result.map(row => JSON.stringify(row)).sort();
    };
    assert.deepEqual(await rows('cypher', cypher), await rows('sql', sql), `${name} of ${id}`);
  }
}

async function rounds(
  report: Report,
  {rounds: count, seconds}: BenchOptions,
  {server, pattern}: {readonly server: Target; readonly pattern: Pattern},
): Promise<void> {
  const ask = (language: 'cypher' | 'sql', draw: number): Promise<Measured> => {
    const command = JSON.stringify(pattern[language].replaceAll(/\s+/g, ' '));
    return measure(server, {
      path: `/api/v1/query/${database}`,
      before: `{"language":"${language}","command":${command},"params":{"id":`,
      after: '}}',
      numbers: {kind: 'random', count: vertices, seed: draw},
      clients,
      millis: seconds * 1_000,
    });
  };
  for (const language of ['cypher', 'sql'] as const) {
    await warmUp(() => ask(language, 0), {secondsMin: 4, secondsMax: 12});
  }
  const measured = {cypher: [] as Measured[], sql: [] as Measured[]};
  for (let round = 1; round <= count; round += 1) {
    // Whoever goes first is warmer by nothing: they take turns.
    const order = round % 2 === 0 ? (['sql', 'cypher'] as const) : (['cypher', 'sql'] as const);
    for (const language of order) measured[language].push(await ask(language, round));
  }
  report.add({
    class: 'W5',
    point: pattern.name,
    unit: 'queries/s',
    ours: measured.cypher.map(outcome => outcome.perSecond),
    peer: 'the same in SQL',
    theirs: measured.sql.map(outcome => outcome.perSecond),
    durability: 'reads',
    gate: {at: 'least', bound: 0.95},
    cpuMicrosPerOpOurs: measured.cypher.map(outcome => outcome.cpuMicrosPerOp),
    cpuMicrosPerOpTheirs: measured.sql.map(outcome => outcome.cpuMicrosPerOp),
    notes: {pinned: pinned()},
  });
}
