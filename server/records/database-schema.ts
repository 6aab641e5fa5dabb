/**
 * The schema of one open database as sessions use it: the newest applied catalog and the
 * dictionary of names.
 *
 * Read once when the database is first used; afterwards every schema entry swaps the catalog in
 * log order, before the commit that made it resolves. A statement takes `catalog` once and keeps
 * to it: a commit made under an older version is refused as a conflict and runs again.
 */
import type {Catalog} from '#server/catalog/catalog.ts';
import {databaseSetting} from '#server/catalog/database-settings.ts';
import {CatalogEncoder, decodeCatalog} from '#server/catalog/encode.ts';
import {NameDictionary} from '#server/catalog/names.ts';
import type {IndexFamilies} from '#server/indexes/index-family.ts';
import {idOfNameKey, nameKey, namesRange} from '#server/layout/name-key.ts';
import {createPackedRows, eachRow} from '#server/storage/packed-rows.ts';
import type {Reader} from '#server/storage/store.ts';
import type {Database} from '#server/engine/database.ts';
import {
  CatalogSchema,
  type DefaultEvaluator,
  type RecordContext,
  RecordWorkspace,
} from './context.ts';

const pageBytes = 64 << 10;

export interface DatabaseSchemaOptions {
  readonly families: IndexFamilies;
  /** `svc.recordSizeMax`. */
  readonly recordBytesMax: number;
  /** `svc.indexKeySizeMax`. */
  readonly indexKeyBytesMax: number;
  /** `svc.txStaleReadCheck`. */
  readonly staleReadCheck: boolean;
  /** Evaluates texts of defaults under one catalog. */
  readonly defaultsOf: (catalog: Catalog) => DefaultEvaluator;
}

export class DatabaseSchema {
  readonly names = new NameDictionary();
  readonly #options: DatabaseSchemaOptions;
  readonly #bucketTurns = new Map<number, number>();
  readonly #encoder = new CatalogEncoder();
  /** What was encoded last. */
  #written: {readonly catalog: Catalog; readonly bytes: Uint8Array} | undefined;
  #context: RecordContext;

  constructor(database: Database, options: DatabaseSchemaOptions) {
    this.#options = options;
    this.#context = this.#contextOf(decodeCatalog(database.catalogBytes(), options.families));
    learnNames(this.names, database.store);
    database.onName((id, name) => this.names.learn(id, name));
    database.onCatalogChange(changed => {
      if (changed !== undefined) this.#context = this.#contextOf(this.#applied(changed));
    });
  }

  get catalog(): Catalog {
    return this.#context.catalog;
  }

  /** What reads and writes of records need, under the newest catalog. */
  get context(): RecordContext {
    return this.#context;
  }

  /** The catalog as bytes to store, for a change of it that is about to be committed. */
  encode(catalog: Catalog): Uint8Array {
    const bytes = this.#encoder.encode(catalog);
    this.#written = {catalog, bytes};
    return bytes;
  }

  /** The catalog of stored bytes: the one that was written, if those are its bytes. */
  #applied(bytes: Uint8Array): Catalog {
    const written = this.#written;
    this.#written = undefined;
    const isOwn = written !== undefined && Buffer.compare(written.bytes, bytes) === 0;
    return isOwn ? written.catalog : decodeCatalog(bytes, this.#options.families);
  }

  #contextOf(catalog: Catalog): RecordContext {
    const {families, indexKeyBytesMax} = this.#options;
    return {
      catalog,
      families,
      names: this.names,
      schema: new CatalogSchema(catalog, this.names),
      defaults: this.#options.defaultsOf(catalog),
      recordBytesMax: this.#options.recordBytesMax,
      staleReadCheck:
        databaseSetting(catalog, 'svc.txStaleReadCheck') ?? this.#options.staleReadCheck,
      bucketTurns: this.#bucketTurns,
      workspace: new RecordWorkspace(catalog, families, indexKeyBytesMax),
    };
  }
}

/** Adds the names that a reader sees and the dictionary does not know. */
export function learnNames(names: NameDictionary, reader: Reader): void {
  const {end} = namesRange();
  const scanner = reader.scan([{start: nameKey(names.firstUnknown), end}]);
  const rows = createPackedRows(pageBytes);
  try {
    do {
      scanner.next(rows);
      for (const {key, value} of eachRow(rows)) {
        if (value !== undefined) names.learn(idOfNameKey(key, 0), value.toString('utf8'));
      }
    } while (!rows.done);
  } finally {
    scanner.close();
  }
}
