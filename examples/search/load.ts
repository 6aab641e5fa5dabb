/** Creates the database, its schema with the indexes, and loads the documents by the bulk route. */
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import type {BatchCounts, Client} from '#server/client/client.ts';
import {type Document, readDocuments} from './documents.ts';
import {denseVector, sparseVector} from './features.ts';

export function schemaStatements(): readonly string[] {
  const text = readFileSync(join(import.meta.dirname, 'schema.sql'), 'utf8');
  const lines = text.split('\n').filter(line => line !== '' && !line.startsWith('--'));
  return lines.map(line => line.replace(/;$/, ''));
}

/** What is searched of a document by its vectors. */
export function searchedText({title, text}: Document): string {
  return `${title} ${title} ${text}`;
}

/** The new database must not exist yet. Indexes are kept by the load itself. */
export async function loadDocuments(client: Client, database: string): Promise<BatchCounts> {
  await client.createDatabase(database);
  for (const statement of schemaStatements()) await client.command(database, statement);
  return await client.batch(database, linesOf(readDocuments()), {query: {}});
}

async function* linesOf(documents: readonly Document[]): AsyncIterable<string> {
  for (const document of documents) {
    const {name, module, title, text} = document;
    const searched = searchedText(document);
    const vectors = {near: denseVector(searched), ...sparseVector(searched)};
    const head = {'@type': 'vertex', '@class': 'Doc', '@id': name};
    yield `${JSON.stringify({...head, name, module, title, text, ...vectors})}\n`;
  }
  for (const {name, links} of documents) {
    for (const to of links) {
      yield `${JSON.stringify({'@type': 'edge', '@class': 'LinksTo', '@from': name, '@to': to})}\n`;
    }
  }
}
