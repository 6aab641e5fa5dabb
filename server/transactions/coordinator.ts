/**
 * Phase 1 of a commit: checks a write set's conditions against what is applied plus what is in
 * flight, gives counters their values, and encodes and appends one entry.
 *
 * One per database and server (on the leader). Everything from the check to the append happens
 * in one synchronous turn, so the order of calls is the order of the log. Nothing is remembered
 * for a request that was refused. Invariant T5: a record position is never handed out twice,
 * since the high-water mark of its bucket travels in every entry that uses the bucket.
 * Source: docs/design/0006-conflicts-by-log-index.md.
 */
import {Refusal} from '#server/base/errors.ts';
import type {CommitFigures} from '#server/monitoring/commit-figures.ts';
import type {Clock} from '#server/platform/clock.ts';
import type {Store} from '#server/storage/store.ts';
import type {
  CommitLog,
  CommitOutcome,
  CommitRequest,
  LogIndex,
  Operation,
  Refused,
} from './commit.ts';
import type {BucketChange} from './bucket-changes.ts';
import {ChangeFeed} from './change-feed.ts';
import type {ConditionKeys} from './condition-keys.ts';
import {ConflictWindow} from './conflict-window.ts';
import type {Counter, Entry, EntryEncoder, EntryHead} from './entry.ts';
import {OpenSnapshots} from './recent/open-snapshots.ts';
import {type IdentifiedRequest, RequestIds} from './recent/request-ids.ts';
import {InFlightCommits, type InFlightState} from './in-flight-commits.ts';
import {counterFault, counterKey, decodeCounter} from './system-keys.ts';

export interface CommitLimits {
  /** `svc.ha.appendBufferSize`: bytes of one entry. */
  readonly entryBytesMax: number;
  /** Bytes of remembered keys before the oldest transactions are told to start over. */
  readonly windowBytesMax: number;
  readonly requestIdAgeMsMax: number;
  readonly requestIdsMax: number;
}

export const defaultCommitLimits: CommitLimits = {
  entryBytesMax: 32 << 20,
  windowBytesMax: 32 << 20,
  requestIdAgeMsMax: 10 * 60_000,
  requestIdsMax: 1_000_000,
};

export interface CoordinatorOptions {
  readonly databaseId: number;
  readonly store: Store;
  readonly log: CommitLog;
  readonly clock: Clock;
  readonly encoder: EntryEncoder;
  readonly limits: CommitLimits;
  /** Added to. */
  readonly figures: CommitFigures;
  /** Index of the last entry that changed the store, and its catalog version. */
  readonly positionIndex: LogIndex;
  readonly schemaVersion: number;
  /** Newest format level, applied or in flight: what is of another one is a conflict. */
  readonly formatLevel: () => number;
  /**
   * Called in log order when an entry is applied, before its commit resolves, with the catalog's
   * version when it changes that.
   */
  readonly onApplied: (newSchemaVersion: number | undefined) => void;
}

export class Coordinator {
  readonly #options: CoordinatorOptions;
  #window: ConflictWindow;
  #requests: RequestIds;
  /**
   * The system's time when the database was opened, less the monotonic one: entries are stamped by
   * the latter, so that no jump of the former makes request ids old that are not.
   */
  readonly #clockBaseMs: number;
  readonly #positions = new Map<number, number>();
  readonly #counts = new Map<number, number>();
  readonly snapshots = new OpenSnapshots();
  readonly changes: ChangeFeed;
  readonly #inFlight = new InFlightCommits();
  readonly #onApplied = (): void => this.#options.onApplied(undefined);
  /** Newest catalog version, applied or in flight. */
  #schemaVersion: number;
  /** Commits so far that deleted something; in flight, too. */
  deletingCommits = 0;
  #leadershipEpoch = 0;
  #fence: string | undefined;

  constructor(options: CoordinatorOptions) {
    this.#options = options;
    this.#schemaVersion = options.schemaVersion;
    this.#clockBaseMs = options.clock.now() - options.clock.monotonic();
    this.#window = new ConflictWindow(options.positionIndex, options.limits.windowBytesMax);
    this.changes = new ChangeFeed(options.positionIndex);
    this.#requests = this.#makeRequestIds();
  }

  /** No commit takes more; at least what its keys and values take. */
  get entryBytesMax(): number {
    return this.#options.limits.entryBytesMax;
  }

  get figures(): CommitFigures {
    return this.#options.figures;
  }

  /** How often this node began to take commits since the database was opened. */
  get leadershipEpoch(): number {
    return this.#leadershipEpoch;
  }

  /**
   * Takes commits behind the entry at `index` from now on: other nodes appended before, so nothing
   * that was remembered of counters, conditions and requests is true any more; the store tells.
   */
  beginAnew(index: LogIndex, schemaVersion: number): void {
    this.#leadershipEpoch++;
    this.#positions.clear();
    this.#counts.clear();
    this.#window = new ConflictWindow(index, this.#options.limits.windowBytesMax);
    this.#inFlight.clear(index);
    this.#requests = this.#makeRequestIds();
    this.#schemaVersion = schemaVersion;
  }

  /** What was appended here behind the entry at `index` never happens. */
  takeBack(index: LogIndex, schemaVersion: number): void {
    this.changes.takeBack(index);
    this.#inFlight.clear(index);
    this.#schemaVersion = schemaVersion;
  }

  /** Another node's entry is about to be applied here; call what is returned when it is. */
  follow(index: LogIndex, entry: Entry): () => void {
    this.changes.followed(index, entry);
    const {newSchemaVersion} = entry;
    if (newSchemaVersion === undefined) return this.#onApplied;
    this.#schemaVersion = newSchemaVersion;
    return () => this.#options.onApplied(newSchemaVersion);
  }

  /** Why the database takes no commits any more, if so. */
  get fence(): string | undefined {
    return this.#fence;
  }

  /** Newest catalog version, applied or in flight. */
  get schemaVersion(): number {
    return this.#schemaVersion;
  }

  /** Refuses every commit from now on. */
  close(reason: string): void {
    this.#fence ??= reason;
  }

  reopen(): void {
    this.#fence = undefined;
  }

  /** The next record position of a bucket; known to others once an entry used it. */
  nextPosition(bucketId: number): number {
    let next = this.#positions.get(bucketId);
    if (next === undefined && this.#fence !== undefined) {
      throw new Refusal('database.fenced', this.#fence);
    }
    next ??= decodeCounter(this.#store().get(counterKey('position', bucketId)));
    this.#positions.set(bucketId, next + 1);
    return next;
  }

  /** Positions below `least` are taken, whatever the stored counter says; it may be unreadable. */
  passPositions(bucketId: number, least: number): void {
    const known = this.#positions.get(bucketId);
    const stored = this.#store().get(counterKey('position', bucketId));
    const isReadable = stored !== undefined && counterFault(stored) === undefined;
    const next = known ?? (isReadable ? decodeCounter(stored) : 0);
    this.#positions.set(bucketId, Math.max(next, least));
  }

  /** What became of a request with this id: under way, or committed. */
  outcomeOf(requestId: string): Promise<CommitOutcome> | undefined {
    return this.#fence === undefined ? this.#requests.find(requestId) : undefined;
  }

  /** Decides, and appends when nothing is in the way. Resolves when applied here. */
  commit(request: CommitRequest): Promise<CommitOutcome> {
    const earlier = request.requestId === undefined ? undefined : this.outcomeOf(request.requestId);
    if (earlier !== undefined) return earlier;
    const obstacle = this.#findObstacle(request);
    if (obstacle !== undefined) return this.#refuse(this.#unlessDeposed(obstacle));

    const {log, encoder, limits, databaseId, figures} = this.#options;
    const clock = Math.max(0, Math.floor(this.#clockBaseMs + this.#options.clock.monotonic()));
    const counters = this.#countersOf(request);
    const head = this.#headOf(request, counters, clock);
    const identified = this.#identified(request, clock);
    const more = identified === undefined ? none : this.#requests.operationsFor(identified);
    const entry =
      request.packed === undefined
        ? encoder.encode(head, withMore(request.operations, more), request.bytes)
        : encoder.encodePacked(head, request.packed, more);
    if (entry.length > limits.entryBytesMax) {
      return this.#refuse(tooLarge(entry.length, limits.entryBytesMax));
    }
    const refused = log.admission(entry.length);
    if (refused?.code === 'queue-full') return this.#commitWithRoom(request, refused);
    if (refused !== undefined) return this.#refuse(refused);

    const {newSchemaVersion} = request;
    const onApplied =
      newSchemaVersion === undefined
        ? this.#onApplied
        : () => this.#options.onApplied(newSchemaVersion);
    const {index, settled} = log.append(entry, databaseId, onApplied);
    figures.appended++;
    figures.appendedBytes += entry.length;
    for (const counter of counters) {
      if (counter.kind === 'count') this.#counts.set(counter.bucketId, counter.value);
    }
    if (newSchemaVersion !== undefined) this.#schemaVersion = newSchemaVersion;
    if (request.operations.some(({kind}) => kind !== 'put')) this.deletingCommits++;
    const operations = request.packed ?? request.operations;
    this.#window.record(index, request);
    this.changes.appended(index, operations, entry);
    this.#inFlight.appended(request, {index, counters, appliedIndex: log.appliedIndex});
    this.#window.prune(this.snapshots.oldest(log.appliedIndex));
    if (identified !== undefined) this.#requests.began(identified, settled);
    return settled;
  }

  #refuse(outcome: CommitOutcome): Promise<CommitOutcome> {
    if (outcome.kind === 'conflict') this.#options.figures.conflicts++;
    else this.#options.figures.refused++;
    return Promise.resolve(outcome);
  }

  /**
   * Who leads no more does not know what commits met: of those that are under way here some may
   * never be, and waiting for them here would be for nothing.
   */
  #unlessDeposed(obstacle: CommitOutcome): CommitOutcome {
    if (obstacle.kind !== 'conflict') return obstacle;
    const refused = this.#options.log.admission(0);
    return refused?.code === 'not-leader' ? refused : obstacle;
  }

  /** Holds what was told as applied. */
  #store(): Store {
    this.#options.log.flushAcknowledged();
    return this.#options.store;
  }

  #makeRequestIds(): RequestIds {
    const {clock, limits} = this.#options;
    const {requestIdAgeMsMax: ageMsMax, requestIdsMax: countMax} = limits;
    return new RequestIds(() => this.#store(), clock, {ageMsMax, countMax});
  }

  /** Begins anew when there is room: others committed meanwhile. */
  async #commitWithRoom(request: CommitRequest, refused: Refused): Promise<CommitOutcome> {
    return (await this.#options.log.whenRoom()) ? await this.commit(request) : refused;
  }

  /** Whether all commits under way are known; those that follow will be, for some time. */
  hasInFlightCommits(): boolean {
    return this.#inFlight.knowsAll(this.#options.log);
  }

  /** What the commits under way leave behind; undefined when none is, or not all are known. */
  inFlightState(): InFlightState | undefined {
    return this.#inFlight.state(this.#options.log);
  }

  /** Whether a commit behind `since`, also one in flight, did what the keys forbid. */
  isBroken(keys: ConditionKeys, since: LogIndex): boolean {
    return this.#window.isBroken(keys, since);
  }

  #findObstacle(request: CommitRequest): CommitOutcome | undefined {
    if (this.#fence !== undefined) {
      return {kind: 'refused', code: 'fenced', detail: this.#fence};
    }
    if (request.leadershipEpoch !== this.#leadershipEpoch) {
      return {kind: 'conflict', reason: 'the transaction began under another leader'};
    }
    if (request.schemaVersion !== this.#schemaVersion) {
      return {kind: 'conflict', reason: 'the schema was changed by another transaction'};
    }
    if (request.formatLevel !== this.#options.formatLevel()) {
      return {kind: 'conflict', reason: 'the format of the data is being raised'};
    }
    const verdict = this.#window.check(request.preconditions);
    if (verdict.kind === 'holds') return undefined;
    if (verdict.kind === 'conflict') return verdict;
    return {
      kind: 'refused',
      code: 'expired',
      detail: 'the transaction is older than the commits that the server remembers',
    };
  }

  #countersOf(request: CommitRequest): Counter[] {
    const {buckets} = request;
    const [first] = buckets;
    return first !== undefined && buckets.length === 1
      ? this.#countersOfBucket(first)
      : buckets.flatMap(change => this.#countersOfBucket(change));
  }

  #countersOfBucket({bucketId, countDelta, takesPositions}: Readonly<BucketChange>): Counter[] {
    const position = takesPositions ? this.#positions.get(bucketId) : undefined;
    const before = countDelta === 0 ? undefined : this.#countOf(bucketId);
    const positions: Counter | undefined =
      position === undefined ? undefined : {kind: 'position', bucketId, value: position};
    if (before === undefined) return positions === undefined ? [] : [positions];
    const count: Counter = {kind: 'count', bucketId, value: Math.max(0, before + countDelta)};
    return positions === undefined ? [count] : [positions, count];
  }

  #countOf(bucketId: number): number {
    const known = this.#counts.get(bucketId);
    return known ?? decodeCounter(this.#store().get(counterKey('count', bucketId)));
  }

  #headOf(request: CommitRequest, counters: readonly Counter[], clock: number): EntryHead {
    return {
      kind: 'transaction',
      databaseId: this.#options.databaseId,
      schemaVersion: request.schemaVersion,
      clock,
      newSchemaVersion: request.newSchemaVersion,
      requestId: request.requestId,
      counters,
    };
  }

  /** What the next entry of the log says of a request that has an id. */
  #identified({requestId: id, note}: CommitRequest, clock: number): IdentifiedRequest | undefined {
    if (id === undefined) return undefined;
    return {id, index: this.#options.log.lastIndex + 1, clock, note};
  }
}

const none: readonly Operation[] = [];

function withMore(
  operations: readonly Operation[],
  more: readonly Operation[],
): readonly Operation[] {
  return more.length === 0 ? operations : [...operations, ...more];
}

function tooLarge(bytes: number, bytesMax: number): Refused {
  return {
    kind: 'refused',
    code: 'too-large',
    detail: largerThanAnEntry(bytes, bytesMax),
  };
}

/** Why a commit of so many bytes is refused. */
export function largerThanAnEntry(bytes: number, bytesMax: number): string {
  return (
    `the commit takes ${bytes} bytes, one entry of the log may have ${bytesMax}: ` +
    'write less at once or raise svc.ha.appendBufferSize'
  );
}
