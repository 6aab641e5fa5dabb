/**
 * API tokens over HTTP: `/server/api-tokens` (root only, docs/http.md).
 *
 * The answer that makes a token is the only one that ever shows its value, so it is given only on
 * a way that nobody reads along: TLS, this machine, or a listed proxy that vouches for TLS. On
 * other ways it is given with a warning, or refused where the setting asks for that.
 */
import {isApiTokenValue, type MadeToken} from '#server/security/api-tokens.ts';
import type {Principal} from '#server/security/principal.ts';
import type {Exchange} from '../message/exchange.ts';
import {PlainFailure} from '../message/failure.ts';
import {checkFields, plainValue, textField, timeField} from '../message/json-body.ts';
import type {Route} from '../router.ts';

export const apiTokenRoutes: readonly Route[] = [
  {
    path: '/server/api-tokens',
    operations: {
      GET: {access: 'root', at: 'fresh', run: listTokens},
      // Brought to the leader by hand: both parts of the way must be protected.
      POST: {access: 'root', run: createToken},
      DELETE: {access: 'root', at: 'leader', run: deleteToken},
    },
  },
];

function listTokens(exchange: Exchange): void {
  const result = exchange.context.security.apiTokens.list();
  exchange.answerJson(200, {result, count: result.length});
}

async function createToken(exchange: Exchange, principal: Principal): Promise<void> {
  const {context} = exchange;
  checkTransport(exchange);
  if (await context.gateway?.forward(exchange, principal)) return;
  const body = await exchange.jsonBody();
  if (body === undefined) throw new PlainFailure(400, 'Request body is required');
  checkFields(body, ['name', 'database', 'expiresAt', 'permissions']);
  const name = textField(body, 'name') ?? '';
  const database = textField(body, 'database') ?? '*';
  if (name === '') throw new PlainFailure(400, 'Token name is required');
  if (database === '') throw new PlainFailure(400, 'Database name is required, or * for all');
  const made: MadeToken = await context.security.apiTokens.create({
    name,
    database,
    expiresAt: timeField(body, 'expiresAt') ?? 0,
    permissions: plainValue(body.get('permissions')) ?? {},
  });
  exchange.answerJson(201, {result: {...made.token, token: made.value}});
}

async function deleteToken(exchange: Exchange): Promise<void> {
  const hash = exchange.parameter('token') ?? '';
  if (hash === '') throw new PlainFailure(400, 'Token hash parameter is required');
  if (isApiTokenValue(hash)) {
    throw new PlainFailure(
      400,
      'Use token hash (from list endpoint) instead of plaintext token for deletion',
    );
  }
  if (!(await exchange.context.security.apiTokens.drop(hash))) {
    throw new PlainFailure(404, 'Token not found');
  }
  exchange.answerJson(200, {result: 'Token deleted'});
}

/** @throws {PlainFailure} 412 when the way is open and the setting forbids it. */
function checkTransport({context, request}: Exchange): void {
  if (context.transport.isProtected(request)) return;
  if (!context.settings.get('svc.server.apiTokenRequireSecureTransport')) {
    const {remoteAddress} = request.socket;
    context.options.logger.log('warn', 'token.unprotected', {
      remoteAddress,
      advice: 'this API token crosses the network in clear: use HTTPS, this machine, or a proxy',
    });
    return;
  }
  throw new PlainFailure(412, 'API token creation requires a secure transport', {
    detail:
      'Use HTTPS, ask from this machine, or list the TLS proxy in ' +
      'svc.server.apiTokenTrustedProxies (svc.server.apiTokenRequireSecureTransport)',
  });
}
