/** API tokens over HTTP: `/server/api-tokens` (root only, docs/http.md). */
import {readArguments} from '#server/administration/arguments.ts';
import {userCommands} from '#server/administration/users.ts';
import {isApiTokenValue} from '#server/security/api-tokens.ts';
import type {Exchange} from '../message/exchange.ts';
import {PlainFailure} from '../message/failure.ts';
import {checkFields, textField} from '../message/json-body.ts';
import type {Route} from '../router.ts';
import {answerResult, operationFor} from './administer.ts';
import {requiredBody} from './users.ts';

const {listApiTokens, createApiToken, dropApiToken} = userCommands;

export const apiTokenRoutes: readonly Route[] = [
  {
    path: '/server/api-tokens',
    operations: {
      GET: operationFor(
        listApiTokens,
        () => ({}),
        (exchange, result) => exchange.answerJson(200, {result, count: result.length}),
      ),
      POST: operationFor(createApiToken, newToken, (exchange, result) =>
        exchange.answerJson(201, {result}),
      ),
      DELETE: operationFor(dropApiToken, droppedToken, answerDropped),
    },
  },
];

async function newToken(exchange: Exchange) {
  const body = await requiredBody(exchange);
  checkFields(body, Object.keys(createApiToken.arguments));
  if ((textField(body, 'name') ?? '') === '') {
    throw new PlainFailure(400, 'Token name is required');
  }
  if (textField(body, 'database') === '') {
    throw new PlainFailure(400, 'Database name is required, or * for all');
  }
  return readArguments(createApiToken.arguments, body);
}

function droppedToken(exchange: Exchange): {readonly hash: string} {
  const hash = exchange.parameter('token') ?? '';
  if (hash === '') throw new PlainFailure(400, 'Token hash parameter is required');
  if (!isApiTokenValue(hash)) return {hash};
  const label = 'Use token hash (from list endpoint) instead of plaintext token for deletion';
  throw new PlainFailure(400, label);
}

function answerDropped(exchange: Exchange, wasThere: boolean): void {
  if (!wasThere) throw new PlainFailure(404, 'Token not found');
  answerResult(exchange, 'Token deleted');
}
