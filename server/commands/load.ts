/**
 * `svc load`: streams NDJSON or CSV files into the bulk route and prints the server's counts.
 *
 * All files go as one stream, in the order given, so an edge of a later file may name a temporary
 * id of an earlier one. A terminal shows a bar, a pipe gets plain lines, at most one a second.
 * A load is not atomic: when it breaks off, what the server had committed by then is printed.
 */
import {createReadStream} from 'node:fs';
import {stat} from 'node:fs/promises';
import {reasonOf} from '#server/base/errors.ts';
import type {BatchCounts, Client} from '#server/client/client.ts';
import {printJson} from '#server/client/json-text.ts';
import {ServerError} from '#server/client/server-error.ts';
import {
  type Arguments,
  type Command,
  CommandError,
  print,
  type RunContext,
  UsageError,
} from './command.ts';
import {connectionOptions, withClient} from './connection.ts';
import {ProgressLine} from './progress.ts';

type ContentType = 'application/x-ndjson' | 'text/csv';

export const loadCommand: Command = {
  name: 'load',
  says: 'loads NDJSON or CSV files of vertices and edges',
  arguments: [
    {name: 'DATABASE', says: 'the database; its types must exist'},
    {
      name: 'FILE',
      says: 'files ending in .ndjson, .jsonl or .csv; - is standard input',
      count: 'many',
    },
  ],
  options: {
    format: {value: 'FORMAT', says: 'ndjson or csv, where the name of a file does not tell'},
    option: {
      value: 'KEY=VALUE',
      repeated: true,
      says: 'a parameter of the bulk route, such as commitEvery=10000',
    },
    json: {says: 'print the counts of the server as JSON'},
    ...connectionOptions,
  },
  examples: [
    'svc load mydb people.ndjson friendships.ndjson',
    'cat graph.csv | svc load mydb - --format csv',
  ],
  run: (given, context) => withClient(given, context, client => runLoad(given, context, client)),
};

async function runLoad(given: Arguments, context: RunContext, client: Client): Promise<number> {
  const [database = '', ...files] = given.positional;
  const contentType = contentTypeOf(files, given.value('format'));
  const bytesTotal = await sizeOf(files);
  const line = new ProgressLine(context.stderr, bytesTotal);
  const startedAt = performance.now();
  try {
    const counts = await client.batch(database, chunksOf(files, {contentType, context, line}), {
      contentType,
      query: queryOf(given.values('option')),
      onProgress: progress => line.counted(countText(progress)),
    });
    line.end();
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
    const said = `loaded ${countText(counts)} from ${counts.linesRead} lines in ${seconds} s`;
    await print(context.stdout, given.has('json') ? `${printJson(counts.fields)}\n` : `${said}\n`);
    return 0;
  } catch (error) {
    line.end();
    if (error instanceof ServerError) tellPartial(context, error);
    throw error;
  }
}

function countText(counts: BatchCounts): string {
  return `${counts.verticesCreated} vertices and ${counts.edgesCreated} edges`;
}

/** Says what was committed before a load broke off; the error itself is printed by the caller. */
function tellPartial(context: RunContext, error: ServerError): void {
  const {verticesCreated, edgesCreated} = error.fields;
  if (typeof verticesCreated !== 'number' && typeof edgesCreated !== 'number') return;
  const counts = `${Number(verticesCreated ?? 0)} vertices and ${Number(edgesCreated ?? 0)} edges`;
  context.stderr.write(`before the error ${counts} had been stored\n`);
}

function contentTypeOf(files: readonly string[], format: string | undefined): ContentType {
  if (format === 'csv') return 'text/csv';
  if (format === 'ndjson') return 'application/x-ndjson';
  if (format !== undefined) {
    throw new UsageError(`there is no format '${format}': choose ndjson or csv`);
  }
  const types = new Set(files.map(typeByName));
  const [type] = types;
  if (types.size === 1 && type !== undefined) return type;
  throw new UsageError('NDJSON and CSV files cannot go together: load them one after the other');
}

function typeByName(file: string): ContentType {
  if (/\.(ndjson|jsonl|json)$/i.test(file)) return 'application/x-ndjson';
  if (/\.csv$/i.test(file)) return 'text/csv';
  throw new UsageError(
    `the name of '${file}' does not tell its format: give --format ndjson or csv`,
  );
}

async function sizeOf(files: readonly string[]): Promise<number | undefined> {
  let bytes = 0;
  for (const file of files) {
    if (file === '-') return undefined;
    try {
      const {size, isFile} = await stat(file).then(found => ({
        size: found.size,
        isFile: found.isFile(),
      }));
      if (!isFile) return undefined;
      bytes += size;
    } catch (error) {
      throw new CommandError(`cannot read ${file}: ${reasonOf(error)}`);
    }
  }
  return bytes;
}

function queryOf(words: readonly string[]): Record<string, string> {
  const entries = words.map((word): [string, string] => {
    const at = word.indexOf('=');
    if (at < 1) throw new UsageError(`the option '${word}' is not of the form KEY=VALUE`);
    return [word.slice(0, at), word.slice(at + 1)];
  });
  return Object.fromEntries(entries);
}

/** The files as one stream; each ends with a line end, and CSV files are set apart by `---`. */
async function* chunksOf(
  files: readonly string[],
  how: {contentType: ContentType; context: RunContext; line: ProgressLine},
): AsyncGenerator<Uint8Array> {
  let first = true;
  for (const file of files) {
    if (!first && how.contentType === 'text/csv') yield Buffer.from('---\n');
    first = false;
    const input =
      file === '-' ? how.context.stdin : createReadStream(file, {highWaterMark: 262_144});
    let last = 0x0a;
    for await (const chunk of input as AsyncIterable<Buffer>) {
      how.line.sent(chunk.length);
      last = chunk.at(-1) ?? last;
      yield chunk;
    }
    if (last !== 0x0a) yield Buffer.from('\n');
  }
}
