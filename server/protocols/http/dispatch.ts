/**
 * From a request to its handler: size, route, credentials, repeated ids, in this order.
 */
import {hash} from 'node:crypto';
import type {IncomingMessage, ServerResponse} from 'node:http';
import {Refusal} from '#server/base/errors.ts';
import type {Principal} from '#server/session/session.ts';
import {authenticate} from './authentication.ts';
import {checkDeclaredLength} from './body.ts';
import type {HttpContext} from './context.ts';
import {Exchange, sessionHeader} from './exchange.ts';
import {PlainFailure} from './failure.ts';
import {invalidToken} from './forwarded-headers.ts';
import type {StoredAnswer} from './idempotency.ts';
import {answerRoot} from './landing.ts';
import type {Match, Router} from './router.ts';

/** Answers one request, whatever it is. Rejects for a defect only. */
export async function dispatch(
  context: HttpContext,
  router: Router,
  request: IncomingMessage,
  response: ServerResponse,
  awaitsContinue: boolean,
): Promise<void> {
  const exchange = new Exchange(context, request, response);
  exchange.awaitsContinue = awaitsContinue;
  context.exchanges.set(request.socket, exchange);
  try {
    checkCoding(request);
    const url = request.url ?? '/';
    const mark = url.indexOf('?');
    const path = mark < 0 ? url : url.slice(0, mark);
    if (mark >= 0) exchange.query = url.slice(mark + 1);
    const match = router.match(request.method ?? 'GET', path);
    if (match?.route.streamsBody !== true) checkDeclaredLength(request, context);
    if (match === undefined) return answerRoot(exchange, path);
    exchange.segments = match.segments;
    await perform(exchange, match);
  } catch (error) {
    exchange.fail(error);
  }
}

/** A body in a coding that we do not take apart would be read as something else. */
function checkCoding({headers}: IncomingMessage): void {
  const coding = headers['transfer-encoding'];
  if (coding === undefined || coding.toLowerCase() === 'chunked') return;
  throw new PlainFailure(501, 'Transfer coding not supported', {detail: 'Send chunked, or none'});
}

async function perform(exchange: Exchange, {route, operation}: Match): Promise<void> {
  if (operation.access === 'open') return operation.run(exchange);
  if (operation.access === 'member') throw invalidToken();
  const known = authenticate(exchange);
  const principal = known instanceof Promise ? await known : known;
  if (operation.access === 'root' && !principal.root) {
    const message = 'Only root user is authorized to execute server commands';
    throw new Refusal('security.root-only', message);
  }
  const repeats = route.isIdempotent === true && exchange.request.headers['x-request-id'];
  if (!repeats || exchange.header(sessionHeader) !== undefined) {
    return operation.run(exchange, principal);
  }
  await performOnce(exchange, principal, () => operation.run(exchange, principal));
}

/** Runs a request whose id was not seen, or answers what the first one with it was answered. */
async function performOnce(
  exchange: Exchange,
  principal: Principal,
  run: () => Promise<void> | void,
): Promise<void> {
  const {answers} = exchange.context;
  const key = idempotencyKey(exchange, principal, await exchange.body());
  const begun = await answers.begin(key);
  if (begun.kind === 'replay') {
    const {status, body, contentType} = begun.answer;
    return exchange.answer(status, body, contentType);
  }
  if (begun.kind === 'still-running') {
    const message = 'The same request is still running; ask again later with the same id';
    throw new Refusal('request.in-flight', message);
  }
  let stored: StoredAnswer | undefined;
  exchange.idempotencyKey = key;
  exchange.onAnswer = answer => {
    if (answer.status >= 200 && answer.status < 300) stored = answer;
  };
  try {
    await run();
  } finally {
    answers.settle(key, stored);
  }
}

function idempotencyKey(exchange: Exchange, principal: Principal, body: Buffer): string {
  const {request, context, segments} = exchange;
  const [, database = ''] = segments;
  const parts = [
    principal.name,
    request.headers['x-request-id'],
    request.method,
    request.url,
    context.administration.databaseIdentity(database),
    hash('sha256', body, 'base64'),
  ];
  return hash('sha256', JSON.stringify(parts), 'base64url');
}
