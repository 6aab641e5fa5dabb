/**
 * Logins: tokens that stand for a user until they are left unused for too long.
 *
 * A token is `AU-<server name>-<uuid>`, with a seal behind it in a cluster, and is kept by the
 * server that made it; other members ask for it (member-logins.ts). A login keeps the name of its
 * user, not a principal, so that a change of the user's grants shows at its next request.
 */
import {rootName} from '#server/access/users.ts';
import {Refusal} from '#server/base/errors.ts';
import type {Clock, Random} from '#server/platform/clock.ts';
import {uuidOf} from '#server/base/uuid.ts';

/** One row of the list of logins; times in milliseconds since 1970. */
export interface Login {
  readonly token: string;
  readonly user: string;
  readonly createdAt: number;
  readonly lastUpdate: number;
  readonly elapsedMs: number;
  readonly sourceIp: string;
  readonly userAgent: string | undefined;
}

/** Where a login came from, for the list. */
export interface LoginOrigin {
  readonly sourceIp: string;
  readonly userAgent: string | undefined;
}

export interface LoginsOptions {
  readonly serverName: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly idleMs: () => number;
  /** Longest life of a login, used or not; 0 for no end. */
  readonly absoluteMs: () => number;
  readonly countMax: () => number;
  /** Most logins that one user has open; root may have all. */
  readonly countMaxOfUser: () => number;
  /** Makes a token one that other members of a cluster ask about. */
  readonly seal: (token: string) => string;
}

/** One of so many logins is root's alone. */
const rootShare = 10;

interface OpenLogin {
  readonly user: string;
  readonly origin: LoginOrigin;
  readonly createdAt: number;
  lastUpdate: number;
  /** Monotonic twins of the two times above: the wall clock may jump. */
  readonly began: number;
  lastUsed: number;
}

export class Logins {
  readonly #options: LoginsOptions;
  readonly #byToken = new Map<string, OpenLogin>();
  /** How many each user has. */
  readonly #counts = new Map<string, number>();

  constructor(options: LoginsOptions) {
    this.#options = options;
  }

  /** Opens a login and returns its token. @throws {Refusal} `admission.full`. */
  open(user: string, origin: LoginOrigin): string {
    const {clock, random, serverName, seal} = this.#options;
    if (this.#isFull(user)) this.#sweep();
    if (this.#isFull(user)) {
      throw new Refusal(
        'admission.full',
        'Too many logins are open; log out elsewhere or wait (svc.server.httpAuthSessionMax, ' +
          'svc.server.httpAuthSessionMaxPerUser)',
      );
    }
    this.#counts.set(user, this.#countOf(user) + 1);
    const token = seal(`AU-${serverName}-${uuidOf(random)}`);
    const now = clock.now();
    const began = clock.monotonic();
    this.#byToken.set(token, {
      user,
      origin,
      createdAt: now,
      lastUpdate: now,
      began,
      lastUsed: began,
    });
    return token;
  }

  /** The user of a live login, which counts as used now; undefined for any other token. */
  userOf(token: string): string | undefined {
    const login = this.#byToken.get(token);
    if (login === undefined) return undefined;
    const now = this.#options.clock.monotonic();
    if (this.#hasEnded(login, now)) {
      this.close(token);
      return undefined;
    }
    login.lastUsed = now;
    login.lastUpdate = this.#options.clock.now();
    return login.user;
  }

  /** False: this server keeps no such login. */
  close(token: string): boolean {
    const login = this.#byToken.get(token);
    if (login === undefined) return false;
    this.#byToken.delete(token);
    const left = this.#countOf(login.user) - 1;
    if (left > 0) this.#counts.set(login.user, left);
    else this.#counts.delete(login.user);
    return true;
  }

  #countOf(user: string): number {
    return this.#counts.get(user) ?? 0;
  }

  /** A tenth of all is kept for root, whom others are not to lock out. */
  #isFull(user: string): boolean {
    const {countMax, countMaxOfUser} = this.#options;
    const all = countMax();
    if (user === rootName) return this.#byToken.size >= all;
    const others = Math.max(1, all - Math.ceil(all / rootShare));
    const taken = this.#byToken.size - this.#countOf(rootName);
    return taken >= others || this.#countOf(user) >= countMaxOfUser();
  }

  closeAllOf(user: string): void {
    for (const [token, login] of this.#byToken) {
      if (login.user === user) this.close(token);
    }
  }

  list(): readonly Login[] {
    this.#sweep();
    const now = this.#options.clock.now();
    return Array.from(this.#byToken, ([token, {user, origin, createdAt, lastUpdate}]) => ({
      token,
      user,
      createdAt,
      lastUpdate,
      elapsedMs: now - lastUpdate,
      ...origin,
    }));
  }

  #hasEnded(login: OpenLogin, now: number): boolean {
    const absoluteMs = this.#options.absoluteMs();
    if (absoluteMs > 0 && now - login.began >= absoluteMs) return true;
    return now - login.lastUsed >= this.#options.idleMs();
  }

  #sweep(): void {
    const now = this.#options.clock.monotonic();
    for (const [token, login] of this.#byToken) {
      if (this.#hasEnded(login, now)) this.close(token);
    }
  }
}
