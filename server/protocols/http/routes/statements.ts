/**
 * The routes that run a statement: `/query` (GET and POST, reads only) and `/command`.
 */
import {Refusal} from '#server/base/errors.ts';
import type {Principal} from '#server/security/principal.ts';
import type {ResultCursor} from '#server/session/session.ts';
import type {Exchange} from '../message/exchange.ts';
import {runInBackground} from './background.ts';
import {answerResult} from '../message/result.ts';
import type {Route} from '../router.ts';
import {streamRows} from '../message/row-stream.ts';
import {type Statement, statementHead, statementOfBody, statementOfPath} from './statement.ts';

export const statementRoutes: readonly Route[] = [
  {
    path: '/query/{database}',
    operations: {POST: {access: 'user', at: 'statement', run: runQuery}},
  },
  {
    path: '/query/{database}/{language}/{command...}',
    operations: {GET: {access: 'user', at: 'statement', run: runPathQuery}},
  },
  {
    path: '/command/{database}',
    isIdempotent: true,
    operations: {POST: {access: 'user', at: 'statement', run: runCommand}},
  },
];

async function runQuery(exchange: Exchange, principal: Principal): Promise<void> {
  const body = await exchange.jsonBody();
  const statement = statementOfBody(statementHead(exchange), body, 'read-only');
  await run(exchange, principal, statement, principal.name);
}

async function runPathQuery(exchange: Exchange, principal: Principal): Promise<void> {
  await run(exchange, principal, statementOfPath(exchange), undefined);
}

async function runCommand(exchange: Exchange, principal: Principal): Promise<void> {
  const body = await exchange.jsonBody();
  const statement = statementOfBody(statementHead(exchange), body, 'read-write');
  if (await relayed(exchange, principal, statement)) return;
  if (!statement.awaitsResponse) return runInBackground(exchange, principal, statement.request);
  await run(exchange, principal, statement, principal.name);
}

/** Whether the leader has answered it, since only the leader may run it. */
async function relayed(
  exchange: Exchange,
  principal: Principal,
  {request}: Statement,
): Promise<boolean> {
  const {gateway: membership} = exchange.context;
  if (membership === undefined) return false;
  const requiresLeader = await membership.placement.requiresLeader(principal, request);
  return requiresLeader && membership.forward(exchange, principal);
}

/** @param user - Shown in the answer; the GET form shows none. */
async function run(
  exchange: Exchange,
  principal: Principal,
  {request, isStream}: Statement,
  user: string | undefined,
): Promise<void> {
  await exchange.context.gateway?.placement.readable(principal, request);
  exchange.sessionId = request.transactionId;
  const {service} = exchange.context;
  if (isStream) {
    if (/^explain\b/i.test(request.text)) {
      const message = `EXPLAIN answers a plan, not rows: ask with 'Accept: application/json'`;
      throw new Refusal('argument', message);
    }
    let cursor: ResultCursor;
    try {
      cursor = await service.run(principal, request);
    } catch (error) {
      throw asStreamRefusal(error);
    }
    return streamRows(exchange, cursor);
  }
  const cursor = await service.run(principal, {...request, requestId: exchange.idempotencyKey});
  const isDocument = request.format === 'graph' || request.format === 'studio';
  await answerResult(exchange, cursor, {user, isDocument});
}

/** A write is refused on a stream for the stream's own reason. */
function asStreamRefusal(error: unknown): unknown {
  if (!(error instanceof Refusal) || error.code !== 'query.not-idempotent') return error;
  return new Refusal(
    'request.field',
    'Only a statement that reads can be streamed, since its rows leave before it has finished: ' +
      `run this one with 'Accept: application/json'`,
    {cause: error},
  );
}
