/** SQL and Cypher are two spellings of one algebra: what both can say, both answer alike. */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {ServiceWorld} from '../worlds/service-world.ts';
import {graph, queryPairs} from './query-pairs.ts';

const count = 300;

let world: ServiceWorld;
before(async () => {
  world = await ServiceWorld.open();
});
after(() => world.close());

test(`${count} questions have one answer in SQL and in Cypher`, async t => {
  const database = await world.database([]);
  for (const text of graph) await database.run(text, {language: 'cypher'});
  const rowsOfKind = new Map<string, number>();
  for (const {kind, sql, cypher, ordered} of queryPairs(20_261_121, count)) {
    const texts = `${kind}\nSQL: ${sql}\nCypher: ${cypher}`;
    const answer = async (text: string, language: string): Promise<readonly string[]> => {
      const rows = await database.run(text, {language});
      const lines = rows.map(row => JSON.stringify(row));
      return ordered ? lines : lines.sort();
    };
    const fromSql = await answer(sql, 'sql');
    assert.deepEqual(await answer(cypher, 'cypher'), fromSql, texts);
    rowsOfKind.set(kind, (rowsOfKind.get(kind) ?? 0) + fromSql.length);
  }
  for (const [kind, rows] of rowsOfKind) {
    t.diagnostic(`${kind}: ${rows} rows`);
    assert.ok(rows > 0, `no question of the kind ${kind} has an answer`);
  }
});
