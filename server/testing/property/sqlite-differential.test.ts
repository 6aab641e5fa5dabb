/** Questions in the common subset are answered as SQLite answers them. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {SqliteDifferential} from './sqlite-differential.ts';

const count = 900;

test(`${count} questions have one answer here and in SQLite`, async t => {
  const differential = await SqliteDifferential.open(Number(process.env['SEED'] || 20_261_121));
  t.after(() => differential.close());
  while (differential.asked < count) await differential.ask();
  for (const [kind, rows] of differential.rowsOfKind) {
    t.diagnostic(`${kind}: ${rows} rows`);
    assert.ok(rows > 0, `no question of the kind ${kind} has an answer`);
  }
});
