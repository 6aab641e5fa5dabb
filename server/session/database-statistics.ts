/**
 * The statistics of one open database: made when a plan first asks, kept while they hold.
 *
 * Nothing is written for them: counts are the counters that every commit keeps, the rest is a
 * sample (execution/record-sample.ts). They are compared with the counters again after some
 * commits or a moment with at least one, which costs a lookup a bucket of the types in use. A type
 * that has grown or shrunk by a factor loses its sample and begins a new generation: plans made
 * in an older one are made anew.
 */
import type {Catalog} from '#server/catalog/catalog.ts';
import {
  countRecords,
  type SampledData,
  sampleEdges,
  sampleProperty,
} from '#server/execution/record-sample.ts';
import type {EdgeStatistics, PropertyStatistics, Statistics} from '#server/plan/statistics.ts';
import type {Database} from '#server/transactions/database.ts';
import type {DatabaseSchema} from '#server/transactions/database-schema.ts';
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
    const made = sampleProperty(this.#data, this.#catalog.requireType(type), name);
    known.properties.set(name, made);
    return made;
  }

  edges(type: string): EdgeStatistics | undefined {
    const known = this.#known(type);
    if (known === undefined) return undefined;
    known.edges ??= sampleEdges(this.#data, this.#catalog.requireType(type));
    return known.edges;
  }

  get #data(): SampledData {
    const {catalog, schema} = this.#schema.context;
    return {reader: this.#database.store, catalog, schema};
  }

  #known(name: string): KnownType | undefined {
    const type = this.#catalog.type(name);
    if (type === undefined) return undefined;
    const known = this.#types.get(type.name);
    if (known !== undefined) return known;
    const count = countRecords(this.#database.store, type);
    const made: KnownType = {count, properties: new Map()};
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
      const now = type === undefined ? 0 : countRecords(this.#database.store, type);
      const ratio = (now + smallCount) / (count + smallCount);
      if (ratio < factor && ratio > 1 / factor) continue;
      this.#types.delete(name);
      changed = true;
    }
    if (changed) this.#generation += 1;
  }
}
