/**
 * The way from a request to its handler: size, route, credentials, repeated ids, in this order.
 */
import {basePath, sessionHeader} from './protocol-names.ts';
import {refuseAbsent} from './absent-routes.ts';
import {createHash, hash} from 'node:crypto';
import type {IncomingMessage, ServerResponse} from 'node:http';
import {Refusal} from '#server/base/errors.ts';
import {isLocalCopyDamaged} from '#server/cluster/leadership.ts';
import {traceParentOf} from '#server/monitoring/telemetry.ts';
import type {Principal} from '#server/security/principal.ts';
import {authenticate} from './message/authentication.ts';
import {checkDeclaredLength} from './message/body.ts';
import type {HttpContext} from './context.ts';
import {checkSite, isPreflight, preflightHeaders} from './message/cross-origin.ts';
import {Exchange} from './message/exchange.ts';
import {checkContentCoding, checkHead} from './message/request-checks.ts';
import {clusterTokenHeader, invalidToken, traceParentHeader} from './relay/forwarded-headers.ts';
import type {StoredAnswer} from './message/idempotency.ts';
import {lateRefusal} from './message/late-refusal.ts';
import {answerRoot} from './documentation/root-page.ts';
import {giveSpan} from './request-timings.ts';
import {answerScrape, scrapePath} from './routes/prometheus.ts';
import type {Match, Route, Router, UserOperation} from './router.ts';
import {requestedConsistency} from './routes/statement.ts';

/** What of a body is hashed in one piece. */
const hashedBytesMax = 256 << 10;

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
  context.begun.set(request.socket, exchange);
  context.timings?.watch(exchange);
  const {traces, clock} = context.options;
  if (traces === undefined) return answerExchange(exchange, router);
  const now = (): number => clock.monotonic();
  return traces.within(traceParentOf(exchange.header(traceParentHeader)), trace => {
    giveSpan(exchange, traces, {trace, now});
    return answerExchange(exchange, router);
  });
}

async function answerExchange(exchange: Exchange, router: Router): Promise<void> {
  const {context, request} = exchange;
  try {
    checkHead(exchange);
    exchange.allowedOrigin = context.origins.of(request);
    const url = request.url ?? '/';
    const mark = url.indexOf('?');
    const path = mark < 0 ? url : url.slice(0, mark);
    if (mark >= 0) exchange.query = url.slice(mark + 1);
    if (exchange.allowedOrigin !== undefined && isPreflight(request)) {
      return exchange.answer(204, '', '', preflightHeaders);
    }
    const match = router.match(request.method ?? 'GET', path);
    // Some routes know for themselves whose pages may ask.
    const judges = match?.route.admits !== undefined;
    if (exchange.allowedOrigin === undefined && !judges) checkSite(request);
    if (match?.route.streamsBody !== true) checkDeclaredLength(request, context);
    if (match === undefined) {
      refuseAbsent(request.method ?? 'GET', path);
      return await (path === scrapePath ? answerScrape(exchange) : answerRoot(exchange, path));
    }
    checkContentCoding(request);
    exchange.segments = match.segments;
    exchange.routePath = `${basePath}${match.route.path.slice(1)}`;
    exchange.streamsBody = match.route.streamsBody === true;
    await perform(exchange, match);
  } catch (error) {
    await lateRefusal(context, exchange.isForwarded ? undefined : exchange.caller, error);
    exchange.fail(error);
  }
}

async function perform(exchange: Exchange, {route, operation}: Match): Promise<void> {
  if (operation.access === 'open') return operation.run(exchange);
  if (route.admits?.(exchange) === false) return;
  const {gateway: membership} = exchange.context;
  if (operation.access === 'member') {
    if (membership === undefined) throw invalidToken();
    membership.requireToken(exchange.header(clusterTokenHeader) ?? '', exchange.request.socket);
    return operation.run(exchange);
  }
  const known = authenticate(exchange);
  const principal = known instanceof Promise ? await known : known;
  exchange.caller = principal;
  const {userTurns} = exchange.context;
  if (!principal.root) await userTurns.next(principal.name, exchange.begunAt);
  if (operation.access === 'root' && !principal.root) {
    const message = 'Only root user is authorized to execute server commands';
    throw new Refusal('security.root-only', message);
  }
  if (membership === undefined) return carryOut(exchange, principal, {route, operation});
  const {placement} = membership;
  if (operation.at === 'fresh') await placement.reached(requestedConsistency(exchange));
  await placement.carryOut<true>({
    requiresLeader: belongsToLeader(exchange, operation),
    here: async () => {
      await carryOut(exchange, principal, {route, operation});
      return true as const;
    },
    atLeader: async () => (await membership.forward(exchange, principal)) || undefined,
    mayMove: error =>
      !exchange.response.headersSent &&
      exchange.header(sessionHeader) === undefined &&
      !(exchange.isForwarded && isLocalCopyDamaged(error)),
  });
}

/** Transactions live on the leader, so everything about them does. */
function belongsToLeader(exchange: Exchange, {at}: UserOperation): boolean {
  return at === 'leader' || (at === 'statement' && exchange.header(sessionHeader) !== undefined);
}

function carryOut(
  exchange: Exchange,
  principal: Principal,
  {route, operation}: {readonly route: Route; readonly operation: UserOperation},
): Promise<void> | void {
  const repeats = route.isIdempotent === true && exchange.request.headers['x-request-id'];
  if (!repeats || exchange.header(sessionHeader) !== undefined) {
    return operation.run(exchange, principal);
  }
  return performOnce(exchange, principal, () => operation.run(exchange, principal));
}

/** Runs a request whose id was not seen, or answers what the first one with it was answered. */
async function performOnce(
  exchange: Exchange,
  principal: Principal,
  run: () => Promise<void> | void,
): Promise<void> {
  const {answers} = exchange.context;
  const key = await idempotencyKey(exchange, principal, await exchange.body());
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

async function idempotencyKey(
  exchange: Exchange,
  principal: Principal,
  body: Buffer,
): Promise<string> {
  const {request, context, segments} = exchange;
  const [, database = ''] = segments;
  const parts = [
    principal.name,
    request.headers['x-request-id'],
    request.method,
    request.url,
    context.administration.databaseIdentity(database),
    await bodyHash(exchange, body),
  ];
  return hash('sha256', JSON.stringify(parts), 'base64url');
}

/** Hashes a large body in pieces, between which others have their turn. */
async function bodyHash({context}: Exchange, body: Buffer): Promise<string> {
  if (body.length <= hashedBytesMax) return hash('sha256', body, 'base64');
  const hashing = createHash('sha256');
  for (let at = 0; at < body.length; at += hashedBytesMax) {
    hashing.update(body.subarray(at, at + hashedBytesMax));
    await context.options.timers.yield();
  }
  return hashing.digest('base64');
}
