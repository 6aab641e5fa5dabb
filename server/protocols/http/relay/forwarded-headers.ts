/**
 * The headers by which members of a cluster speak to each other over HTTP.
 *
 * Source: docs/cluster-connections.md.
 */
import type {IncomingMessage} from 'node:http';
import {words} from '#server/base/words.ts';
import {PlainFailure} from '../message/failure.ts';

export const clusterTokenHeader = 'x-svc-cluster-token';
export const forwardedUserHeader = 'x-svc-forwarded-user';
export const forwardedMark = 'x-svc-forwarded-to-leader';
/** Marks, in an answer, a refusal that the member is to tell late. */
export const lateMark = 'x-svc-late';

/** Where in a trace a request stands (W3C Trace Context). */
export const traceParentHeader = 'traceparent';

/** What a member says of itself and of whom it speaks for, as it was sent. */
export interface PeerCredentials {
  readonly token: string;
  readonly user: string;
}

/** Names of users may hold any character, headers may not. */
export function encodedUser(name: string): string {
  return encodeURIComponent(name);
}

/** Undefined for what `encodedUser` never makes. */
export function decodedUser(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Also what a server alone answers: it has no token that could be right. */
export function invalidToken(): PlainFailure {
  return new PlainFailure(401, 'Invalid cluster token', {showsRequestId: true});
}

/** Headers of one connection, and those that a member writes anew. */
const notRelayed: ReadonlySet<string> = new Set([
  ...words('authorization connection content-length date expect host keep-alive'),
  ...words('proxy-authenticate proxy-authorization proxy-connection te trailer transfer-encoding'),
  ...words('upgrade x-svc-cluster-token x-svc-forwarded-to-leader x-svc-forwarded-user x-svc-late'),
  ...words('x-svc-replay-protection'),
]);

/** Whether a header, named in small letters, is passed on between client and leader. */
export function isRelayed(name: string): boolean {
  return !notRelayed.has(name);
}

/**
 * The head under which a member sends on a request of the raw HTTP path, which has a length and
 * names nothing in `Connection`.
 *
 * @param text - The client's head, without its last end of line.
 * @param traceParent - In place of the client's; undefined: its own goes on.
 */
export function forwardedHead(
  text: string,
  {user, token}: PeerCredentials,
  traceParent: string | undefined,
): Buffer {
  const [first = '', ...lines] = text.split('\r\n');
  const isKept = (line: string): boolean => {
    const name = line.slice(0, line.indexOf(':')).toLowerCase();
    if (name === traceParentHeader) return traceParent === undefined;
    return isRelayed(name) || name === 'host' || name === 'content-length';
  };
  const own = [
    `X-Svc-Cluster-Token: ${token}`,
    `X-Svc-Forwarded-User: ${encodedUser(user)}`,
    'X-Svc-Forwarded-To-Leader: true',
    ...(traceParent === undefined ? [] : [`${traceParentHeader}: ${traceParent}`]),
  ];
  return Buffer.from([first, ...lines.filter(isKept), ...own, '', ''].join('\r\n'), 'latin1');
}

/** The headers of a member that asks for a user, as names and values in turn. */
export function memberHeaders(
  {token, user}: PeerCredentials,
  traceParent: string | undefined,
): readonly string[] {
  return [
    'X-Svc-Cluster-Token',
    token,
    'X-Svc-Forwarded-User',
    encodedUser(user),
    'X-Svc-Forwarded-To-Leader',
    'true',
    ...(traceParent === undefined ? [] : [traceParentHeader, traceParent]),
  ];
}

/** Names and values in turn, without what the sender names in `Connection`, and `without`. */
export function relayedHeaders({headers, rawHeaders}: IncomingMessage, without?: string): string[] {
  const named = (headers.connection ?? '').split(',').map(name => name.trim().toLowerCase());
  if (without !== undefined) named.push(without);
  const kept: string[] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string;
    const lower = name.toLowerCase();
    if (notRelayed.has(lower) || named.includes(lower)) continue;
    kept.push(name, rawHeaders[at + 1] as string);
  }
  return kept;
}
