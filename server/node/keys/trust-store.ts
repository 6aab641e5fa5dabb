/**
 * The authorities that vouch for the other members' HTTPS (`svc.ssl.trustStore`): certificates in
 * PEM, tried before anything relies on them.
 *
 * Source: docs/cluster-connections.md.
 */
import {readFileSync} from 'node:fs';
import {Refusal} from '#server/base/errors.ts';
import type {Settings} from '#server/base/setting-values.ts';
import {certificatesIn} from './certificates.ts';

/** Empty: those that the system knows. @throws {Refusal} `start.refused`. */
export function readTrustStore(settings: Settings): readonly string[] {
  const path = settings.get('svc.ssl.trustStore');
  if (path === '') return [];
  try {
    return certificatesIn(readFileSync(path));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const message = `the trust store ${path} cannot be used: ${reason} (svc.ssl.trustStore)`;
    throw new Refusal('start.refused', message);
  }
}
