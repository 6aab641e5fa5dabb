/**
 * Heads of requests that the raw HTTP path takes: a short list of routes and headers, in the one
 * form that leaves nothing to interpret.
 *
 * Whatever is not on the list (another method, header, escape, blank or spelling) is no head of
 * the raw HTTP path and goes to node's parser, so nothing here decides what an odd request means.
 * Invariant H2: a head accepted here means the same to node's parser and our router.
 * Source: RFC 9112, sections 3 to 6; docs/design/0005-raw-http-path.md.
 */

import {conversationHeader} from '../protocol-names.ts';
import {
  clusterTokenHeader,
  forwardedMark,
  forwardedUserHeader,
  type PeerCredentials,
  traceParentHeader,
} from '../relay/forwarded-headers.ts';
import {acceptedCoding, type Coding} from '../message/compression.ts';

import {readConsistencies, type ReadConsistency} from '#server/cluster/read-consistency-gate.ts';

type LaneRoute = 'query' | 'command' | 'begin' | 'commit' | 'rollback' | 'mcp';

export interface RequestHead {
  readonly route: LaneRoute;
  /** Empty for messages of agents, which name theirs themselves. */
  readonly database: string;
  /** Value of `Authorization`, or what another member says of the user for whom it asks. */
  readonly caller: string | PeerCredentials;
  readonly bodyBytes: number;
  readonly sessionId: string | undefined;
  /** The conversation of an agent. */
  readonly conversation: string | undefined;
  /** What the head says of the freshness of reads; undefined: nothing. */
  readonly requested: ReadConsistency | undefined;
  /** How a large answer is to be compressed; undefined: not at all. */
  readonly coding: Coding | undefined;
  /** Its place in a trace, as it was sent. */
  readonly traceParent: string | undefined;
}

export const headBytesMax = 2_048;
const bodyBytesMax = 64 * 1024;

const requestLine =
  /^POST \/api\/v1\/(query|command|begin|commit|rollback)\/([A-Za-z0-9_-]{1,128}) HTTP\/1\.1$/;
const agentLine = 'POST /api/v1/mcp HTTP/1.1';
const headerLine = /^([A-Za-z-]{1,32}): ?([\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)$/;
const lengthValue = /^(?:0|[1-9][0-9]{0,5})$/;

/** Headers that change nothing about how these routes answer, unless `isPlain` says otherwise. */
const names: ReadonlySet<string> = new Set([
  'accept',
  'accept-encoding',
  'accept-language',
  'authorization',
  'connection',
  'content-length',
  'content-type',
  'host',
  'mcp-protocol-version',
  conversationHeader,
  'sec-fetch-mode',
  'svc-session-id',
  traceParentHeader,
  'tracestate',
  'user-agent',
  'x-svc-cluster-token',
  'x-svc-forwarded-to-leader',
  'x-svc-forwarded-user',
  'x-svc-read-after',
  'x-svc-read-consistency',
]);

/**
 * Reads a head.
 *
 * @param text - All of it, one character a byte, without the empty line behind it.
 * @returns undefined when it is not for the raw HTTP path.
 */
export function parseRequestHead(text: string): RequestHead | undefined {
  const [first = '', ...lines] = text.split('\r\n');
  const agent = first === agentLine ? 'mcp' : undefined;
  const [, route = agent, database = ''] = requestLine.exec(first) ?? [];
  if (route === undefined) return undefined;
  const headers = parseHeaders(lines);
  if (headers === undefined || !isPlain(headers)) return undefined;
  const authorization = headers.get('authorization');
  const length = headers.get('content-length') ?? '';
  const member = memberWords(headers);
  if (member === 'odd' || (authorization !== undefined && member !== undefined)) return undefined;
  const caller = authorization ?? member;
  if (caller === undefined) return undefined;
  if (!lengthValue.test(length)) return undefined;
  const bodyBytes = Number(length);
  if (bodyBytes > bodyBytesMax) return undefined;
  const sessionId = headers.get('svc-session-id');
  const requested = consistencyOf(headers);
  if (requested === 'odd') return undefined;
  const conversation = headers.get(conversationHeader);
  const coding = acceptedCoding(headers.get('accept-encoding'));
  const traceParent = headers.get(traceParentHeader);
  const names = {route: route as LaneRoute, database, sessionId, conversation};
  return {...names, caller, bodyBytes, requested, coding, traceParent};
}

/** A request that another member relayed has all three; without one of them it is none. */
function memberWords(headers: ReadonlyMap<string, string>): PeerCredentials | undefined | 'odd' {
  const token = headers.get(clusterTokenHeader);
  const user = headers.get(forwardedUserHeader);
  const mark = headers.get(forwardedMark);
  if (token === undefined && user === undefined && mark === undefined) return undefined;
  return token === undefined || user === undefined || mark !== 'true' ? 'odd' : {token, user};
}

/** Words and numbers in the one spelling that needs no telling what is wrong with them. */
function consistencyOf(headers: ReadonlyMap<string, string>): ReadConsistency | undefined | 'odd' {
  const word = headers.get('x-svc-read-consistency');
  const after = headers.get('x-svc-read-after');
  if (word === undefined && after === undefined) return undefined;
  const consistency = readConsistencies.find(name => name === word);
  if (word !== undefined && consistency === undefined) return 'odd';
  if (after !== undefined && !/^[0-9]{1,15}$/.test(after)) return 'odd';
  return {consistency, after: after === undefined ? undefined : Number(after)};
}

/** Headers by their name in small letters; undefined for an unknown, repeated, empty or odd one. */
function parseHeaders(lines: readonly string[]): ReadonlyMap<string, string> | undefined {
  const headers = new Map<string, string>();
  for (const line of lines) {
    const [, spelt = '', value = ''] = headerLine.exec(line) ?? [];
    const name = spelt.toLowerCase();
    if (!names.has(name) || headers.has(name)) return undefined;
    headers.set(name, value);
  }
  return headers;
}

/** Whether the client wants one JSON answer and its connection kept. */
function isPlain(headers: ReadonlyMap<string, string>): boolean {
  if (!headers.has('host')) return false;
  const connection = headers.get('connection') ?? 'keep-alive';
  if (connection.toLowerCase() !== 'keep-alive') return false;
  return !(headers.get('accept') ?? '').toLowerCase().includes('ndjson');
}
