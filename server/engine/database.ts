/**
 * One database as sessions see it: transactions, read sessions, counters and the catalog bytes.
 *
 * The catalog is one key, written by schema entries like any other; its decoding is done above.
 * Listeners hear of a new one in log order, before the commit that made it resolves. A fenced
 * database refuses everything; a closed one is not handed out by the engine.
 */
import {assert} from '#server/base/assert.ts';
import {Refusal} from '#server/base/errors.ts';
import type {Clock, Timers} from '#server/platform/clock.ts';
import {idOfNameKey, isNameKey} from '#server/layout/name-key.ts';
import type {ShareableStore, Store, StoreSnapshot} from '#server/storage/store.ts';
import type {ChangeListener, ChangeSubscription} from '#server/transactions/change-feed.ts';
import {CommittedEntries, type EntryConsumer} from '#server/transactions/committed-entries.ts';
import type {
  CommitLog,
  CommitOutcome,
  CommitRequest,
  LogIndex,
} from '#server/transactions/commit.ts';
import type {Coordinator, CoordinatorOptions} from '#server/transactions/coordinator.ts';
import {type Entry, eachOperation} from '#server/transactions/entry.ts';
import {SnapshotPool} from './snapshot-pool.ts';
import {catalogKey, counterKey, decodeCounter} from '#server/transactions/system-keys.ts';
import {
  ReadSession,
  StoreTransaction,
  type TransactionLimits,
  type SnapshotSource,
} from '#server/transactions/transaction.ts';
import type {Isolation, Transaction} from '#server/transactions/transaction-contract.ts';

export type NameListener = (id: number, name: string) => void;
export type CatalogListener = (bytes: Buffer | undefined, schemaVersion: number) => void;

export interface DatabaseOptions {
  readonly id: number;
  readonly name: string;
  readonly store: Store;
  readonly log: CommitLog;
  readonly clock: Clock;
  readonly timers: Pick<Timers, 'after'>;
  readonly limits: TransactionLimits;
  readonly schemaVersion: number;
  /** The format level that the server writes at present. */
  readonly formatLevel: () => number;
  readonly makeCoordinator: (onApplied: CoordinatorOptions['onApplied']) => Coordinator;
}

/** A snapshot as another thread of the process finds it. */
export interface SharedSnapshot {
  readonly store: ShareableStore;
  readonly handle: bigint;
}

export class Database {
  readonly id: number;
  readonly name: string;
  readonly #options: DatabaseOptions;
  readonly #coordinator: Coordinator;
  readonly #listeners = new Set<CatalogListener>();
  readonly #nameListeners = new Set<NameListener>();
  readonly #appliedIndex: () => LogIndex;
  readonly #snapshots: SnapshotSource;
  readonly #shared: SnapshotPool;
  /** Views that are open, and threads that have the store. */
  #usersOpen = 0;
  readonly #entryFeeds = new Set<CommittedEntries>();
  readonly #releasedWaiters: (() => void)[] = [];
  #schemaVersion: number;

  constructor(options: DatabaseOptions) {
    this.id = options.id;
    this.name = options.name;
    this.#options = options;
    this.#schemaVersion = options.schemaVersion;
    this.#appliedIndex = () => options.log.appliedIndex;
    this.#coordinator = options.makeCoordinator(version => this.#applied(version));
    this.#shared = new SnapshotPool(this.#appliedIndex, options.timers);
    this.#snapshots = this.#makeSnapshots();
  }

  /**
   * Holds what was told as applied (commit-pipeline.ts, `flushAcknowledged`).
   *
   * @throws {Refusal} `database.behind`
   */
  get store(): Store {
    this.#options.log.flushAcknowledged();
    return this.#options.store;
  }

  /** Version of the newest applied catalog; 0 before the first one. */
  get schemaVersion(): number {
    return this.#schemaVersion;
  }

  /** The format level that a write must have now. */
  get formatLevel(): number {
    return this.#options.formatLevel();
  }

  /** Why the database takes no more commits, if so. */
  get fence(): string | undefined {
    return this.#coordinator.fence;
  }

  /** What every request for the database is refused with, if so: its fence. */
  get refusal(): Refusal | undefined {
    const {fence} = this;
    if (fence === undefined) return undefined;
    return new Refusal('database.fenced', `database ${this.name}: ${fence}`);
  }

  /** Open transactions that hold a snapshot. */
  get liveSnapshotCount(): number {
    return this.#coordinator.snapshots.count;
  }

  /** `readsInFlight`: on top of what is under way, which only who commits by itself may do. */
  begin(isolation: Isolation, {readsInFlight = false} = {}): Transaction {
    this.#checkFence();
    return new StoreTransaction({
      databaseId: this.id,
      isolation,
      snapshots: this.#snapshots,
      coordinator: this.#coordinator,
      clock: this.#options.clock,
      limits: this.#options.limits,
      appliedIndex: this.#appliedIndex,
      schemaVersion: this.#schemaVersion,
      formatLevel: this.formatLevel,
      readsInFlight,
    });
  }

  /** Whether a transaction can be on top of what is under way; if not, once that is settled. */
  hasInFlightCommits(): boolean {
    return this.#coordinator.hasInFlightCommits();
  }

  /**
   * A snapshot for a statement that only reads; close it soon. Costs nothing until the first read.
   */
  read(): ReadSession {
    this.#checkFence();
    this.#coordinator.figures.snapshots++;
    return new ReadSession(this.#snapshots);
  }

  /** Whether other threads can use its snapshots. */
  get sharesSnapshots(): boolean {
    return this.#options.store.shareable?.engine === 'native';
  }

  /**
   * A hold of an open snapshot beside its own; release it when no other thread uses it any more.
   */
  shareSnapshot(snapshot: StoreSnapshot): {
    readonly shared: SharedSnapshot;
    readonly release: () => void;
  } {
    const {store} = this.#options;
    const {shareable} = store;
    assert(shareable !== undefined && this.sharesSnapshots, 'the store can be shared with threads');
    const held = store.attachSnapshot(snapshot.handle);
    this.#usersOpen += 1;
    return {
      shared: {store: shareable, handle: snapshot.handle},
      release: () => {
        held.release();
        this.#released();
      },
    };
  }

  /** The store for another thread; as with `shareSnapshot`. */
  shareStore(): {readonly store: ShareableStore; readonly release: () => void} {
    const {shareable} = this.store;
    assert(shareable !== undefined && this.sharesSnapshots, 'the store can be shared with threads');
    this.#checkFence();
    this.#usersOpen += 1;
    return {store: shareable, release: () => this.#released()};
  }

  /** The newest applied catalog as its writer encoded it; undefined before the first one. */
  catalogBytes(): Buffer | undefined {
    return this.store.get(catalogKey);
  }

  /** Calls `listener` after every schema entry; the returned function ends it. */
  onCatalogChange(listener: CatalogListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Tells `listener` what every later entry changes; see transactions/change-feed.ts. */
  onChange(listener: ChangeListener): ChangeSubscription {
    return this.#coordinator.changes.listen(listener);
  }

  /**
   * Tells `consumer` every entry that is committed from now on, with the states around it, once it
   * is started; see transactions/committed-entries.ts. It ends with the database.
   */
  committedEntries(consumer: EntryConsumer): CommittedEntries {
    this.#checkFence();
    const {log, store} = this.#options;
    const feed = new CommittedEntries(
      {
        feed: this.#coordinator.changes,
        appliedIndex: this.#appliedIndex,
        whenApplied: index => log.whenApplied(index),
        snapshot: () => this.#counted(store.snapshot()),
        flush: () => log.flushAcknowledged(),
      },
      {
        consume: entry => consumer.consume(entry),
        ended: error => {
          this.#entryFeeds.delete(feed);
          consumer.ended(error);
        },
      },
    );
    this.#entryFeeds.add(feed);
    return feed;
  }

  /** Applied records in a bucket, outside any transaction. */
  recordCount(bucketId: number): number {
    return decodeCounter(this.store.get(counterKey('count', bucketId)));
  }

  /** The next record position of a bucket, outside any transaction: never handed out again. */
  nextPosition(bucketId: number): number {
    return this.#coordinator.nextPosition(bucketId);
  }

  /** Changes when this node begins to take commits: positions of an earlier epoch are void. */
  get leadershipEpoch(): number {
    return this.#coordinator.leadershipEpoch;
  }

  /** This node takes commits from now on, behind the entry at `index`, which is applied. */
  beginAnew(index: LogIndex): void {
    this.#coordinator.beginAnew(index, this.#schemaVersion);
  }

  /** What was appended here behind the entry at `index` never happens. */
  takeBack(index: LogIndex): void {
    this.#coordinator.takeBack(index, this.#schemaVersion);
  }

  /**
   * Who begins now opens a snapshot of its own. For those who have written to the store beside its
   * entries, or want to have no files in use that nobody needs.
   */
  dropSnapshot(): void {
    this.#shared.drop();
  }

  /** Calls `listener` with every name of a property that another node stored. */
  onName(listener: NameListener): void {
    this.#nameListeners.add(listener);
  }

  /** Another node's entry is about to be applied here; call what is returned when it is. */
  follow(index: LogIndex, entry: Entry): () => void {
    const applied = this.#coordinator.follow(index, entry);
    const names = namesIn(entry);
    if (names.length === 0) return applied;
    this.#tellNames(names);
    return () => {
      applied();
      // Who began to listen meanwhile did not find them in the store yet.
      this.#tellNames(names);
    };
  }

  /** Commits operations that were made without a transaction; a bulk load's way. */
  submit(request: Omit<CommitRequest, 'databaseId'>): Promise<CommitOutcome> {
    return this.#coordinator.commit({...request, databaseId: this.id});
  }

  /** Grows with every commit that deletes something, when it is appended. */
  get deletingCommits(): number {
    return this.#coordinator.deletingCommits;
  }

  /** Index of the newest entry that is applied, of whatever database. */
  get appliedIndex(): LogIndex {
    return this.#appliedIndex();
  }

  /** Index of the newest entry that was appended, by whomever. */
  get lastIndex(): LogIndex {
    return this.#options.log.lastIndex;
  }

  /** Any snapshot at or after this index satisfies every client's read-your-writes (commit.ts). */
  readIndex(): Promise<LogIndex> | undefined {
    return this.#options.log.readIndex();
  }

  /** Resolves when the entry at `index` is applied here, or never will be. */
  whenApplied(index: LogIndex): Promise<void> {
    return this.#options.log.whenApplied(index);
  }

  /** Resolves when everything that is under way now is applied, or never will be. */
  settled(): Promise<void> {
    return this.#options.log.whenApplied(this.#options.log.lastIndex);
  }

  /** Resolves when an entry that is not appended yet is applied, of whatever database. */
  nextApplied(): Promise<void> {
    return this.#options.log.whenApplied(this.#options.log.lastIndex + 1);
  }

  /** What became of a request with this id; undefined when none was begun here or committed. */
  outcomeOf(requestId: string): Promise<CommitOutcome> | undefined {
    return this.#coordinator.outcomeOf(requestId);
  }

  /**
   * Its files are not what was written to them, as a read has found: what needs the damaged bytes
   * fails, the rest goes on. Another copy should take its place.
   */
  damage: string | undefined;

  /** Refuses everything from now on. */
  close(reason: string): void {
    this.#coordinator.close(reason);
    this.#shared.drop();
    for (const feed of this.#entryFeeds) feed.end();
  }

  /**
   * Resolves when no snapshot is open and no thread has the store any more; call after `close`,
   * which lets no new one be taken. Whoever holds one has to be told to end.
   */
  async released(): Promise<void> {
    if (this.#usersOpen === 0) return;
    await new Promise<void>(resolve => {
      this.#releasedWaiters.push(resolve);
    });
  }

  /** Takes commits again: what it was closed for did not happen. */
  reopen(): void {
    this.#coordinator.reopen();
  }

  #tellNames(names: readonly StoredName[]): void {
    for (const {id, name} of names) {
      for (const listener of this.#nameListeners) listener(id, name);
    }
  }

  #applied(schemaVersion: number | undefined): void {
    this.#shared.drop();
    if (this.#entryFeeds.size > 0) for (const feed of this.#entryFeeds) feed.applied();
    if (schemaVersion === undefined) return;
    this.#schemaVersion = schemaVersion;
    const bytes = this.catalogBytes();
    for (const listener of this.#listeners) listener(bytes, schemaVersion);
  }

  #makeSnapshots(): SnapshotSource {
    const schemaVersion = (): number | undefined =>
      this.#coordinator.schemaVersion === this.#schemaVersion ? this.#schemaVersion : undefined;
    return {
      get schemaVersion() {
        return schemaVersion();
      },
      open: () => {
        this.#checkFence();
        const snapshot = this.#shared.take(() => this.store.snapshot());
        this.#usersOpen += 1;
        return snapshot;
      },
      release: snapshot => {
        this.#shared.leave(snapshot);
        this.#released();
      },
    };
  }

  /** The snapshot, which holds the store until it is released. */
  #counted(snapshot: StoreSnapshot): StoreSnapshot {
    this.#usersOpen += 1;
    return {
      get: key => snapshot.get(key),
      getMany: (keys, count, into) => snapshot.getMany(keys, count, into),
      scan: (ranges, options) => snapshot.scan(ranges, options),
      handle: snapshot.handle,
      release: () => {
        snapshot.release();
        this.#released();
      },
    };
  }

  #released(): void {
    this.#usersOpen -= 1;
    if (this.#usersOpen > 0) return;
    for (const resolve of this.#releasedWaiters.splice(0)) resolve();
  }

  #checkFence(): void {
    const {refusal} = this;
    if (refusal !== undefined) throw refusal;
  }
}

interface StoredName {
  readonly id: number;
  readonly name: string;
}

/** The names of properties that an entry stores. */
function namesIn(entry: Entry): readonly StoredName[] {
  const names: StoredName[] = [];
  for (const operation of eachOperation(entry)) {
    if (operation.kind !== 'put' || !isNameKey(operation.key)) continue;
    const name = Buffer.from(operation.value).toString('utf8');
    names.push({id: idOfNameKey(operation.key, 0), name});
  }
  return names;
}
