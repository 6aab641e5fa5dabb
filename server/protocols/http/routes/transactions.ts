/**
 * `/begin`, `/commit` and `/rollback` (docs/http.md): a transaction named by the session header.
 */
import {sessionHeader} from '../protocol-names.ts';
import {Refusal} from '#server/base/errors.ts';
import type {Principal} from '#server/security/principal.ts';
import type {MapValue} from '#server/model/value.ts';
import type {Exchange} from '../message/exchange.ts';
import {PlainFailure} from '../message/failure.ts';
import {checkFields, textField} from '../message/json-body.ts';
import type {Route} from '../router.ts';
import {contextOf} from './statement.ts';

export const transactionRoutes: readonly Route[] = [
  {path: '/begin/{database}', operations: {POST: {access: 'user', at: 'leader', run: begin}}},
  {path: '/commit/{database}', operations: {POST: {access: 'user', at: 'leader', run: commit}}},
  {path: '/rollback/{database}', operations: {POST: {access: 'user', at: 'leader', run: rollback}}},
];

const levels = ['READ_COMMITTED', 'REPEATABLE_READ'] as const;

async function begin(exchange: Exchange, principal: Principal): Promise<void> {
  const {service} = exchange.context;
  const [, database = ''] = exchange.segments;
  const isolation = isolationOf(await exchange.jsonBody());
  const live = exchange.header(sessionHeader);
  if (live !== undefined && service.transactionIsLive(principal, database, live)) {
    exchange.sessionId = live;
    throw alreadyStarted();
  }
  // It outlives its connection, and ends when nobody uses it.
  const context = {...contextOf(exchange), isolation, connection: undefined};
  exchange.sessionId = await service.begin(principal, database, context);
  exchange.answerEmpty(204);
}

export function alreadyStarted(): PlainFailure {
  return new PlainFailure(409, 'Transaction already started');
}

/** @throws {Refusal} `argument`, `request.field`. */
export function isolationOf(body: MapValue | undefined): (typeof levels)[number] {
  // A misspelt level must not silently become a weaker one.
  if (body !== undefined) checkFields(body, ['isolationLevel']);
  const word = body && textField(body, 'isolationLevel');
  const level = word === undefined ? levels[0] : levels.find(level => level === word);
  if (level !== undefined) return level;
  const message = `Invalid isolationLevel '${word}': accepted values are [${levels.join(', ')}]`;
  throw new Refusal('argument', message);
}

async function commit(exchange: Exchange, principal: Principal): Promise<void> {
  const [, database = ''] = exchange.segments;
  await exchange.body();
  const id = exchange.header(sessionHeader);
  if (id !== undefined) {
    const context = contextOf(exchange);
    await exchange.context.service.commit(principal, database, id, undefined, context);
  }
  exchange.answerEmpty(204);
}

async function rollback(exchange: Exchange, principal: Principal): Promise<void> {
  const [, database = ''] = exchange.segments;
  await exchange.body();
  const id = exchange.header(sessionHeader);
  if (id !== undefined) {
    await exchange.context.service.rollback(principal, database, id, contextOf(exchange));
  }
  exchange.answerEmpty(204);
}
