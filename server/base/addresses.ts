/** IP addresses as the system writes them, and the addresses that stand in URLs. */

/** IPv4 written as IPv6 is IPv4. */
export function plainAddress(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, '');
}

/** Whether only this machine can speak from there; `address` is plain. */
export function isLoopbackAddress(address: string): boolean {
  return address === '::1' || /^127(?:\.\d{1,3}){3}$/.test(address);
}

/** Writes an address as it stands in a URL; `host` is a name or an IP address. */
export function hostAndPort(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/**
 * An address as it is told to others than whoever gave it: without the user, the password and the
 * query, which may be a key. Any other text is left as it is.
 */
export function shownAddress(text: string): string {
  const [, scheme, rest] = /^([a-z][a-z0-9+.-]*:\/\/)(?:[^/?#]*@)?([^?#]*)/i.exec(text) ?? [];
  return scheme === undefined ? text : `${scheme}${rest}`;
}
