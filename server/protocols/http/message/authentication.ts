/**
 * The `Authorization` header to a principal (docs/http.md).
 *
 * Basic credentials end the name at the first colon only, so a password may hold colons. Failures
 * are 401 and say which part is wrong, never whether a user exists.
 */
import type {Socket} from 'node:net';
import {Refusal} from '#server/base/errors.ts';
import {isApiTokenValue} from '#server/security/api-tokens.ts';
import type {Principal} from '#server/security/principal.ts';
import type {HttpContext} from '../context.ts';
import type {Exchange} from './exchange.ts';
import {PlainFailure} from './failure.ts';
import {
  clusterTokenHeader,
  forwardedMark,
  forwardedUserHeader,
  invalidToken,
} from '../relay/forwarded-headers.ts';

/**
 * Who asks; a promise only when a password must be hashed or another member asked for a login.
 *
 * @throws {PlainFailure} 401. @throws {Refusal} `security.*`, `admission.full`.
 */
export function authenticate(exchange: Exchange): Principal | Promise<Principal> {
  const {gateway: membership} = exchange.context;
  const {socket} = exchange.request;
  const token = exchange.header(clusterTokenHeader);
  if (token !== undefined) {
    if (membership === undefined) throw invalidToken();
    const user = exchange.header(forwardedUserHeader) ?? '';
    const principal = membership.principalOf({token, user}, socket);
    exchange.isForwarded = exchange.header(forwardedMark) === 'true';
    return principal;
  }
  membership?.passOver(exchange.request);
  requireUsers(exchange.context);
  const value = exchange.header('authorization');
  if (value === undefined || value === '') {
    throw unauthenticated('', ['WWW-Authenticate', 'Basic']);
  }
  return authenticateSocket(exchange.context, socket, value);
}

/**
 * Users come by the log: a member that has none yet cannot tell who is wrong.
 *
 * @throws {Refusal} `cluster.no-leader`.
 */
export function requireUsers({gateway: membership, security}: HttpContext): void {
  if (membership === undefined || security.hasRoot) return;
  throw new Refusal('cluster.no-leader', 'the users of the cluster are not known here yet');
}

/**
 * Works like `authenticate` for the value of the header. The connection is no stranger's any more
 * where the value is good, and the newest of them while it is looked at.
 */
export function authenticateSocket(
  context: HttpContext,
  socket: Socket,
  value: string,
): Principal | Promise<Principal> {
  const acceptors = context.acceptorsOf(socket);
  const found = principalOf(context, socket, value);
  if (!(found instanceof Promise)) {
    acceptors?.admit(socket);
    return found;
  }
  acceptors?.renew(socket);
  return found.then(principal => {
    acceptors?.admit(socket);
    return principal;
  });
}

function principalOf(
  context: HttpContext,
  socket: Socket,
  value: string,
): Principal | Promise<Principal> {
  const space = value.indexOf(' ');
  const scheme = (space < 0 ? value : value.slice(0, space)).toLowerCase();
  const rest = space < 0 ? '' : value.slice(space + 1).trim();
  if (scheme === 'basic') return basicOnce(context, {socket, value, encoded: rest});
  if (scheme === 'bearer') return bearer(context, rest, sourceOf(socket));
  throw unauthenticated('Authentication not supported');
}

/** The token of a Bearer header; undefined for other schemes. */
export function bearerToken(exchange: Exchange): string | undefined {
  const match = /^bearer\s+(\S+)\s*$/i.exec(exchange.header('authorization') ?? '');
  return match?.[1];
}

/** Basic credentials are looked at once for a connection, as long as they stay good. */
function basicOnce(
  context: HttpContext,
  {socket, value, encoded}: Readonly<{socket: Socket; value: string; encoded: string}>,
): Principal | Promise<Principal> {
  const {generation} = context.security;
  const known = context.credentials.get(socket);
  if (known?.value === value && known.generation === generation) return known.principal;
  const found = basic(context, encoded, socket);
  if (!(found instanceof Promise)) {
    context.credentials.set(socket, {value, principal: found, generation});
  }
  return found;
}

/** The address at the other end, by which attempts are counted. */
function sourceOf({remoteAddress = ''}: Socket): string {
  return remoteAddress;
}

function basic(
  context: HttpContext,
  encoded: string,
  socket: Socket,
): Principal | Promise<Principal> {
  const decoded = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = decoded.indexOf(':');
  if (colon < 0) throw unauthenticated('Basic authentication error');
  const [user, password] = [decoded.slice(0, colon), decoded.slice(colon + 1)];
  const gone = (): AbortSignal => context.connectionSignal(socket);
  return context.security.authenticate(user, password, sourceOf(socket), gone);
}

function bearer(
  context: HttpContext,
  token: string,
  source: string,
): Principal | Promise<Principal> {
  const {security} = context;
  if (isApiTokenValue(token)) {
    const holder = security.principalOfApiToken(token, source);
    if (holder === undefined) throw unauthenticated('Invalid or expired API token');
    return holder;
  }
  const found = security.principalOfToken(token);
  return found instanceof Promise ? found.then(loggedIn) : loggedIn(found);
}

function loggedIn(found: Principal | undefined): Principal {
  if (found === undefined) throw unauthenticated('Invalid or expired authentication token');
  return found;
}

function unauthenticated(label: string, headers: readonly string[] = []): PlainFailure {
  return new PlainFailure(401, label, {showsRequestId: true, headers});
}
