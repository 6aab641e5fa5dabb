/**
 * Databases of a real engine (RocksDB on disk, commits inline), each with a schema made for one
 * test and never stored: records are written and read without sessions and languages.
 */
import {indexFamilies} from '#server/caches/index-families.ts';
import {assert} from '#server/base/assert.ts';
import {Catalog} from '#server/catalog/catalog.ts';
import type {SchemaChange} from '#server/catalog/change.ts';
import {NameDictionary} from '#server/catalog/names.ts';
import type {Reader} from '#server/storage/store.ts';
import type {Database} from '#server/engine/database.ts';
import {RecordWriter} from '#server/records/records.ts';
import {CatalogSchema, type RecordContext, RecordWorkspace} from '#server/records/context.ts';
import type {Transaction} from '#server/transactions/transaction-contract.ts';
import {type InlineEngine, type InlineEngineOptions, openInlineEngine} from './inline-engine.ts';

/** One step of a schema; `names` gives the ids of property names. */
export type SchemaStep = (catalog: Catalog, names: NameDictionary) => SchemaChange;

/** Open one per test file and close it after all tests. */
export class RecordWorld {
  private readonly inline: InlineEngine;
  private databases = 0;

  private constructor(inline: InlineEngine) {
    this.inline = inline;
  }

  static async open(options?: InlineEngineOptions): Promise<RecordWorld> {
    const inline = await openInlineEngine(options);
    return new RecordWorld(inline);
  }

  /** A new, empty database with a schema. Defaults of properties are read as numbers. */
  async database(steps: readonly SchemaStep[]): Promise<RecordDatabase> {
    const names = new NameDictionary();
    const catalog = steps.reduce((before, step) => step(before, names).catalog, new Catalog());
    const database = await this.inline.engine.createDatabase(`db${++this.databases}`);
    return new RecordDatabase(database, {
      catalog,
      names,
      schema: new CatalogSchema(catalog, names),
      defaults: text => Number(text),
      recordBytesMax: 1 << 20,
      bucketTurns: new Map(),
      families: indexFamilies,
      workspace: new RecordWorkspace(catalog, indexFamilies),
    });
  }

  async close(): Promise<void> {
    await this.inline.close();
  }
}

export class RecordDatabase {
  readonly database: Database;
  readonly context: RecordContext;

  constructor(database: Database, context: RecordContext) {
    this.database = database;
    this.context = context;
  }

  begin(context = this.context): {
    readonly transaction: Transaction;
    readonly writer: RecordWriter;
  } {
    const transaction = this.database.begin('READ_COMMITTED');
    return {transaction, writer: new RecordWriter(transaction, context)};
  }

  /** Runs `work` in a transaction and commits it. */
  async write<T>(work: (writer: RecordWriter) => T): Promise<T> {
    const {transaction, writer} = this.begin();
    const result = work(writer);
    writer.requireComplete();
    const outcome = await transaction.commit();
    assert(outcome.kind === 'committed', `expected a commit, not ${outcome.kind}`);
    writer.committed();
    return result;
  }

  /** Shows what is committed. */
  read<T>(work: (reader: Reader) => T): T {
    const session = this.database.read();
    try {
      return work(session);
    } finally {
      session.close();
    }
  }

  /** Records of all buckets, by their counters. */
  count(): number {
    return this.context.catalog.buckets.reduce(
      (sum, bucket) => sum + this.database.recordCount(bucket.id),
      0,
    );
  }
}
