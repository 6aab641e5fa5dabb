/**
 * Archives made beside sixteen writers are of one moment: a transaction is in one with everything
 * it changed or not at all, and what was acknowledged before the backup was asked for is in it.
 *
 * Each writer makes a record and counts it, and moves an amount between two accounts, in one
 * transaction. In an archive of one moment every count is exact, no number is left out, and the sum
 * of all accounts is what it was.
 */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import type {Client, Row} from '#server/client/client.ts';
import {ServerError} from '#server/client/server-error.ts';
import {eventually} from '#server/testing/time/eventually.ts';
import {freePort} from '#server/testing/worlds/free-port.ts';
import {
  type ServerProcess,
  startServer,
  temporaryRoot,
} from '#server/testing/worlds/server-process.ts';

const writers = 16;
const accounts = 8;
const opening = 1_000;
let server: ServerProcess;
let client: Client;

before(async () => {
  server = await startServer({root: temporaryRoot('point-in-time'), port: await freePort()});
  client = server.client();
  await client.createDatabase('bank');
  for (const statement of [
    'CREATE DOCUMENT TYPE Item',
    'CREATE DOCUMENT TYPE Counter',
    'CREATE DOCUMENT TYPE Account',
    'CREATE PROPERTY Counter.w INTEGER',
    'CREATE PROPERTY Account.id INTEGER',
    'CREATE INDEX ON Counter (w) UNIQUE',
    'CREATE INDEX ON Account (id) UNIQUE',
    ...Array.from({length: writers}, (_, w) => `INSERT INTO Counter SET w = ${w}, n = 0`),
    ...Array.from(
      {length: accounts},
      (_, id) => `INSERT INTO Account SET id = ${id}, balance = ${opening}`,
    ),
  ]) {
    await client.command('bank', statement);
  }
});

after(async () => {
  client.close();
  await server.dispose();
});

/** Transactions that were acknowledged, by writer. */
const acknowledged = new Array<number>(writers).fill(0);
let isOver = false;

async function write(w: number): Promise<void> {
  while (!isOver) {
    const from = (w + (acknowledged[w] ?? 0)) % accounts;
    const to = (from + 1 + (w % (accounts - 1))) % accounts;
    try {
      await client.command(
        'bank',
        'BEGIN; INSERT INTO Item SET w = :w, text = :text; ' +
          'UPDATE Counter SET n = n + 1 WHERE w = :w; ' +
          'UPDATE Account SET balance = balance - 1 WHERE id = :from; ' +
          'UPDATE Account SET balance = balance + 1 WHERE id = :to; COMMIT RETRY 100',
        {language: 'sqlscript', params: {w, from, to, text: 'x'.repeat(500)}},
      );
      acknowledged[w] = (acknowledged[w] ?? 0) + 1;
    } catch (error) {
      // Accounts are few: who was overtaken too often tries again.
      if (!(error instanceof ServerError) || error.status !== 409) throw error;
    }
  }
}

async function rows(database: string, statement: string): Promise<readonly Row[]> {
  return (await client.query(database, statement)).result;
}

/** How many transactions of each writer a database holds; fails where it is of no one moment. */
async function countsIn(database: string): Promise<readonly number[]> {
  const counters = await rows(database, 'SELECT w, n FROM Counter ORDER BY w');
  const items = await rows(database, 'SELECT w, count(*) AS n FROM Item GROUP BY w ORDER BY w');
  const counts = counters.map(({n}) => Number(n));
  const made = new Map(items.map(({w, n}) => [Number(w), Number(n)]));
  assert.deepEqual(
    counts,
    counts.map((_, w) => made.get(w) ?? 0),
  );
  const [total] = await rows(database, 'SELECT sum(balance) AS total FROM Account');
  assert.equal(Number(total?.['total']), accounts * opening);
  const [checked] = (await client.command(database, 'CHECK DATABASE')).result;
  assert.equal(checked?.['totalErrors'], 0);
  return counts;
}

test('every archive is of one moment', {timeout: 240_000}, async () => {
  const writing = Promise.all(Array.from({length: writers}, (_, w) => write(w)));
  writing.catch(() => {});
  const made: {readonly file: string; readonly least: number[]; readonly most: number[]}[] = [];
  try {
    await eventually('all to write', () => acknowledged.every(count => count > 2));
    for (const compressionLevel of [0, 1, 6]) {
      const least = [...acknowledged];
      const {fileName} = await client.serverCommand('trigger backup bank', {
        compressionLevel,
        // So that much is written meanwhile.
        maxMBPerSecond: 1,
      });
      // One more may be under way, or not yet told.
      made.push({file: String(fileName), least, most: acknowledged.map(count => count + 1)});
    }
  } finally {
    isOver = true;
    await writing;
  }
  let before: readonly number[] = [];
  for (const [at, {file, least, most}] of made.entries()) {
    await client.serverCommand(`restore backup bank ${file} as copy${at}`);
    const counts = await countsIn(`copy${at}`);
    for (const [w, count] of counts.entries()) {
      assert.ok(
        count >= (least[w] ?? 0) && count <= (most[w] ?? 0),
        `${file}, writer ${w}: ${count}`,
      );
      assert.ok(count >= (before[w] ?? 0));
    }
    before = counts;
  }
  assert.deepEqual(await countsIn('bank'), acknowledged);
});
