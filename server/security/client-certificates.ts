/**
 * Client certificates: the user whom one names. TLS has verified it against the authorities that a
 * server trusts, so it is as good as they are; its common name is the name of the user.
 */

/** A connection over TLS; `TLSSocket` is one. */
export interface CertifiedSocket {
  readonly authorized: boolean;
  getPeerCertificate(): {readonly subject?: {readonly CN?: unknown} | undefined};
}

/** The name in the certificate of a connection; undefined: it showed none that was verified. */
export function certifiedName(socket: CertifiedSocket): string | undefined {
  if (!socket.authorized) return undefined;
  // What has several names would be whichever of them suits it.
  const name = socket.getPeerCertificate().subject?.CN;
  return typeof name === 'string' && name !== '' ? name : undefined;
}
