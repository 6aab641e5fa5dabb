/** What a pattern is counted to without making its rows is how many rows it makes. */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';

let world: ServiceWorld;
let database: TestDatabase;

/** Ten messages, some without tags, likes or replies, one with many, one that answers itself. */
before(async () => {
  world = await ServiceWorld.open();
  database = await world.database([
    ...['Message', 'Tag', 'Person'].map(name => `CREATE VERTEX TYPE ${name}`),
    ...['HasTag', 'Likes', 'Answers'].map(name => `CREATE EDGE TYPE ${name}`),
  ]);
  await cypher('UNWIND range(0, 9) AS n CREATE (:Message {n: n}), (:Tag {n: n}), (:Person {n: n})');
  const made = [
    'MATCH (m:Message), (t:Tag) WHERE m.n * t.n % 7 = 3 CREATE (m)-[:HasTag]->(t)',
    'MATCH (m:Message), (p:Person) WHERE m.n = 4 OR m.n > p.n + 5 CREATE (p)-[:Likes]->(m)',
    'MATCH (m:Message), (r:Message) WHERE r.n = m.n + m.n CREATE (r)-[:Answers]->(m)',
  ];
  for (const text of made) await cypher(text);
});
after(() => world.close());

const cypher = (text: string) => database.run(text, {language: 'cypher'});

const patterns = [
  // Stars.
  'MATCH (:Tag)<-[:HasTag]-(m:Message)<-[:Likes]-(:Person), (m)<-[:Answers]-(:Message)',
  'MATCH (:Person)-[:Likes]->(m:Message)-[:HasTag]->(:Tag) WHERE m.n > 4',
  'MATCH (p:Person)-[:Likes]->(m:Message)-[:HasTag]->(:Tag) WHERE p.n + m.n > 6',
  // Optional rays, also of what is not there itself.
  'MATCH (m:Message) OPTIONAL MATCH (m)<-[:Likes]-(:Person) OPTIONAL MATCH (m)-[:HasTag]->(:Tag)',
  'MATCH (m:Message) OPTIONAL MATCH (m)<-[:Likes]-(p:Person) OPTIONAL MATCH (p)-[:Likes]->()',
  'MATCH (m:Message) OPTIONAL MATCH (m)<-[:Answers]-(r:Message) WHERE r.n > 6',
  'MATCH (m:Message) OPTIONAL MATCH (m)-[:Answers]-() MATCH (m)-[:HasTag]->(t)',
  // A loop, and edges that may not be the same.
  'MATCH (m:Message)-[:Answers]-()',
  'MATCH (:Message)-[:Answers]->(m:Message)-[:Answers]->(:Message), (m)<-[:Likes]-(:Person)',
];

for (const pattern of patterns) {
  test(pattern, async () => {
    const rows = await cypher(`${pattern} RETURN m.n AS m`);
    assert.ok(rows.length > 0);
    assert.deepEqual(await cypher(`${pattern} RETURN count(*) AS n`), [{n: rows.length}]);

    const expected = new Map<unknown, number>();
    for (const {m} of rows) expected.set(m, (expected.get(m) ?? 0) + 1);
    const groups = await cypher(`${pattern} RETURN m.n AS m, count(*) AS n`);
    assert.deepEqual(new Map(groups.map(({m, n}) => [m, n])), expected);
  });
}
