/**
 * Who reads the changes of which database, and what each may see of them.
 *
 * Rights are asked for every change, when it is given out: what was granted meanwhile shows, what
 * was revoked does not. A change of a type that may not be read is passed over; a subscription to
 * one type, or to a database, that may not be read any more ends with the refusal.
 */
import type {DatabaseAccess} from '#server/access/decide.ts';
import {queryTerminated, Refusal} from '#server/base/errors.ts';
import type {Settings} from '#server/base/setting-values.ts';
import {checkName} from '#server/catalog/change.ts';
import type {JsonFormat} from '#server/model/json.ts';
import type {ChangedRecords, ChangeReader, RecordChange} from '#server/records/change-stream.ts';
import type {Timers} from '#server/platform/clock.ts';
import type {Principal} from '#server/security/principal.ts';
import type {Security} from '#server/security/security.ts';
import type {ChangeFilter, ChangesRequest, ChangeSubscription} from '../session.ts';
import type {DatabaseSession} from './database-session.ts';
import type {DatabaseSessions} from './database-sessions.ts';

/** Whom the subscriptions ask. */
interface ChangeRights {
  /** The principal as it is now; undefined: it is nobody any more. */
  current(principal: Principal): Principal | undefined;
  /** @throws {Refusal} `security.denied`. */
  access(principal: Principal, database: string): DatabaseAccess;
}

interface SubscriptionLimits {
  /** `svc.changes.subscriptionsMax`. */
  readonly countMax: number;
  /** `svc.changes.subscriptionsMaxPerUser`; root may have all. */
  readonly countMaxOfUser: number;
}

/** Types that one subscription names: each change is held against all of them. */
const filtersMax = 256;
const jsonForm = {durationsAsSeconds: false, loneRecords: false};
/** Changes that are passed over before others have a turn. */
const passedMax = 1_000;

export class ChangeSubscriptions {
  readonly #rights: ChangeRights;
  readonly #limits: () => SubscriptionLimits;
  readonly #yield: () => Promise<void>;
  readonly #open = new Set<Subscription>();
  /** Users whose subscriptions are about to be open. */
  readonly #opening: string[] = [];

  constructor(rights: ChangeRights, limits: () => SubscriptionLimits, turn: () => Promise<void>) {
    this.#rights = rights;
    this.#limits = limits;
    this.#yield = turn;
  }

  /**
   * Subscribes behind `request.from`, or what is committed now.
   *
   * @throws {Refusal} `argument`, `security.denied`, `admission.full`, `changes.lost`,
   *   `database.*`.
   */
  async open(
    principal: Principal,
    session: DatabaseSession,
    request: ChangesRequest,
  ): Promise<ChangeSubscription> {
    checkFilters(request.filters);
    checkAccess(this.#rights, principal, request);
    this.#admit(principal);
    this.#opening.push(principal.name);
    try {
      const reader = await session.changes.read(request.from);
      const subscription = new Subscription(principal, session, request, {
        reader,
        rights: this.#rights,
        turn: this.#yield,
        closed: () => {
          this.#open.delete(subscription);
          request.signal?.removeEventListener('abort', gone);
        },
      });
      const gone = (): void => subscription.end(queryTerminated());
      this.#open.add(subscription);
      request.signal?.addEventListener('abort', gone, {once: true});
      if (request.signal?.aborted === true) gone();
      return subscription;
    } finally {
      this.#opening.splice(this.#opening.indexOf(principal.name), 1);
    }
  }

  #admit({name, root}: Principal): void {
    const {countMax, countMaxOfUser} = this.#limits();
    if (this.#open.size + this.#opening.length >= countMax) {
      throw full(`${countMax} subscriptions to changes are open`, 'subscriptionsMax');
    }
    if (root) return;
    const users = [...this.#opening, ...Array.from(this.#open, ({user}) => user)];
    if (users.filter(user => user === name).length >= countMaxOfUser) {
      const what = `User '${name}' has ${countMaxOfUser} subscriptions to changes open`;
      throw full(what, 'subscriptionsMaxPerUser');
    }
  }

  /** Ends the subscriptions of a user who was dropped, or whose password changed. */
  endOf(user: string): void {
    for (const subscription of this.#open) {
      if (subscription.user === user) subscription.end(endedLogin(user));
    }
  }
}

interface SubscriptionParts {
  readonly reader: ChangeReader;
  readonly rights: ChangeRights;
  readonly turn: () => Promise<void>;
  readonly closed: () => void;
}

class Subscription implements ChangeSubscription {
  readonly #principal: Principal;
  readonly #session: DatabaseSession;
  #request: ChangesRequest;
  readonly #parts: SubscriptionParts;
  #reason: Refusal | undefined;

  constructor(
    principal: Principal,
    session: DatabaseSession,
    request: ChangesRequest,
    parts: SubscriptionParts,
  ) {
    this.#principal = principal;
    this.#session = session;
    this.#request = request;
    this.#parts = parts;
  }

  get user(): string {
    return this.#principal.name;
  }

  get position(): number {
    return this.#parts.reader.position;
  }

  get json(): JsonFormat {
    return this.#session.jsonOf(this.#session.schema.context, jsonForm).format;
  }

  async next(): Promise<ChangedRecords> {
    const {reader, turn} = this.#parts;
    try {
      for (let passed = 1; ; passed++) {
        const changed = reader.next();
        const records = changed instanceof Promise ? await changed : changed;
        if (this.#reason !== undefined) throw this.#reason;
        const changes = this.#visible(records.changes);
        if (changes.length > 0) return {position: records.position, changes};
        if (passed % passedMax === 0) await turn();
      }
    } catch (error) {
      this.close();
      throw this.#reason ?? error;
    }
  }

  choose(filters: readonly ChangeFilter[]): void {
    const request = {...this.#request, filters};
    checkFilters(filters);
    checkAccess(this.#parts.rights, this.#principal, request);
    this.#request = request;
  }

  close(): void {
    this.#parts.reader.close();
    this.#parts.closed();
  }

  /** Ends it for a reason, which `next` answers. */
  end(reason: Refusal): void {
    this.#reason ??= reason;
    this.close();
  }

  /** The changes that were asked for and may be seen now. @throws {Refusal} `security.denied`. */
  #visible(changes: readonly RecordChange[]): readonly RecordChange[] {
    const {filters} = this.#request;
    const access = checkAccess(this.#parts.rights, this.#principal, this.#request);
    return changes.filter(
      change => filters.some(filter => passes(filter, change)) && mayRead(access, change),
    );
  }
}

function passes({type, kinds}: ChangeFilter, change: RecordChange): boolean {
  return (
    (type === undefined || type === change.typeName) &&
    (kinds === undefined || kinds.has(change.kind))
  );
}

/** Both states are shown, so both types have to be readable. */
function mayRead(access: DatabaseAccess, {before, after}: RecordChange): boolean {
  return [before, after].every(
    record => record === undefined || access.allowsOnType('readRecord', record.typeName),
  );
}

/** @throws {Refusal} `argument` for too many types, and for names that no type has. */
function checkFilters(filters: readonly ChangeFilter[]): void {
  if (filters.length > filtersMax) {
    const message = `a subscription names at most ${filtersMax} types; without a type it is to all`;
    throw new Refusal('argument', message);
  }
  for (const {type} of filters) if (type !== undefined) checkName(type, 'type');
}

/** @throws {Refusal} `security.denied` where a type that is asked for may not be read. */
function checkAccess(
  rights: ChangeRights,
  principal: Principal,
  {database, filters}: ChangesRequest,
): DatabaseAccess {
  const current = rights.current(principal);
  if (current === undefined) throw endedLogin(principal.name);
  const access = rights.access(current, database);
  for (const {type} of filters) {
    if (type === undefined || access.allowsOnType('readRecord', type)) continue;
    throw new Refusal(
      'security.denied',
      `User '${principal.name}' is not allowed to read records of type '${type.slice(0, 128)}'`,
    );
  }
  return access;
}

function endedLogin(user: string): Refusal {
  return new Refusal(
    'security.denied',
    `User '${user}' was dropped, has expired or has another password: log in again`,
  );
}

function full(what: string, setting: string): Refusal {
  return new Refusal('admission.full', `${what}: close one, or raise svc.changes.${setting}`);
}

/** The subscriptions of a server, with the limits of its settings. */
export function changeSubscriptions(
  {
    security,
    settings,
    timers,
  }: {
    readonly security: Security;
    readonly settings: () => Settings;
    readonly timers: Timers;
  },
  databases: Pick<DatabaseSessions, 'access'>,
): ChangeSubscriptions {
  const rights: ChangeRights = {
    // Root is not always a user of this server's own, and cannot be dropped.
    current: who => security.principalOf(who.name) ?? (who.root ? who : undefined),
    access: (who, database) => databases.access(who, database),
  };
  const limits = (): SubscriptionLimits => ({
    countMax: settings().get('svc.changes.subscriptionsMax'),
    countMaxOfUser: settings().get('svc.changes.subscriptionsMaxPerUser'),
  });
  return new ChangeSubscriptions(rights, limits, () => timers.yield());
}
