/**
 * The transaction that somebody has open in a console, from `:begin` to `:commit` or `:rollback`.
 *
 * The server rolls back a transaction in which a statement fails, and one that nobody uses for a
 * while. The first is told at once (`isFailed`): what follows is then refused until `:rollback`,
 * never carried out outside of a transaction. The second must not happen to somebody who reads or
 * types, so an idle transaction is used every few seconds; how long it may stay open at all is the
 * server's to say.
 */
import type {
  Client,
  IsolationLevel,
  Result,
  Session,
  StatementOptions,
} from '#server/client/client.ts';
import {NotConnected, ServerError} from '#server/client/server-error.ts';
import {CommandError} from '../command.ts';

const keepAliveMillis = 5_000;

export class ConsoleTransaction {
  readonly database: string;
  readonly #session: Session;
  readonly #timer: NodeJS.Timeout;
  #isFailed = false;
  #isBusy = false;

  private constructor(database: string, session: Session) {
    this.database = database;
    this.#session = session;
    this.#timer = setInterval(() => void this.#keepAlive(), keepAliveMillis);
    this.#timer.unref();
  }

  /** @throws {ServerError} as the server refuses it. */
  static async begin(
    client: Client,
    database: string,
    level: IsolationLevel | undefined,
  ): Promise<ConsoleTransaction> {
    return new ConsoleTransaction(database, await client.begin(database, level));
  }

  /** The server has rolled it back; all that is left to do is `:rollback`. */
  get isFailed(): boolean {
    return this.#isFailed;
  }

  async run(statement: string, options: StatementOptions): Promise<Result> {
    this.#isBusy = true;
    try {
      return await this.#session.command(this.database, statement, options);
    } catch (error) {
      this.#isFailed = true;
      throw error;
    } finally {
      this.#isBusy = false;
    }
  }

  /**
   * Makes it durable and ends it. After an answer that was lost it may be asked for again: the
   * server answers the same. @throws {ServerError} when it is refused; it is failed then.
   */
  async commit(): Promise<void> {
    if (this.#isFailed) {
      throw new CommandError('the transaction was rolled back by the server: ":rollback" ends it');
    }
    try {
      await this.#session.commit();
      this.close();
    } catch (error) {
      if (error instanceof ServerError) this.#isFailed = true;
      throw error;
    }
  }

  /** Ends it, whatever the server says: nothing of it is stored without a commit. */
  async rollback(): Promise<void> {
    this.close();
    try {
      await this.#session.rollback();
    } catch (error) {
      if (!(error instanceof NotConnected)) throw error;
    }
  }

  /** Stops using it; the server ends what nobody uses. */
  close(): void {
    clearInterval(this.#timer);
  }

  async #keepAlive(): Promise<void> {
    if (this.#isBusy || this.#isFailed) return;
    try {
      await this.#session.query(this.database, 'SELECT 1');
    } catch {
      this.#isFailed = true;
    }
  }
}
