/**
 * The authorities that vouch for the other members' HTTPS (`svc.ssl.trustStore`): certificates in
 * PEM or PKCS#12, as keytool and openssl write it, tried before anything relies on them.
 *
 * A file that is replaced later is taken over while the server runs, as the certificates that it
 * vouches for are: whoever asks a member takes the authorities of that moment. One that cannot be
 * used is reported, and the old ones stay.
 *
 * Source: docs/cluster-connections.md.
 */
import {readFileSync} from 'node:fs';
import {reasonOf, Refusal} from '#server/base/errors.ts';
import type {Settings} from '#server/base/setting-values.ts';
import type {Timers} from '#server/platform/clock.ts';
import type {Logger} from '#server/platform/logger.ts';
import {certificatesIn} from './certificates.ts';
import {stampOf, watchFiles} from './watched-files.ts';

type Unpack = (bytes: Buffer, password: string) => readonly string[];

/** What PKCS#12 begins with, and no text does. */
const derSequence = 0x30;

export class TrustStore {
  readonly #path: string;
  readonly #password: string;
  readonly #unpack: Unpack | undefined;
  readonly #seen: string;
  /** Each certificate in PEM; none: those that the system knows are believed. */
  authorities: readonly string[];

  private constructor(path: string, password: string, unpack: Unpack | undefined) {
    this.#path = path;
    this.#password = password;
    this.#unpack = unpack;
    this.#seen = stampOf([path]);
    this.authorities = path === '' ? [] : this.#read();
  }

  /** @throws {Refusal} `start.refused`. */
  static async open(settings: Settings): Promise<TrustStore> {
    const path = settings.get('svc.ssl.trustStore');
    const unpack = isPacked(path) ? await unpacker() : undefined;
    return new TrustStore(path, settings.get('svc.ssl.trustStorePassword'), unpack);
  }

  /** Looks for another file in its place every minute; the answered function ends it. */
  watch({timers, logger}: {readonly timers: Timers; readonly logger: Logger}): () => void {
    if (this.#path === '') return () => {};
    return watchFiles({
      paths: [this.#path],
      seen: this.#seen,
      timers,
      logger,
      event: 'ssl.trust-store',
      reread: () => {
        this.authorities = this.#read();
      },
    });
  }

  #read(): readonly string[] {
    try {
      const bytes = readFileSync(this.#path);
      if (bytes[0] !== derSequence) return certificatesIn(bytes);
      if (this.#unpack !== undefined) return this.#unpack(bytes, this.#password);
      throw new Error('it was PEM and is PKCS#12 now, which takes a restart');
    } catch (error) {
      const what = `the trust store ${this.#path} cannot be used`;
      throw new Refusal('start.refused', `${what}: ${reasonOf(error)} (svc.ssl.trustStore)`);
    }
  }
}

/** A file that cannot be looked at is told of when it is read. */
function isPacked(path: string): boolean {
  try {
    return path !== '' && readFileSync(path)[0] === derSequence;
  } catch {
    return false;
  }
}

/** Its library is large, and most stores are PEM. */
async function unpacker(): Promise<Unpack> {
  const {packedCertificates} = await import('./packed-certificates.ts');
  return packedCertificates;
}
