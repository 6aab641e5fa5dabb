/**
 * A transaction: a view of the store, the own writes on top of it, and the conditions under
 * which they may be committed. See transaction-contract.ts for what it promises.
 *
 * The view is taken at the first read and its log index is read from the view itself, so
 * `viewIndex` is exact without any agreement between the applying thread and this one. An
 * insert that reads nothing takes no view at all.
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
  View,
} from '#server/storage/store.ts';
import {BucketChanges} from './bucket-changes.ts';
import type {CommitOutcome, LogIndex, Precondition, UniqueKeyName} from './commit.ts';
import {ConditionKeys} from './condition-keys.ts';
import {keyText} from './conflict-window.ts';
import {type Coordinator, largerThanAnEntry} from './coordinator.ts';
import type {LiveView} from './recent/live-views.ts';
import {KeyGap} from './own-writes/key-gap.ts';
import {scanMerged} from './own-writes/merged-scanner.ts';
import {getManyMerged, getMerged, OverlaidReader} from './own-writes/overlaid-reader.ts';
import type {PutWrite} from './own-writes/point-write.ts';
import {RecentReads} from './recent/recent-reads.ts';
import {counterKey, decodeCounter, decodePosition, positionKey} from './system-keys.ts';
import type {
  Isolation,
  KeyWish,
  PreconditionWish,
  ReadContext,
  Transaction,
} from './transaction-contract.ts';
import type {UndecidedState} from './undecided-commits.ts';
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
  readonly views: ViewSource;
  readonly coordinator: Coordinator;
  readonly clock: Clock;
  readonly limits: TransactionLimits;
  /** Greatest index known to be applied; a lower bound for a view taken now. */
  readonly appliedIndex: () => LogIndex;
  readonly schemaVersion: number;
  readonly formatLevel: number;
  /** Reads what the commits under way leave behind, where that is known. */
  readonly onUndecided: boolean;
}

/** Calls between two looks at the clock. */
const callsPerLook = 64;

/** Open views of a database, and what is known of the state that a view taken now shows. */
export interface ViewSource {
  /** @throws {Refusal} when the database takes no requests any more. */
  open(): View;
  release(view: View): void;
  /** The catalog version of a view taken now; undefined while that is changing. */
  readonly schemaVersion: number | undefined;
}

interface IndexGap {
  readonly indexId: number;
  readonly gap: KeyGap;
}

/**
 * A view whose log index is known.
 *
 * `since` is a lower bound of `index` that costs no read. Conditions count from it: an entry that
 * the view shows but whose acknowledgement is still under way may count as a conflict, and the
 * transaction runs again; nothing that the view does not show is ever missed, because an entry is
 * in the store before this thread hears of it.
 *
 * On top of it may lie what the commits under way leave behind; conditions count from there then.
 */
class HeldView {
  readonly view: View;
  /** The view, with what lies on top. */
  readonly reader: Reader;
  readonly undecided: UndecidedState | undefined;
  readonly since: LogIndex;
  readonly #source: ViewSource;
  #index: LogIndex | undefined;
  #schemaVersion: number | undefined;
  /** What is known of keys that are not there: of the index asked last, and of all asked before. */
  #gap: IndexGap | undefined;
  #gaps: Map<number, KeyGap> | undefined;
  #hasSought = false;
  readonly #recent = new RecentReads();

  constructor(source: ViewSource, since: LogIndex, undecided?: UndecidedState) {
    this.since = undecided?.index ?? since;
    this.undecided = undecided;
    this.#source = source;
    this.#schemaVersion = source.schemaVersion;
    this.view = source.open();
    this.reader =
      undecided === undefined ? this.view : new OverlaidReader(this.view, undecided.writes);
  }

  get index(): LogIndex {
    if (this.#index === undefined) this.#readPosition();
    return this.#index as LogIndex;
  }

  /** Of the catalog that is in force in the view. */
  get schemaVersion(): number {
    if (this.#schemaVersion === undefined) this.#readPosition();
    return this.#schemaVersion as number;
  }

  /** As `reader.get`; what was read a moment ago comes from memory. Callers change no answer. */
  get(key: Uint8Array): Buffer | undefined {
    // What is not decided grows while the view is open.
    if (this.undecided !== undefined) return this.reader.get(key);
    return this.#recent.get(key, this.view);
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
    this.#source.release(this.view);
  }

  #readPosition(): void {
    const bytes = this.view.get(positionKey);
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
  #held: HeldView | undefined;
  /** Of the view before. */
  #sinceBefore: LogIndex | undefined;
  /**
   * The place of the first view among the views that may yet commit. A later statement has a
   * newer view, but conditions of the first one count from its own.
   */
  #live: LiveView | undefined;
  #open = true;
  #unchecked = 0;
  readonly #era: number;

  constructor(options: TransactionOptions) {
    this.#options = options;
    this.isolation = options.isolation;
    this.databaseId = options.databaseId;
    this.schemaVersion = options.schemaVersion;
    this.#era = options.coordinator.era;
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

  get viewIndex(): LogIndex {
    return this.#view().index;
  }

  get view(): View {
    return this.#view().view;
  }

  get formatLevel(): number {
    return this.#options.formatLevel;
  }

  get seesUndecided(): boolean {
    return this.#held?.undecided !== undefined;
  }

  recordCount(bucketId: number): number {
    const {view, undecided} = this.#view();
    const before =
      undecided?.counts.get(bucketId) ?? decodeCounter(view.get(counterKey('count', bucketId)));
    return Math.max(0, before + (this.#buckets.find(bucketId)?.countDelta ?? 0));
  }

  overlays({start, end}: ScanRange): boolean {
    const {undecided} = this.#view();
    if (this.#writes.isEmpty && undecided === undefined) return false;
    const [from, to] = [keyText(start), end && keyText(end)];
    return this.#writes.touches(from, to) || undecided?.writes.touches(from, to) === true;
  }

  beginStatement(): void {
    this.#checkDeadline();
    if (this.isolation === 'REPEATABLE_READ') return;
    this.#releaseView();
  }

  beginAnew(schemaVersion: number): void {
    this.#checkUsable();
    assert(!this.hasWrites, 'what was written belongs to the schema that it was written under');
    this.#preconditions = [];
    this.#conditionKeys = undefined;
    this.#releaseView();
    this.schemaVersion = schemaVersion;
  }

  get(key: Uint8Array): Buffer | undefined {
    const held = this.#view();
    return this.#writes.isEmpty ? held.get(key) : getMerged(held, this.#writes, key);
  }

  getMany(keys: Buffer, keyCount: number, into: PackedRows): number {
    const {reader} = this.#view();
    if (this.#writes.isEmpty) return reader.getMany(keys, keyCount, into);
    return getManyMerged(reader, this.#writes, {packed: keys, count: keyCount}, into);
  }

  scan(ranges: readonly ScanRange[], options?: ScanOptions): Scanner {
    const {reader} = this.#view();
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
    return this.#view().find(indexId, text, sought);
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

  require(wish: PreconditionWish): void {
    this.#checkUsable();
    if (this.#writes.hasSavepoint) {
      const {length} = this.#preconditions;
      this.#writes.onUndo(() => {
        this.#preconditions.length = length;
        this.#conditionKeys = undefined;
      });
    }
    const condition = conditionOf(wish, this.#view().since);
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
      assert(!this.seesUndecided, 'nobody is told of what is not decided');
      const index = this.viewIndex;
      this.#end();
      return Promise.resolve({kind: 'committed', index});
    }
    // The view stays live until the conditions are checked, so that nothing they need is
    // forgotten meanwhile; `commit` below checks and appends before it returns.
    const outcome = this.#options.coordinator.commit({
      databaseId: this.databaseId,
      era: this.#era,
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
    if (this.#open) this.#end();
  }

  #end(): void {
    this.#open = false;
    this.#held?.release();
    this.#held = undefined;
    this.#leave();
  }

  /** Gives the view back, and its place when no condition counts from it. */
  #releaseView(): void {
    if (this.#held !== undefined) this.#sinceBefore = this.#held.since;
    this.#held?.release();
    this.#held = undefined;
    if (this.#preconditions.length === 0) this.#leave();
  }

  #leave(): void {
    if (this.#live !== undefined) this.#options.coordinator.views.close(this.#live);
    this.#live = undefined;
  }

  /**
   * @throws {Refusal} `commit.conflict` when the view has another catalog than the writer, or
   * shows what others did to records that this transaction wrote: its own writes on top of those
   * would be no state at all, and its commit would be refused.
   */
  #view(): HeldView {
    if (this.#held !== undefined) return this.#held;
    assert(this.#open, 'the transaction has ended');
    const {views, coordinator, appliedIndex} = this.#options;
    const bound = appliedIndex();
    const undecided = this.#options.onUndecided ? coordinator.undecidedState() : undefined;
    const held = new HeldView(views, bound, undecided);
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
    this.#live ??= coordinator.views.open(bound);
    this.#held = held;
    return held;
  }

  /** Whether commits that this view shows, and the one before did not, break a condition. */
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

function conditionOf(wish: PreconditionWish, since: LogIndex): Precondition {
  if (wish.kind !== 'range-untouched') return new KeyCondition(wish.kind, wish, since);
  return {...wish, start: Buffer.from(wish.start), end: Buffer.from(wish.end), since};
}

/** A condition on a key, kept as the text that the check asks for. */
class KeyCondition<Kind extends 'unchanged' | 'present' | 'unpinned'> {
  readonly kind: Kind;
  readonly text: string;
  readonly since: LogIndex;
  readonly unique: UniqueKeyName | undefined;

  constructor(kind: Kind, {key, unique}: KeyWish, since: LogIndex) {
    this.kind = kind;
    this.text = typeof key === 'string' ? key : keyText(key);
    this.since = since;
    this.unique = unique;
  }

  get key(): Buffer {
    return Buffer.from(this.text, 'latin1');
  }
}

/** A view for a statement that only reads; `close` releases it. */
export class ReadSession implements ReadContext {
  readonly #views: ViewSource;
  #held: HeldView | undefined;
  #open = true;

  constructor(views: ViewSource) {
    this.#views = views;
  }

  /** Takes the view; the version of the catalog that is in force in it. */
  get schemaVersion(): number {
    return this.#view().schemaVersion;
  }

  get viewIndex(): LogIndex {
    return this.#view().index;
  }

  get view(): View {
    return this.#view().view;
  }

  recordCount(bucketId: number): number {
    return decodeCounter(this.#view().view.get(counterKey('count', bucketId)));
  }

  overlays(): boolean {
    return false;
  }

  get(key: Uint8Array): Buffer | undefined {
    return this.#view().get(key);
  }

  getMany(keys: Buffer, keyCount: number, into: PackedRows): number {
    return this.#view().view.getMany(keys, keyCount, into);
  }

  scan(ranges: readonly ScanRange[], options?: ScanOptions): Scanner {
    return this.#view().view.scan(ranges, options);
  }

  close(): void {
    this.#open = false;
    this.#held?.release();
    this.#held = undefined;
  }

  #view(): HeldView {
    assert(this.#open, 'the read session is closed');
    // No condition counts from it, so commits need not be remembered for it.
    this.#held ??= new HeldView(this.#views, 0);
    return this.#held;
  }
}
