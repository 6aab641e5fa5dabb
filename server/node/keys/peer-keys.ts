/**
 * Key and certificates for the connections between the servers of a cluster (`svc.ha.tls.*`): three
 * PEM files, all of them needed.
 *
 * Whatever would make each handshake fail later stops the start instead, with the setting's name:
 * a file that is absent, a key of another form than PKCS#8 or of another certificate, a
 * certificate that may not be used by both sides. What time or another host may mend is a warning.
 * Files that are replaced are taken over while the server runs.
 *
 * Source: docs/cluster-connections.md.
 */
import {X509Certificate} from 'node:crypto';
import {readFileSync} from 'node:fs';
import {isIP} from 'node:net';
import {createSecureContext} from 'node:tls';
import {reasonOf, Refusal} from '#server/base/errors.ts';
import type {Settings} from '#server/base/setting-values.ts';
import type {Clock, Timers} from '#server/platform/clock.ts';
import type {Logger} from '#server/platform/logger.ts';
import type {PeerKeys} from '#server/replication/links/socket-security.ts';
import {certificatesIn, warnOfEnd} from './certificates.ts';
import {othersMayRead, stampOf, watchFiles} from './watched-files.ts';

const fileSettings = [
  'svc.ha.tls.certChainFile',
  'svc.ha.tls.privateKeyFile',
  'svc.ha.tls.trustCertCollectionFile',
] as const;
type FileSetting = (typeof fileSettings)[number];

/** Object identifiers of the usages as a server and as a client. */
const usagesNeeded: readonly (readonly [string, string])[] = [
  ['1.3.6.1.5.5.7.3.1', 'serverAuth'],
  ['1.3.6.1.5.5.7.3.2', 'clientAuth'],
];

export class PeerKeyFiles {
  readonly #settings: Settings;
  readonly #logger: Logger;
  readonly #paths: readonly string[];
  readonly #seen: string;
  keys: PeerKeys;

  /**
   * @param host - How peers dial this server; undefined where that is not known.
   * @throws {Refusal} `start.refused`.
   */
  constructor(settings: Settings, host: string | undefined, logger: Logger) {
    this.#settings = settings;
    this.#logger = logger;
    this.#paths = fileSettings.map(setting => settings.get(setting));
    this.#seen = stampOf(this.#paths);
    this.keys = this.#readAll();
    const path = settings.get('svc.ha.tls.privateKeyFile');
    if (othersMayRead(path)) {
      logger.log('warn', 'peer-tls.key-readable', {path, advice: `chmod 600 ${path}`});
    }
    if (!this.keys.isMutual) {
      const advice = 'set svc.ha.tls.mutualAuth=true';
      logger.log('warn', 'peer-tls.not-mutual', {
        reason: 'whoever connects needs no certificate, the token of the cluster alone',
        advice,
      });
    }
    if (host !== undefined) this.#warnOfName(host);
  }

  /** Looks for replaced files every minute; the answered function ends it. */
  watch(
    {clock, timers}: {readonly clock: Clock; readonly timers: Timers},
    renew: (keys: PeerKeys) => void,
  ): () => void {
    const path = this.#settings.get('svc.ha.tls.certChainFile');
    warnOfEnd(this.keys.cert, clock.now(), {logger: this.#logger, event: 'peer-tls', path});
    return watchFiles({
      paths: this.#paths,
      seen: this.#seen,
      timers,
      logger: this.#logger,
      event: 'peer-tls',
      reread: () => {
        this.keys = this.#readAll();
        renew(this.keys);
      },
    });
  }

  #readAll(): PeerKeys {
    const cert = this.#read('svc.ha.tls.certChainFile', certificatesIn);
    const key = this.#read('svc.ha.tls.privateKeyFile', refuseOtherForms);
    const ca = this.#read('svc.ha.tls.trustCertCollectionFile', certificatesIn);
    this.#tried('svc.ha.tls.certChainFile', () => refuseMissingUsages(new X509Certificate(cert)));
    this.#tried('svc.ha.tls.privateKeyFile', () => createSecureContext({key, cert}));
    return {key, cert, ca, isMutual: this.#settings.get('svc.ha.tls.mutualAuth')};
  }

  #read(setting: FileSetting, check: (pem: Buffer) => unknown): Buffer {
    const path = this.#settings.get(setting);
    if (path === '') {
      throw new Refusal('start.refused', `svc.ha.tls.enabled needs a file: set ${setting}`);
    }
    return this.#tried(setting, () => {
      const bytes = readFileSync(path);
      check(bytes);
      return bytes;
    });
  }

  /** What goes wrong with a file is said with its path and its setting. */
  #tried<Result>(setting: FileSetting, attempt: () => Result): Result {
    try {
      return attempt();
    } catch (error) {
      const path = this.#settings.get(setting);
      throw new Refusal('start.refused', `${path} cannot be used: ${reasonOf(error)} (${setting})`);
    }
  }

  #warnOfName(host: string): void {
    const certificate = new X509Certificate(this.keys.cert);
    const isNamed = isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host);
    if (isNamed !== undefined) return;
    this.#logger.log('warn', 'peer-tls.name', {
      reason: `the certificate does not name ${host}, which is what peers dial`,
      names: certificate.subjectAltName ?? '',
    });
  }
}

function refuseOtherForms(pem: Buffer): void {
  if (pem.includes('-----BEGIN PRIVATE KEY-----')) return;
  if (!pem.includes('PRIVATE KEY-----')) throw new Error('it holds no private key in PEM');
  const convert = 'openssl pkcs8 -topk8 -nocrypt';
  throw new Error(`a key that is encrypted or of another form than PKCS#8; use ${convert}`);
}

/** A certificate that lists usages may be used for those alone. */
function refuseMissingUsages({keyUsage}: X509Certificate): void {
  // Undefined in a certificate that lists none, whatever the declaration says.
  const listed = keyUsage as string[] | undefined;
  if (listed === undefined) return;
  const missing = usagesNeeded.filter(([id]) => !listed.includes(id)).map(([, name]) => name);
  if (missing.length === 0) return;
  throw new Error(`a certificate without the extended key usage ${missing.join(' and ')}`);
}
