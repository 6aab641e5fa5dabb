/**
 * Who reads the changes of which database, and what each may see of them.
 *
 * Rights are asked for every change, when it is given out: what was granted meanwhile shows, what
 * was revoked does not. A change of a type that may not be read is passed over; a subscription to
 * one type, or to a database, that may not be read any more ends with the refusal.
 */
import type {DatabaseAccess} from '#server/access/decide.ts';
import {Refusal} from '#server/base/errors.ts';
import type {JsonFormat} from '#server/model/json.ts';
import type {ChangedRecords, ChangeReader, RecordChange} from '#server/records/change-stream.ts';
import type {Principal} from '#server/security/principal.ts';
import type {ChangesRequest, ChangeSubscription} from '../session.ts';
import type {DatabaseSession} from './database-session.ts';

/** Whom the subscriptions ask. */
export interface ChangeRights {
  /** The principal as it is now; undefined: it is nobody any more. */
  current(principal: Principal): Principal | undefined;
  /** @throws {Refusal} `security.denied`. */
  access(principal: Principal, database: string): DatabaseAccess;
}

const jsonForm = {durationsAsSeconds: false, loneRecords: false};
/** Changes that are passed over before others have a turn. */
const passedMax = 1_000;

export class ChangeSubscriptions {
  readonly #rights: ChangeRights;
  readonly #countMax: () => number;
  readonly #yield: () => Promise<void>;
  readonly #open = new Set<Subscription>();
  #opening = 0;

  constructor(rights: ChangeRights, countMax: () => number, turn: () => Promise<void>) {
    this.#rights = rights;
    this.#countMax = countMax;
    this.#yield = turn;
  }

  get count(): number {
    return this.#open.size;
  }

  /**
   * Subscribes behind `request.from`, or what is committed now.
   *
   * @throws {Refusal} `security.denied`, `admission.full`, `changes.lost`, `database.*`.
   */
  async open(
    principal: Principal,
    session: DatabaseSession,
    request: ChangesRequest,
  ): Promise<ChangeSubscription> {
    checkAccess(this.#rights, principal, request);
    const countMax = this.#countMax();
    if (this.#open.size + this.#opening >= countMax) {
      throw new Refusal(
        'admission.full',
        `${countMax} subscriptions to changes are open: close one, or raise ` +
          'svc.changes.subscriptionsMax',
      );
    }
    this.#opening += 1;
    try {
      const reader = await session.changes.read(request.from);
      const subscription = new Subscription(principal, session, request, {
        reader,
        rights: this.#rights,
        turn: this.#yield,
        closed: () => void this.#open.delete(subscription),
      });
      this.#open.add(subscription);
      return subscription;
    } finally {
      this.#opening -= 1;
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
  readonly #request: ChangesRequest;
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
    const {type, kinds} = this.#request;
    const access = checkAccess(this.#parts.rights, this.#principal, this.#request);
    return changes.filter(
      change =>
        (type === undefined || type === change.typeName) &&
        (kinds === undefined || kinds.has(change.kind)) &&
        mayRead(access, change),
    );
  }
}

/** Both states are shown, so both types have to be readable. */
function mayRead(access: DatabaseAccess, {before, after}: RecordChange): boolean {
  return [before, after].every(
    record => record === undefined || access.allowsOnType('readRecord', record.typeName),
  );
}

/** @throws {Refusal} `security.denied` where nothing of what is asked for may be read. */
function checkAccess(
  rights: ChangeRights,
  principal: Principal,
  {database, type}: ChangesRequest,
): DatabaseAccess {
  const current = rights.current(principal);
  if (current === undefined) throw endedLogin(principal.name);
  const access = rights.access(current, database);
  if (type === undefined || access.allowsOnType('readRecord', type)) return access;
  throw new Refusal(
    'security.denied',
    `User '${principal.name}' is not allowed to read records of type '${type}'`,
  );
}

function endedLogin(user: string): Refusal {
  return new Refusal(
    'security.denied',
    `User '${user}' was dropped, has expired or has another password: log in again`,
  );
}
