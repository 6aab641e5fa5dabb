/**
 * A kept graph and the entries give the same answers: random histories of vectors with commits in
 * flight, old snapshots, transactions with own writes, emptied ranges, drops of the graph and
 * restarts from its file in between. The collections are so small that every node is compared.
 * Holds invariant W5.
 */
import assert from 'node:assert/strict';
import {after, test} from 'node:test';
import {ByteWriter} from '#server/base/byte-writer.ts';
import {type NearSource, searchDense} from '#server/indexes/dense-search.ts';
import {unbounded} from '#server/indexes/ranked/effort.ts';
import {randomNumbers} from '#server/indexes/vector/testing-vectors.ts';
import {indexRange} from '#server/layout/index-key.ts';
import {appendVectorEntry, vectorEntryKey} from '#server/layout/posting-key.ts';
import {Rid, type Value} from '#server/model/value.ts';
import {createClock, createTimers} from '#server/platform/real/clock.ts';
import {type RecordDatabase, RecordWorld} from '#server/testing/worlds/record-world.ts';
import type {Transaction} from '#server/transactions/transaction-contract.ts';
import type {ReadSession} from '#server/transactions/transaction.ts';
import {
  IndexCaches,
  type IndexCacheKind,
  type IndexCachesOptions,
  type IndexFiles,
} from './index-caches.ts';
import {families} from '#server/indexes/families.ts';
import {FamilyTable} from '#server/catalog/index-families.ts';
import {VectorGraph} from './vector-graph.ts';
import {ServerCacheMemory, vectorsShare} from './memory-shares.ts';
import {resolveSettings} from '#server/base/setting-values.ts';
import {denseOptionsOf} from '#server/catalog/vector-options.ts';
import type {IndexDefinition} from '#server/catalog/definition.ts';
import type {Database} from '#server/engine/database.ts';
import type {ReadContext} from '#server/transactions/transaction-contract.ts';

const seeds = [1, 2, 3, 5, 8, 13];
const steps = 150;
const indexId = 77;
const dimensions = 5;
const index: IndexDefinition = {
  id: indexId,
  name: 'x',
  typeId: 1,
  properties: [],
  kind: 'dense',
  unique: false,
  nullStrategy: 'SKIP',
  state: 'ready',
  options: new Map<string, Value>([
    ['dimensions', dimensions],
    ['similarity', 'EUCLIDEAN'],
    ['maxConnections', 8],
    ['beamWidth', 20],
  ]),
};

function cacheMemory(): ServerCacheMemory {
  const {settings} = resolveSettings([]);
  return new ServerCacheMemory(() => settings);
}

const world = await RecordWorld.open({reportsLate: true});
after(() => world.close());

/** The caches of a database, and the graphs that are made in them. */
class Graphs {
  readonly #graphs: VectorGraph[] = [];
  readonly #caches: IndexCaches;

  constructor(database: Database, options: Omit<IndexCachesOptions, 'families'>) {
    const make: IndexCacheKind['make'] = (of, {lastIndex, ...environment}) => {
      const graph = new VectorGraph(of.id, denseOptionsOf(of), environment, lastIndex);
      this.#graphs.push(graph);
      return graph;
    };
    const dense = {...families.dense, cache: {share: vectorsShare, make}};
    this.#caches = new IndexCaches(database, {...options, families: new FamilyTable([dense])});
  }

  open(reader: ReadContext): NearSource['near'] {
    return this.#caches.open(index, reader) as NearSource['near'];
  }

  get figures(): unknown {
    return this.#caches.figuresOf(indexId);
  }

  async settled(): Promise<void> {
    for (const graph of this.#graphs) await graph.settled();
  }

  close(): void {
    this.#caches.close();
  }
}

class History {
  readonly #database: RecordDatabase;
  readonly #random: ReturnType<typeof randomNumbers>;
  readonly #memory = cacheMemory();
  readonly #files = new Map<number, Uint8Array>();
  readonly #inFlight: Promise<unknown>[] = [];
  readonly #old: ReadSession[] = [];
  #graphs: Graphs;
  /** Searches that the graph answered. */
  kept = 0;

  constructor(database: RecordDatabase, seed: number) {
    this.#database = database;
    this.#random = randomNumbers(seed);
    this.#graphs = this.#open();
  }

  async run(): Promise<void> {
    for (let step = 0; step < steps; step++) await this.#step();
    await Promise.all(this.#inFlight);
    await this.#graphs.settled();
    await this.#compare(this.#database.database.read());
    for (const session of this.#old) session.close();
    this.#graphs.close();
  }

  async #step(): Promise<void> {
    const what = this.#roll(22);
    if (what < 9) this.#write();
    else if (what < 11) await Promise.all(this.#inFlight.splice(0));
    else if (what === 11) this.#memory.dropAll();
    else if (what === 12) this.#reopen();
    else if (what === 13) this.#old.push(this.#database.database.read());
    else if (what === 14) await this.#graphs.settled();
    else if (what === 15 && this.#roll(4) === 0) this.#empty();
    else if (what === 16) await this.#compareOwn();
    else await this.#compare(this.#pick() ?? this.#database.database.read());
  }

  #roll(count: number): number {
    return Math.floor(this.#random.share() * count);
  }

  #open(): Graphs {
    const files: IndexFiles = {
      read: id => this.#files.get(id),
      write: (id, bytes) => void this.#files.set(id, bytes),
      remove: id => void this.#files.delete(id),
      refuse: id => assert.fail(`what was written of index ${id} is read again`),
    };
    return new Graphs(this.#database.database, {
      clock: createClock(),
      timers: createTimers(),
      memory: this.#memory,
      files,
    });
  }

  #reopen(): void {
    this.#graphs.close();
    this.#graphs = this.#open();
  }

  #vector(): Float32Array {
    // Of equal distances the graph may know others: no two are equal.
    return Float32Array.from({length: dimensions}, this.#random.gauss);
  }

  #change(transaction: Transaction): void {
    for (let count = 1 + this.#roll(8); count > 0; count--) {
      const rid = new Rid(1 + this.#roll(2), this.#roll(60));
      if (this.#roll(3) === 0) {
        transaction.delete(vectorEntryKey(indexId, rid));
        continue;
      }
      const out = new ByteWriter(Buffer.alloc(64));
      const keyEnd = appendVectorEntry(out, indexId, rid, this.#vector());
      transaction.put(out.bytes.subarray(0, keyEnd), out.bytes.subarray(keyEnd, out.length));
    }
  }

  /** Writes some vectors and does not wait for them. */
  #write(): void {
    const {transaction} = this.#database.begin();
    this.#change(transaction);
    this.#inFlight.push(transaction.commit());
  }

  #empty(): void {
    const {transaction} = this.#database.begin();
    const {start, end} = indexRange(indexId);
    transaction.deleteRange(start, end);
    this.#inFlight.push(transaction.commit());
  }

  #pick(): ReadSession | undefined {
    return this.#roll(2) === 0 ? this.#old[this.#roll(this.#old.length)] : undefined;
  }

  async #compare(reader: ReadSession): Promise<void> {
    if (this.#roll(3) === 0) await this.#graphs.settled();
    const isOwn = !this.#old.includes(reader);
    try {
      const near = this.#graphs.open(reader);
      this.#searchBoth(reader, (vector, wish) => {
        const found = near?.(vector, wish);
        if (found !== undefined) this.kept++;
        return found;
      });
    } finally {
      if (isOwn) reader.close();
    }
  }

  /** Own writes: the entries are read, as the reader shows them. */
  async #compareOwn(): Promise<void> {
    const {transaction} = this.#database.begin();
    this.#change(transaction);
    assert.ok(transaction.overlays(indexRange(indexId)));
    this.#searchBoth(transaction, undefined);
    transaction.rollback();
    await Promise.resolve();
  }

  #searchBoth(
    reader: ReadSession | Transaction,
    near: Parameters<typeof searchDense>[0]['near'],
  ): void {
    const source = {reader, index, effort: unbounded};
    const k = 1 + this.#roll(10);
    const buckets = this.#roll(3) === 0 ? new Set([2]) : undefined;
    const rids = Array.from({length: 70}, (_, at) => new Rid(1 + (at % 2), at));
    const among = this.#roll(3) === 0 ? rids : undefined;
    const request = {vector: this.#vector(), k, buckets, among};
    assert.deepEqual(searchDense({...source, near}, request), searchDense(source, request));
  }
}

for (const seed of seeds) {
  test(`a kept graph answers as the entries do, seed ${seed}`, async () => {
    const history = new History(await world.database([]), seed);
    await history.run();
    assert.ok(history.kept > 5, `${history.kept} searches were answered from the graph`);
  });
}

test('everything is linked, also where each slice is over before it began', async () => {
  const database = await world.database([]);
  const {transaction} = database.begin();
  const {gauss} = randomNumbers(21);
  for (let position = 0; position < 600; position++) {
    const out = new ByteWriter(Buffer.alloc(64));
    const vector = Float32Array.from({length: dimensions}, gauss);
    const keyEnd = appendVectorEntry(out, indexId, new Rid(1, position), vector);
    transaction.put(out.bytes.subarray(0, keyEnd), out.bytes.subarray(keyEnd, out.length));
  }
  await transaction.commit();
  let now = 0;
  const graphs = new Graphs(database.database, {
    clock: {...createClock(), monotonic: () => (now += 100)},
    timers: createTimers(),
    memory: cacheMemory(),
    files: undefined,
  });
  const reader = database.database.read();
  try {
    graphs.open(reader)?.(Float32Array.from({length: dimensions}, gauss), {k: 1});
    await graphs.settled();
    assert.partialDeepStrictEqual(graphs.figures, {vectors: 600, waiting: 0});
  } finally {
    reader.close();
    graphs.close();
  }
});
