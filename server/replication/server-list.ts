/**
 * The declared peers of a cluster: `svc.ha.serverList` as text, and which of them this node is.
 *
 * Two forms of an entry, mixable, both with an optional `name@`: `host:{raft:2434,http:2480}` with
 * fields in any order, and `host:raft:http:priority:https` by position. What is not declared stays
 * absent: whoever needs a port then derives it from its own and says so once. Nothing here looks
 * a name up.
 *
 * Source: docs/cluster.md.
 */
import {isIP, isIPv6} from 'node:net';
import {isLoopbackAddress} from '#server/base/addresses.ts';
import {Refusal} from '#server/base/errors.ts';

/** One entry of the list. */
export interface DeclaredPeer {
  /** Given by `name@`, unique in the list. */
  readonly name: string | undefined;
  readonly host: string;
  readonly ports: PeerPorts;
  /** Highest preferred as leader; default 0. */
  readonly priority: number;
}

export interface PeerPorts {
  readonly raft: number;
  readonly http?: number;
  readonly https?: number;
  readonly bolt?: number;
  readonly grpc?: number;
}

export interface ServerListOptions {
  /** `svc.ha.raftPort`: of entries that declare none. */
  readonly raftPort: number;
  /** `svc.ha.k8sSuffix`: completes short hosts; empty for none. */
  readonly suffix: string;
}

const setting = 'svc.ha.serverList';
const portNames = ['raft', 'http', 'https', 'bolt', 'grpc'] as const;
const positions = ['raft', 'http', 'priority', 'https'] as const;
const portMax = 65_535;
const priorityMax = 1_000_000;
/** One letter or digit at least, and nothing that a path, a log or a URL would take apart. */
const hostPattern = /^[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/;
const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** The id of a peer in the group, from its address. */
export function peerId({host, ports}: Pick<DeclaredPeer, 'host' | 'ports'>): string {
  return `${host}_${ports.raft}`;
}

/**
 * Reads the list, in its order. An empty text is an empty list.
 *
 * @throws {Refusal} `start.refused`: an entry that cannot be read, a name or an address that
 *   occurs twice, addresses of this machine among others (each node would take them for itself).
 */
export function parseServerList(text: string, options: ServerListOptions): DeclaredPeer[] {
  const peers = entriesOf(text).map(entry => listedPeer(entry, options));
  refuseTwice(
    peers.flatMap(({name}) => name ?? []),
    'the name',
  );
  refuseTwice(peers.map(peerId), 'the peer');
  const local = peers.filter(({host}) => host === 'localhost' || isLoopbackAddress(host));
  if (local.length > 0 && local.length < peers.length) {
    throw refused(
      `'${local[0]?.host}' is an address of each machine by itself, others in the list are not: ` +
        'give addresses that every peer can reach',
    );
  }
  return peers;
}

/**
 * Reads one entry by itself, as a person names a server.
 *
 * @throws {Refusal} `argument`.
 */
export function parsePeer(text: string, options: ServerListOptions): DeclaredPeer {
  const [entry = '', ...more] = entriesOf(text);
  if (entry !== '' && more.length === 0) return readEntry(entry, options);
  throw refusedEntry(text.slice(0, 80), 'one server has to be named');
}

/**
 * Which entry this node is; undefined when the list does not say.
 *
 * By name first: a `name@`, then a host. Else by the number at the end of the name: `svc-2` and
 * `svc_2` are the third.
 */
export function ownPeer(
  peers: readonly DeclaredPeer[],
  serverName: string,
): DeclaredPeer | undefined {
  const named = peers.find(({name}) => name === serverName);
  const placed = peers.find(({host}) => host === serverName || host.startsWith(`${serverName}.`));
  const ordinal = ordinalOf(serverName);
  return named ?? placed ?? (ordinal === undefined ? undefined : peers[ordinal]);
}

/** The number at the end of a server's name: `svc-2` is 2. */
export function ordinalOf(serverName: string): number | undefined {
  const digits = /[-_](\d{1,4})$/.exec(serverName)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

/** Commas inside braces part fields, not entries. */
function entriesOf(text: string): string[] {
  const entries = text.match(/(?:[^,{}]|\{[^{}]*\}|[{}])+/g) ?? [];
  return entries.map(entry => entry.trim()).filter(entry => entry !== '');
}

function listedPeer(entry: string, options: ServerListOptions): DeclaredPeer {
  try {
    return readEntry(entry, options);
  } catch (error) {
    throw error instanceof Refusal ? refused(error.message) : error;
  }
}

function readEntry(entry: string, options: ServerListOptions): DeclaredPeer {
  const at = entry.indexOf('@');
  const name = at < 0 ? undefined : entry.slice(0, at).trim();
  if (name !== undefined && !namePattern.test(name)) {
    throw refusedEntry(entry, `'${name}' is no name of a peer`);
  }
  const address = entry.slice(at + 1).trim();
  const {host, rest} = splitHost(address, entry);
  const fields = rest.startsWith('{') ? namedFields(rest, entry) : positionalFields(rest, entry);
  const {priority = 0, raft = options.raftPort, ...ports} = fields;
  return {name, host: completed(host, options.suffix), ports: {...ports, raft}, priority};
}

/** IPv6 addresses stand in brackets. */
function splitHost(address: string, entry: string): {readonly host: string; readonly rest: string} {
  const bracketed = /^\[([^\]]*)\](?::(.*))?$/s.exec(address);
  if (bracketed !== null) {
    const [, host = '', rest = ''] = bracketed;
    if (!isIPv6(host)) throw refusedEntry(entry, `'${host}' is no IPv6 address`);
    return {host, rest};
  }
  const colon = address.indexOf(':');
  const host = colon < 0 ? address : address.slice(0, colon);
  if (!hostPattern.test(host)) throw refusedEntry(entry, `'${host}' is no host`);
  return {host, rest: colon < 0 ? '' : address.slice(colon + 1).trim()};
}

type Fields = Partial<PeerPorts> & {readonly priority?: number};

function namedFields(text: string, entry: string): Fields {
  if (!text.endsWith('}')) throw refusedEntry(entry, 'the fields end with }');
  const fields: Record<string, number> = {};
  for (const part of text.slice(1, -1).split(',')) {
    if (part.trim() === '') continue;
    const [key = '', value = '', ...more] = part.split(':').map(word => word.trim());
    const isKnown = key === 'priority' || portNames.some(name => name === key);
    if (!isKnown || more.length > 0) {
      const known = [...portNames, 'priority'].join(', ');
      throw refusedEntry(entry, `'${part.trim()}' is none of the fields ${known}`);
    }
    if (key in fields) throw refusedEntry(entry, `the field '${key}' occurs twice`);
    fields[key] = numberOf(key, value, entry);
  }
  return fields;
}

function positionalFields(text: string, entry: string): Fields {
  if (text === '') return {};
  const words = text.split(':').map(word => word.trim());
  if (words.length > positions.length) {
    throw refusedEntry(entry, `more fields than host:${positions.join(':')}`);
  }
  const fields: Record<string, number> = {};
  for (const [index, word] of words.entries()) {
    const key = positions[index];
    if (key !== undefined) fields[key] = numberOf(key, word, entry);
  }
  return fields;
}

function numberOf(key: string, text: string, entry: string): number {
  const [least, most] = key === 'priority' ? [-priorityMax, priorityMax] : [1, portMax];
  const value = Number(text);
  if (/^-?\d{1,7}$/.test(text) && value >= least && value <= most) return value;
  throw refusedEntry(entry, `'${text}' is no ${key}: a whole number from ${least} to ${most}`);
}

function completed(host: string, suffix: string): string {
  const isWhole = isIP(host) !== 0 || host === 'localhost' || host.endsWith(suffix);
  return isWhole ? host : `${host}${suffix}`;
}

function refuseTwice(words: readonly string[], what: string): void {
  const twice = words.find((word, index) => words.indexOf(word) !== index);
  if (twice !== undefined) throw refused(`${what} '${twice}' occurs twice`);
}

function refusedEntry(entry: string, reason: string): Refusal {
  return new Refusal('argument', `in '${entry}', ${reason}`);
}

function refused(reason: string): Refusal {
  return new Refusal('start.refused', `the list of peers cannot be used: ${reason} (${setting})`);
}
