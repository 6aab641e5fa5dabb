/**
 * What reading and writing records needs beside the transaction: the schema, the dictionary of
 * names, and choices that belong to the database.
 */
import type {Catalog} from '#server/catalog/catalog.ts';
import type {NameAllocator} from '#server/catalog/names.ts';
import {RecordBuilder} from '#server/layout/record-builder.ts';
import type {RecordSchema} from '#server/layout/record.ts';
import type {Value} from '#server/model/value.ts';
import type {IndexFamilies} from '#server/indexes/index-family.ts';
import {IndexMaintenance} from './indexes.ts';

/** Evaluates the text of a property's default, for one new record. */
export type DefaultEvaluator = (text: string) => Value;

export interface RecordContext {
  readonly catalog: Catalog;
  /** The families of the catalog's indexes, with what their entries are. */
  readonly families: IndexFamilies;
  readonly names: NameAllocator;
  readonly schema: RecordSchema;
  readonly defaults: DefaultEvaluator;
  /** `svc.recordSizeMax`. */
  readonly recordBytesMax: number;
  /** `svc.txStaleReadCheck`, default true: a record that changed meanwhile is not rewritten. */
  readonly staleReadCheck?: boolean;
  /** Next bucket by type id (round robin); shared by the transactions of a database. */
  readonly bucketTurns: Map<number, number>;
  readonly workspace: RecordWorkspace;
}

/** The schema under which records are read. */
export type ReadSchema = Pick<RecordContext, 'catalog' | 'families' | 'schema'>;

/** What the writers under one catalog share because each needs it within one call only. */
export class RecordWorkspace {
  readonly indexes: IndexMaintenance;
  /** One builder serves one record after another. */
  readonly builder = new RecordBuilder();

  constructor(catalog: Catalog, families: IndexFamilies, indexKeyBytesMax?: number) {
    this.indexes = new IndexMaintenance(catalog, families, indexKeyBytesMax);
  }
}

/** Names for the ids in records, by one catalog. */
export class CatalogSchema implements RecordSchema {
  private readonly catalog: Catalog;
  private readonly names: NameAllocator;

  constructor(catalog: Catalog, names: NameAllocator) {
    this.catalog = catalog;
    this.names = names;
  }

  typeName(typeId: number): string {
    return this.catalog.typeById(typeId)?.name ?? `dropped type ${typeId}`;
  }

  propertyName(id: number): string {
    return this.names.nameOf(id) ?? `unknown name ${id}`;
  }

  propertyId(name: string): number | undefined {
    return this.names.knownId(name);
  }
}
