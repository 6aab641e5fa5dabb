/**
 * The statistics of one open database: made when a plan first asks, kept while they hold.
 *
 * Nothing is written for them: counts are the counters that every commit keeps, the rest is a
 * sample of the records (docs/design/0009-statistics-from-samples.md). They are compared with the
 * counters again after some commits or a moment with at least one, which costs a lookup a bucket
 * of the types in use. A type that has grown or shrunk by a factor loses its sample and begins a
 * new generation: plans made in an older one are made anew.
 */
import type {Catalog} from '#server/catalog/catalog.ts';
import type {CatalogType} from '#server/catalog/catalog-type.ts';
import {GraphReader} from '#server/execution/graph-reader.ts';
import type {RecordValue, Rid, Value} from '#server/model/value.ts';
import {summarize} from '#server/plan/property-summary.ts';
import type {EdgeStatistics, PropertyStatistics, Statistics} from '#server/plan/statistics.ts';
import type {Database} from '#server/engine/database.ts';
import type {DatabaseSchema} from '#server/records/database-schema.ts';
import type {Clock} from '#server/platform/clock.ts';

const commitsPerCheck = 64;
const checkMs = 200;
/** Counts within this factor of each other make the same plans... */
const factor = 2;
/** ... and so do all small ones. */
const smallCount = 200;

interface KnownType {
  readonly count: number;
  readonly properties: Map<string, PropertyStatistics>;
  edges?: EdgeStatistics | undefined;
}

export class DatabaseStatistics implements Statistics {
  readonly #database: Database;
  readonly #schema: DatabaseSchema;
  readonly #clock: Clock;
  readonly #types = new Map<string, KnownType>();
  #catalog: Catalog;
  #generation = 0;
  #checkedIndex = 0;
  #checkedAt = 0;

  constructor(database: Database, schema: DatabaseSchema, clock: Clock) {
    this.#database = database;
    this.#schema = schema;
    this.#clock = clock;
    this.#catalog = schema.catalog;
  }

  /**
   * Grows when what was answered does not hold any more; plans of an older generation are to be
   * made anew.
   */
  generation(): number {
    if (this.#catalog !== this.#schema.catalog) {
      this.#catalog = this.#schema.catalog;
      this.#types.clear();
      this.#generation += 1;
    }
    if (this.#types.size > 0 && this.#isDue()) this.#check();
    return this.#generation;
  }

  recordCount(type: string): number | undefined {
    return this.#known(type)?.count;
  }

  property(type: string, name: string): PropertyStatistics | undefined {
    const known = this.#known(type);
    if (known === undefined) return undefined;
    const found = known.properties.get(name);
    if (found !== undefined) return found;
    const values: Value[] = [];
    this.#sample(type, record => values.push(record.get(name) ?? null));
    const made = summarize(values, known.count);
    known.properties.set(name, made);
    return made;
  }

  edges(type: string): EdgeStatistics | undefined {
    const known = this.#known(type);
    if (known === undefined) return undefined;
    known.edges ??= this.#sampleEdges(type, known.count);
    return known.edges;
  }

  /** Undefined for light edges, which are not counted. */
  #sampleEdges(name: string, count: number): EdgeStatistics | undefined {
    const type = this.#catalog.requireType(name);
    if (type.family.some(member => member.edge.lightweight)) return undefined;
    const [from, to] = [new Map<string, number>(), new Map<string, number>()];
    let seen = 0;
    const meet = (ends: Map<string, number>, end: Rid | undefined): void => {
      const vertex = end && this.#catalog.typeOfBucket(end.bucket)?.name;
      if (vertex !== undefined) ends.set(vertex, (ends.get(vertex) ?? 0) + 1);
    };
    this.#sample(name, record => {
      seen += 1;
      meet(from, record.from);
      meet(to, record.to);
    });
    const shares = (ends: Map<string, number>): Map<string, number> =>
      new Map([...ends].map(([vertex, met]) => [vertex, met / seen]));
    return {count, from: shares(from), to: shares(to)};
  }

  #sample(type: string, visit: (record: RecordValue) => void): void {
    const reader = this.#database.read();
    try {
      new GraphReader(reader, this.#schema.context).sample(type, visit);
    } finally {
      reader.close();
    }
  }

  #count(type: CatalogType): number {
    return type.familyBucketIds.reduce((sum, id) => sum + this.#database.recordCount(id), 0);
  }

  #known(name: string): KnownType | undefined {
    const type = this.#catalog.type(name);
    if (type === undefined) return undefined;
    const known = this.#types.get(type.name);
    if (known !== undefined) return known;
    const made: KnownType = {count: this.#count(type), properties: new Map()};
    this.#types.set(type.name, made);
    return made;
  }

  #isDue(): boolean {
    const commits = this.#database.appliedIndex - this.#checkedIndex;
    if (commits === 0) return false;
    return commits >= commitsPerCheck || this.#clock.monotonic() - this.#checkedAt >= checkMs;
  }

  #check(): void {
    this.#checkedIndex = this.#database.appliedIndex;
    this.#checkedAt = this.#clock.monotonic();
    let changed = false;
    for (const [name, {count}] of this.#types) {
      const type = this.#catalog.type(name);
      const now = type === undefined ? 0 : this.#count(type);
      const ratio = (now + smallCount) / (count + smallCount);
      if (ratio < factor && ratio > 1 / factor) continue;
      this.#types.delete(name);
      changed = true;
    }
    if (changed) this.#generation += 1;
  }
}
