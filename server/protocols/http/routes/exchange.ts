/**
 * Whole databases in and out over HTTP: a file that is sent becomes records, a database a file that
 * is fetched; and the server commands that do the same with files and addresses of the server.
 *
 * POST `/import/{database}` takes a file as its body, of any format, and the options of an import
 * as its query; with `new=true` it makes the database, which there is only when all of the file is
 * in it. GET `/export/{database}` answers a `.tgz`. Root only.
 * Source: docs/import-export.md.
 */
import {createReadStream, createWriteStream, rmSync} from 'node:fs';
import {pipeline} from 'node:stream/promises';
import {Refusal} from '#server/base/errors.ts';
import type {ImportProgress} from '#server/exchange/imports.ts';
import type {
  ExchangeService,
  ImportAnswer,
  ImportRequest,
} from '#server/exchange/exchange-service.ts';
import type {MapValue, Value} from '#server/model/value.ts';
import type {Principal} from '#server/security/principal.ts';
import {answerEvents, type TellProgress, wantsEvents} from '../message/event-stream.ts';
import type {Exchange} from '../message/exchange.ts';
import type {Route} from '../router.ts';
import {BatchBody} from './batch-body.ts';
import {
  answered,
  type CommandCall,
  invalidCommand,
  splitWord,
  WholeAnswer,
} from './command-call.ts';

export const exchangeRoutes: readonly Route[] = [
  {
    path: '/import/{database}',
    streamsBody: true,
    operations: {POST: {access: 'user', at: 'leader', run: importSent}},
  },
  {path: '/export/{database}', operations: {GET: {access: 'user', run: exportFetched}}},
];

/** Fields of a command's body that are no options. */
const ownFields = new Set(['command', 'wait']);
const ownParameters = new Set(['name', 'new']);

/** `import database <name> <url>`: into a new database. */
export async function importDatabase(call: CommandCall): Promise<WholeAnswer | typeof answered> {
  const {exchange, rest, body} = call;
  const [database, url] = splitWord(rest);
  if (url === '') throw invalidCommand('import database <name> <url>');
  const request = {from: url, options: optionsIn(body)};
  return await answeredImport(exchange, database, {request, isNew: true});
}

/** `export database <name> [<file>]`: into `exports/`. */
export async function exportDatabase({exchange, rest, body}: CommandCall): Promise<WholeAnswer> {
  const [database, file] = splitWord(rest);
  if (database === '') throw invalidCommand('export database <name> [<file>]');
  const name = file === '' ? undefined : file;
  const report = await exchangeIn(exchange).export(database, name, optionsIn(body));
  return new WholeAnswer({result: 'ok', ...report});
}

async function importSent(exchange: Exchange, principal: Principal): Promise<void> {
  requireRoot(principal);
  const path = exchangeIn(exchange).newPath();
  exchange.allowBody();
  const name = exchange.parameter('name') ?? 'the body';
  try {
    await received(exchange, path);
    await importReceived(exchange, {name, path});
  } finally {
    rmSync(path, {force: true});
  }
}

async function importReceived(
  exchange: Exchange,
  from: {readonly name: string; readonly path: string},
): Promise<void> {
  const parameters = [...new URLSearchParams(exchange.query)];
  const options = new Map<string, Value>(parameters.filter(([key]) => !ownParameters.has(key)));
  const isNew = exchange.parameter('new') === 'true';
  const request = {from, options};
  const answer = await answeredImport(exchange, exchange.database, {request, isNew});
  if (answer !== answered) exchange.answerJson(200, answer.fields);
}

async function received(exchange: Exchange, path: string): Promise<void> {
  const body = new BatchBody(exchange.request, exchange.context.options.timers);
  exchange.onBodyLost = () => body.lose();
  const pieces = async function* (): AsyncGenerator<Buffer> {
    for (let piece = await body.next(); piece !== undefined; piece = await body.next()) yield piece;
  };
  await pipeline(pieces(), createWriteStream(path, {mode: 0o600}));
}

async function answeredImport(
  exchange: Exchange,
  database: string,
  {request, isNew}: {readonly request: ImportRequest; readonly isNew: boolean},
): Promise<WholeAnswer | typeof answered> {
  const service = exchangeIn(exchange);
  const run = async (tell: TellProgress): Promise<Readonly<Record<string, unknown>>> => {
    const onProgress = (progress: ImportProgress): void => tell('importing', {...progress});
    const answer = isNew
      ? await service.importNew(database, request, onProgress)
      : await service.import(database, request, onProgress);
    return fieldsOf(database, answer);
  };
  if (!wantsEvents(exchange)) return new WholeAnswer({result: 'ok', ...(await run(() => {}))});
  await answerEvents(exchange, run);
  return answered;
}

function fieldsOf(database: string, answer: ImportAnswer): Readonly<Record<string, unknown>> {
  const {kind, ...fields} = answer;
  if (kind === 'probed') {
    return {message: `${answer.format}, ${answer.entries} entries looked at`, ...fields};
  }
  const {documents, vertices, edges, skipped} = answer;
  const counts = `${documents} documents, ${vertices} vertices and ${edges} edges`;
  const left = skipped === 0 ? '' : `, ${skipped} records skipped`;
  return {message: `imported ${counts} into '${database}'${left}`, ...fields};
}

async function exportFetched(exchange: Exchange, principal: Principal): Promise<void> {
  requireRoot(principal);
  const service = exchangeIn(exchange);
  const format = exchange.parameter('format');
  const options = new Map<string, Value>(format === undefined ? [] : [['format', format]]);
  const {path, bytes} = await service.export(exchange.database, undefined, options);
  try {
    exchange.startStream(200, 'application/gzip', ['Content-Length', String(bytes)]);
    for await (const piece of createReadStream(path) as AsyncIterable<Buffer>) {
      await exchange.write(piece);
    }
    exchange.endStream();
  } finally {
    rmSync(path, {force: true});
  }
}

function optionsIn(body: MapValue): ReadonlyMap<string, Value> {
  return new Map([...body].filter(([name]) => !ownFields.has(name)));
}

function requireRoot(principal: Principal): void {
  if (principal.root) return;
  throw new Refusal('security.root-only', 'Only root user may import and export databases');
}

function exchangeIn({context}: Exchange): ExchangeService {
  const {exchanges} = context.options;
  if (exchanges !== undefined) return exchanges;
  throw new Refusal('not-available', 'this server imports and exports nothing');
}
