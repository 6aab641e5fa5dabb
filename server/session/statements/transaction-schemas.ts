/**
 * What the statements of one transaction read and write, and under which schema.
 *
 * A transaction of a client or a script runs under the schema that its snapshot has: the newest
 * one while nothing is written (with REPEATABLE_READ, while nothing is read), the same one from
 * then on.
 */
import {Refusal} from '#server/base/errors.ts';
import {extendsCatalog} from '#server/catalog/encode.ts';
import type {Transaction} from '#server/transactions/transaction-contract.ts';
import type {DatabaseSession} from '../connections/database-session.ts';
import type {Owner} from './admission.ts';
import {type WriteData, writeData} from './statement-run.ts';

export class TransactionSchemas {
  readonly #data = new WeakMap<Transaction, WriteData>();

  /** Begins a statement, and says what it reads and writes. */
  begin(session: DatabaseSession, transaction: Transaction): WriteData {
    transaction.beginStatement();
    const {context} = session.schema;
    const known = this.#data.get(transaction);
    if (known !== undefined && (isBound(transaction) || known.context === context)) return known;
    transaction.beginAnew(context.catalog.version);
    const data = writeData(transaction, context);
    this.#data.set(transaction, data);
    return data;
  }

  /** Nothing is written yet: the next statement begins under the schema as it is then. */
  release(transaction: Transaction): void {
    this.#data.delete(transaction);
  }

  /**
   * The transaction goes on under the schema as it is now, which has new types. What it wrote
   * before means the same under it, unless somebody changed more: then it conflicts.
   */
  extend({schema}: DatabaseSession, transaction: Transaction): void {
    const {context} = schema;
    const known = this.#data.get(transaction);
    if (known === undefined || !isBound(transaction)) {
      this.release(transaction);
      return;
    }
    if (!extendsCatalog(known.context.catalog, context.catalog)) {
      throw new Refusal(
        'commit.conflict',
        'the schema was changed by another transaction: nothing was stored, run it again',
      );
    }
    transaction.schemaVersion = context.catalog.version;
    this.#data.set(transaction, writeData(transaction, context, known));
  }

  /** The commit succeeded; what follows from it is done in the end. */
  async committed(session: DatabaseSession, transaction: Transaction, user: Owner): Promise<void> {
    const writer = this.#data.get(transaction)?.writer;
    writer?.committed();
    if (writer !== undefined) await session.views.follow(writer.changes, user);
  }
}

/** What it has read or written holds only under the schema that it began with. */
function isBound(transaction: Transaction): boolean {
  return transaction.hasWrites || transaction.isolation === 'REPEATABLE_READ';
}
