/**
 * What is kept in memory of one index of dense vectors, and for which snapshots it holds.
 *
 * It is made from the entries of the index when searches read enough of them, in short turns, and
 * kept right by the change feed: a record whose entry was told of is *changed* until its entry is
 * read again from a snapshot that shows it. A search gets candidates and the changed records beside
 * them, measures all by the entries of its own snapshot, and so answers exactly for it. Changes
 * that were taken in are remembered for a while, for snapshots that are older than the newest.
 *
 * Invariant W5: of a record that is not among the changed ones given with it, a graph knows the
 * vector of every snapshot that it is given for.
 */
import {Corruption, Refusal} from '#server/base/errors.ts';
import {denseOptionsOf} from '#server/catalog/vector-options.ts';
import {
  type CandidateRequest,
  type DenseOptions,
  DenseVectors,
} from '#server/indexes/dense-vectors.ts';
import type {NearRecords, NearSource} from '#server/indexes/dense-search.ts';
import {RowWalker} from '#server/indexes/row-walker.ts';
import {indexRange} from '#server/layout/index-key.ts';
import {readVector, ridOfVectorEntry, vectorEntryKey} from '#server/layout/posting-key.ts';
import {compareRids, ridText} from '#server/model/rid.ts';
import type {Rid} from '#server/model/value.ts';
import {type Reader, StoreFailure} from '#server/storage/store.ts';
import type {LogIndex} from '#server/transactions/commit.ts';
import type {ReadContext} from '#server/transactions/transaction-contract.ts';
import type {Droppable} from './cache-memory.ts';
import type {
  IndexCache,
  IndexCacheEnvironment,
  IndexCacheFigures,
  IndexCacheKind,
} from './index-caches.ts';
import {vectorsShare} from './memory-shares.ts';

const sliceMs = 2;
const rowsPerLook = 64;
/** Changes that were taken in and are remembered; a snapshot from before them reads the entries. */
const rememberedMax = 20_000;
/** More changed records than that are taken in without waiting for a search. */
const measuredMax = 256;
/** A search takes in so many itself. */
const takenInMax = 2000;
/** It is quicker to read all entries where there are more. */
const changedMax = 10_000;
/** What had no room, or could not be made, is not tried again for so long. */
const refusedMs = 60_000;
const scanned = {bufferBytes: 64 << 10, bufferBytesMax: 512 << 10, once: true};

type GraphEnvironment = Omit<IndexCacheEnvironment, 'heardSince' | 'lastIndex'>;

interface Change {
  readonly rid: Rid;
  readonly index: LogIndex;
}

export class VectorGraph implements Droppable, IndexCache {
  readonly #indexId: number;
  readonly #options: DenseOptions;
  readonly #environment: GraphEnvironment;
  readonly #run: number;
  #vectors: DenseVectors | undefined;
  /** Told of and not taken in, by the text of the record id. */
  readonly #changed = new Map<string, Change>();
  /** Taken in, oldest first. */
  #remembered: Change[] = [];
  /** The newest snapshot whose entries are known, but for `#changed`. */
  #base: LogIndex = 0;
  /** Nothing is known of snapshots that are older. */
  #oldest: LogIndex = 0;
  #notedIndex: LogIndex;
  /** Nodes that have changed since the file was written. */
  #unwritten = 0;
  #refusedUntil = 0;
  /** What was told up to here is not among the changed ones: a snapshot must show it. */
  #unknownUpTo: LogIndex;
  /** How often everything was given up: what is being made then is not taken. */
  #drops = 0;
  #working: Promise<void> | undefined;
  #ended = false;

  /** @param lastIndex - The newest entry that was told of to whoever will tell of the next. */
  constructor(
    indexId: number,
    options: DenseOptions,
    environment: GraphEnvironment,
    lastIndex: LogIndex,
  ) {
    this.#notedIndex = lastIndex;
    this.#unknownUpTo = lastIndex;
    this.#indexId = indexId;
    this.#options = options;
    this.#environment = environment;
    this.#run = environment.memory.beginRun();
  }

  get figures(): Required<Omit<IndexCacheFigures, 'lists'>> {
    const {live = 0, waiting = 0, byteLength = 0} = this.#vectors ?? {};
    return {vectors: live, waiting: waiting + this.#changed.size, bytes: byteLength};
  }

  /** Resolves when nothing is being made or linked. */
  async settled(): Promise<void> {
    while (this.#working !== undefined) await this.#working;
  }

  begin(): void {
    this.#work();
  }

  open(reader: ReadContext): NonNullable<NearSource['near']> {
    return (vector, wish) => this.near(reader, vector, wish);
  }

  /**
   * Candidates for a snapshot; undefined where they are not known for it, and the entries have to
   * be read. `reader` reads the snapshot and nothing on top of it.
   */
  near(
    reader: Reader & {readonly snapshotIndex: LogIndex},
    vector: Float32Array,
    wish: CandidateRequest,
  ): NearRecords | undefined {
    if (this.#vectors === undefined) {
      this.#work();
      return undefined;
    }
    const index = reader.snapshotIndex;
    if (index < this.#oldest) return undefined;
    if (index >= this.#base) this.#takeIn(reader, index, takenInMax);
    const vectors = this.#vectors;
    if (vectors === undefined || this.#changed.size > changedMax) return undefined;
    const changed = this.#changedFor(index);
    this.#environment.memory.hold(this, vectors.byteLength, this.#run);
    if (changed.size === 0) return {candidates: vectors.candidates(vector, wish), changed: []};
    const leaveOut = (bucket: number, position: number): boolean =>
      changed.has(`#${bucket}:${position}`) || (wish.leaveOut?.(bucket, position) ?? false);
    const candidates = vectors.candidates(vector, {...wish, leaveOut});
    return {candidates, changed: [...changed.values()].sort(compareRids)};
  }

  entryChanged(bytes: Uint8Array, _at: number, end: number, index: LogIndex): void {
    this.#notedIndex = index;
    const rid = ridOfVectorEntry(bytes, end);
    const text = ridText(rid);
    // Behind those that were told of before, also where it is told of again.
    this.#changed.delete(text);
    this.#changed.set(text, {rid, index});
    if (this.#vectors !== undefined) this.#work();
  }

  /** Nothing is known any more. */
  emptied(index: LogIndex): void {
    this.#notedIndex = index;
    this.#environment.memory.forget(this);
    this.#environment.files?.remove(this.#indexId);
    this.drop();
  }

  drop(): void {
    this.#drops++;
    this.#vectors = undefined;
    this.#changed.clear();
    this.#unknownUpTo = this.#notedIndex;
    this.#remembered = [];
  }

  /** Writes what is worth it and lets go of everything. */
  close(): void {
    this.#ended = true;
    this.#write();
    this.#environment.memory.forget(this);
    this.drop();
  }

  #changedFor(shown: LogIndex): ReadonlyMap<string, Rid> {
    const changed = new Map(Array.from(this.#changed, ([text, {rid}]) => [text, rid] as const));
    for (let at = this.#remembered.length - 1; at >= 0; at--) {
      const {rid, index} = this.#remembered[at] as Change;
      if (index <= shown) break;
      changed.set(ridText(rid), rid);
    }
    return changed;
  }

  /** Reads the changed entries that the snapshot shows, at most so many. */
  #takeIn(reader: Reader, shown: LogIndex, most: number): void {
    const vectors = this.#vectors;
    if (vectors === undefined || this.#changed.size === 0) return;
    let count = 0;
    for (const [text, change] of this.#changed) {
      if (change.index > shown || count++ >= most) break;
      if (!this.#read(reader, vectors, change.rid)) return;
      this.#changed.delete(text);
      this.#remember(change);
      this.#base = Math.max(this.#base, change.index);
    }
    if (count > 0) this.#work();
  }

  #read(reader: Reader, vectors: DenseVectors, rid: Rid): boolean {
    this.#unwritten++;
    const entry = reader.get(vectorEntryKey(this.#indexId, rid));
    if (entry === undefined) {
      vectors.remove(rid);
      return true;
    }
    const vector = new Float32Array(this.#options.dimensions);
    if (vectors.put(rid, readVector(entry, 0, entry.length, vector))) return true;
    this.emptied(this.#notedIndex);
    return false;
  }

  #remember(change: Change): void {
    this.#remembered.push(change);
    if (this.#remembered.length <= rememberedMax) return;
    const gone = this.#remembered.splice(0, rememberedMax / 2);
    for (const {index} of gone) this.#oldest = Math.max(this.#oldest, index);
  }

  #work(): void {
    const {clock, memory} = this.#environment;
    if (this.#ended || memory.bytesMax === 0) return;
    if (this.#vectors === undefined && clock.monotonic() < this.#refusedUntil) return;
    this.#working ??= this.#upkeep().finally(() => {
      this.#working = undefined;
    });
  }

  async #upkeep(): Promise<void> {
    const {clock, timers, database} = this.#environment;
    try {
      if (this.#vectors === undefined) await this.#make();
      while (!this.#ended && this.#vectors !== undefined) {
        await timers.yield();
        if (database.fence !== undefined || !this.#hasRoom()) return;
        const sliceEnd = clock.monotonic() + sliceMs;
        if (this.#changed.size > measuredMax) this.#takeInSome(sliceEnd);
        // A slice may be over before it began: who was not asked may still have work to do.
        let hasMore: boolean;
        do hasMore = this.#vectors?.work() ?? false;
        while (hasMore && clock.monotonic() < sliceEnd);
        if (!hasMore && this.#changed.size <= measuredMax) break;
      }
      this.#rest();
    } catch (error) {
      // Whoever reads these entries for an answer is told; nothing depends on the graph.
      const isExpected =
        error instanceof Refusal || error instanceof StoreFailure || error instanceof Corruption;
      if (!isExpected) throw error;
      this.drop();
    }
  }

  /** What has grown beyond the memory there is is given up. */
  #hasRoom(): boolean {
    const {memory, clock} = this.#environment;
    const {byteLength = 0} = this.#vectors ?? {};
    memory.forget(this);
    if (memory.makeRoom(byteLength, this.#run)) {
      memory.hold(this, byteLength, this.#run);
      return true;
    }
    this.#refusedUntil = clock.monotonic() + refusedMs;
    this.drop();
    return false;
  }

  #takeInSome(sliceEnd: number): void {
    const {clock, database} = this.#environment;
    const reader = database.read();
    try {
      const index = reader.snapshotIndex;
      if (index < this.#base) return;
      while (this.#changed.size > 0 && clock.monotonic() < sliceEnd) {
        const before = this.#changed.size;
        this.#takeIn(reader, index, rowsPerLook);
        if (this.#changed.size === before) return;
      }
    } finally {
      reader.close();
    }
  }

  /** Everything is linked: a good time to write it down, where enough has changed. */
  #rest(): void {
    const {live = 0} = this.#vectors ?? {};
    if (this.#unwritten > 1000 + live / 10) this.#write();
  }

  #write(): void {
    const {files} = this.#environment;
    if (files === undefined || this.#vectors === undefined || this.#unwritten === 0) return;
    if (this.#vectors.live < writtenMin) return;
    files.write(this.#indexId, this.#vectors.encode());
    this.#unwritten = 0;
  }

  async #make(): Promise<void> {
    const {database, timers} = this.#environment;
    for (;;) {
      await timers.yield();
      if (this.#ended || database.fence !== undefined) return;
      const reader = database.read();
      const drops = this.#drops;
      try {
        const base = reader.snapshotIndex;
        // That is in flight at most.
        if (base < this.#unknownUpTo) continue;
        const vectors = await this.#fill(reader);
        if (vectors === undefined) {
          this.#refusedUntil = this.#environment.clock.monotonic() + refusedMs;
          return;
        }
        if (drops !== this.#drops) continue;
        for (const [text, {index}] of this.#changed) {
          if (index <= base) this.#changed.delete(text);
        }
        this.#remembered = [];
        this.#base = base;
        this.#oldest = base;
        this.#vectors = vectors;
        return;
      } finally {
        reader.close();
      }
    }
  }

  /** Undefined when the database ends, or there is no room. */
  async #fill(reader: Reader): Promise<DenseVectors | undefined> {
    const {database, clock, timers, memory, files, askLargePages} = this.#environment;
    const vectors = new DenseVectors(this.#options, askLargePages);
    const bytes = files?.read(this.#indexId);
    if (bytes !== undefined && !vectors.load(bytes)) files?.refuse(this.#indexId);
    const vector = new Float32Array(this.#options.dimensions);
    const walker = new RowWalker(reader, [indexRange(this.#indexId)], scanned);
    try {
      for (let sliceEnd = clock.monotonic() + sliceMs; ; ) {
        for (let rows = 0; rows < rowsPerLook; rows++) {
          if (!walker.next()) {
            vectors.settle();
            this.#unwritten = vectors.waiting;
            return memory.makeRoom(vectors.byteLength, this.#run) ? vectors : undefined;
          }
          const {bytes: rowBytes, keyEnd, end} = walker;
          readVector(rowBytes, keyEnd, end, vector);
          if (!vectors.put(ridOfVectorEntry(rowBytes, keyEnd), vector)) return undefined;
        }
        if (!memory.makeRoom(vectors.byteLength, this.#run)) return undefined;
        if (clock.monotonic() < sliceEnd) continue;
        await timers.yield();
        if (this.#ended || database.fence !== undefined) return undefined;
        sliceEnd = clock.monotonic() + sliceMs;
      }
    } finally {
      walker.close();
    }
  }
}

/** Fewer are linked again sooner than a file is read. */
const writtenMin = 1000;

/** How dense vector indexes keep their graphs. */
export const vectorGraphs: IndexCacheKind = {
  share: vectorsShare,
  make: (index, environment) =>
    new VectorGraph(index.id, denseOptionsOf(index), environment, environment.lastIndex),
};
