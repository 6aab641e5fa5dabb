/**
 * The server's private key and certificates, from one file: PEM or PKCS#12 (`svc.ssl.*`).
 *
 * A store is tried before anything listens with it, so a wrong password or a key that does not fit
 * its certificate stops the start with a sentence. A file that is replaced later (certificates are
 * renewed every few weeks) is taken over while the server runs; one that cannot be used is
 * reported, and the old one stays.
 */
import {readFileSync} from 'node:fs';
import {createSecureContext, type SecureContextOptions} from 'node:tls';
import {reasonOf, Refusal} from '#server/base/errors.ts';
import type {Settings} from '#server/base/setting-values.ts';
import type {Clock, Timers} from '#server/platform/clock.ts';
import type {Logger} from '#server/platform/logger.ts';
import {warnOfEnd} from './certificates.ts';
import {othersMayRead, stampOf, watchFiles} from './watched-files.ts';

const javaKeyStoreMagic = 0xfeedfeed;

/** What to listen with; undefined when HTTPS is off. @throws {Refusal} `start.refused`. */
export function openKeyStore(settings: Settings, logger: Logger): KeyStore | undefined {
  if (!settings.get('svc.ssl.enabled')) return undefined;
  const path = settings.get('svc.ssl.keyStore');
  if (path === '') {
    throw new Refusal('start.refused', 'svc.ssl.enabled needs a key store (svc.ssl.keyStore)');
  }
  return new KeyStore(path, settings.get('svc.ssl.keyStorePassword'), logger);
}

export class KeyStore {
  readonly #path: string;
  readonly #password: string;
  readonly #logger: Logger;
  readonly #seen: string;
  options: SecureContextOptions;

  constructor(path: string, password: string, logger: Logger) {
    this.#path = path;
    this.#password = password;
    this.#logger = logger;
    this.#seen = stampOf([path]);
    this.options = this.#read();
    if (othersMayRead(path)) {
      logger.log('warn', 'ssl.key-store-readable', {path, advice: `chmod 600 ${path}`});
    }
  }

  /** Looks for another file in its place every minute; the answered function ends it. */
  watch(
    {clock, timers}: {readonly clock: Clock; readonly timers: Timers},
    renew: (options: SecureContextOptions) => void,
  ): () => void {
    this.#warnOfEnd(clock.now());
    return watchFiles({
      paths: [this.#path],
      seen: this.#seen,
      timers,
      logger: this.#logger,
      event: 'ssl',
      reread: () => {
        this.options = this.#read();
        renew(this.options);
      },
    });
  }

  #read(): SecureContextOptions {
    try {
      const bytes = readFileSync(this.#path);
      const options = this.#optionsOf(bytes);
      createSecureContext(options);
      return options;
    } catch (error) {
      throw this.#refusal(error);
    }
  }

  #optionsOf(bytes: Buffer): SecureContextOptions {
    const secret = this.#password === '' ? {} : {passphrase: this.#password};
    if (bytes.includes('-----BEGIN ')) return {key: bytes, cert: bytes, ...secret};
    if (bytes.length >= 4 && bytes.readUInt32BE(0) === javaKeyStoreMagic) {
      throw new Error('a Java key store: convert it with keytool -importkeystore to PKCS12');
    }
    return {pfx: bytes, ...secret};
  }

  /** Works for PEM only: the platform does not show what lies in a PKCS#12 file. */
  #warnOfEnd(now: number): void {
    const {cert} = this.options;
    if (!(cert instanceof Buffer)) return;
    warnOfEnd(cert, now, {logger: this.#logger, event: 'ssl', path: this.#path});
  }

  #refusal(error: unknown): Refusal {
    const reason = reasonOf(error);
    const message = `the key store ${this.#path} cannot be used: ${reason} (svc.ssl.keyStore)`;
    return new Refusal('start.refused', message);
  }
}
