/**
 * The schema of one database as one immutable value, and its look-ups.
 *
 * A change makes a new catalog (change-*.ts); whoever holds an old one goes on seeing the old
 * schema. Everything derived (families, effective properties and indexes, names) is computed
 * in the constructor, so that statements pay for map look-ups only.
 * Invariant C1: `version` grows by one with every change and names the value.
 */
import {Refusal} from '#server/base/errors.ts';
import type {MapValue} from '#server/model/value.ts';
import {type CatalogType, linkTypes} from './catalog-type.ts';
import type {
  BucketDefinition,
  CatalogData,
  FunctionDefinition,
  IndexDefinition,
  TriggerDefinition,
} from './definition.ts';
import {emptyCatalogData} from './definition.ts';
import {type DeclaredFamilies, declaredFamilies} from './index-families.ts';
import {nearestNameHint} from './nearest-name.ts';

export class Catalog {
  readonly data: CatalogData;
  /** The families that its indexes may be of. */
  readonly families: DeclaredFamilies;
  private readonly typesById: ReadonlyMap<number, CatalogType>;
  private readonly typesByName = new Map<string, CatalogType>();
  private readonly typesByBucket = new Map<number, CatalogType>();
  private readonly bucketsById = new Map<number, BucketDefinition>();
  private readonly bucketsByName = new Map<string, BucketDefinition>();
  private readonly indexesById = new Map<number, IndexDefinition>();
  private readonly indexesByName = new Map<string, IndexDefinition>();
  private readonly functionsByName: ReadonlyMap<string, FunctionDefinition>;
  /** Indexes in force; one that is built to take the place of another has its name as well. */
  readonly indexes: readonly IndexDefinition[];

  constructor(data: CatalogData = emptyCatalogData, families: DeclaredFamilies = declaredFamilies) {
    this.data = data;
    this.families = families;
    this.typesById = linkTypes(data);
    for (const type of this.typesById.values()) {
      for (const alias of type.definition.aliases) this.typesByName.set(alias, type);
      for (const bucketId of type.bucketIds) this.typesByBucket.set(bucketId, type);
    }
    for (const type of this.typesById.values()) this.typesByName.set(type.name, type);
    for (const bucket of data.buckets) {
      this.bucketsById.set(bucket.id, bucket);
      this.bucketsByName.set(bucket.name, bucket);
    }
    for (const index of data.indexes) {
      this.indexesById.set(index.id, index);
      if (!this.indexesByName.has(index.name)) this.indexesByName.set(index.name, index);
    }
    this.functionsByName = new Map(data.functions.map(one => [one.name, one]));
    this.indexes = [...this.indexesByName.values()];
  }

  get version(): number {
    return this.data.version;
  }

  get settings(): MapValue {
    return this.data.settings;
  }

  /** All types in order of creation. */
  get types(): Iterable<CatalogType> {
    return this.typesById.values();
  }

  get buckets(): readonly BucketDefinition[] {
    return this.data.buckets;
  }

  /** The type of this name or alias; names are case-sensitive. */
  type(name: string): CatalogType | undefined {
    return this.typesByName.get(name);
  }

  typeById(id: number): CatalogType | undefined {
    return this.typesById.get(id);
  }

  /** The type that creates records in the bucket; a bucket may be nobody's. */
  typeOfBucket(bucketId: number): CatalogType | undefined {
    return this.typesByBucket.get(bucketId);
  }

  bucket(name: string): BucketDefinition | undefined {
    return this.bucketsByName.get(name);
  }

  bucketById(id: number): BucketDefinition | undefined {
    return this.bucketsById.get(id);
  }

  index(name: string): IndexDefinition | undefined {
    return this.indexesByName.get(name);
  }

  indexById(id: number): IndexDefinition | undefined {
    return this.indexesById.get(id);
  }

  get functions(): readonly FunctionDefinition[] {
    return this.data.functions;
  }

  get triggers(): readonly TriggerDefinition[] {
    return this.data.triggers;
  }

  /** A function of the database's own; names are case-sensitive. */
  functionNamed(name: string): FunctionDefinition | undefined {
    return this.functionsByName.get(name);
  }

  trigger(name: string): TriggerDefinition | undefined {
    return this.data.triggers.find(trigger => trigger.name === name);
  }

  /** Indexes declared on the type itself. */
  ownIndexes(typeId: number): readonly IndexDefinition[] {
    return this.data.indexes.filter(index => index.typeId === typeId);
  }

  /** @throws {Refusal} `schema.unknown-type`, with the nearest name. */
  requireType(name: string): CatalogType {
    const type = this.typesByName.get(name);
    if (type !== undefined) return type;
    const hint = nearestNameHint(name, this.typesByName.keys());
    throw new Refusal('schema.unknown-type', `Type with name '${name}' was not found${hint}`, {
      detail: {type: name},
    });
  }

  /** @throws {Refusal} `schema.unknown-bucket`. */
  requireBucket(name: string): BucketDefinition {
    const bucket = this.bucketsByName.get(name);
    if (bucket !== undefined) return bucket;
    const hint = nearestNameHint(name, this.bucketsByName.keys());
    throw new Refusal('schema.unknown-bucket', `Bucket with name '${name}' was not found${hint}`, {
      detail: {bucket: name},
    });
  }

  /** @throws {Refusal} `schema.unknown-bucket`. */
  requireBucketById(id: number): BucketDefinition {
    const bucket = this.bucketsById.get(id);
    if (bucket !== undefined) return bucket;
    throw new Refusal('schema.unknown-bucket', `Bucket with id ${id} was not found`, {
      detail: {bucket: id},
    });
  }

  /** @throws {Refusal} `schema.unknown-index`. */
  requireIndex(name: string): IndexDefinition {
    const index = this.indexesByName.get(name);
    if (index !== undefined) return index;
    const hint = nearestNameHint(name, this.indexesByName.keys());
    throw new Refusal('schema.unknown-index', `Index with name '${name}' was not found${hint}`, {
      detail: {index: name},
    });
  }
}
