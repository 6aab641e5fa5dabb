/**
 * What of a schema is told to somebody: nothing about types with whose records he may do nothing.
 * Their indexes, buckets, triggers and names as parents are left out as if they were not there.
 */
import {Refusal} from '#server/base/errors.ts';
import type {Catalog} from './catalog.ts';
import type {CatalogType} from './catalog-type.ts';
import {byName} from './names.ts';
import type {BucketDefinition, IndexDefinition, TriggerDefinition} from './definition.ts';
import type {RecordKind} from '#server/model/value.ts';

export class ShownSchema {
  /** All of it, for whoever asks for rights himself. */
  readonly catalog: Catalog;
  readonly #isShown: (type: string) => boolean;

  /** @param isShown - Whether a type of this name is told. */
  constructor(catalog: Catalog, isShown: (type: string) => boolean) {
    this.catalog = catalog;
    this.#isShown = isShown;
  }

  /** Sorts by name. */
  get types(): readonly CatalogType[] {
    return byName([...this.catalog.types].filter(type => this.#isShown(type.name)));
  }

  /** Sorts by name. */
  ofKind(kind: RecordKind): readonly CatalogType[] {
    return this.types.filter(type => type.kind === kind);
  }

  parentsOf(type: CatalogType): readonly string[] {
    return type.superTypes.map(parent => parent.name).filter(name => this.#isShown(name));
  }

  /** Sorts by name. */
  indexesOf(type: CatalogType): readonly IndexDefinition[] {
    return byName(this.catalog.ownIndexes(type.id));
  }

  /** Sorts by name. */
  get indexes(): readonly IndexDefinition[] {
    return byName(this.catalog.indexes.filter(({typeId}) => this.isShown(typeId)));
  }

  /** Sorts by name. */
  get buckets(): readonly BucketDefinition[] {
    return byName(this.catalog.buckets.filter(({id}) => this.#showsBucket(id)));
  }

  get triggers(): readonly TriggerDefinition[] {
    return this.catalog.triggers.filter(({typeId}) => this.isShown(typeId));
  }

  /** Whether the type is told; what belongs to none is told to everybody. */
  isShown(typeId: number): boolean {
    const type = this.catalog.typeById(typeId);
    return type === undefined || this.#isShown(type.name);
  }

  /** @throws {Refusal} `schema.unknown-index`, for one that is not told as for one that is not. */
  requireIndex(name: string): IndexDefinition {
    const index = this.catalog.requireIndex(name);
    if (this.isShown(index.typeId)) return index;
    throw new Refusal('schema.unknown-index', `Index with name '${name}' was not found`, {
      detail: {index: name},
    });
  }

  /** @throws {Refusal} `schema.unknown-bucket`, likewise. */
  requireBucket(name: string): BucketDefinition {
    const bucket = this.catalog.requireBucket(name);
    if (this.#showsBucket(bucket.id)) return bucket;
    throw new Refusal('schema.unknown-bucket', `Bucket with name '${name}' was not found`, {
      detail: {bucket: name},
    });
  }

  #showsBucket(id: number): boolean {
    const type = this.catalog.typeOfBucket(id);
    return type === undefined || this.#isShown(type.name);
  }
}
