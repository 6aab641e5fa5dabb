/**
 * Commits the entries of a bulk load one after another while later ones are being built.
 *
 * What an entry needs of the store (unique keys absent, foreign vertices there) is looked up in a
 * snapshot that is taken in the same turn as the commit, and holds under the usual preconditions.
 * An entry is appended before the next one is looked at, so entries are in the log in the order of
 * the lines. Counts are of entries that are durable and applied. Invariant U2: after a failure
 * nothing more is appended.
 */
import {assert} from '#server/base/assert.ts';
import {Refusal} from '#server/base/errors.ts';
import {RowWalker} from '#server/indexes/row-walker.ts';
import {keyText as valuesText} from '#server/indexes/index-parts.ts';
import {edgeOf} from '#server/layout/adjacency-key.ts';
import {ridOfEntry} from '#server/layout/index-key.ts';
import {recordKey} from '#server/layout/record-key.ts';
import {recordKindOf} from '#server/layout/record.ts';
import {ridText} from '#server/model/rid.ts';
import type {Timers} from '#server/platform/clock.ts';
import {createPackedRows, eachRow} from '#server/storage/packed-rows.ts';
import {RowTooLarge} from '#server/storage/store.ts';
import {withLine} from './draft.ts';
import type {BulkEntry, ForeignEnd} from './entry.ts';
import type {CommitOutcome, LogIndex, Precondition} from '#server/transactions/commit.ts';
import {keyText} from '#server/transactions/key-text.ts';
import type {Database} from '#server/engine/database.ts';
import {duplicateRefusal, requireNotRebuilding} from '#server/records/indexes.ts';
import type {ReadSession} from '#server/transactions/transaction.ts';

export type Committed = Extract<CommitOutcome, {readonly kind: 'committed'}>;

export interface BulkCommitOptions {
  readonly timers: Timers;
  /** How often an entry that another commit was in the way of is tried again. */
  readonly retriesMax: number;
  readonly retryDelayMs: number;
  /** Catalog version under which the entry may be committed now. @throws {Refusal} when none. */
  readonly schemaVersion: (entry: BulkEntry) => number;
  /** Called in log order. */
  readonly committed: (entry: BulkEntry, outcome: Committed) => void;
  /** The refusal for an outcome that is none. */
  readonly refusalOf: (outcome: CommitOutcome) => Refusal | undefined;
}

interface UnderWay {
  readonly done: Promise<void>;
  readonly index: LogIndex;
  readonly entry: BulkEntry;
}

/** Entries that may be on their way at once. */
export const underWayMax = 3;
const lookupBufferBytes = 256 << 10;
const lookupKeysMax = 1_024;

export class BulkCommits {
  readonly #database: Database;
  readonly #options: BulkCommitOptions;
  /** Oldest first. */
  readonly #underWay: UnderWay[] = [];
  /** The count at the beginning of the load. */
  readonly #deletingCommits: number;
  readonly #rows = createPackedRows(lookupBufferBytes);
  readonly #leadershipEpoch: number;
  readonly #formatLevel: number;
  #failure: Refusal | undefined;

  constructor(database: Database, options: BulkCommitOptions) {
    this.#database = database;
    this.#options = options;
    this.#deletingCommits = database.deletingCommits;
    this.#leadershipEpoch = database.leadershipEpoch;
    this.#formatLevel = database.formatLevel;
  }

  /**
   * Appends the entry; resolves when the next one may be built.
   *
   * @throws {Refusal} `commit.duplicate-key`, `record.not-found`, ... nothing of the entry is
   * stored then. `commit.unknown`: it may be.
   */
  async send(entry: BulkEntry): Promise<void> {
    if (entry.records === 0) return;
    if (entry.uniqueEdges.length > 0) await this.drain();
    for (let attempt = 0; ; attempt++) {
      this.#check();
      if (await this.#wasCommitted(entry)) return;
      this.#check();
      const outcome = await this.#attempt(entry);
      if (outcome === undefined) break;
      await this.drain();
      const canRetry =
        outcome.kind === 'conflict' || (outcome.kind === 'refused' && retryable.has(outcome.code));
      if (!canRetry || attempt >= this.#options.retriesMax) throw this.#refusal(outcome);
      // Everything of ours is applied now; another's commit may take a moment.
      if (attempt > 0) await this.#pause();
    }
    while (this.#underWay.length >= underWayMax) await this.#underWay[0]?.done;
    this.#check();
  }

  /** Resolves when everything that was sent is durable and applied. */
  async drain(): Promise<void> {
    while (this.#underWay.length > 0) await this.#underWay[0]?.done;
    this.#check();
  }

  /** Appends nothing more: everything fails with the reason from now on. */
  stop(reason: Refusal): void {
    this.#failure ??= reason;
  }

  #check(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Whether an entry was stored before, when the same load was sent the first time. */
  async #wasCommitted(entry: BulkEntry): Promise<boolean> {
    const earlier = entry.request && this.#database.outcomeOf(entry.request.id);
    if (earlier === undefined) return false;
    const outcome = await earlier;
    if (outcome.kind === 'committed') {
      await this.drain();
      this.#options.committed(entry, outcome);
      return true;
    }
    if (outcome.kind === 'unknown' || outcome.kind === 'unapplied') throw this.#refusal(outcome);
    return false;
  }

  /** Undefined when the entry was appended; else what was in the way. */
  async #attempt(entry: BulkEntry): Promise<CommitOutcome | undefined> {
    const {outcome, index} = this.#submit(entry);
    if (index === undefined) return await outcome;
    const done = outcome.then(result => {
      this.#underWay.shift();
      if (result.kind === 'committed') this.#options.committed(entry, result);
      else this.#failure ??= this.#refusal(result);
    });
    this.#underWay.push({done, index, entry});
    return undefined;
  }

  /** One turn: looks up what the entry depends on, and commits it under that. */
  #submit(entry: BulkEntry): {
    readonly outcome: Promise<CommitOutcome>;
    readonly index: LogIndex | undefined;
  } {
    const database = this.#database;
    const schemaVersion = this.#options.schemaVersion(entry);
    const preconditions = this.#preconditions(entry);
    const before = database.lastIndex;
    const outcome = database.submit({
      leadershipEpoch: this.#leadershipEpoch,
      schemaVersion,
      formatLevel: this.#formatLevel,
      operations: [],
      packed: entry.operations,
      preconditions,
      buckets: entry.buckets.all,
      requestId: entry.request?.id,
      note: entry.request?.note,
    });
    const after = database.lastIndex;
    return {outcome, index: after === before ? undefined : after};
  }

  #preconditions(entry: BulkEntry): Precondition[] {
    const {uniqueKeys, uniqueEdges, foreignEnds} = entry;
    const preconditions: Precondition[] = [];
    // Nobody deletes while a load runs, usually: then the vertices that it made are there.
    const checksAll = entry.edges > 0 && this.#database.deletingCommits !== this.#deletingCommits;
    const checks = uniqueKeys.length + uniqueEdges.length + foreignEnds.size;
    if (checks === 0 && !checksAll) return preconditions;
    const session = this.#database.read();
    try {
      this.#requireUnique(session, entry, preconditions);
      this.#requireEnds(session, checksAll ? allEnds(entry) : foreignEnds, preconditions);
      this.#requireNoEdges(session, entry, preconditions);
    } finally {
      session.close();
    }
    return preconditions;
  }

  #requireUnique(session: ReadSession, entry: BulkEntry, into: Precondition[]): void {
    const {uniqueKeys} = entry;
    if (uniqueKeys.length === 0) return;
    for (const {index} of uniqueKeys) requireNotRebuilding(index);
    const texts = uniqueKeys.map(({text}) => text);
    this.#lookUp(session, texts, (at, value) => {
      if (value === undefined) return;
      const found = uniqueKeys[at];
      assert(found !== undefined, 'a looked up key was asked for');
      const keys = valuesText(found.values);
      const holder = ridOfEntry(true, value, 0);
      throw withLine(duplicateRefusal(found.index.name, keys, holder), found.line);
    });
    const since = session.snapshotIndex;
    if (this.#areOurs(since) && !this.#isUnderWay(texts, since)) return;
    for (const key of uniqueKeys) {
      const unique = {index: key.index.name, text: ''};
      into.push({kind: 'unchanged', key: key.bytes, since, unique});
    }
  }

  /** Whether every entry that the snapshot of `since` does not show is one of this load. */
  #areOurs(since: LogIndex): boolean {
    const ours = this.#underWay.filter(({index}) => index > since);
    return ours.length === this.#database.lastIndex - since;
  }

  #isUnderWay(texts: readonly string[], since: LogIndex): boolean {
    for (const {index, entry} of this.#underWay) {
      if (index <= since) continue;
      const {uniqueKeys} = entry.operations;
      if (uniqueKeys.size > 0 && texts.some(text => uniqueKeys.has(text))) return true;
    }
    return false;
  }

  #requireEnds(
    session: ReadSession,
    given: ReadonlyMap<string, ForeignEnd>,
    into: Precondition[],
  ): void {
    const ends = [...given.values()];
    if (ends.length === 0) return;
    const keys = ends.map(({rid}) => recordKey(rid));
    const since = session.snapshotIndex;
    this.#lookUp(session, keys.map(keyText), (at, value) => {
      const end = ends[at];
      assert(end !== undefined, 'a looked up key has an end');
      if (value === undefined) throw notFound(end);
      if (recordKindOf(value, 0) === 'vertex') return;
      const text = `${ridText(end.rid)} is no vertex, so no edge can end there`;
      throw atLine(new Refusal('query.semantic', text), end.line);
    });
    for (const key of keys) into.push({kind: 'present', key, since});
  }

  #requireNoEdges(session: ReadSession, entry: BulkEntry, into: Precondition[]): void {
    for (const {range, typeName, from, to, isLight, line} of entry.uniqueEdges) {
      const walker = new RowWalker(session, [range], {bufferBytes: 1 << 10, rowsMax: 1});
      const found = walker.next() ? edgeOf(walker.bytes, walker.keyStart, isLight) : undefined;
      walker.close();
      if (found !== undefined) {
        const keys = `[${ridText(from)},${ridText(to)}]`;
        throw withLine(duplicateRefusal(`${typeName}[@out,@in]`, keys, found), line);
      }
      into.push({kind: 'range-untouched', ...range, since: session.snapshotIndex});
    }
  }

  /** Looks up keys that are given as texts, one character a byte. */
  #lookUp(
    session: ReadSession,
    keys: readonly string[],
    each: (at: number, value: Buffer | undefined) => void,
  ): void {
    for (let done = 0; done < keys.length; ) {
      const asked = keys.slice(done, done + lookupKeysMax);
      try {
        session.getMany(packTexts(asked), asked.length, this.#rows);
      } catch (error) {
        if (!(error instanceof RowTooLarge)) throw error;
        // A record larger than the buffer comes alone.
        each(done, session.get(Buffer.from(asked[0] ?? '', 'latin1')));
        done++;
        continue;
      }
      for (const {value} of eachRow(this.#rows)) each(done++, value);
    }
  }

  #refusal(outcome: CommitOutcome): Refusal {
    const refusal = this.#options.refusalOf(outcome);
    assert(refusal !== undefined, 'what was not committed has a reason');
    return refusal;
  }

  #pause(): Promise<void> {
    return new Promise(resolve => {
      this.#options.timers.after(this.#options.retryDelayMs, resolve);
    });
  }
}

const retryable: ReadonlySet<string> = new Set(['queue-full', 'expired', 'disk-full']);

/** Works like `packKeys`. */
function packTexts(keys: readonly string[]): Buffer {
  let bytes = 0;
  for (const key of keys) bytes += 4 + key.length;
  const packed = Buffer.allocUnsafe(bytes);
  let offset = 0;
  for (const key of keys) {
    offset = packed.writeUInt32LE(key.length, offset);
    offset += packed.write(key, offset, 'latin1');
  }
  return packed;
}

/** Every vertex that the entry's edges need; those that the batch made have no line. */
function allEnds(entry: BulkEntry): ReadonlyMap<string, ForeignEnd> {
  const ends = new Map(entry.foreignEnds);
  for (const rid of entry.operations.edgeEnds().values()) {
    const text = ridText(rid);
    if (!ends.has(text)) ends.set(text, {rid, line: undefined});
  }
  return ends;
}

function notFound({rid, line}: ForeignEnd): Refusal {
  const text = ridText(rid);
  const refusal = new Refusal('record.not-found', `Record ${text} not found`, {
    detail: {rid: text, args: text},
  });
  return atLine(refusal, line);
}

function atLine(refusal: Refusal, line: number | undefined): Refusal {
  return line === undefined ? refusal : withLine(refusal, line);
}
