/**
 * CHECK DATABASE: drives a check (integrity/check.ts) over one snapshot and carries out what it may
 * mend.
 *
 * The check gives way to others like every operator and ends when it is told to. Mends gather and
 * are written in bounded transactions while the check goes on over its snapshot: each looks again
 * under its own, so that what others have changed or mended meanwhile is left alone.
 */
import type {Catalog} from '#server/catalog/catalog.ts';
import type {Cancellation} from '#server/base/cancellation.ts';
import {Budget} from '#server/execution/budget.ts';
import {pause} from '#server/execution/batch.ts';
import {checkDatabase, checkPartCount} from '#server/integrity/check.ts';
import {type CheckScope, CheckState} from '#server/integrity/check-state.ts';
import type {Finding} from '#server/integrity/finding.ts';
import {CheckReport} from '#server/integrity/report.ts';
import type {MapValue} from '#server/model/value.ts';
import type {CheckCommand} from '#server/plan/statement.ts';
import type {Clock, Timers} from '#server/platform/clock.ts';
import type {BuildLimits, ChunkedWork} from '#server/records/build.ts';
import type {Database} from '#server/engine/database.ts';
import type {DatabaseSchema} from '#server/records/database-schema.ts';
import {RecordWriter} from '#server/records/records.ts';
import type {RecordContext} from '#server/records/context.ts';
import type {Transaction} from '#server/transactions/transaction-contract.ts';
import {type CompactionThread, compactStore, rangesOf} from '#server/engine/store-compaction.ts';
import {row} from '../preparation/planned-change.ts';
import type {Work, ProgressRegistry} from './work-progress.ts';
import {readerInForce} from '../schema/current-schema-reader.ts';

/** Mends that wait for a transaction. */
const mendsMax = 1_000;

/** What works on one open database. */
export interface DatabaseWorkOptions {
  readonly database: Database;
  /** Undefined: nothing compacts stores here. */
  readonly compactions: CompactionThread | undefined;
  readonly schema: DatabaseSchema;
  readonly timers: Timers;
  readonly clock: Clock;
  readonly work: ProgressRegistry;
  readonly files: DatabaseFiles;
}

/** The disk on which the database lies. */
export interface DatabaseFiles {
  /** Files in its directory that are none of its store's. */
  unreferenced(): readonly string[];
  /** Removes one of them. */
  remove(file: string): void;
  /** Why the store may not take so many bytes more for a while, if so. */
  shortageFor(bytes: number): string | undefined;
}

type InChunks = (work: ChunkedWork, signal: Cancellation | undefined) => Promise<void>;

export class DatabaseCheck {
  readonly #options: DatabaseWorkOptions;
  readonly #inChunks: InChunks;

  constructor(options: DatabaseWorkOptions, inChunks: InChunks) {
    this.#options = options;
    this.#inChunks = inChunks;
  }

  /** The row of the answer. With `fix`, no change of the schema may come in between. */
  async run(command: CheckCommand, signal: Cancellation | undefined): Promise<MapValue> {
    const {database, schema, clock, timers, work: board} = this.#options;
    const {reader, context} = await readerInForce(database, schema, timers);
    const work = board.begin('check database', checkPartCount + (command.compress ? 1 : 0));
    const scope = scopeOf(context.catalog, command);
    try {
      const budget = new Budget(clock, {}, signal);
      const state = new CheckState(reader, context, scope, budget);
      const report = new CheckReport(command);
      const mends: Finding[] = [];
      for (const step of checkDatabase(state)) {
        if (step === pause) {
          follow(work, state);
          await timers.yield();
          budget.resume();
          continue;
        }
        if (report.add(step)) mends.push(step);
        if (mends.length >= mendsMax) await this.#mend(context, mends.splice(0), signal);
      }
      if (mends.length > 0) await this.#mend(context, mends, signal);
      if (!state.isNarrow) this.#checkFiles(report);
      const row = report.row(state);
      if (!command.compress) return row;
      // It would hold back what is to be dropped.
      reader.close();
      work.next({name: 'compress', total: undefined, done: () => 0});
      return new Map([...row, ...(await this.#compress(context.catalog, scope, signal))]);
    } finally {
      board.end(work);
      reader.close();
    }
  }

  async #compress(
    catalog: Catalog,
    {bucketIds}: CheckScope,
    signal: Cancellation | undefined,
  ): Promise<MapValue> {
    const {database, timers, files, compactions: thread} = this.#options;
    const obstacle = (bytes: number): string | undefined => files.shortageFor(bytes);
    const ranges = bucketIds === undefined ? [] : rangesOf(catalog, bucketIds);
    const {bytesBefore, bytesAfter} = await compactStore(
      {database, thread, timers, obstacle},
      ranges,
      signal,
    );
    return row({compressed: true, bytesBefore, bytesAfter});
  }

  #checkFiles(report: CheckReport): void {
    const {files} = this.#options;
    for (const place of files.unreferenced()) {
      const says = 'the store has not written it';
      if (report.add({kind: 'file-unreferenced', place, says})) files.remove(place);
    }
  }

  #mend(
    context: RecordContext,
    findings: readonly Finding[],
    signal: Cancellation | undefined,
  ): Promise<void> {
    return this.#inChunks(new Mends(context, findings), signal);
  }
}

/** Says when another part of the check has begun. */
function follow(work: Work, state: CheckState): void {
  const {part} = state;
  if (part.name === work.stepName) return;
  work.next({name: part.name, total: undefined, done: () => part.rows});
}

function scopeOf(catalog: Catalog, {types, buckets, records}: CheckCommand): CheckScope {
  const isNarrow = types.length > 0 || buckets.length > 0;
  const ofTypes = types.flatMap(name => [...catalog.requireType(name).bucketIds]);
  const named = buckets.map(name => catalog.requireBucket(name).id);
  return {
    bucketIds: isNarrow ? new Set([...ofTypes, ...named]) : undefined,
    rids: records.length > 0 ? records : undefined,
  };
}

/** Mends one after another, as many in a transaction as it may hold. */
class Mends implements ChunkedWork {
  readonly #context: RecordContext;
  readonly #findings: readonly Finding[];
  #at = 0;
  #pending = 0;

  constructor(context: RecordContext, findings: readonly Finding[]) {
    this.#context = context;
    this.#findings = findings;
  }

  get done(): boolean {
    return this.#at >= this.#findings.length;
  }

  fill(transaction: Transaction, limits: BuildLimits): void {
    const context = this.#context;
    const mending = {transaction, context, writer: new RecordWriter(transaction, context)};
    this.#pending = this.#at;
    while (
      this.#pending < this.#findings.length &&
      (this.#pending === this.#at || transaction.writeBytes < limits.writeBytesMax)
    ) {
      this.#findings[this.#pending]?.mend?.(mending);
      this.#pending += 1;
    }
  }

  advance(): void {
    this.#at = this.#pending;
  }
}
