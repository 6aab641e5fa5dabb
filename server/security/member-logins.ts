/**
 * Logins that other members of the cluster keep.
 *
 * A login lives on the server that opened it, with its idle time and its end, and holds on every
 * member: one that does not know a token asks the others for it, and remembers the answer for a
 * second. So a use counts where the login lives, a log-out holds everywhere within that second, and
 * a login ends with the server that keeps it, as it does on a server alone.
 *
 * The user of the answer must have, here and now, the credentials with which he logged in there:
 * whoever was dropped or got another password is refused by each member from the moment that it
 * knows of it (invariant S1). Tokens of a cluster are sealed with its secret, so that nobody is
 * asked about one that was made up. Why: docs/design/0054-logins-of-a-cluster.md.
 */
import {createHmac, hash, timingSafeEqual} from 'node:crypto';
import type {Clock} from '#server/platform/clock.ts';

/** What a member says of a login that it keeps. */
export interface KeptLogin {
  readonly user: string;
  /** Digest of the credentials that the user has there; see `credentialDigest`. */
  readonly credentials: string;
}

/** The other members, as far as logins go. */
export interface LoginMembers {
  /** Secrets of the cluster: the first seals, all are believed. */
  readonly secrets: readonly string[];
  /** Undefined: none of those who answer keeps such a login. */
  find(token: string): Promise<KeptLogin | undefined>;
  /** @throws {Refusal} `cluster.no-quorum` when a member that may keep it did not answer. */
  end(token: string): Promise<void>;
  /** Resolves when this server has applied what was acknowledged anywhere before. */
  caughtUp(): Promise<void>;
}

export interface MemberLoginsOptions {
  readonly members: LoginMembers;
  readonly clock: Clock;
  /** Digest of the credentials that a user has here; undefined: there is no such user. */
  readonly credentialsOf: (user: string) => string | undefined;
}

const rememberedMs = 1_000;
const rememberedMax = 4_096;

/** What two members compare: whoever has it learns nothing of the credentials. */
export function credentialDigest(stored: string): string {
  return hash('sha256', `credentials ${stored}`, 'base64url');
}

export class MemberLogins {
  readonly #options: MemberLoginsOptions;
  readonly #known = new Map<string, {readonly user: string; readonly until: number}>();
  readonly #asked = new Map<string, Promise<string | undefined>>();

  constructor(options: MemberLoginsOptions) {
    this.#options = options;
  }

  /** The token with what proves that a member of this cluster made it. */
  seal(token: string): string {
    const [secret = ''] = this.#options.members.secrets;
    return `${token}.${sealOf(token, secret)}`;
  }

  /**
   * The user of a login that another member keeps; undefined: there is none.
   *
   * @throws {Refusal} `cluster.no-quorum` where this server cannot learn who the user is by now.
   */
  userOf(token: string): string | undefined | Promise<string | undefined> {
    const known = this.#known.get(token);
    if (known !== undefined && known.until > this.#options.clock.monotonic()) return known.user;
    if (!this.#isSealed(token)) return undefined;
    const asked = this.#asked.get(token);
    if (asked !== undefined) return asked;
    const asking = this.#ask(token).finally(() => this.#asked.delete(token));
    this.#asked.set(token, asking);
    return asking;
  }

  /** Ends a login wherever it is kept. @throws {Refusal} `cluster.no-quorum`. */
  async end(token: string): Promise<void> {
    if (!this.#isSealed(token)) return;
    await this.#options.members.end(token);
    this.#known.delete(token);
  }

  /** Forgets what it remembers of a user. */
  forget(user: string): void {
    for (const [token, known] of this.#known) if (known.user === user) this.#known.delete(token);
  }

  async #ask(token: string): Promise<string | undefined> {
    const {members, clock, credentialsOf} = this.#options;
    const kept = await members.find(token);
    if (kept === undefined) {
      this.#known.delete(token);
      return undefined;
    }
    const isCurrent = (): boolean => credentialsOf(kept.user) === kept.credentials;
    // A user who was made, or changed, a moment ago may not be known here yet.
    if (!isCurrent()) await members.caughtUp();
    if (!isCurrent()) return undefined;
    const [oldest] = this.#known.keys();
    if (this.#known.size >= rememberedMax && oldest !== undefined) this.#known.delete(oldest);
    this.#known.delete(token);
    this.#known.set(token, {user: kept.user, until: clock.monotonic() + rememberedMs});
    return kept.user;
  }

  #isSealed(token: string): boolean {
    const dot = token.lastIndexOf('.');
    if (dot < 0) return false;
    const given = Buffer.from(token.slice(dot + 1));
    return this.#options.members.secrets.some(secret => {
      const expected = Buffer.from(sealOf(token.slice(0, dot), secret));
      return expected.length === given.length && timingSafeEqual(expected, given);
    });
  }
}

function sealOf(token: string, secret: string): string {
  return createHmac('sha256', secret).update(`login ${token}`).digest('base64url').slice(0, 22);
}
