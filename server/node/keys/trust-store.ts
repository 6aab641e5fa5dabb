/**
 * The authorities that vouch for the other members' HTTPS (`svc.ssl.trustStore`): certificates in
 * PEM or PKCS#12, as keytool and openssl write it, tried before anything relies on them.
 *
 * Source: docs/cluster-connections.md.
 */
import {readFileSync} from 'node:fs';
import {Refusal} from '#server/base/errors.ts';
import type {Settings} from '#server/base/setting-values.ts';
import {certificatesIn} from './certificates.ts';

/**
 * Returns each certificate in PEM; none: those that the system knows are believed.
 *
 * @throws {Refusal} `start.refused`.
 */
export async function readTrustStore(settings: Settings): Promise<readonly string[]> {
  const path = settings.get('svc.ssl.trustStore');
  if (path === '') return [];
  try {
    const bytes = readFileSync(path);
    if (bytes[0] !== derSequence) return certificatesIn(bytes);
    const {packedCertificates} = await import('./packed-certificates.ts');
    return packedCertificates(bytes, settings.get('svc.ssl.trustStorePassword'));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const message = `the trust store ${path} cannot be used: ${reason} (svc.ssl.trustStore)`;
    throw new Refusal('start.refused', message);
  }
}

/** What PKCS#12 begins with, and no text does. */
const derSequence = 0x30;
