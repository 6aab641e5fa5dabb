/**
 * Packed edges and the keys give the same answers, in the same order: random histories of edges of
 * all kinds, with commits in flight, old snapshots, transactions with own edges, emptied ranges and
 * chunks that are made and dropped in between. Holds invariant W2.
 */
import assert from 'node:assert/strict';
import {after, test} from 'node:test';
import {Refusal} from '#server/base/errors.ts';
import {createType} from '#server/catalog/change-type.ts';
import type {Graph, Hop, HopCounts, Source} from '#server/execution/graph.ts';
import {GraphReader} from '#server/execution/graph-reader.ts';
import {adjacencyBucketRange} from '#server/layout/adjacency-key.ts';
import {ridText} from '#server/model/rid.ts';
import type {Rid} from '#server/model/value.ts';
import type {Direction} from '#server/plan/node.ts';
import {createClock, createTimers} from '#server/platform/real/clock.ts';
import {type RecordDatabase, RecordWorld} from '#server/testing/worlds/record-world.ts';
import type {RecordWriter} from '#server/records/records.ts';
import type {ReadSession} from '#server/transactions/transaction.ts';
import type {ReadContext} from '#server/transactions/transaction-contract.ts';
import {AdjacencyCache} from './adjacency-cache.ts';
import {type DerivedCaches, noCaches} from './derived-caches.ts';
import {type PackedAdjacency, SharedAdjacency} from './shared-adjacency.ts';
import {CacheMemory} from './cache-memory.ts';

const seeds = [1, 2, 3, 5, 8, 13, 21, 34];
const steps = 120;
const directions: readonly Direction[] = ['out', 'in', 'both'];
const choices: readonly (readonly string[])[] = [[], ['E'], ['F'], ['L'], ['E', 'L'], ['One']];
const noProperties = new Map();

const world = await RecordWorld.open({reportsLate: true});
after(() => world.close());

function newDatabase(): Promise<RecordDatabase> {
  return world.database([
    catalog => createType(catalog, {name: 'V', kind: 'vertex', bucketCount: 2}),
    catalog => createType(catalog, {name: 'E', kind: 'edge', bucketCount: 2}),
    catalog => createType(catalog, {name: 'F', kind: 'edge', superTypes: ['E']}),
    catalog => createType(catalog, {name: 'L', kind: 'edge', lightweight: true}),
    catalog => createType(catalog, {name: 'One', kind: 'edge', unidirectional: true}),
  ]);
}

/** Whole numbers below `count`. */
function dice(seed: number): (count: number) => number {
  let state = seed;
  return count => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * count);
  };
}

class History {
  readonly #database: RecordDatabase;
  readonly #roll: (count: number) => number;
  readonly #snapshot: AdjacencyCache;
  readonly #memory = new CacheMemory(() => 1 << 20);
  readonly #vertices: Rid[] = [];
  readonly #inFlight: Promise<unknown>[] = [];
  readonly #old: ReadSession[] = [];
  /** Chunks that the answers came from. */
  packed = 0;

  constructor(database: RecordDatabase, seed: number) {
    this.#database = database;
    this.#roll = dice(seed);
    this.#snapshot = new AdjacencyCache({
      database: database.database,
      clock: createClock(),
      timers: createTimers(),
      memory: this.#memory,
      readsMin: 1,
    });
  }

  async run(): Promise<void> {
    for (let step = 0; step < steps; step++) await this.#step();
    await Promise.all(this.#inFlight);
    for (const session of this.#old) session.close();
    await this.#snapshot.settled();
  }

  async #step(): Promise<void> {
    const what = this.#roll(20);
    if (what < 8) this.#write();
    else if (what < 10) await Promise.all(this.#inFlight.splice(0));
    else if (what === 10) this.#memory.dropAll();
    else if (what === 11) this.#empty();
    else if (what === 12) this.#old.push(this.#database.database.read());
    else if (what === 13) await this.#snapshot.settled();
    else if (what === 14) this.#compareOwn();
    else await this.#compareCommitted();
  }

  /** Writes some edges and does not wait for them. */
  #write(): void {
    const {transaction, writer} = this.#database.begin();
    // Vertices on both sides of a chunk's border.
    if (this.#vertices.length === 6) {
      for (const id of this.#buckets()) transaction.passPositions(id, 65_532);
    }
    this.#change(writer, 1 + this.#roll(6));
    this.#inFlight.push(transaction.commit());
  }

  #buckets(): readonly number[] {
    return this.#database.context.catalog.requireType('V').bucketIds;
  }

  #empty(): void {
    const {transaction} = this.#database.begin();
    const {start, end} = adjacencyBucketRange(this.#buckets()[this.#roll(2)] ?? 0);
    transaction.deleteRange(start, end);
    this.#inFlight.push(transaction.commit());
  }

  #change(writer: RecordWriter, count: number): void {
    for (let change = 0; change < count; change++) {
      const [from, to] = [this.#vertex(), this.#vertex()];
      if (from === undefined || to === undefined || this.#roll(12) === 0) {
        this.#vertices.push(writer.createVertex({typeName: 'V', properties: noProperties}).rid);
        continue;
      }
      const typeName = ['E', 'E', 'F', 'L', 'One'][this.#roll(5)] ?? 'E';
      try {
        if (this.#roll(5) > 0) writer.createEdge({typeName, from, to, properties: noProperties});
        else this.#delete(writer, from);
      } catch (error) {
        // An end that is gone, or not there yet.
        if (!(error instanceof Refusal)) throw error;
      }
    }
  }

  /** The vertex, or its first edge. */
  #delete(writer: RecordWriter, vertex: Rid): void {
    const {context, database} = this.#database;
    const reader = database.read();
    const graph = new GraphReader(reader, context);
    const [hop] = drained(graph.hops([vertex], {direction: 'both', types: undefined}), 5);
    reader.close();
    if (hop !== undefined && this.#roll(4) > 0) writer.delete(hop.edge);
    else writer.delete(vertex);
  }

  #vertex(): Rid | undefined {
    return this.#vertices[this.#roll(this.#vertices.length)];
  }

  async #compareCommitted(): Promise<void> {
    const fresh = this.#database.database.read();
    const readers = [fresh, ...this.#old.slice(-3)];
    for (const reader of readers) this.#compare(reader);
    // Chunks are made between statements, also while this one goes on.
    if (this.#roll(2) === 0) await this.#snapshot.settled();
    for (const reader of readers) this.#compare(reader);
    fresh.close();
  }

  /** Compares what a transaction sees that has written edges itself. */
  #compareOwn(): void {
    const {transaction, writer} = this.#database.begin();
    this.#change(writer, 3);
    this.#compare(transaction);
    transaction.rollback();
  }

  #compare(reader: ReadContext): void {
    const {context} = this.#database;
    const plain = new GraphReader(reader, context);
    const packed = new GraphReader(reader, context, kept(this.#snapshot));
    const sent = new SharedAdjacency(structuredClone(this.#snapshot.share(reader.snapshotIndex)));
    const elsewhere = new GraphReader(reader, context, kept(sent));
    const names = choices[this.#roll(choices.length)] ?? [];
    const direction = directions[this.#roll(directions.length)] ?? 'out';
    const portion = 1 + this.#roll(10);
    const only = this.#buckets()[this.#roll(6)];
    const ends = only === undefined ? undefined : (bucket: number): boolean => bucket === only;
    const asked = this.#vertices.filter(() => this.#roll(3) > 0);
    const pairs = asked.flatMap(vertex => {
      const other = this.#vertex();
      return other === undefined ? [] : [{vertex, other}];
    });
    const answers = (graph: Graph): unknown => {
      const choice = {direction, types: graph.edgeTypes(names), ends};
      return {
        hops: drained(graph.hops(asked, choice), portion).map(hopText),
        between: drained(graph.hopsBetween(pairs, choice), portion).map(hopText).sort(),
        degrees: counted(graph.degrees(asked, choice)),
      };
    };
    const expected = answers(plain);
    assert.deepEqual(answers(packed), expected, `${direction} ${names.join()}`);
    assert.deepEqual(answers(elsewhere), expected, `elsewhere, ${direction} ${names.join()}`);
    this.#snapshot.noteKeysRead(sent.keysRead);
    for (const {bucket, position} of asked) {
      if (packed.packedEdges(bucket, Math.floor(position / 65_536)) !== undefined) this.packed++;
    }
  }
}

function kept(adjacency: PackedAdjacency): DerivedCaches {
  return {...noCaches, adjacency};
}

function drained(source: Source<Hop>, portion: number): readonly Hop[] {
  const hops: Hop[] = [];
  for (let part = source.next(portion); part !== undefined; part = source.next(portion)) {
    hops.push(...part);
  }
  source.close();
  return hops;
}

function counted(counts: HopCounts): readonly number[] {
  while (counts.next());
  counts.close();
  return counts.counts;
}

function hopText({source, edge, other, typeId, outgoing}: Hop): string {
  return `${source} ${ridText(edge)} ${ridText(other)} ${typeId} ${outgoing}`;
}

for (const seed of seeds) {
  test(`packed edges answer as the keys do, whatever is written beside: seed ${seed}`, async () => {
    const history = new History(await newDatabase(), seed);
    await history.run();
    assert.ok(history.packed > 20, `only ${history.packed} vertices were answered from chunks`);
  });
}
