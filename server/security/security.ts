/**
 * Who is asking: credentials to principals, and the users behind them.
 *
 * Users, groups and API tokens are documents of the server (`access/` reads and prints them), kept
 * by a `SecurityStore`: changing one is an entry of the log, so every replica knows the same.
 * `reload` follows whatever the store says, however it came there.
 *
 * Invariant S1: a user who was dropped, or whose password changed, and an API token that was
 * deleted, has no login and no open transaction once the change is acknowledged; of whoever may do
 * less than before, no statement and no transaction goes on.
 */
import {printApiTokens} from '#server/access/api-tokens.ts';
import {accessTo, type DatabaseAccess, hasLost} from '#server/access/decide.ts';
import {
  defaultGroups,
  groupNamed,
  type Groups,
  parseNewGroup,
  plainGroups,
  printGroups,
} from '#server/access/groups.ts';
import {
  checkPassword,
  checkUserName,
  parseGrants,
  printUsers,
  rootName,
  type User,
  type Users,
} from '#server/access/users.ts';
import {Refusal} from '#server/base/errors.ts';
import type {Settings} from '#server/base/setting-values.ts';
import type {Clock, Random, Timers} from '#server/platform/clock.ts';
import {withLeader} from '#server/cluster/leadership.ts';
import {TokenList} from './api-tokens.ts';
import {CredentialChecks} from './credential-checks.ts';
import {
  checkWritten,
  readDocuments,
  type SecurityDocument,
  type SecurityStore,
  textOf,
} from './documents.ts';
import {type Login, type LoginOrigin, Logins} from './logins.ts';
import {
  credentialDigest,
  type KeptLogin,
  type LoginMembers,
  MemberLogins,
} from './member-logins.ts';
import {type DeriveKey, PasswordHasher} from './passwords.ts';
import {differingFrom, fingerprintsOf, type SeededDocument, seededDocuments} from './seed.ts';
import type {Principal} from './principal.ts';
import type {ScramLogin} from './scram.ts';
import {type ScramVerifier, verifierBeside} from './scram-verifier.ts';

export interface SecurityOptions {
  readonly store: SecurityStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly timers: Timers;
  readonly settings: () => Settings;
  /** What derives keys of passwords; absent: the thread pool of the process. */
  readonly deriveKey?: DeriveKey | undefined;
  /** Ends what a user left open: dropped, its password changed, or (`reason`) rights taken. */
  readonly endSessionsOf: (user: string, reason?: Refusal) => void;
  /** Other members, who keep logins too; absent: a server alone. */
  readonly loginMembers?: LoginMembers | undefined;
}

/** A user as lists show it: never with its password. */
export interface ListedUser {
  readonly name: string;
  readonly databases: Readonly<Record<string, readonly string[]>>;
}

/** One user or token as long as it is the same, whatever it may do. */
interface Holder {
  /** Undefined: dropped, or with another password since. */
  current: Principal | undefined;
}

/** Whose rights are remembered of each principal. */
const databasesMax = 4_096;

export class Security {
  readonly apiTokens: TokenList;
  readonly #options: SecurityOptions;
  readonly #hasher: PasswordHasher;
  readonly #checks: CredentialChecks;
  readonly #logins: Logins;
  readonly #memberLogins: MemberLogins | undefined;
  #users: Users = new Map();
  #reloadCount = 0;
  #groups: Groups = defaultGroups;
  #principals = new Map<string, Principal>();
  /** Every principal that was given out, and who it is now. */
  readonly #holders = new WeakMap<Principal, Holder>();
  #access = new WeakMap<Principal, Map<string, DatabaseAccess>>();
  #lastChange: Promise<unknown> = Promise.resolve();
  readonly #addingVerifier = new Set<string>();

  constructor(options: SecurityOptions) {
    const {clock, random, settings} = options;
    this.#options = options;
    this.#hasher = new PasswordHasher({
      random,
      concurrencyMax: settings().get('svc.security.hashConcurrencyMax'),
      rounds: () => settings().get('svc.server.saltIterations'),
      deriveKey: options.deriveKey,
    });
    const users = {
      passwordHashOf: (name: string) => this.#users.get(name)?.passwordHash,
      principalOf: (name: string) => this.#principals.get(name),
      scramVerifierOf: (name: string) => this.#verifierOf(name),
      addVerifier: (name: string, password: string) => void this.addVerifier(name, password),
    };
    this.#checks = new CredentialChecks({...options, users, hasher: this.#hasher});
    const {loginMembers: members} = options;
    const credentialsOf = (user: string): string | undefined => this.#credentialsOf(user);
    this.#memberLogins = members && new MemberLogins({members, clock, credentialsOf});
    this.#logins = new Logins({
      serverName: settings().get('svc.server.name'),
      clock,
      random,
      idleMs: () => settings().get('svc.server.httpAuthSessionExpireTimeout'),
      absoluteMs: () => settings().get('svc.server.httpAuthSessionAbsoluteTimeout'),
      countMax: () => settings().get('svc.server.httpAuthSessionMax'),
      countMaxOfUser: () => settings().get('svc.server.httpAuthSessionMaxPerUser'),
      seal: token => this.#memberLogins?.seal(token) ?? token,
    });
    this.apiTokens = new TokenList({
      clock,
      random,
      change: next =>
        this.#write('server-api-tokens.json', () => printApiTokens(next(this.apiTokens.tokens))),
    });
    this.reload();
  }

  /**
   * Credentials that were accepted once are still good as long as this stays the same: no user
   * changed. A connection that showed the right ones is not kept out by others who guess.
   */
  get generation(): number {
    return this.#reloadCount;
  }

  /**
   * Takes over what the store says now. Called at start and whenever a document changed.
   *
   * @throws {Refusal} when a document cannot be read; the users and groups stay as they were.
   */
  reload(): void {
    const {store, endSessionsOf} = this.#options;
    const {users, groups, tokens} = readDocuments(store);
    const before = {users: this.#users, groups: this.#groups, principals: this.#principals};
    this.#reloadCount++;
    this.#users = users;
    this.#groups = groups;
    const ended = [...this.apiTokens.replace(tokens)];
    this.#principals = new Map(
      [...Array.from(users.values(), principal), ...this.apiTokens.principals()].map(who => [
        who.name,
        who,
      ]),
    );
    this.#access = new WeakMap();
    this.#checks.reload([...users.keys()]);
    for (const {name, passwordHash} of before.users.values()) {
      if (users.get(name)?.passwordHash !== passwordHash) ended.push(name);
    }
    this.#succeed(before.principals, new Set(ended));
    for (const name of ended) {
      this.#logins.closeAllOf(name);
      this.#memberLogins?.forget(name);
      endSessionsOf(name);
    }
    for (const name of this.#losersSince(before)) endSessionsOf(name, rightsTaken(name));
  }

  /** Whoever holds a principal of before is told by `current` whom it is now. */
  #succeed(before: ReadonlyMap<string, Principal>, ended: ReadonlySet<string>): void {
    for (const [name, earlier] of before) {
      const holder = this.#holders.get(earlier);
      const now = ended.has(name) ? undefined : this.#principals.get(name);
      if (holder === undefined) continue;
      holder.current = now;
      if (now !== undefined) this.#holders.set(now, holder);
    }
    for (const principal of this.#principals.values()) {
      if (!this.#holders.has(principal)) this.#holders.set(principal, {current: principal});
    }
  }

  /** Names whoever is still there and may do less than before. */
  #losersSince(before: {
    readonly groups: Groups;
    readonly principals: ReadonlyMap<string, Principal>;
  }): readonly string[] {
    const named = [...before.groups.keys(), ...this.#groups.keys()];
    return [...before.principals.values()].flatMap(earlier => {
      const now = this.#principals.get(earlier.name);
      if (now === undefined || now.root) return [];
      // The empty name stands for every database that no group names.
      const databases = new Set(['', ...named, ...earlier.grants.keys(), ...now.grants.keys()]);
      const loses = [...databases].some(database =>
        hasLost(accessTo(before.groups, earlier, database), accessTo(this.#groups, now, database)),
      );
      return loses ? [now.name] : [];
    });
  }

  /**
   * Whom a principal that was given out earlier is now, with the rights of now. What acts for
   * somebody over a time asks whenever it goes on.
   *
   * @throws {Refusal} `security.unauthenticated` for one who was dropped, has another password
   *   since, or whose token has expired.
   */
  current(who: Principal): Principal {
    const holder = this.#holders.get(who);
    const now = holder === undefined ? who : this.#unlessExpired(holder.current);
    if (now !== undefined) return now;
    throw new Refusal(
      'security.unauthenticated',
      `'${who.name}' was dropped or has other credentials since the request began`,
    );
  }

  /** See `CredentialChecks.authenticate`. */
  authenticate(
    user: string,
    password: string,
    source = '',
    gone?: () => AbortSignal,
  ): Principal | Promise<Principal> {
    return this.#checks.authenticate(user, password, source, gone);
  }

  /**
   * A login by SCRAM-SHA-256. Refusals of a proof come late, as those of passwords do.
   *
   * @param user - Where the protocol has told who it is; it overrules what the exchange says.
   */
  scram(source: string, user?: string): ScramLogin {
    return this.#checks.scram(source, user);
  }

  /**
   * The user whom a client certificate names (client-certificates.ts).
   *
   * @throws {Refusal} `security.unauthenticated`, late, when it names nobody.
   */
  principalOfCertificate(name: string | undefined): Principal | Promise<never> {
    return this.#checks.principalOfCertificate(name);
  }

  /**
   * The user of a login's token, which counts as used now; undefined: no such login. A promise
   * only when another member of the cluster is asked.
   *
   * @throws {Refusal} `cluster.no-quorum` when this server cannot learn who the user is by now.
   */
  principalOfToken(token: string): Principal | undefined | Promise<Principal | undefined> {
    const user = this.#logins.userOf(token) ?? this.#memberLogins?.userOf(token);
    if (typeof user === 'string') return this.principalOf(user);
    return user?.then(found => (found === undefined ? undefined : this.principalOf(found)));
  }

  /** A login that this server keeps, for a member that was asked with its token; a use of it. */
  keptLogin(token: string): KeptLogin | undefined {
    const user = this.#logins.userOf(token);
    const credentials = user === undefined ? undefined : this.#credentialsOf(user);
    return user === undefined || credentials === undefined ? undefined : {user, credentials};
  }

  /** Ends a login that this server keeps; false: it keeps no such login. */
  endKeptLogin(token: string): boolean {
    return this.#logins.close(token);
  }

  #credentialsOf(name: string): string | undefined {
    const stored = this.#users.get(name)?.passwordHash ?? this.apiTokens.hashOf(name);
    return stored === undefined ? undefined : credentialDigest(stored);
  }

  /**
   * Who holds an API token; undefined: nobody does, or it has expired.
   *
   * @throws {Refusal} `security.locked` after too many wrong ones with one beginning.
   */
  principalOfApiToken(value: string, source = ''): Principal | undefined {
    const found = this.apiTokens.find(value);
    if (found !== undefined) return this.#unlessExpired(found);
    this.#checks.countWrongToken(value, source);
    return undefined;
  }

  /** Refuses nobody late any more: the server stops. */
  endDelays(): void {
    this.#checks.endDelays();
  }

  /** What a principal may do in a database; undefined: nothing. Cached until a reload. */
  access(who: Principal, database: string): DatabaseAccess | undefined {
    const known = this.#access.get(who)?.get(database);
    if (known) return known;
    const access = accessTo(this.#groups, who, database);
    if (access === undefined) return undefined;
    const byDatabase = this.#access.get(who) ?? new Map<string, DatabaseAccess>();
    if (byDatabase.size >= databasesMax) byDatabase.clear();
    this.#access.set(who, byDatabase.set(database, access));
    return access;
  }

  /** Opens a login and returns its token. @throws {Refusal} `admission.full`. */
  login(who: Principal, origin: LoginOrigin): string {
    return this.#logins.open(who.name, origin);
  }

  /**
   * Ends a login, whichever member keeps it; ending an unknown one is done already.
   *
   * @throws {Refusal} `cluster.no-quorum` when a member that may keep it did not answer.
   */
  async logout(token: string): Promise<void> {
    if (!this.#logins.close(token)) await this.#memberLogins?.end(token);
  }

  logins(): readonly Login[] {
    return this.#logins.list();
  }

  /** All users, in the order of their names. */
  users(): readonly ListedUser[] {
    const listed = Array.from(this.#users.values(), ({name, grants}) => ({
      name,
      databases: Object.fromEntries(grants),
    }));
    return listed.toSorted((one, other) => (one.name < other.name ? -1 : 1));
  }

  /** The principal of a name, for parts of the server that act for it. */
  principalOf(name: string): Principal | undefined {
    return this.#unlessExpired(this.#principals.get(name));
  }

  #unlessExpired(who: Principal | undefined): Principal | undefined {
    const ends = who?.expiresAt;
    return ends !== undefined && ends <= this.#options.clock.now() ? undefined : who;
  }

  /** Whether root exists and can log in; otherwise `ensureRoot` must give it a password. */
  get hasRoot(): boolean {
    return (this.#users.get(rootName)?.passwordHash ?? '') !== '';
  }

  /**
   * Gives root its first password; does nothing when it has one. `addVerifier` is for whoever has
   * time behind that.
   *
   * @throws {Refusal}
   */
  async ensureRoot(password: string): Promise<void> {
    if (this.hasRoot) return;
    checkPassword(password);
    const passwordHash = await this.#hasher.hash(password);
    await this.#change(users => {
      const grants = users.get(rootName)?.grants ?? new Map([['*', ['admin']]]);
      const root = {name: rootName, passwordHash, scramVerifier: undefined, grants};
      return new Map(users).set(rootName, root);
    });
  }

  /**
   * @param user - `databases` as a client wrote it: database names to lists of groups.
   * @throws {Refusal} `user.exists`, `user.invalid`, `admission.full`.
   */
  async createUser(user: {
    readonly name: string;
    readonly password: string;
    readonly databases: unknown;
  }): Promise<void> {
    const {name, password, databases = {}} = user;
    checkUserName(name);
    checkPassword(password);
    const grants = parseGrants(databases, 'user.invalid');
    if (this.#users.has(name)) throw exists(name);
    const stored = await this.#stored(password);
    await this.#change(users => {
      if (users.has(name)) throw exists(name);
      return new Map(users).set(name, {name, ...stored, grants});
    });
  }

  /** Changes what is given and keeps the rest. @throws {Refusal} `user.missing`, `user.invalid`. */
  async changeUser(
    name: string,
    change: {readonly password: string | undefined; readonly databases: unknown},
  ): Promise<void> {
    if (!this.#users.has(name)) throw missing(name);
    const {password, databases} = change;
    if (password !== undefined) checkPassword(password);
    const granted = databases === undefined ? undefined : parseGrants(databases, 'user.invalid');
    const stored = password === undefined ? undefined : await this.#stored(password);
    await this.#change(users => {
      const user = users.get(name);
      if (!user) throw missing(name);
      const changed = {...user, ...stored, grants: granted ?? user.grants};
      return new Map(users).set(name, changed);
    });
  }

  #verifierOf(name: string): ScramVerifier | undefined {
    const {passwordHash = '', scramVerifier} = this.#users.get(name) ?? {};
    return verifierBeside(passwordHash, scramVerifier);
  }

  /** What is kept of a password. */
  async #stored(password: string): Promise<Pick<User, 'passwordHash' | 'scramVerifier'>> {
    const passwordHash = await this.#hasher.hash(password);
    return {passwordHash, scramVerifier: await this.#hasher.scramVerifier(password, passwordHash)};
  }

  /**
   * Gives somebody who has none what logins by SCRAM-SHA-256 are judged by. A user of an earlier
   * release has none until the password is shown to a server that may write it; where it cannot be
   * written (another member leads, the server ends), the next time is as good.
   *
   * @param password - That of the user.
   */
  async addVerifier(name: string, password: string): Promise<void> {
    const passwordHash = this.#users.get(name)?.passwordHash;
    const isThere = passwordHash === undefined || this.#verifierOf(name) !== undefined;
    if (isThere || this.#addingVerifier.has(name)) return;
    this.#addingVerifier.add(name);
    try {
      const scramVerifier = await this.#hasher.scramVerifier(password, passwordHash);
      await this.#change(users => {
        const user = users.get(name);
        if (user?.passwordHash !== passwordHash) throw missing(name);
        return new Map(users).set(name, {...user, scramVerifier});
      });
    } catch {
      // As said above: without a verifier all else goes on.
    } finally {
      this.#addingVerifier.delete(name);
    }
  }

  /** @throws {Refusal} `user.missing`, `user.invalid` for root. */
  async dropUser(name: string): Promise<void> {
    if (name === rootName) throw new Refusal('user.invalid', 'Cannot delete the root user');
    await this.#change(users => {
      if (!users.has(name)) throw missing(name);
      const rest = new Map(users);
      rest.delete(name);
      return rest;
    });
  }

  /** The groups document as plain data. */
  groups(): unknown {
    return plainGroups(this.#groups);
  }

  /** Whether the name means a group in the database, by its own rules or those of `*`. */
  hasGroup(database: string, name: string): boolean {
    return [database, '*'].some(scope => this.#groups.get(scope)?.has(name) === true);
  }

  /**
   * Creates or replaces a group.
   *
   * @param group - As a client wrote it: `access`, `types`, `resultSetLimit`, `readTimeout`.
   * @throws {Refusal} `argument`.
   */
  async saveGroup(
    database: string,
    name: string,
    group: Readonly<Record<string, unknown>>,
  ): Promise<void> {
    const parsed = parseNewGroup(group, groupNamed(name));
    await this.#write('server-groups.json', () => {
      const named = new Map(this.#groups.get(database)).set(name, parsed);
      return printGroups(new Map(this.#groups).set(database, named));
    });
  }

  /** Whether there was such a group. */
  async dropGroup(database: string, name: string): Promise<boolean> {
    if (this.#groups.get(database)?.has(name) !== true) return false;
    await this.#write('server-groups.json', () => {
      const named = new Map(this.#groups.get(database));
      named.delete(name);
      return printGroups(new Map(this.#groups).set(database, named));
    });
    return true;
  }

  /**
   * Takes over a document that an administrator wrote by hand; every member has it then.
   *
   * @throws {Refusal} when it cannot be used, and nothing has changed.
   */
  async adopt(name: SecurityDocument, bytes: Uint8Array): Promise<void> {
    checkWritten(name, bytes);
    await this.#write(name, () => textOf(bytes));
  }

  /** Digest of each document as it stands here, by which members compare their copies. */
  fingerprints(): Readonly<Record<SeededDocument, string>> {
    return fingerprintsOf(name => this.#options.store.read(name));
  }

  /**
   * Writes those documents again that another member holds otherwise, or all that it does not
   * tell of: every member then has ours. Returns what was written.
   */
  async seed(
    theirs: Readonly<Partial<Record<SeededDocument, string>>>,
  ): Promise<readonly SeededDocument[]> {
    const differing = differingFrom(this.fingerprints(), theirs);
    for (const kind of differing) {
      const name = seededDocuments[kind];
      await this.#write(name, () => textOf(this.#options.store.read(name) ?? new Uint8Array()));
    }
    return differing;
  }

  #change(next: (users: Users) => Users): Promise<void> {
    return this.#write('server-users.jsonl', () => printUsers(next(this.#users)));
  }

  /** One change after the other, each on top of what the store has then. */
  #write(name: SecurityDocument, next: () => string): Promise<void> {
    const change = this.#lastChange.then(async () => {
      await withLeader(() => this.#options.store.write(name, Buffer.from(next(), 'utf8')));
      this.reload();
    });
    this.#lastChange = change.catch(() => undefined);
    return change;
  }
}

function principal({name, grants}: User): Principal {
  return {name, root: name === rootName, grants};
}

function rightsTaken(user: string): Refusal {
  const message = `rights of user '${user}' were taken while this ran: send it again`;
  return new Refusal('security.changed', message);
}

function exists(name: string): Refusal {
  return new Refusal('user.exists', `User '${name}' already exists`);
}

function missing(name: string): Refusal {
  return new Refusal('user.missing', `User '${name}' not found on server`);
}
