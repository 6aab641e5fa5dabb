/**
 * Whether a page in a browser may speak with this server, by the `Origin` that the browser sends.
 *
 * A page of this machine may, one of a listed origin, and one that came from this server itself.
 * The last is told by the host that the request addresses, which a page chooses when its name is
 * made to lead here (DNS rebinding): it counts only where that host is a name of this machine or
 * one that the settings say this server is reached by. Programs send no origin and are not asked.
 */

/** @param ownHosts - Names and addresses by which the settings say the server is reached. */
export interface Addressed {
  readonly origin: string;
  /** The header `Host`. */
  readonly host: string | undefined;
  readonly ownHosts: readonly string[];
}

export function acceptsOrigin(
  {origin, host, ownHosts}: Addressed,
  allowedOrigins: readonly string[],
): boolean {
  if (allowedOrigins.includes('*')) return true;
  const page = originOf(origin);
  if (page === undefined) return false;
  if (isLoopback(page.hostname)) return true;
  if (allowedOrigins.some(allowed => originOf(allowed)?.origin === page.origin)) return true;
  if (!ownHosts.some(own => hostnameOf(own) === page.hostname)) return false;
  return host !== undefined && originOf(`${page.protocol}//${host}`)?.host === page.host;
}

/** Undefined for what is no origin of a page: `null`, a path, another scheme, a user. */
function originOf(text: string): URL | undefined {
  const isOrigin = /^https?:\/\/[^/?#@\\\s]+\/?$/i.test(text) && URL.canParse(text);
  return isOrigin ? new URL(text) : undefined;
}

function hostnameOf(host: string): string | undefined {
  const written = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
  return originOf(`http://${written}`)?.hostname;
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname);
}
