/**
 * Sessions of clients and their explicit transactions: who owns one, who uses it now, when it ends
 * by itself.
 *
 * A session begins with a transaction. After COMMIT or ROLLBACK as statements it has none until
 * START TRANSACTION: its statements run on their own meanwhile, with its parameters.
 *
 * One statement at a time runs in a session (others wait up to `lockWaitMs`). Any failure in a
 * session rolls it back; its id then answers why until the client says rollback or the
 * tombstone ages out. A session that is ended while a statement runs in it tells the statement
 * (`aborted`) and is rolled back when that has ended: nobody reads from a snapshot that is gone. An
 * idle session is rolled back after `idleMs`, one that belongs to a connection when that ends. Ids
 * are unguessable and bound to their user and database. Source: docs/http.md.
 */
import {Refusal} from '#server/base/errors.ts';
import type {Clock, Random, Timers} from '#server/platform/clock.ts';
import type {Isolation, Transaction} from '#server/transactions/transaction-contract.ts';
import type {KeptHolder, KeptMemory} from '../kept-memory.ts';
import {rootName} from '#server/access/users.ts';
import {KeptVariables} from '../programs/kept-variables.ts';
import type {ClientConnection, RunningTransaction} from '../session.ts';
import {uuidOf} from '#server/base/uuid.ts';

const tombstonesMax = 10_000;
const lockWaitMs = 5_000;

interface OpenSession {
  readonly id: string;
  readonly user: string;
  readonly database: string;
  transaction: Transaction | undefined;
  /** The isolation of this transaction and of those that follow it. */
  readonly isolation: Isolation;
  readonly parameters: KeptVariables;
  /** What its transaction wrote. */
  readonly written: KeptHolder;
  readonly startedAt: number;
  /** The moment on the clock that nobody sets. */
  readonly begunMs: number;
  readonly tag: string | undefined;
  readonly clientName: string | undefined;
  /** It ends with it, and is not idle before. */
  readonly connection: ClientConnection | undefined;
  readonly readOnly: boolean;
  lastUsedMs: number;
  busy: boolean;
  /** Ended from outside while a statement runs in it. */
  aborted: boolean;
  readonly waiters: (() => void)[];
}

type EndReason = 'failed' | 'expired' | 'lost-leadership' | 'committed' | 'unknown';

const endedBy = {
  expired: 'it was idle for too long or was terminated',
  'lost-leadership': 'this server stopped leading the cluster; begin it again',
} as const;

export interface SessionLimits {
  readonly idleMs: number;
  readonly sessionsMax: number;
  /** Most sessions that one user has open; root may have all. */
  readonly sessionsMaxOfUser: number;
}

/** Whose session it is. */
export interface SessionOwner {
  readonly user: string;
  /** Free text by which the transaction is listed. */
  readonly tag?: string | undefined;
  /** What its client calls itself. */
  readonly clientName?: string | undefined;
  /** Ends the session when it ends; absent: the session ends when it is idle. */
  readonly connection?: ClientConnection | undefined;
  /** Whether its statements may only read. */
  readonly readOnly?: boolean | undefined;
}

/** One of so many sessions is root's alone. */
const rootShare = 10;

/** A session in use; `done` gives it back, `fail` ends it with its transaction rolled back. */
export interface HeldSession {
  /** Set undefined before it is committed: what is under way cannot be rolled back any more. */
  transaction: Transaction | undefined;
  readonly isolation: Isolation;
  readonly readOnly: boolean;
  readonly parameters: KeptVariables;
  /** Counts the memory of its next parameter. */
  newParameter(): KeptHolder;
  /** Counts what the transaction has written. @throws {Refusal} `query.memory`, `-total`. */
  charge(): void;
  /** The session was ended from outside: the statement is to stop and then say so. */
  readonly aborted: boolean;
  done(): void;
  /** @param reason - What a later use of the id is told. */
  fail(reason?: 'failed' | 'unknown'): void;
  /** The transaction was committed or rolled back: the id is forgotten. */
  end(): void;
}

type GiveBack = (how: 'done' | 'ended' | 'failed' | 'unknown') => void;

/** One use of a session, given back once: whoever says so first has said how. */
class Held implements HeldSession {
  readonly #session: OpenSession;
  readonly #give: GiveBack;
  readonly #memory: KeptMemory;
  #isHeld = true;

  constructor(session: OpenSession, memory: KeptMemory, give: GiveBack) {
    this.#session = session;
    this.#memory = memory;
    this.#give = give;
  }

  newParameter(): KeptHolder {
    return this.#memory.holder(shareOf(this.#session.user));
  }

  charge(): void {
    this.#session.written.resize(this.#session.transaction?.writeBytes ?? 0);
  }

  get transaction(): Transaction | undefined {
    return this.#session.transaction;
  }

  set transaction(transaction: Transaction | undefined) {
    this.#session.transaction = transaction;
  }

  get isolation(): Isolation {
    return this.#session.isolation;
  }

  get readOnly(): boolean {
    return this.#session.readOnly;
  }

  get parameters(): KeptVariables {
    return this.#session.parameters;
  }

  get aborted(): boolean {
    return this.#session.aborted;
  }

  done(): void {
    this.#end('done');
  }

  fail(reason: 'failed' | 'unknown' = 'failed'): void {
    this.#end(reason);
  }

  end(): void {
    this.#end('ended');
  }

  #end(how: Parameters<GiveBack>[0]): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    this.#give(how);
  }
}

export class TransactionSessions {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #timers: Timers;
  readonly #memory: KeptMemory;
  readonly #limits: () => SessionLimits;
  /** How many sessions each user has. */
  readonly #counts = new Map<string, number>();
  readonly #open = new Map<string, OpenSession>();
  /** Ended, other than by rollback: id to owner and reason; insertion-ordered, bounded. */
  readonly #tombstones = new Map<string, {user: string; reason: EndReason}>();
  #cancelSweep: (() => void) | undefined;

  constructor(
    {clock, random, timers}: {clock: Clock; random: Random; timers: Timers},
    memory: KeptMemory,
    limits: () => SessionLimits,
  ) {
    this.#clock = clock;
    this.#random = random;
    this.#timers = timers;
    this.#memory = memory;
    this.#limits = limits;
  }

  /** Opens a session; its id. @throws {Refusal} `admission.full`. */
  add(owner: SessionOwner, database: string, transaction: Transaction): string {
    const {user, tag, clientName, connection, readOnly = false} = owner;
    this.#checkRoom(user);
    this.#counts.set(user, this.#countOf(user) + 1);
    const id = `AS-${uuidOf(this.#random)}`;
    this.#open.set(id, {
      id,
      user,
      database,
      transaction,
      isolation: transaction.isolation,
      parameters: new KeptVariables(),
      written: this.#memory.holder(shareOf(user)),
      startedAt: this.#clock.now(),
      begunMs: this.#clock.monotonic(),
      tag,
      clientName,
      readOnly,
      connection,
      lastUsedMs: this.#clock.monotonic(),
      busy: false,
      aborted: false,
      waiters: [],
    });
    this.#scheduleSweep();
    return id;
  }

  #countOf(user: string): number {
    return this.#counts.get(user) ?? 0;
  }

  #checkRoom(user: string): void {
    const {sessionsMax, sessionsMaxOfUser} = this.#limits();
    const others = this.#open.size - this.#countOf(rootName);
    const isFull =
      user === rootName
        ? this.#open.size >= sessionsMax
        : others >= Math.max(1, sessionsMax - Math.ceil(sessionsMax / rootShare));
    if (isFull) {
      throw new Refusal('admission.full', `${this.#open.size} transactions are open already`);
    }
    if (user === rootName || this.#countOf(user) < sessionsMaxOfUser) return;
    throw new Refusal(
      'admission.full',
      `user '${user}' has ${sessionsMaxOfUser} transactions open already ` +
        '(svc.server.httpSessionMaxPerUser)',
    );
  }

  isLive(user: string, database: string, id: string): boolean {
    const session = this.#open.get(id);
    return session !== undefined && session.user === user && session.database === database;
  }

  /** @throws {Refusal} transaction.gone, .failed, .expired. */
  async hold(user: string, database: string, id: string): Promise<HeldSession> {
    const session = this.#find(user, database, id);
    // Whoever gives the session back hands it to the next waiter: it stays busy meanwhile.
    if (session.busy) await this.#wait(session);
    if (this.#open.get(id) !== session) this.#find(user, database, id);
    session.busy = true;
    return new Held(session, this.#memory, how => {
      if (how === 'done') this.#release(session);
      else if (how === 'ended') this.#forget(session);
      else this.#bury(session, how);
    });
  }

  /**
   * Remembers what became of a commit, for a client that lost the answer and asks again:
   * `unknown` from the moment it is asked for until it is known.
   */
  committed(user: string, id: string, outcome: 'committed' | 'unknown' = 'committed'): void {
    this.#remember(id, user, outcome);
  }

  /** The commit is known not to have happened. */
  notCommitted(id: string): void {
    this.#tombstones.delete(id);
  }

  wasCommitted(user: string, id: string): boolean {
    const tombstone = this.#tombstones.get(id);
    return tombstone?.user === user && tombstone.reason === 'committed';
  }

  /**
   * Rolls back and forgets; false when there is no such session of this user. A statement that
   * runs in it is told to stop; a COMMIT, and what runs on its own, is waited for.
   */
  async rollback(user: string, database: string, id: string): Promise<boolean> {
    const tombstone = this.#tombstones.get(id);
    if (tombstone?.user === user && tombstone.reason !== 'unknown') this.#tombstones.delete(id);
    if (!this.isLive(user, database, id)) return false;
    const session = this.#find(user, database, id);
    if (session.busy && session.transaction === undefined) {
      await this.#wait(session);
      session.busy = false;
      if (this.#open.get(id) !== session) return false;
    }
    if (session.busy) session.aborted = true;
    else session.transaction?.rollback();
    this.#forget(session);
    return true;
  }

  /** Rolls back every session that matches, also those in use (their next step refuses). */
  endWhere(
    matches: (session: Pick<OpenSession, 'user' | 'database' | 'id' | 'connection'>) => boolean,
    reason: 'expired' | 'lost-leadership' = 'expired',
  ): number {
    const ended = [...this.#open.values()].filter(matches);
    for (const session of ended) this.#bury(session, reason);
    return ended.length;
  }

  list(): Omit<RunningTransaction, 'queryIds'>[] {
    const now = this.#clock.monotonic();
    const open = [...this.#open.values()].filter(session => session.transaction !== undefined);
    return open.map(session => ({
      id: session.id,
      database: session.database,
      user: session.user,
      isolation: session.isolation,
      startedAt: session.startedAt,
      elapsedMs: this.#clock.monotonic() - session.begunMs,
      idleMs: session.busy ? 0 : Math.round(now - session.lastUsedMs),
      tag: session.tag,
      clientName: session.clientName,
      busy: session.busy,
    }));
  }

  close(): void {
    this.#cancelSweep?.();
    this.endWhere(() => true);
  }

  #find(user: string, database: string, id: string): OpenSession {
    const session = this.#open.get(id);
    if (session !== undefined && session.user === user && session.database === database) {
      return session;
    }
    const tombstone = this.#tombstones.get(id);
    if (tombstone?.user === user && tombstone.reason !== 'committed') {
      if (tombstone.reason === 'unknown') {
        throw new Refusal(
          'commit.unknown',
          `the commit of transaction ${id} is under way or its outcome is not known: it may or ` +
            'may not have happened; read before writing again',
        );
      }
      throw tombstone.reason === 'failed'
        ? new Refusal(
            'transaction.failed',
            `transaction ${id} was rolled back after a failed statement; ` +
              'nothing of it is stored: send rollback and begin again',
          )
        : new Refusal(
            'transaction.expired',
            `transaction ${id} was rolled back: ${endedBy[tombstone.reason]}`,
          );
    }
    throw new Refusal('transaction.gone', `there is no open transaction ${id.slice(0, 64)}`);
  }

  #wait(session: OpenSession): Promise<void> {
    return new Promise((resolve, reject) => {
      const admit = (): void => {
        cancel();
        resolve();
      };
      const cancel = this.#timers.after(lockWaitMs, () => {
        session.waiters.splice(session.waiters.indexOf(admit), 1);
        reject(
          new Refusal('commit.conflict', `transaction ${session.id} is in use by another request`),
        );
      });
      session.waiters.push(admit);
    });
  }

  #release(session: OpenSession): void {
    if (session.aborted) {
      session.transaction?.rollback();
      return;
    }
    const {transaction, written} = session;
    written.resize(Math.min(written.bytes, transaction?.writeBytes ?? 0));
    session.lastUsedMs = this.#clock.monotonic();
    const next = session.waiters.shift();
    if (next === undefined) session.busy = false;
    else next();
  }

  #forget(session: OpenSession): void {
    if (this.#open.delete(session.id)) {
      const left = this.#countOf(session.user) - 1;
      if (left > 0) this.#counts.set(session.user, left);
      else this.#counts.delete(session.user);
    }
    session.written.close();
    session.parameters.clear();
    session.busy = false;
    for (const admit of session.waiters.splice(0)) admit();
  }

  #bury(session: OpenSession, reason: Exclude<EndReason, 'committed'>): void {
    const inUse = session.busy && (reason === 'expired' || reason === 'lost-leadership');
    if (inUse) session.aborted = true;
    else session.transaction?.rollback();
    // Failed because it was ended: that is remembered already.
    if (this.#open.get(session.id) !== session) return;
    this.#forget(session);
    this.#remember(session.id, session.user, reason);
  }

  #remember(id: string, user: string, reason: EndReason): void {
    this.#tombstones.set(id, {user, reason});
    if (this.#tombstones.size > tombstonesMax) {
      const [oldest] = this.#tombstones.keys();
      if (oldest !== undefined) this.#tombstones.delete(oldest);
    }
  }

  #scheduleSweep(): void {
    if (this.#cancelSweep !== undefined) return;
    const {idleMs} = this.#limits();
    this.#cancelSweep = this.#timers.after(Math.max(100, Math.min(1_000, idleMs / 4)), () => {
      this.#cancelSweep = undefined;
      this.#sweep(idleMs);
      if (this.#open.size > 0) this.#scheduleSweep();
    });
  }

  #sweep(idleMs: number): void {
    const now = this.#clock.monotonic();
    for (const session of this.#open.values()) {
      const isIdle = !session.busy && session.connection === undefined;
      // Deleting the entry that is visited is safe in a Map.
      if (isIdle && now - session.lastUsedMs > idleMs) this.#bury(session, 'expired');
    }
  }
}

/** Root's memory is in no share. */
function shareOf(user: string): string | undefined {
  return user === rootName ? undefined : user;
}
