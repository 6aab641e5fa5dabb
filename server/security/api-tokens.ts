/**
 * API tokens: long-lived secrets for programs, each with rights of its own (docs/http.md).
 *
 * A token's value is shown once, when it is made. Afterwards the server knows its hash alone, and
 * finds it by that: how long the look-up takes tells nothing of a value. Whoever brings one is
 * the principal `apitoken:<name>`, never root.
 */
import {hash} from 'node:crypto';
import {
  type ApiToken,
  type ApiTokens,
  checkPermissions,
  checkTokenName,
  rightsOf,
  tokenPrincipalPrefix,
} from '#server/access/api-tokens.ts';
import {Refusal} from '#server/base/errors.ts';
import type {Clock, Random} from '#server/platform/clock.ts';
import type {Principal} from './principal.ts';

/** A token as lists show it. */
export interface ListedToken extends ApiToken {
  readonly expired: boolean;
}

/** A token as it is made: the only time that its value is known. */
export interface MadeToken {
  readonly token: ApiToken;
  readonly value: string;
}

/** What a client asks for; `permissions` as it wrote them. */
export interface TokenRequest {
  readonly name: string;
  readonly database: string;
  readonly expiresAt: number;
  readonly permissions: unknown;
}

export interface TokenListOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Replaces the document by what `next` makes of it when its turn has come. */
  readonly change: (next: (tokens: ApiTokens) => ApiTokens) => Promise<void>;
}

const valuePrefix = 'at-';
const valueBytes = 32;
const suffixLength = 4;

/** Whether a bearer's secret is one of an API token, good or bad. */
export function isApiTokenValue(value: string): boolean {
  return value.startsWith(valuePrefix);
}

/** Whether a name is one of those that stand for tokens, not for users. */
export function isApiTokenPrincipal(name: string): boolean {
  return name.startsWith(tokenPrincipalPrefix);
}

export class TokenList {
  readonly #options: TokenListOptions;
  #tokens: ApiTokens = new Map();
  /** The principal of each token, keyed by the token's hash. */
  #principals: ReadonlyMap<string, Principal> = new Map();

  constructor(options: TokenListOptions) {
    this.#options = options;
  }

  /** Takes over a document; answers the principals whose token is gone or another one now. */
  replace(tokens: ApiTokens): readonly string[] {
    const before = this.#principals;
    this.#tokens = tokens;
    this.#principals = new Map(Array.from(tokens, ([key, token]) => [key, principal(token)]));
    return Array.from(before)
      .filter(([key]) => !tokens.has(key))
      .map(([, {name}]) => name);
  }

  principals(): Iterable<Principal> {
    return this.#principals.values();
  }

  /** The hash of the token that a principal stands for; undefined: no token has the name. */
  hashOf(principalName: string): string | undefined {
    for (const [key, {name}] of this.#principals) if (name === principalName) return key;
    return undefined;
  }

  list(): readonly ListedToken[] {
    const now = this.#options.clock.now();
    return Array.from(this.#tokens.values(), token => ({
      ...token,
      expired: token.expiresAt > 0 && token.expiresAt <= now,
    }));
  }

  /** Whose value it is, expired or not; undefined for any other text. */
  find(value: string): Principal | undefined {
    return this.#principals.get(hash('sha256', value, 'hex'));
  }

  /** @throws {Refusal} `argument`, `token.exists`. */
  async create({name, database, expiresAt, permissions}: TokenRequest): Promise<MadeToken> {
    const {clock, random, change} = this.#options;
    checkTokenName(name);
    const createdAt = clock.now();
    if (expiresAt !== 0 && expiresAt <= createdAt) {
      throw new Refusal(
        'argument',
        "'expiresAt' lies in the past: give milliseconds, or 0 for never",
      );
    }
    const secret = Buffer.alloc(valueBytes);
    random.fill(secret);
    const value = `${valuePrefix}${secret.toString('hex')}`;
    const token: ApiToken = {
      tokenHash: hash('sha256', value, 'hex'),
      tokenSuffix: value.slice(-suffixLength),
      name,
      database,
      expiresAt,
      createdAt,
      permissions: checkPermissions(permissions),
    };
    await change(tokens => {
      for (const known of tokens.values()) {
        if (known.name !== name) continue;
        throw new Refusal('token.exists', `A token with name '${name}' already exists`);
      }
      return new Map(tokens).set(token.tokenHash, token);
    });
    return {token, value};
  }

  /** Whether there was such a token. Whatever was opened with it has ended then. */
  async drop(tokenHash: string): Promise<boolean> {
    if (!this.#tokens.has(tokenHash)) return false;
    await this.#options.change(tokens => {
      const rest = new Map(tokens);
      rest.delete(tokenHash);
      return rest;
    });
    return true;
  }

  get tokens(): ApiTokens {
    return this.#tokens;
  }
}

function principal(token: ApiToken): Principal {
  const {name, database, expiresAt} = token;
  return {
    name: `${tokenPrincipalPrefix}${name}`,
    root: false,
    grants: new Map([[database, []]]),
    rights: rightsOf(token),
    ...(expiresAt > 0 ? {expiresAt} : {}),
  };
}
