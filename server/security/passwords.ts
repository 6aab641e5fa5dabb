/**
 * Password hashes: made and compared on the platform's thread pool, never on the main thread.
 *
 * At most `concurrencyMax` hashes run at once, so that guesses and logins leave threads for the
 * disk; further ones wait in a bounded queue, and one beyond it is refused. A comparison takes as
 * long for an unknown user as for a wrong password: both derive a key and compare all of it.
 * Format (reference 6.1): `PBKDF2WithHmacSHA256$<rounds>$<salt>$<hash>`, the salt being the base64
 * text of 32 random bytes, used as text; the hash 256 bits in base64.
 */
import {pbkdf2, timingSafeEqual} from 'node:crypto';
import {promisify} from 'node:util';
import {Refusal} from '#server/base/errors.ts';
import type {Random} from '#server/platform/clock.ts';

const deriveKey = promisify(pbkdf2);

const algorithm = 'PBKDF2WithHmacSHA256';
const saltBytes = 32;
const keyBytes = 32;
const roundsMax = 10_000_000;
const queueMax = 256;

interface Stored {
  readonly rounds: number;
  readonly salt: string;
  readonly key: Buffer;
}

export interface PasswordHasherOptions {
  readonly random: Random;
  /** Hashes that run at once. */
  readonly concurrencyMax: number;
  /** Rounds of hashes made from now on; also the cost of a comparison with nothing. */
  readonly rounds: () => number;
}

export class PasswordHasher {
  readonly #options: PasswordHasherOptions;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(options: PasswordHasherOptions) {
    this.#options = options;
  }

  /** The text to store for `password`. @throws {Refusal} `admission.full`. */
  async hash(password: string): Promise<string> {
    const salt = Buffer.alloc(saltBytes);
    this.#options.random.fill(salt);
    const rounds = this.#options.rounds();
    const saltText = salt.toString('base64');
    const key = await this.#derive(password, saltText, rounds);
    return `${algorithm}$${rounds}$${saltText}$${key.toString('base64')}`;
  }

  /**
   * Whether `password` is the one that `stored` was made from; never for undefined, an empty
   * text or a foreign format.
   *
   * @throws {Refusal} `admission.full`.
   */
  async matches(password: string, stored: string | undefined): Promise<boolean> {
    const parsed = stored === undefined ? undefined : parseStored(stored);
    const {rounds, salt, key} = parsed ?? {
      rounds: this.#options.rounds(),
      salt: 'nobody has this salt',
      key: Buffer.alloc(keyBytes),
    };
    const derived = await this.#derive(password, salt, rounds);
    return timingSafeEqual(derived, key) && parsed !== undefined;
  }

  async #derive(password: string, salt: string, rounds: number): Promise<Buffer> {
    if (this.#running >= this.#options.concurrencyMax) {
      if (this.#waiting.length >= queueMax) {
        throw new Refusal('admission.full', 'Too many passwords are being checked; try again');
      }
      // A finished hash hands its turn on, so `#running` does not change while we wait.
      await new Promise<void>(resolve => this.#waiting.push(resolve));
    } else {
      this.#running++;
    }
    try {
      return await deriveKey(password, salt, rounds, keyBytes, 'sha256');
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#running--;
    }
  }
}

function parseStored(text: string): Stored | undefined {
  const [name, roundsText, salt, hash, ...rest] = text.split('$');
  const rounds = Number(roundsText);
  if (name !== algorithm || salt === undefined || hash === undefined || rest.length > 0) {
    return undefined;
  }
  const key = Buffer.from(hash, 'base64');
  const usable = Number.isSafeInteger(rounds) && rounds >= 1 && rounds <= roundsMax;
  return usable && key.length === keyBytes ? {rounds, salt, key} : undefined;
}
