/** Transactions of clients over several requests: begun, committed, rolled back. */
import {queryTerminated, Refusal} from '#server/base/errors.ts';
import type {Timers} from '#server/platform/clock.ts';
import type {CommitOutcome} from '#server/transactions/commit.ts';
import type {Isolation, Transaction} from '#server/transactions/transaction-contract.ts';
import {refusalOf, wasCommitted} from '../statements/outcome.ts';
import type {DatabaseSession} from './database-session.ts';
import type {SessionOwner, TransactionSessions} from './transaction-sessions.ts';

/** Does what follows from a commit. */
type Committed = (
  session: DatabaseSession,
  transaction: Transaction,
  user: string,
) => Promise<void>;

/** One transaction, whose owner may use its database. */
interface OwnedTransaction {
  readonly user: string;
  readonly session: DatabaseSession;
  readonly id: string;
  readonly requestId: string | undefined;
}

export class ClientTransactions {
  readonly #sessions: TransactionSessions;
  readonly #timers: Timers;
  readonly #committed: Committed;

  constructor(sessions: TransactionSessions, timers: Timers, committed: Committed) {
    this.#sessions = sessions;
    this.#timers = timers;
    this.#committed = committed;
  }

  /** @returns Its id. */
  begin(owner: SessionOwner, {database}: DatabaseSession, isolation: Isolation): string {
    // Nobody would end it.
    if (owner.connection?.signal.aborted === true) throw queryTerminated();
    return this.#sessions.add(owner, database.name, database.begin(isolation));
  }

  /**
   * Waits for the outcome, but not longer than `timeoutMs`.
   *
   * @throws {Refusal} what the commit was refused for; `commit.unknown`.
   */
  commit(asked: OwnedTransaction, timeoutMs?: number): Promise<void> {
    const committing = this.#commit(asked);
    if (timeoutMs === undefined) return committing;
    return new Promise((resolve, reject) => {
      const cancel = this.#timers.after(timeoutMs, () => reject(unknownWithin(timeoutMs)));
      committing.finally(cancel).then(resolve, reject);
    });
  }

  async #commit({user, session, id, requestId}: OwnedTransaction): Promise<void> {
    // A commit whose answer was lost is asked for again; it happened once.
    if (this.#sessions.wasCommitted(user, id)) return;
    const {database} = session;
    const isLive = this.#sessions.isLive(user, database.name, id);
    // The leader that lost it may have been another one.
    if (!isLive && (await wasCommitted(database, requestId))) return;
    const held = await this.#sessions.hold(user, database.name, id);
    const {transaction} = held;
    held.end();
    // Ended by a statement before: nothing is left to commit.
    if (transaction === undefined) return;
    // Who asks while it is under way, or when its outcome is lost, is not told that it is gone.
    this.#sessions.committed(user, id, 'unknown');
    const outcome = await this.#outcome(transaction, id, requestId);
    if (outcome.kind === 'conflict' || outcome.kind === 'refused') this.#sessions.notCommitted(id);
    else if (outcome.kind !== 'unknown') this.#sessions.committed(user, id);
    const refusal = refusalOf(outcome);
    if (refusal !== undefined) throw refusal;
    await this.#committed(session, transaction, user);
  }

  async #outcome(
    transaction: Transaction,
    id: string,
    requestId: string | undefined,
  ): Promise<CommitOutcome> {
    try {
      return await transaction.commit(requestId);
    } catch (error) {
      // Refused before anything was appended.
      this.#sessions.notCommitted(id);
      throw error;
    }
  }
}

function unknownWithin(timeoutMs: number): Refusal {
  return new Refusal(
    'commit.unknown',
    `the outcome of the commit was not known within ${timeoutMs} ms: it may or may not have ` +
      'happened; read before writing again',
  );
}
