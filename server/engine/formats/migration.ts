/**
 * Brings the rows of a database from one format level to the next, lazily and in place.
 *
 * The database is in service all the while: readers know both levels, writers write the new one.
 * Rows are rewritten in small pieces, each an ordinary transaction that also says where the next
 * one begins (`migrationKey`); so a crash at any point loses at most the piece under way, every
 * node of a cluster does the same, and a row that a client changes meanwhile is left to the next
 * try. The key goes with the last piece: a database without it is of its level as a whole.
 */
import {Refusal} from '#server/base/errors.ts';
import {createPackedRows, eachRow} from '#server/storage/packed-rows.ts';
import {RowTooLarge, type ScanRange} from '#server/storage/store.ts';
import type {Refused} from '#server/transactions/commit.ts';
import type {Database} from '../database.ts';
import {
  decodeMigration,
  encodeMigration,
  type MigrationState,
  migrationKey,
} from '#server/transactions/system-keys.ts';
import type {Transaction} from '#server/transactions/transaction-contract.ts';

/** How rows of the level before become rows of this one. */
export interface MigrationStep {
  /** Where they lie. */
  readonly range: ScanRange & {readonly end: Uint8Array};
  /** Rows of one piece at most; what they become must fit one entry of the log easily. */
  readonly rowsAtOnce: number;
  /**
   * Writes what `key` and `value` become; nothing for a row that is of the new level already.
   * Depends on nothing else. What it writes lies at or before `key`, or outside the range.
   */
  rewrite(key: Buffer, value: Buffer, into: Pick<Transaction, 'put' | 'delete'>): void;
}

const passingRefusals: ReadonlySet<Refused['code']> = new Set([
  'disk-full',
  'queue-full',
  'expired',
]);
const pieceBytes = 64 << 10;

/** How far a database's migration has come; undefined when there is none. */
export function migrationOf(database: Database): MigrationState | undefined {
  const bytes = database.store.get(migrationKey);
  return bytes === undefined ? undefined : decodeMigration(bytes);
}

/**
 * Migrates to the end; true when it is reached, false when the database takes no commits any more.
 *
 * Waits for each piece to be durable, so others have their turn in between. What was refused (a
 * full disk) is tried again when another entry of the log has been applied.
 */
export async function migrate(
  database: Database,
  step: MigrationStep | undefined,
): Promise<boolean> {
  for (;;) {
    try {
      if (migrationOf(database) === undefined) return true;
      const transaction = database.begin('REPEATABLE_READ');
      rewritePiece(transaction, step);
      const outcome = await transaction.commit();
      if (outcome.kind === 'committed') continue;
      if (outcome.kind === 'conflict') {
        const {lastIndex} = database;
        await database.settled();
        // What is in the way will never be applied: each try would find it there again.
        if (database.appliedIndex < lastIndex) return false;
      } else if (outcome.kind === 'refused' && passingRefusals.has(outcome.code)) {
        await database.nextApplied();
      } else return false;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (error.code !== 'database.behind') return false;
      await database.nextApplied();
    }
  }
}

function rewritePiece(transaction: Transaction, step: MigrationStep | undefined): void {
  const bytes = transaction.get(migrationKey);
  transaction.require({kind: 'unchanged', key: migrationKey});
  if (bytes === undefined) return;
  const state = decodeMigration(bytes);
  if (step === undefined) return transaction.delete(migrationKey);
  const start = state.cursor.length === 0 ? step.range.start : state.cursor;
  const {rows, done} = nextRows(transaction, {...step, range: {...step.range, start}});
  let rewritten = 0;
  for (const {key, value} of rows) {
    const before = transaction.writeBytes;
    step.rewrite(key, value, transaction);
    if (transaction.writeBytes === before) continue;
    transaction.require({kind: 'unchanged', key});
    rewritten++;
  }
  const last = rows.at(-1);
  if (done || last === undefined) return transaction.delete(migrationKey);
  const cursor = Buffer.concat([last.key, Buffer.alloc(1)]);
  const next = {...state, cursor, rowsRewritten: state.rowsRewritten + rewritten};
  transaction.put(migrationKey, encodeMigration(next));
}

interface Piece {
  readonly rows: readonly {readonly key: Buffer; readonly value: Buffer}[];
  readonly done: boolean;
}

/** The next rows, copied: the transaction is written to while they are walked. */
function nextRows(transaction: Transaction, step: MigrationStep, bytes = pieceBytes): Piece {
  const scanner = transaction.scan([step.range], {rowsMax: step.rowsAtOnce});
  try {
    const packed = scanner.next(createPackedRows(bytes));
    const rows = [...eachRow(packed)].map(({key, value}) => ({
      key: Buffer.from(key),
      value: Buffer.from(value ?? Buffer.alloc(0)),
    }));
    return {rows, done: packed.done};
  } catch (error) {
    if (!(error instanceof RowTooLarge)) throw error;
    return nextRows(transaction, step, error.bytesNeeded);
  } finally {
    scanner.close();
  }
}
