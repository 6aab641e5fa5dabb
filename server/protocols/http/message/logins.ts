/**
 * `/login`, `/logout` and `/sessions`: tokens that stand for a user (docs/http.md).
 */
import {userCommands} from '#server/administration/users.ts';
import type {Login} from '#server/security/logins.ts';
import type {Principal} from '#server/security/principal.ts';
import {bearerToken} from './authentication.ts';
import type {Exchange} from './exchange.ts';
import type {Route} from '../router.ts';
import {operationFor} from '../routes/administer.ts';

export const loginRoutes: readonly Route[] = [
  {path: '/login', operations: {POST: {access: 'user', run: login}}},
  {path: '/logout', operations: {POST: {access: 'user', run: logout}}},
  {
    path: '/sessions',
    operations: {GET: operationFor(userCommands.listSessions, () => ({}), answerLogins)},
  },
];

const userAgentLengthMax = 256;

function login(exchange: Exchange, principal: Principal): void {
  const token = exchange.context.security.login(principal, {
    sourceIp: exchange.request.socket.remoteAddress?.replace(/^::ffff:/, '') ?? '',
    userAgent: exchange.header('user-agent')?.slice(0, userAgentLengthMax),
  });
  exchange.answerJson(200, {token, user: principal.name});
}

async function logout(exchange: Exchange): Promise<void> {
  const token = bearerToken(exchange);
  if (token !== undefined) await exchange.context.security.logout(token);
  exchange.answerEmpty(204);
}

function answerLogins(exchange: Exchange, logins: readonly Login[]): void {
  const rows = logins.map(login => ({
    ...login,
    userAgent: login.userAgent ?? null,
    // Places are not looked up: the server asks nobody outside about its users.
    country: null,
    city: null,
  }));
  exchange.answerJson(200, {result: rows, count: rows.length});
}
