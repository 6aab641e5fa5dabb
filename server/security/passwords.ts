/**
 * Password hashes: made and compared beside the main thread (`deriveKey`).
 *
 * At most `concurrencyMax` hashes run at once, so that guesses and logins leave processors for
 * requests; further ones wait in bounded queues in which sources take turns, so that a source that
 * floods them waits behind itself. Those whose password was right before have a queue of their own
 * and three turns of four. A comparison takes as long for an unknown user as for a wrong password:
 * both derive a key and compare all of it.
 * Format (docs/http.md): `PBKDF2WithHmacSHA256$<rounds>$<salt>$<hash>`, the salt being the base64
 * text of 32 random bytes, used as text; the hash 256 bits in base64.
 */
import {pbkdf2, timingSafeEqual} from 'node:crypto';
import {promisify} from 'node:util';
import {Refusal} from '#server/base/errors.ts';
import {FairQueue} from './fair-queue.ts';
import {base64, preparedPassword, printVerifier, saltBeside, verifierOf} from './scram-verifier.ts';
import type {Random} from '#server/platform/clock.ts';

/** Derives the key of a password by PBKDF2 with SHA-256, `keyBytes` long. */
export type DeriveKey = (password: string, salt: string, rounds: number) => Promise<Buffer>;

const pooled = promisify(pbkdf2);
/** What derives keys where nobody else needs the thread pool of the process. */
export const derivePooled: DeriveKey = (password, salt, rounds) =>
  pooled(password, salt, rounds, keyBytes, 'sha256');

const algorithm = 'PBKDF2WithHmacSHA256';
const saltBytes = 32;
export const keyBytes = 32;
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
  /** Default: on the thread pool of the process. */
  readonly deriveKey?: DeriveKey | undefined;
}

/** Whoever a password is hashed for. */
export interface HashTurn {
  /** Address that it came from; turns are taken by it. */
  readonly source: string;
  /** Whether a password was right before, from there or for that name. */
  readonly isKnown: boolean;
}

/** Changes of users are root's, or their own after a password was right. */
const ownTurn: HashTurn = {source: '', isKnown: true};

interface Waiting {
  readonly admit: () => void;
  readonly refuse: (reason: Refusal) => void;
}

/** One of so many turns goes to strangers while known ones wait. */
const strangerEvery = 4;

export class PasswordHasher {
  readonly #options: PasswordHasherOptions;
  readonly #deriveKey: DeriveKey;
  readonly #known = new FairQueue<Waiting>();
  readonly #strangers = new FairQueue<Waiting>();
  #running = 0;
  #turns = 0;

  constructor(options: PasswordHasherOptions) {
    this.#options = options;
    this.#deriveKey = options.deriveKey ?? derivePooled;
  }

  /** The text to store for `password`. @throws {Refusal} `admission.full`. */
  async hash(password: string): Promise<string> {
    const bytes = Buffer.alloc(saltBytes);
    this.#options.random.fill(bytes);
    const rounds = this.#options.rounds();
    const salt = bytes.toString('base64');
    const key = await this.#derive(password, salt, rounds, ownTurn);
    return `${algorithm}$${rounds}$${salt}$${key.toString('base64')}`;
  }

  /** What to store beside the hash for logins by SCRAM-SHA-256. @throws {Refusal} */
  async scramVerifier(password: string, passwordHash: string): Promise<string> {
    const rounds = this.#options.rounds();
    const salt = saltBeside(passwordHash);
    const salted = await this.#derive(preparedPassword(password), salt, rounds, ownTurn);
    return printVerifier(verifierOf(salted, {rounds, salt: base64(salt)}));
  }

  /**
   * Whether `password` is the one that `stored` was made from; never for undefined, an empty
   * text or a foreign format.
   *
   * @param like - Stored text of another user; where there is none to compare with, as many rounds
   *   are spent as it would take, so that time does not tell who exists.
   * @throws {Refusal} `admission.full`.
   */
  async matches(
    password: string,
    {stored, like}: {readonly stored: string | undefined; readonly like: string | undefined},
    turn: HashTurn = ownTurn,
  ): Promise<boolean> {
    // The same steps whether there is one to compare with or not.
    const parsed = parseStored(stored ?? like ?? '');
    const {rounds, salt, key} = parsed ?? {
      rounds: this.#options.rounds(),
      salt: 'nobody has this salt',
      key: Buffer.alloc(keyBytes),
    };
    const derived = await this.#derive(password, salt, rounds, turn);
    return timingSafeEqual(derived, key) && parsed !== undefined && stored !== undefined;
  }

  async #derive(password: string, salt: string, rounds: number, turn: HashTurn): Promise<Buffer> {
    // A finished hash hands its turn on, so `#running` does not change while we wait.
    if (this.#running >= this.#options.concurrencyMax) await this.#wait(turn);
    else this.#running++;
    try {
      return await this.#deriveKey(password, salt, rounds);
    } finally {
      const next = this.#next();
      if (next) next.admit();
      else this.#running--;
    }
  }

  #wait({source, isKnown}: HashTurn): Promise<void> {
    const queue = isKnown ? this.#known : this.#strangers;
    if (queue.size >= queueMax) {
      const displaced = queue.displace(source);
      if (displaced === undefined) throw tooMany();
      displaced.refuse(tooMany());
    }
    return new Promise((admit, refuse) => {
      queue.push(source, {admit, refuse});
    });
  }

  #next(): Waiting | undefined {
    this.#turns += 1;
    const queues = [this.#known, this.#strangers];
    if (this.#turns % strangerEvery === 0) queues.reverse();
    return queues[0]?.shift() ?? queues[1]?.shift();
  }
}

function tooMany(): Refusal {
  return new Refusal('admission.full', 'Too many passwords are being checked; try again');
}

/** What a stored text says; undefined for an empty one or a foreign format. */
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
