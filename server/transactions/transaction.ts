/**
 * A transaction: a snapshot of the store, the own writes on top of it, and the conditions under
 * which they may be committed. See transaction-contract.ts for what it promises.
 *
 * The snapshot is taken at the first read and its log index is read from the snapshot itself, so
 * `snapshotIndex` is exact without any agreement between the applying thread and this one. An
 * insert that reads nothing takes no snapshot at all.
 */
import {appended} from '#server/base/appended.ts';
import {assert} from '#server/base/assert.ts';
import {Refusal} from '#server/base/errors.ts';
import {indexRange} from '#server/layout/index-key.ts';
import type {Clock} from '#server/platform/clock.ts';
import type {
  PackedRows,
  Reader,
  ScanOptions,
  Scanner,
  ScanRange,
  StoreSnapshot,
} from '#server/storage/store.ts';
import {BucketChanges} from './bucket-changes.ts';
import type {CommitOutcome, LogIndex, Precondition, UniqueKeyName} from './commit.ts';
import {ConditionKeys} from './condition-keys.ts';
import {keyText} from './key-text.ts';
import {type Coordinator, largerThanAnEntry} from './coordinator.ts';
import type {OpenSnapshot} from './recent/open-snapshots.ts';
import {KeyGap} from './own-writes/key-gap.ts';
import {scanMerged} from './own-writes/merged-scanner.ts';
import {getManyMerged, getMerged, OverlaidReader} from './own-writes/overlaid-reader.ts';
import type {PutWrite} from './own-writes/point-write.ts';
import {RecentReads} from './recent/recent-reads.ts';
import {counterKey, decodeCounter, decodePosition, positionKey} from './system-keys.ts';
import type {
  Isolation,
  KeyRequest,
  PreconditionRequest,
  ReadContext,
  Transaction,
} from './transaction-contract.ts';
import type {InFlightState} from './in-flight-commits.ts';
import {WriteSet} from './own-writes/write-set.ts';

export interface TransactionLimits {
  /** `svc.txSizeMax`: bytes of keys and values of one transaction. */
  readonly writeBytesMax: number;
  /** Milliseconds from begin to commit. */
  readonly durationMsMax: number;
}

export interface TransactionOptions {
  readonly databaseId: number;
  readonly isolation: Isolation;
  readonly snapshots: SnapshotSource;
  readonly coordinator: Coordinator;
  readonly clock: Clock;
  readonly limits: TransactionLimits;
  /** Greatest index known to be applied; a lower bound for a snapshot taken now. */
  readonly appliedIndex: () => LogIndex;
  readonly schemaVersion: number;
  readonly formatLevel: number;
  /** Reads what the commits under way leave behind, where that is known. */
  readonly readsInFlight: boolean;
}

/** Calls between two looks at the clock. */
const callsPerLook = 64;

/** Open snapshots of a database, and what is known of the state that a snapshot taken now shows. */
export interface SnapshotSource {
  /** @throws {Refusal} when the database takes no requests any more. */
  open(): StoreSnapshot;
  release(snapshot: StoreSnapshot): void;
  /** The catalog version of a snapshot taken now; undefined while that is changing. */
  readonly schemaVersion: number | undefined;
}

interface IndexGap {
  readonly indexId: number;
  readonly gap: KeyGap;
}

/**
 * A snapshot whose log index is known.
 *
 * `since` is a lower bound of `index` that costs no read. Conditions count from it: an entry that
 * the snapshot shows but whose acknowledgement is still under way may count as a conflict, and the
 * transaction runs again; nothing that the snapshot does not show is ever missed, because an entry
 * is in the store before this thread hears of it.
 *
 * On top of it may lie what the commits under way leave behind; conditions count from there then.
 */
class PinnedSnapshot {
  readonly snapshot: StoreSnapshot;
  /** The snapshot, with what lies on top. */
  readonly reader: Reader;
  readonly inFlight: InFlightState | undefined;
  readonly since: LogIndex;
  readonly #source: SnapshotSource;
  #index: LogIndex | undefined;
  #schemaVersion: number | undefined;
  /** What is known of keys that are not there: of the index asked last, and of all asked before. */
  #gap: IndexGap | undefined;
  #gaps: Map<number, KeyGap> | undefined;
  #hasSought = false;
  readonly #recent = new RecentReads();

  constructor(source: SnapshotSource, since: LogIndex, inFlight?: InFlightState) {
    this.since = inFlight?.index ?? since;
    this.inFlight = inFlight;
    this.#source = source;
    this.#schemaVersion = source.schemaVersion;
    this.snapshot = source.open();
    this.reader =
      inFlight === undefined ? this.snapshot : new OverlaidReader(this.snapshot, inFlight.writes);
  }

  get index(): LogIndex {
    if (this.#index === undefined) this.#readPosition();
    return this.#index as LogIndex;
  }

  /** The version of the catalog in the snapshot. */
  get schemaVersion(): number {
    if (this.#schemaVersion === undefined) this.#readPosition();
    return this.#schemaVersion as number;
  }

  /** Works like `reader.get`; recent reads come from memory. Callers must not change the answer. */
  get(key: Uint8Array): Buffer | undefined {
    // What is not decided grows while the snapshot is open.
    if (this.inFlight !== undefined) return this.reader.get(key);
    return this.#recent.get(key, this.snapshot);
  }

  /** A point read in an index; without own writes. The first one costs no more than itself. */
  find(indexId: number, text: string, sought: {readonly key: Uint8Array}): Buffer | undefined {
    if (!this.#hasSought) {
      this.#hasSought = true;
      return this.reader.get(sought.key);
    }
    return this.#gapOf(indexId).get(text, sought);
  }

  #gapOf(indexId: number): KeyGap {
    const last = this.#gap;
    if (last?.indexId === indexId) return last.gap;
    // Most statements ask one index.
    if (last !== undefined) {
      this.#gaps ??= new Map();
      this.#gaps.set(last.indexId, last.gap);
    }
    const end = (): Uint8Array => indexRange(indexId).end;
    const gap = this.#gaps?.get(indexId) ?? new KeyGap(this.reader, end);
    this.#gap = {indexId, gap};
    return gap;
  }

  release(): void {
    this.#source.release(this.snapshot);
  }

  #readPosition(): void {
    const bytes = this.snapshot.get(positionKey);
    const position = bytes === undefined ? undefined : decodePosition(bytes);
    this.#index = position?.index ?? 0;
    this.#schemaVersion = position?.schemaVersion ?? 0;
  }
}

export class StoreTransaction implements Transaction {
  readonly isolation: Isolation;
  readonly databaseId: number;
  schemaVersion: number;
  newSchemaVersion: number | undefined;
  readonly #options: TransactionOptions;
  readonly #deadline: number;
  /** The least of the limits of what it writes, as they are when it begins. */
  readonly #bytesMax: number;
  readonly #writes = new WriteSet();
  readonly #buckets = new BucketChanges();
  /** The position counters are the change, not what goes with one. */
  #passesPositions = false;
  #preconditions: Precondition[] = [];
  /** Keys of the conditions, while any are asked for. */
  #conditionKeys: ConditionKeys | undefined;
  #held: PinnedSnapshot | undefined;
  /** The index of the previous snapshot. */
  #sinceBefore: LogIndex | undefined;
  /**
   * The place of the first snapshot among the snapshots that may yet commit. A later statement has
   * a newer snapshot, but conditions of the first one count from its own.
   */
  #live: OpenSnapshot | undefined;
  #open = true;
  #unchecked = 0;
  readonly #leadershipEpoch: number;

  constructor(options: TransactionOptions) {
    this.#options = options;
    this.isolation = options.isolation;
    this.databaseId = options.databaseId;
    this.schemaVersion = options.schemaVersion;
    this.#leadershipEpoch = options.coordinator.leadershipEpoch;
    const {clock, limits, coordinator} = options;
    this.#deadline = clock.monotonic() + limits.durationMsMax;
    this.#bytesMax = Math.min(limits.writeBytesMax, coordinator.entryBytesMax);
  }

  get open(): boolean {
    return this.#open;
  }

  get hasWrites(): boolean {
    return (
      !this.#writes.isEmpty ||
      this.#passesPositions ||
      this.#buckets.all.some(({countDelta}) => countDelta !== 0)
    );
  }

  get writeBytes(): number {
    return this.#writes.bytes;
  }

  get snapshotIndex(): LogIndex {
    return this.#snapshot().index;
  }

  get snapshot(): StoreSnapshot {
    return this.#snapshot().snapshot;
  }

  get formatLevel(): number {
    return this.#options.formatLevel;
  }

  get seesInFlight(): boolean {
    return this.#held?.inFlight !== undefined;
  }

  recordCount(bucketId: number): number {
    const {snapshot, inFlight} = this.#snapshot();
    const before =
      inFlight?.counts.get(bucketId) ?? decodeCounter(snapshot.get(counterKey('count', bucketId)));
    return Math.max(0, before + (this.#buckets.find(bucketId)?.countDelta ?? 0));
  }

  overlays({start, end}: ScanRange): boolean {
    const {inFlight} = this.#snapshot();
    if (this.#writes.isEmpty && inFlight === undefined) return false;
    const [from, to] = [keyText(start), end && keyText(end)];
    return this.#writes.touches(from, to) || inFlight?.writes.touches(from, to) === true;
  }

  beginStatement(): void {
    this.#checkDeadline();
    if (this.isolation === 'REPEATABLE_READ') return;
    this.#releaseSnapshot();
  }

  beginAnew(schemaVersion: number): void {
    this.#checkUsable();
    assert(!this.hasWrites, 'what was written belongs to the schema that it was written under');
    this.#preconditions = [];
    this.#conditionKeys = undefined;
    this.#releaseSnapshot();
    this.schemaVersion = schemaVersion;
  }

  get(key: Uint8Array): Buffer | undefined {
    const held = this.#snapshot();
    return this.#writes.isEmpty ? held.get(key) : getMerged(held, this.#writes, key);
  }

  getMany(keys: Buffer, keyCount: number, into: PackedRows): number {
    const {reader} = this.#snapshot();
    if (this.#writes.isEmpty) return reader.getMany(keys, keyCount, into);
    return getManyMerged(reader, this.#writes, {packed: keys, count: keyCount}, into);
  }

  scan(ranges: readonly ScanRange[], options?: ScanOptions): Scanner {
    const {reader} = this.#snapshot();
    if (this.#writes.isEmpty) return reader.scan(ranges, options);
    return scanMerged(reader, this.#writes, ranges, options);
  }

  put(key: Uint8Array, value: Uint8Array): void {
    this.#checkUsable();
    this.#writes.put(keyText(key), value);
    this.#checkSize();
  }

  room(key: string, length: number): PutWrite {
    this.#checkUsable();
    const write = this.#writes.room(key, length);
    this.#checkSize();
    return write;
  }

  find(indexId: number, text: string, sought: {readonly key: Uint8Array}): Buffer | undefined {
    const own = this.#writes.lookup(text);
    if (own !== undefined) return own === 'deleted' ? undefined : Buffer.from(own);
    return this.#snapshot().find(indexId, text, sought);
  }

  delete(key: Uint8Array): void {
    this.#checkUsable();
    this.#writes.put(keyText(key), undefined);
    this.#checkSize();
  }

  deleteRange(start: Uint8Array, end: Uint8Array): void {
    this.#checkUsable();
    this.#writes.deleteRange(keyText(start), keyText(end));
    this.#checkSize();
  }

  require(requested: PreconditionRequest): void {
    this.#checkUsable();
    if (this.#writes.hasSavepoint) {
      const {length} = this.#preconditions;
      this.#writes.onUndo(() => {
        this.#preconditions.length = length;
        this.#conditionKeys = undefined;
      });
    }
    const condition = conditionOf(requested, this.#snapshot().since);
    this.#preconditions = appended(this.#preconditions, condition);
  }

  count(bucketId: number, delta: number): void {
    this.#checkUsable();
    const change = this.#buckets.of(bucketId);
    if (this.#writes.hasSavepoint) {
      this.#writes.onUndo(() => {
        change.countDelta -= delta;
      });
    }
    change.countDelta += delta;
  }

  nextPosition(bucketId: number): number {
    this.#checkUsable();
    this.#buckets.of(bucketId).takesPositions = true;
    return this.#options.coordinator.nextPosition(bucketId);
  }

  passPositions(bucketId: number, least: number): void {
    this.#checkUsable();
    this.#buckets.of(bucketId).takesPositions = true;
    this.#passesPositions = true;
    this.#options.coordinator.passPositions(bucketId, least);
  }

  savepoint(): number {
    return this.#writes.savepoint();
  }

  rollbackTo(savepoint: number): void {
    this.#checkUsable();
    this.#writes.rollbackTo(savepoint);
  }

  commit(requestId?: string): Promise<CommitOutcome> {
    try {
      this.#checkDeadline();
      return this.#commit(requestId);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #commit(requestId: string | undefined): Promise<CommitOutcome> {
    if (!this.hasWrites && this.newSchemaVersion === undefined) {
      assert(!this.seesInFlight, 'nobody is told of what is not decided');
      const index = this.snapshotIndex;
      this.#end();
      return Promise.resolve({kind: 'committed', index});
    }
    // The snapshot stays live until the conditions are checked, so that nothing they need is
    // forgotten meanwhile; `commit` below checks and appends before it returns.
    const outcome = this.#options.coordinator.commit({
      databaseId: this.databaseId,
      leadershipEpoch: this.#leadershipEpoch,
      schemaVersion: this.schemaVersion,
      formatLevel: this.formatLevel,
      operations: this.#writes.operations(),
      keys: this.#writes.keys,
      bytes: this.#writes.bytes,
      preconditions: this.#preconditions,
      buckets: this.#buckets.all,
      requestId,
      newSchemaVersion: this.newSchemaVersion,
    });
    this.#end();
    return outcome;
  }

  rollback(): void {
    if (!this.#open) return;
    if (this.hasWrites) this.#options.coordinator.figures.rollbacks++;
    this.#end();
  }

  #end(): void {
    this.#open = false;
    this.#held?.release();
    this.#held = undefined;
    this.#leave();
  }

  /** Gives the snapshot back, and its place when no condition counts from it. */
  #releaseSnapshot(): void {
    if (this.#held !== undefined) this.#sinceBefore = this.#held.since;
    this.#held?.release();
    this.#held = undefined;
    if (this.#preconditions.length === 0) this.#leave();
  }

  #leave(): void {
    if (this.#live !== undefined) this.#options.coordinator.snapshots.close(this.#live);
    this.#live = undefined;
  }

  /**
   * @throws {Refusal} `commit.conflict` when the snapshot has another catalog than the writer, or
   * shows what others did to records that this transaction wrote: its own writes on top of those
   * would be no state at all, and its commit would be refused.
   */
  #snapshot(): PinnedSnapshot {
    if (this.#held !== undefined) return this.#held;
    assert(this.#open, 'the transaction has ended');
    const {snapshots, coordinator, appliedIndex} = this.#options;
    const bound = appliedIndex();
    const inFlight = this.#options.readsInFlight ? coordinator.inFlightState() : undefined;
    const held = new PinnedSnapshot(snapshots, bound, inFlight);
    if (held.schemaVersion !== this.schemaVersion) {
      held.release();
      throw new Refusal(
        'commit.conflict',
        'the schema was changed by another transaction: nothing was stored, run the ' +
          'transaction again',
      );
    }
    if (this.#isOvertaken()) {
      held.release();
      throw new Refusal(
        'commit.conflict',
        'a record that this transaction wrote was changed by another one: nothing was stored, ' +
          'run the transaction again',
      );
    }
    this.#live ??= coordinator.snapshots.open(bound);
    this.#held = held;
    return held;
  }

  /** Whether commits that this snapshot shows, and the one before did not, break a condition. */
  #isOvertaken(): boolean {
    if (this.#preconditions.length === 0 || this.#sinceBefore === undefined) return false;
    this.#conditionKeys ??= new ConditionKeys();
    this.#conditionKeys.take(this.#preconditions);
    return this.#options.coordinator.isBroken(this.#conditionKeys, this.#sinceBefore);
  }

  /** The clock is read at statements, commits and every few writes: it costs as much as a write. */
  #checkUsable(): void {
    assert(this.#open, 'the transaction has ended');
    this.#unchecked += 1;
    if (this.#unchecked > callsPerLook) this.#checkDeadline();
  }

  #checkDeadline(): void {
    assert(this.#open, 'the transaction has ended');
    this.#unchecked = 0;
    if (this.#options.clock.monotonic() <= this.#deadline) return;
    this.#end();
    throw new Refusal(
      'transaction.expired',
      `the transaction was open for longer than ${this.#options.limits.durationMsMax} ms ` +
        '(svc.txTimeout) and was rolled back',
    );
  }

  #checkSize(): void {
    const {bytes} = this.#writes;
    if (bytes <= this.#bytesMax) return;
    const {limits, coordinator} = this.#options;
    if (bytes > limits.writeBytesMax) {
      throw new Refusal(
        'transaction.too-large',
        `the transaction writes more than ${limits.writeBytesMax} bytes: commit more often or ` +
          'raise svc.txSizeMax',
      );
    }
    // What cannot be committed is not collected either.
    const {entryBytesMax} = coordinator;
    if (bytes <= entryBytesMax) return;
    throw new Refusal('limit.entry', largerThanAnEntry(bytes, entryBytesMax));
  }
}

function conditionOf(requested: PreconditionRequest, since: LogIndex): Precondition {
  if (requested.kind !== 'range-untouched')
    return new KeyCondition(requested.kind, requested, since);
  return {
    ...requested,
    start: Buffer.from(requested.start),
    end: Buffer.from(requested.end),
    since,
  };
}

/** A condition on a key, kept as the text that the check asks for. */
class KeyCondition<Kind extends 'unchanged' | 'present' | 'unpinned'> {
  readonly kind: Kind;
  readonly text: string;
  readonly since: LogIndex;
  readonly unique: UniqueKeyName | undefined;

  constructor(kind: Kind, {key, unique}: KeyRequest, since: LogIndex) {
    this.kind = kind;
    this.text = typeof key === 'string' ? key : keyText(key);
    this.since = since;
    this.unique = unique;
  }

  get key(): Buffer {
    return Buffer.from(this.text, 'latin1');
  }
}

/** A snapshot for a statement that only reads; `close` releases it. */
export class ReadSession implements ReadContext {
  readonly #snapshots: SnapshotSource;
  #held: PinnedSnapshot | undefined;
  #open = true;

  constructor(snapshots: SnapshotSource) {
    this.#snapshots = snapshots;
  }

  /** Takes the snapshot; the version of the catalog that is in force in it. */
  get schemaVersion(): number {
    return this.#snapshot().schemaVersion;
  }

  get snapshotIndex(): LogIndex {
    return this.#snapshot().index;
  }

  get snapshot(): StoreSnapshot {
    return this.#snapshot().snapshot;
  }

  recordCount(bucketId: number): number {
    return decodeCounter(this.#snapshot().snapshot.get(counterKey('count', bucketId)));
  }

  overlays(): boolean {
    return false;
  }

  get(key: Uint8Array): Buffer | undefined {
    return this.#snapshot().get(key);
  }

  getMany(keys: Buffer, keyCount: number, into: PackedRows): number {
    return this.#snapshot().snapshot.getMany(keys, keyCount, into);
  }

  scan(ranges: readonly ScanRange[], options?: ScanOptions): Scanner {
    return this.#snapshot().snapshot.scan(ranges, options);
  }

  close(): void {
    this.#open = false;
    this.#held?.release();
    this.#held = undefined;
  }

  #snapshot(): PinnedSnapshot {
    assert(this.#open, 'the read session is closed');
    // No condition counts from it, so commits need not be remembered for it.
    this.#held ??= new PinnedSnapshot(this.#snapshots, 0);
    return this.#held;
  }
}
