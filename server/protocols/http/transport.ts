/**
 * Whether others could read a request's answer on its way.
 *
 * Nobody can who is not on this machine, or between the ends of a TLS connection. A proxy that
 * ends TLS in front of us is believed when it is listed, and only when every hop it reports, in
 * `X-Forwarded-Proto` or `Forwarded` (RFC 7239), is https: a client could write both headers.
 */
import type {IncomingMessage} from 'node:http';
import {BlockList, isIP} from 'node:net';
import {isLoopbackAddress, plainAddress} from '#server/base/addresses.ts';
import {Refusal} from '#server/base/errors.ts';

type RequestWay = Pick<IncomingMessage, 'headers' | 'socket'>;

export class Transport {
  readonly #proxies: BlockList;

  /**
   * @param proxies - Addresses or CIDR ranges, between commas.
   * @throws {Refusal} `start.refused` for anything else; names are not looked up.
   */
  constructor(proxies: string) {
    this.#proxies = addressList(proxies);
  }

  isProtected({headers, socket}: RequestWay): boolean {
    if ('encrypted' in socket) return true;
    const {remoteAddress} = socket;
    if (remoteAddress === undefined) return false;
    const address = plainAddress(remoteAddress);
    if (isLoopbackAddress(address)) return true;
    return contains(this.#proxies, address) && isForwardedSecurely(headers);
  }
}

const setting = 'svc.server.apiTokenTrustedProxies';

function addressList(text: string): BlockList {
  const list = new BlockList();
  for (const entry of text.split(',').map(part => part.trim())) {
    if (entry === '') continue;
    const [address = '', bits] = entry.split('/');
    const family = familyOf(address);
    const bitsMax = family === 'ipv4' ? 32 : 128;
    const prefix = bits === undefined ? bitsMax : Number(bits);
    const isRange = /^\d{1,3}$/.test(bits ?? '0') && prefix <= bitsMax && !entry.endsWith('/');
    if (family === undefined || !isRange) {
      const message = `'${entry}' is neither an address nor a range like 10.0.0.0/8 (${setting})`;
      throw new Refusal('start.refused', message);
    }
    list.addSubnet(address, prefix, family);
  }
  return list;
}

function contains(list: BlockList, address: string): boolean {
  const family = familyOf(address);
  return family !== undefined && list.check(address, family);
}

function familyOf(address: string): 'ipv4' | 'ipv6' | undefined {
  const version = isIP(address);
  return version === 4 ? 'ipv4' : version === 6 ? 'ipv6' : undefined;
}

/** Whether a hop is reported, and none that is not https. */
function isForwardedSecurely(headers: IncomingMessage['headers']): boolean {
  const schemes = [
    ...hops(headers['x-forwarded-proto']),
    ...hops(headers['forwarded']).map(hop => /(?:^|;)\s*proto="?([^";]*)/i.exec(hop)?.[1] ?? ''),
  ];
  return schemes.length > 0 && schemes.every(scheme => scheme.trim().toLowerCase() === 'https');
}

function hops(header: string | readonly string[] | undefined): string[] {
  if (header === undefined) return [];
  return [header].flat().flatMap(line => line.split(','));
}
