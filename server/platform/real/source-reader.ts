/**
 * The source reader on Node: files by descriptor, addresses by its http client.
 *
 * An address is checked when it is connected to, not before: the name is resolved once, by the
 * guard itself, so that no second answer of the name's server can lead elsewhere. Redirects are
 * followed here, each like a first address.
 */
import {lookup, type LookupAddress, type LookupAllOptions} from 'node:dns';
import {closeSync, constants, fstatSync, openSync, readSync, realpathSync} from 'node:fs';
import {get as getPlain, type IncomingMessage} from 'node:http';
import {get as getSecure} from 'node:https';
import {BlockList, isIP, type LookupFunction} from 'node:net';
import {join, sep} from 'node:path';
import {shownAddress} from '#server/base/addresses.ts';
import {Refusal} from '#server/base/errors.ts';
import type {FetchBounds, SourceReader} from '../source-reader.ts';

const portionBytes = 256 * 1024;
const redirectsMax = 5;

/** How names become addresses; the system's own way, or that of a test. */
export type Resolve = (
  name: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, found: readonly LookupAddress[]) => void,
) => void;

export function createSourceReader(resolve: Resolve = lookup): SourceReader {
  return {
    file,
    fetch: (address, bounds) => fetchFrom(address, {...bounds, resolve}, redirectsMax),
  };
}

interface Fetch extends FetchBounds {
  readonly resolve: Resolve;
}

function* file(path: string, root: string | undefined): Generator<Uint8Array, void, undefined> {
  const descriptor = openSource(path, root);
  try {
    const portion = new Uint8Array(portionBytes);
    for (;;) {
      const length = readSync(descriptor, portion);
      if (length === 0) return;
      yield portion.subarray(0, length);
    }
  } catch (error) {
    throw unreadable(path, error);
  } finally {
    closeSync(descriptor);
  }
}

/** What a link leads to is opened, not the link: it may not change between check and use. */
function openSource(path: string, root: string | undefined): number {
  try {
    const real = realpathSync(root === undefined ? path : join(root, path));
    if (root !== undefined && !real.startsWith(realpathSync(root) + sep)) throw outside(path);
    // A pipe without a writer would hold the thread until one opens it.
    const descriptor = openSync(real, constants.O_RDONLY | constants.O_NONBLOCK);
    if (fstatSync(descriptor).isFile()) return descriptor;
    closeSync(descriptor);
    throw new Refusal('source.refused', `'${path}' is no regular file`);
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw unreadable(path, error);
  }
}

function outside(path: string): Refusal {
  return new Refusal('source.refused', `'${path}' lies outside of the directory of imports`);
}

function unreadable(source: string, cause: unknown): Refusal {
  if (cause instanceof Refusal) return cause;
  const why = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown reason';
  const shown = shownAddress(source);
  return new Refusal('source.unreadable', `'${shown}' cannot be read (${why})`, {
    detail: {source: shown, reason: why},
  });
}

async function fetchFrom(address: URL, bounds: Fetch, redirects: number): Promise<Uint8Array> {
  const answer = await request(address, bounds);
  const {statusCode = 0, headers} = answer;
  const target = statusCode >= 300 && statusCode < 400 ? headers.location : undefined;
  if (target !== undefined) {
    answer.destroy();
    if (redirects === 0) throw refusedAnswer(address, 'too many redirects');
    const next = URL.canParse(target, address.href) ? new URL(target, address) : undefined;
    if (next === undefined) throw refusedAnswer(address, 'a redirect to no address');
    return fetchFrom(next, bounds, redirects - 1);
  }
  if (statusCode !== 200) {
    answer.destroy();
    throw refusedAnswer(address, `status ${statusCode}`);
  }
  return bytesOf(answer, address, bounds);
}

function request(address: URL, bounds: Fetch): Promise<IncomingMessage> {
  const {protocol, hostname} = address;
  if (protocol !== 'http:' && protocol !== 'https:') {
    return Promise.reject(new Refusal('source.refused', `${protocol} is neither http nor https`));
  }
  const blocked = blockListOf(bounds.blocked);
  const literal = hostname.replace(/^\[|\]$/g, '');
  if (isIP(literal) !== 0 && isBlocked(blocked, literal)) return Promise.reject(guarded(address));
  const get = protocol === 'https:' ? getSecure : getPlain;
  return new Promise((resolve, reject) => {
    const options = {
      lookup: guardedLookup(bounds.resolve, blocked, address),
      signal: AbortSignal.timeout(bounds.timeoutMs),
      agent: false,
    } as const;
    get(address, options, resolve).on('error', error => reject(unreadable(address.href, error)));
  });
}

async function bytesOf(
  answer: IncomingMessage,
  address: URL,
  {bytesMax}: FetchBounds,
): Promise<Uint8Array> {
  const parts: Buffer[] = [];
  let length = 0;
  try {
    for await (const part of answer as AsyncIterable<Buffer>) {
      length += part.length;
      if (length > bytesMax) throw refusedAnswer(address, `more than ${bytesMax} bytes`);
      parts.push(part);
    }
  } catch (error) {
    throw unreadable(address.href, error);
  }
  return Buffer.concat(parts, length);
}

function refusedAnswer(address: URL, why: string): Refusal {
  const shown = shownAddress(address.href);
  return new Refusal('source.unreadable', `'${shown}' cannot be read: ${why}`, {
    detail: {source: shown, reason: why},
  });
}

function guarded({hostname}: URL): Refusal {
  return new Refusal(
    'source.refused',
    `'${hostname}' is an address of a blocked range: ` +
      'svc.opencypher.loadCsv.blockedIpRanges says which',
  );
}

function blockListOf(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [network = '', prefix = ''] = range.split('/');
    list.addSubnet(network, Number(prefix), isIP(network) === 6 ? 'ipv6' : 'ipv4');
  }
  return list;
}

/** An IPv4 address inside of an IPv6 one counts as the former: `check` looks at both. */
function isBlocked(list: BlockList, address: string): boolean {
  return list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
}

/** A name of which any address is blocked is not asked at all. */
function guardedLookup(resolve: Resolve, blocked: BlockList, address: URL): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, {...options, all: true}, (error, found) => {
      if (error !== null) return callback(error, '');
      if (found.some(({address: ip}) => isBlocked(blocked, ip))) {
        return callback(guarded(address), '');
      }
      const [first] = found;
      if (options.all === true) return callback(null, [...found]);
      return callback(null, first?.address ?? '', first?.family ?? 0);
    });
  };
}
