/**
 * The server's private key and certificates, from one file: PEM or PKCS#12 (`svc.ssl.*`).
 *
 * A store is tried before anything listens with it, so a wrong password or a key that does not fit
 * its certificate stops the start with a sentence. A file that is replaced later (certificates are
 * renewed every few weeks) is taken over while the server runs; one that cannot be used is
 * reported, and the old one stays.
 */
import {X509Certificate} from 'node:crypto';
import {readFileSync, statSync} from 'node:fs';
import {createSecureContext, type SecureContextOptions} from 'node:tls';
import {Refusal} from '#server/base/errors.ts';
import type {Settings} from '#server/base/setting-values.ts';
import type {Clock, Timers} from '#server/platform/clock.ts';
import type {Logger} from '#server/platform/logger.ts';

const renewalMs = 60_000;
const othersMayRead = 0o077;
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
  #changedAt: number;
  options: SecureContextOptions;

  constructor(path: string, password: string, logger: Logger) {
    this.#path = path;
    this.#password = password;
    this.#logger = logger;
    const {mtimeMs, mode} = this.#stat();
    this.#changedAt = mtimeMs;
    this.options = this.#read();
    if ((mode & othersMayRead) !== 0) {
      logger.log('warn', 'ssl.key-store-readable', {path, advice: `chmod 600 ${path}`});
    }
  }

  /** Looks for another file in its place every minute; the answered function ends it. */
  watch(
    {clock, timers}: {readonly clock: Clock; readonly timers: Timers},
    renew: (options: SecureContextOptions) => void,
  ): () => void {
    const look = (): void => {
      try {
        const {mtimeMs} = this.#stat();
        if (mtimeMs !== this.#changedAt) {
          this.#changedAt = mtimeMs;
          this.options = this.#read();
          renew(this.options);
          this.#logger.log('info', 'ssl.renewed', {path: this.#path});
        }
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        this.#logger.log('error', 'ssl.renewal-failed', {reason: error.message});
      }
      cancel = timers.after(renewalMs, look);
    };
    this.#warnOfEnd(clock.now());
    let cancel = timers.after(renewalMs, look);
    return () => cancel();
  }

  #stat(): {readonly mtimeMs: number; readonly mode: number} {
    try {
      return statSync(this.#path);
    } catch (error) {
      throw this.#refusal(error);
    }
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

  /** Of PEM only: what lies in a PKCS#12 file is not shown by the platform. */
  #warnOfEnd(now: number): void {
    const {cert} = this.options;
    if (!(cert instanceof Buffer)) return;
    const endsAt = Date.parse(new X509Certificate(cert).validTo);
    if (endsAt <= now) {
      const until = new Date(endsAt).toISOString();
      this.#logger.log('warn', 'ssl.certificate-expired', {path: this.#path, until});
    }
  }

  #refusal(error: unknown): Refusal {
    const reason = error instanceof Error ? error.message : String(error);
    const message = `the key store ${this.#path} cannot be used: ${reason} (svc.ssl.keyStore)`;
    return new Refusal('start.refused', message);
  }
}
