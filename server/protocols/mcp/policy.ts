/**
 * What the configuration lets one principal do: a decision from values, asked for every message.
 *
 * A profile says which tools there are, a flag which operations, and the lists of users who is
 * admitted; none of them opens what another closes. A token is named `apitoken:<name>` or by its
 * bare name; where both spellings have a profile, the long one counts.
 */
import type {Configuration, DatabaseOverride, Profile} from './configuration.ts';
import {flagNames} from './configuration.ts';
import type {Permission} from './permissions.ts';
import type {Tool} from './tool.ts';

const tokenPrefix = 'apitoken:';
const everybody = '*';

const flagOf = Object.fromEntries(
  Object.entries(flagNames).map(([flag, permission]) => [permission, flag]),
) as Readonly<Record<Permission, keyof typeof flagNames>>;

export class Policy {
  readonly #configuration: Configuration;
  readonly #principal: string;

  constructor(configuration: Configuration, principal: string) {
    this.#configuration = configuration;
    this.#principal = principal;
  }

  /** Whether the principal may speak with the agent tool server at all. */
  get isAdmitted(): boolean {
    return isListed(this.#configuration.allowedUsers, this.#principal);
  }

  contains({profiles}: Pick<Tool, 'profiles'>): boolean {
    const {global, own} = this.#profiles;
    return [global, own].every(
      profile => profile === undefined || profile === 'all' || profiles.includes(profile),
    );
  }

  /** The profiles by whose intersection the tools are chosen, in the words of a refusal. */
  get profileWords(): string {
    const {global, own} = this.#profiles;
    if (own === undefined) return `MCP profile '${global}'`;
    return `global MCP profile '${global}' intersected with principal profile '${own}'`;
  }

  /** Whether an operation is permitted, for the server as a whole or in a database. */
  allows(permission: Permission, database?: string): boolean {
    const flag = flagOf[permission];
    if (!this.#configuration[flag]) return false;
    const override = database === undefined ? undefined : this.#override(database);
    return override === undefined || (override[flag] !== false && this.#isIn(override));
  }

  /** Whether the list of users of a database, if it has one, holds the principal. */
  admits(database: string): boolean {
    const override = this.#override(database);
    return override === undefined || this.#isIn(override);
  }

  get #profiles(): {readonly global: Profile; readonly own: Profile | undefined} {
    const {profile, principalProfiles} = this.#configuration;
    const [long, bare] = spellings(this.#principal);
    const own = principalProfiles.get(long) ?? principalProfiles.get(bare);
    return {global: profile, own};
  }

  #override(database: string): DatabaseOverride | undefined {
    return this.#configuration.databases.get(database);
  }

  #isIn({allowedUsers}: DatabaseOverride): boolean {
    return allowedUsers === undefined || isListed(allowedUsers, this.#principal);
  }
}

function isListed(names: readonly string[], principal: string): boolean {
  return names.includes(everybody) || spellings(principal).some(name => names.includes(name));
}

/** The names under which a document may speak of a principal, the one that counts first. */
function spellings(principal: string): readonly [string, string] {
  const bare = principal.startsWith(tokenPrefix) ? principal.slice(tokenPrefix.length) : principal;
  return [principal, bare];
}
