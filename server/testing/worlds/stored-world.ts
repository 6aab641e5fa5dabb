/**
 * A world of hand-built-plan.ts whose data lies in a database of a real engine on disk.
 *
 * Every run of a plan sees one transaction; `commit` ends it and begins the next, so tests
 * choose what is stored and what only written.
 */
import {indexFamilies} from '#server/caches/index-families.ts';
import {assert} from '#server/base/assert.ts';
import type {Catalog} from '#server/catalog/catalog.ts';
import {alterProperty} from '#server/catalog/change-property.ts';
import {NameDictionary} from '#server/catalog/names.ts';
import {GraphReader} from '#server/execution/graph-reader.ts';
import {GraphWriter} from '#server/execution/graph-writer.ts';
import type {Database} from '#server/engine/database.ts';
import {RecordWriter} from '#server/records/records.ts';
import {CatalogSchema, RecordWorkspace} from '#server/records/context.ts';
import type {Transaction} from '#server/transactions/transaction-contract.ts';
import {noCaches} from '#server/caches/derived-caches.ts';
import {openInlineEngine} from './inline-engine.ts';
import {World, worldCatalog, type WorldData} from './hand-built-plan.ts';

export interface StoredWorld {
  readonly schema: CatalogSchema;
  /** A world in a database of its own, with its data (and what `fill` adds) committed or not. */
  open(data: 'committed' | 'uncommitted', fill?: (world: World) => void): Promise<World>;
  close(): Promise<void>;
}

/**
 * @param compressed - Its declared properties are external and compressed, and read when asked for.
 */
export async function openStoredWorld(compressed = false): Promise<StoredWorld> {
  const inline = await openInlineEngine();
  const names = new NameDictionary();
  const catalog = compressed ? foldedCatalog() : worldCatalog();
  for (const type of catalog.types) {
    for (const {id, name} of type.definition.properties) names.learn(id, name);
  }
  const schema = new CatalogSchema(catalog, names);
  let databases = 0;

  const dataOf = (transaction: Transaction): WorldData => {
    const context = {
      catalog,
      names,
      schema,
      defaults: () => null,
      recordBytesMax: 16 << 20,
      bucketTurns: new Map<number, number>(),
      families: indexFamilies,
      workspace: new RecordWorkspace(catalog, indexFamilies),
    };
    const writer = new RecordWriter(transaction, context);
    return {
      graph: new GraphReader(transaction, context, noCaches, compressed ? new Set() : undefined),
      writes: new GraphWriter(writer, catalog),
    };
  };

  const begin = (database: Database): Transaction => {
    const transaction = database.begin('READ_COMMITTED');
    transaction.schemaVersion = 0;
    return transaction;
  };

  return {
    schema,
    async open(data, fill) {
      const database = await inline.engine.createDatabase(`world${++databases}`);
      const transaction = begin(database);
      const world = new World(dataOf(transaction));
      fill?.(world);
      if (data === 'uncommitted') return world;
      const outcome = await transaction.commit();
      assert(outcome.kind === 'committed', 'the data of a world commits');
      return world.over(dataOf(begin(database)));
    },
    async close() {
      await inline.close();
    },
  };
}

function foldedCatalog(): Catalog {
  const catalog = alterProperty(worldCatalog(), 'Person', 'age', {external: true}).catalog;
  const requested = {external: true, compression: 'lz4'} as const;
  return alterProperty(catalog, 'Thing', 'name', requested).catalog;
}
