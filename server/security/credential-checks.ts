/**
 * Whether a password is right, at a price that neither guesses nor honest requests make high.
 *
 * A verified password is remembered under a hash with a random key of this process, for as long as
 * it is used every few minutes and its user's stays the same, so that a request does not cost a
 * password hash. Requests that bring the same credentials at the same time share one check. A
 * refusal takes the same time for every name, and comes late.
 */
import {hash} from 'node:crypto';
import {rootName} from '#server/access/users.ts';
import {Refusal} from '#server/base/errors.ts';
import type {Settings} from '#server/base/setting-values.ts';
import type {Clock, Random, Timers} from '#server/platform/clock.ts';
import {LateTurns, type Pace} from './late-turns.ts';
import {type AttemptOutcome, Lockout} from './lockout.ts';
import {keyBytes, type PasswordHasher} from './passwords.ts';
import type {Principal} from './principal.ts';
import {ScramLogin} from './scram.ts';
import {base64, type ScramVerifier} from './scram-verifier.ts';

/** The users as they are now. */
export interface StoredUsers {
  /** The stored password; undefined: there is no such user. */
  passwordHashOf(name: string): string | undefined;
  principalOf(name: string): Principal | undefined;
  /** What logins by SCRAM-SHA-256 are judged by; undefined: the user cannot log in so. */
  scramVerifierOf(name: string): ScramVerifier | undefined;
  /** Somebody has shown the right password, and is given a verifier where there is none. */
  addVerifier(name: string, password: string): void;
}

export interface CredentialChecksOptions {
  readonly users: StoredUsers;
  readonly hasher: PasswordHasher;
  readonly clock: Clock;
  readonly random: Random;
  readonly timers: Timers;
  readonly settings: () => Settings;
}

interface Verified {
  principal: Principal;
  readonly passwordHash: string;
  until: number;
}

/** Bytes that the server adds to the client's nonce of a SCRAM login. */
const nonceBytes = 18;
const verifiedMs = 5 * 60_000;
const verifiedMax = 4_096;
/** What is used is put off again when so much of its time has gone. */
const renewedMs = 10_000;

/** A name that no user can have. */
const nobody = '\u0000';

/** Guesses at API tokens are counted by as much of them. */
const tokenPrefixLength = 11;

/** Two a second for one address, five for all: what they take of others must not be felt. */
const paceOfRefusals: Pace = {gapMs: 200, gapOfAskerMs: 500, waitMsMax: 15_000};

export class CredentialChecks {
  readonly #options: CredentialChecksOptions;
  readonly #lockout: Lockout;
  readonly #refusals: LateTurns;
  readonly #verifiedKey: string;
  readonly #verified = new Map<string, Verified>();
  readonly #underCheck = new Map<string, Promise<Principal>>();
  #names: readonly string[] = [];

  constructor(options: CredentialChecksOptions) {
    this.#options = options;
    this.#lockout = new Lockout(options.clock);
    this.#refusals = new LateTurns({...options, pace: paceOfRefusals});
    const key = Buffer.alloc(32);
    options.random.fill(key);
    this.#verifiedKey = key.toString('base64');
  }

  /** The users have changed: what was verified stays so for whose password is still the same. */
  reload(names: readonly string[]): void {
    const {users} = this.#options;
    this.#names = names;
    this.#underCheck.clear();
    for (const [key, verified] of this.#verified) {
      const {name} = verified.principal;
      const found = users.principalOf(name);
      const isSame = users.passwordHashOf(name) === verified.passwordHash;
      if (found !== undefined && isSame) verified.principal = found;
      else this.#verified.delete(key);
    }
  }

  /**
   * The user of a name and a password. A promise unless they were right a short while ago.
   *
   * A refusal comes late (`svc.security.failureDelay`) and behind others of its address, whatever
   * its reason: who guesses waits between two guesses, and takes next to nothing from others.
   *
   * @param source - Address that they come from; empty for a connection that is trusted already.
   * @param gone - Aborted when the connection ends: a refusal waits for nobody then.
   * @throws {Refusal} `security.unauthenticated`, `security.locked`, `admission.full`.
   */
  authenticate(
    user: string,
    password: string,
    source = '',
    gone?: () => AbortSignal,
  ): Principal | Promise<Principal> {
    if (this.#lockout.isLocked(user, source)) return this.#refuse(locked(), source, gone);
    const key = hash('sha256', `${this.#verifiedKey}${user}\u0000${password}`, 'base64');
    const verified = this.#verifiedAt(key);
    if (verified !== undefined) return verified;
    // An address never waits for, or is counted with, the attempt of another one.
    const shared = `${source} ${key}`;
    const late = (reason: unknown): Promise<never> => this.#refuse(reason, source, gone);
    const same = this.#underCheck.get(shared);
    if (same) return same.catch(late);
    const check = this.#check({name: user, password, source}, key).finally(() => {
      if (this.#underCheck.get(shared) === check) this.#underCheck.delete(shared);
    });
    this.#underCheck.set(shared, check);
    return check.catch(late);
  }

  /** Begins a login as `Security.scram` says. */
  scram(source: string, user: string | undefined): ScramLogin {
    const {random, users} = this.#options;
    const nonce = Buffer.alloc(nonceBytes);
    random.fill(nonce);
    let stored: ScramVerifier | undefined;
    return new ScramLogin({
      user,
      nonce: nonce.toString('base64'),
      verifierOf: name => {
        if (this.#lockout.isLocked(name, source)) throw locked();
        stored = users.scramVerifierOf(name);
        // Made for every name, so that it takes the same time for all.
        const nobody = this.#verifierOfNobody(name);
        return stored ?? nobody;
      },
      decide: (name, isProven) =>
        this.#decided({name, source, isProven, stored}).catch((reason: unknown) =>
          this.#refuse(reason, source),
        ),
    });
  }

  /**
   * Somebody who does not exist has a verifier that looks like those of others. It is the same on
   * every member and behind every restart, as theirs are: made from root's hash, which has a salt
   * that nobody is told.
   */
  #verifierOfNobody(name: string): ScramVerifier {
    const {users} = this.#options;
    const secret = users.passwordHashOf(rootName) ?? this.#verifiedKey;
    const {rounds = this.#options.settings().get('svc.server.saltIterations')} =
      users.scramVerifierOf(rootName) ?? {};
    const salt = base64(hash('sha256', `nobody ${secret} ${name}`, 'base64'));
    const key = Buffer.alloc(keyBytes);
    return {rounds, salt, storedKey: key, serverKey: key};
  }

  /** The user whose password was proven, and is still the same. */
  async #decided(proof: {
    readonly name: string;
    readonly source: string;
    readonly isProven: boolean;
    readonly stored: ScramVerifier | undefined;
  }): Promise<Principal> {
    const {name, source, isProven, stored} = proof;
    const {users} = this.#options;
    if (!this.#lockout.begin(name, source)) throw locked();
    const now = users.scramVerifierOf(name);
    const isSame = now !== undefined && stored?.storedKey.equals(now.storedKey) === true;
    const found = isProven && isSame ? users.principalOf(name) : undefined;
    this.#lockout.end(name, source, found ? 'right' : isProven ? 'undecided' : 'wrong');
    if (found === undefined) throw notValid();
    return found;
  }

  /** Finds a user as `Security.principalOfCertificate` says. */
  principalOfCertificate(name: string | undefined): Principal | Promise<never> {
    const {users} = this.#options;
    const isUser = name !== undefined && users.passwordHashOf(name) !== undefined;
    const found = isUser ? users.principalOf(name) : undefined;
    return found ?? this.#refuse(notValid(), '');
  }

  /** Tells the refusals that wait, and from now on each at once: the server stops. */
  endDelays(): void {
    this.#refusals.end();
  }

  async #refuse(reason: unknown, source: string, gone?: () => AbortSignal): Promise<never> {
    const delay = this.#options.settings().get('svc.security.failureDelay');
    if (delay > 0) await this.#refusals.after(delay, source, gone?.());
    throw reason;
  }

  #verifiedAt(key: string): Principal | undefined {
    const verified = this.#verified.get(key);
    const now = this.#options.clock.monotonic();
    if (verified === undefined || verified.until <= now) return undefined;
    if (verified.until - now < verifiedMs - renewedMs) {
      verified.until = now + verifiedMs;
      // The one that was used least lately is forgotten first.
      this.#verified.delete(key);
      this.#verified.set(key, verified);
    }
    return verified.principal;
  }

  /** Counts a wrong API token. @throws {Refusal} `security.locked` after too many of one kind. */
  countWrongToken(value: string, source: string): void {
    const prefix = value.slice(0, tokenPrefixLength);
    if (!this.#lockout.begin(prefix, source)) throw locked();
    this.#lockout.end(prefix, source, 'wrong');
  }

  async #check(
    {name, password, source}: {name: string; password: string; source: string},
    key: string,
  ): Promise<Principal> {
    if (!this.#lockout.begin(name, source)) throw locked();
    let outcome: AttemptOutcome = 'undecided';
    try {
      const {users, hasher} = this.#options;
      const resembled = this.#resembledBy(name);
      const stored = users.passwordHashOf(name);
      // Somebody is found and nobody is, once each: looking takes the same time for every name.
      const like = users.passwordHashOf(stored === undefined ? resembled : nobody);
      const isKnown = this.#lockout.isKnown(name, source);
      const right = await hasher.matches(password, {stored, like}, {source, isKnown});
      // The user may have changed while the hash was made: what counts is what stands now.
      const isSame = right && stored === users.passwordHashOf(name);
      const found = isSame ? users.principalOf(name) : undefined;
      outcome = found ? 'right' : right ? 'undecided' : 'wrong';
      if (!found) throw notValid();
      this.#remember(key, {principal: found, passwordHash: stored ?? ''});
      users.addVerifier(name, password);
      return found;
    } finally {
      this.#lockout.end(name, source, outcome);
    }
  }

  /** A user whom a name that nobody has resembles, always the same one. */
  #resembledBy(name: string): string {
    const names = this.#names;
    const place = Number.parseInt(hash('sha256', `${this.#verifiedKey}${name}`).slice(0, 8), 16);
    return names[place % names.length] ?? '';
  }

  #remember(key: string, verified: Pick<Verified, 'principal' | 'passwordHash'>): void {
    const [oldest] = this.#verified.keys();
    if (this.#verified.size >= verifiedMax && oldest !== undefined) this.#verified.delete(oldest);
    this.#verified.delete(key);
    const until = this.#options.clock.monotonic() + verifiedMs;
    this.#verified.set(key, {...verified, until});
  }
}

function notValid(): Refusal {
  return new Refusal('security.unauthenticated', 'User/Password not valid');
}

function locked(): Refusal {
  return new Refusal(
    'security.locked',
    'Too many failed authentication attempts. Try again later.',
  );
}
