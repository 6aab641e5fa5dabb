/** SQL and Cypher are two spellings of one algebra: what both can say, both answer alike. */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {graph, queryPairs} from './query-pairs.ts';
import {ServiceWorld} from './service-world.ts';

const count = 300;

let world: ServiceWorld;
before(async () => {
  world = await ServiceWorld.open();
});
after(() => world.close());

test(`${count} questions have one answer in SQL and in Cypher`, async t => {
  const database = await world.database([]);
  for (const text of graph) await database.run(text, {language: 'cypher'});
  const kindsWithRows = new Set<string>();
  let rowCount = 0;
  for (const {kind, sql, cypher, ordered} of queryPairs(20_261_121, count)) {
    const texts = `${kind}\nSQL: ${sql}\nCypher: ${cypher}`;
    const answers = await Promise.all([
      database.run(sql),
      database.run(cypher, {language: 'cypher'}),
    ]).catch((error: unknown) => assert.fail(`${texts}\n${String(error)}`));
    const [fromSql, fromCypher] = answers.map(rows => {
      const lines = rows.map(row => JSON.stringify(row));
      return ordered ? lines : lines.sort();
    });
    assert.deepEqual(fromCypher, fromSql, texts);
    rowCount += fromSql?.length ?? 0;
    if (rowCount > 0) kindsWithRows.add(kind);
  }
  t.diagnostic(`${rowCount} rows`);
  assert.equal(new Set(queryPairs(20_261_121, count).map(pair => pair.kind)).size, 12);
});
