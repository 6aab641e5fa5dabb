/**
 * Certificates in PEM, as the files of keys, chains and authorities hold them: each is tried before
 * anything relies on it, since the platform passes over those that it cannot read.
 */
import {X509Certificate} from 'node:crypto';
import type {Logger} from '#server/platform/logger.ts';

/** One that has no end reaches to that of the file, and cannot be read. */
const certificate = /-----BEGIN CERTIFICATE-----[^]*?(?:-----END CERTIFICATE-----|$)/g;

/**
 * The text of each certificate; what stands beside them, such as a key, is left out.
 *
 * @throws {Error} when there is none, or one that cannot be read; the caller names the file.
 */
export function certificatesIn(pem: Buffer): readonly string[] {
  const texts = pem.toString('latin1').match(certificate) ?? [];
  if (texts.length === 0) throw new Error('it holds no certificate in PEM');
  for (const text of texts) new X509Certificate(text);
  return texts;
}

/** Warns of a certificate whose time is over; of several in a file, of the first, which is used. */
export function warnOfEnd(
  pem: Buffer,
  now: number,
  {logger, event, path}: {readonly logger: Logger; readonly event: string; readonly path: string},
): void {
  const endsAt = Date.parse(new X509Certificate(pem).validTo);
  if (endsAt > now) return;
  logger.log('warn', `${event}.certificate-expired`, {path, until: new Date(endsAt).toISOString()});
}
