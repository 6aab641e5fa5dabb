/**
 * Creates the database, its schema, and loads the social network through the bulk route.
 *
 * Used by the test and, through `run load`, by people. The database must not exist yet:
 * loading twice would be refused by the unique indexes half-way.
 */
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import type {BatchCounts, Client} from '#server/client/client.ts';
import {graphChunks} from './convert.ts';
import type {DataSet} from './data-set.ts';

/** The statements of `schema.sql`, comments left out. */
export function schemaStatements(): string[] {
  const text = readFileSync(join(import.meta.dirname, 'schema.sql'), 'utf8');
  const lines = text.split('\n').filter(line => line !== '' && !line.startsWith('--'));
  return lines.map(line => line.replace(/;$/, ''));
}

/**
 * Loads `data` into the new database `database` and answers the server's counts.
 *
 * @param onProgress - called with the counts so far, about every 10,000 records.
 */
export async function loadSocialNetwork(
  client: Client,
  options: {database: string; data: DataSet; onProgress?: (counts: BatchCounts) => void},
): Promise<BatchCounts> {
  const {database, data, onProgress} = options;
  await client.createDatabase(database);
  for (const statement of schemaStatements()) await client.command(database, statement);
  return client.batch(database, graphChunks(data), {
    query: {wal: true, idMapping: false},
    ...(onProgress === undefined ? {} : {onProgress}),
  });
}
