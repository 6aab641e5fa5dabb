/**
 * Whole databases in and out over HTTP: a file that is sent becomes records, a database a file that
 * is fetched. Commands do the same with files and addresses of the server.
 *
 * POST `/import/{database}` takes a file as its body, of any format, and the options of an import
 * as its query; with `new=true` it makes the database, which there is only when all of the file is
 * in it. GET `/export/{database}` answers a `.tgz`. Root only.
 * Source: docs/import-export.md.
 */
import {createReadStream, createWriteStream, rmSync} from 'node:fs';
import {pipeline} from 'node:stream/promises';
import {exchangesIn, importFile} from '#server/administration/backups.ts';
import type {TellProgress} from '#server/administration/command.ts';
import {Refusal} from '#server/base/errors.ts';
import type {Value} from '#server/model/value.ts';
import type {Principal} from '#server/security/principal.ts';
import {answerEvents, wantsEvents} from '../message/event-stream.ts';
import type {Exchange} from '../message/exchange.ts';
import type {Route} from '../router.ts';
import {BatchBody} from './batch-body.ts';
import {callOf} from './administer.ts';

export const exchangeRoutes: readonly Route[] = [
  {
    path: '/import/{database}',
    streamsBody: true,
    operations: {POST: {access: 'user', at: 'leader', run: importSent}},
  },
  {path: '/export/{database}', operations: {GET: {access: 'user', run: exportFetched}}},
];

const ownParameters = new Set(['name', 'new']);

async function importSent(exchange: Exchange, principal: Principal): Promise<void> {
  requireRoot(principal);
  const name = exchange.parameter('name') ?? 'the body';
  await exchangesIn(exchange.context.options).receive(principal, async path => {
    exchange.allowBody();
    await received(exchange, path);
    await importReceived(exchange, principal, {name, path});
  });
}

async function importReceived(
  exchange: Exchange,
  principal: Principal,
  from: {readonly name: string; readonly path: string},
): Promise<void> {
  const parameters = [...new URLSearchParams(exchange.query)];
  const options = new Map<string, Value>(parameters.filter(([key]) => !ownParameters.has(key)));
  const isNew = exchange.parameter('new') === 'true';
  const work = (tell?: TellProgress): Promise<Readonly<Record<string, unknown>>> => {
    const call = callOf(exchange, principal, tell);
    return importFile(call, exchange.database, {request: {from, options}, isNew});
  };
  if (wantsEvents(exchange)) return await answerEvents(exchange, work);
  exchange.answerJson(200, {result: 'ok', ...(await work())});
}

async function received(exchange: Exchange, path: string): Promise<void> {
  const body = new BatchBody(exchange);
  exchange.onBodyLost = () => body.lose();
  const pieces = async function* (): AsyncGenerator<Buffer> {
    for (let piece = await body.next(); piece !== undefined; piece = await body.next()) yield piece;
  };
  await pipeline(pieces(), createWriteStream(path, {mode: 0o600}));
}

async function exportFetched(exchange: Exchange, principal: Principal): Promise<void> {
  requireRoot(principal);
  const service = exchangesIn(exchange.context.options);
  const format = exchange.parameter('format');
  const options = new Map<string, Value>(format === undefined ? [] : [['format', format]]);
  const {path, bytes} = await service.export(principal, exchange.database, undefined, options);
  try {
    exchange.startStream(200, 'application/gzip', ['Content-Length', String(bytes)]);
    for await (const piece of createReadStream(path) as AsyncIterable<Buffer>) {
      await exchange.write(piece);
    }
    await exchange.endStream();
  } finally {
    rmSync(path, {force: true});
  }
}

function requireRoot(principal: Principal): void {
  if (principal.root) return;
  throw new Refusal('security.root-only', 'Only root user may import and export databases');
}
