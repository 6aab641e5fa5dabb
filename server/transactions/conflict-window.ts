/**
 * What recent commits wrote, deleted and pinned, by key: the memory against which the
 * preconditions of a commit are checked.
 *
 * It holds every entry above its floor, those in flight included, since they are recorded when
 * they are appended. Commits that no live snapshot is older than are forgotten, and beyond a number
 * of bytes the oldest are forgotten too: a transaction whose snapshot is below the floor is told so
 * (`expired`) instead of being answered wrongly.
 *
 *     log index    1        2        3        4 (in flight)
 *     writes       a        b        a        c
 *     floor                 2: entries 3 and 4 are held
 *
 * A transaction may have a snapshot as of 2: then "a unchanged" is broken by 3, "b unchanged"
 * holds, and "c unchanged" is broken by 4 although that is not durable yet. A snapshot as of 1 is
 * `expired`.
 *
 * Invariant T3: a precondition that was broken by an entry behind its snapshot is never accepted.
 */
import {PackedOperations} from './bulk-operations.ts';
import type {CommitRequest, LogIndex, Operation, Precondition} from './commit.ts';
import type {ConditionKeys} from './condition-keys.ts';
import {KeyIndexes} from './recent/key-indexes.ts';
import {keyText, type KeyTexts} from './key-text.ts';

export type Verdict =
  | {readonly kind: 'holds'}
  | {readonly kind: 'expired'}
  | {
      readonly kind: 'conflict';
      readonly reason: string;
      readonly unique?: {readonly index: string; readonly text: string};
    };

/** A commit of many keys: its keys are sorted into sets when somebody asks, seldom. */
interface LargeCommit {
  readonly index: LogIndex;
  readonly operations: readonly Operation[] | PackedOperations;
  writes: KeyTexts | undefined;
  deletes: KeyTexts | undefined;
  /** Vertices that a bulk load attached edges to: pinned without a precondition each. */
  ends?: ReadonlyMap<string, unknown>;
}

interface Remembered {
  readonly index: LogIndex;
  readonly writes: readonly string[];
  readonly deletes: readonly string[];
  readonly pins: readonly string[];
  readonly bytes: number;
}

type RememberedRequest = Pick<CommitRequest, 'operations' | 'packed' | 'preconditions' | 'keys'>;

interface DeletedRange {
  readonly index: LogIndex;
  readonly start: string;
  readonly end: string;
}

const holds: Verdict = {kind: 'holds'};

const none: readonly string[] = [];

const noOperations: readonly Operation[] = [];

const bytesPerKey = 96;

const largeCommitOperations = 128;

/** A large commit keeps its values in memory while it is remembered. */
const valueBytesGuess = 100;

export class ConflictWindow {
  readonly #bytesMax: number;
  /** Puts and deletes. */
  readonly #writes = new KeyIndexes();
  readonly #deletes = new KeyIndexes();
  readonly #pins = new KeyIndexes();
  #ranges: DeletedRange[] = [];
  #large: LargeCommit[] = [];
  /** Oldest first; what is forgotten leaves its place at once, so that it is never old garbage. */
  #queue: (Remembered | undefined)[] = [];
  #queueHead = 0;
  #bytes = 0;
  #floor: LogIndex;
  /** The index of the entry that was recorded last. */
  #newest: LogIndex;

  /** `floor`: the index of the newest entry when the window is made. */
  constructor(floor: LogIndex, bytesMax: number) {
    this.#floor = floor;
    this.#newest = floor;
    this.#bytesMax = bytesMax;
  }

  /** Snapshots of this index and newer ones can be judged. */
  get floor(): LogIndex {
    return this.#floor;
  }

  check(preconditions: readonly Precondition[]): Verdict {
    for (const precondition of preconditions) {
      if (precondition.since < this.#floor) return {kind: 'expired'};
      if (precondition.since >= this.#newest) continue;
      const verdict = this.#checkOne(precondition);
      if (verdict !== undefined) return verdict;
    }
    return holds;
  }

  /**
   * Whether an entry behind `since` did what the keys forbid, or may have and is forgotten.
   * Cost: the keys of those entries; of a large one the smaller number, its keys' or ours.
   */
  isBroken(keys: ConditionKeys, since: LogIndex): boolean {
    if (since < this.#floor) return true;
    for (let at = this.#queue.length - 1; at >= this.#queueHead; at -= 1) {
      const entry = this.#queue[at];
      if (entry === undefined || entry.index <= since) break;
      if (entry.writes.some(key => keys.unchanged.has(key))) return true;
      if (entry.deletes.some(key => keys.present.has(key))) return true;
      if (entry.pins.some(key => keys.unpinned.has(key))) return true;
    }
    const isRare = (this.#large.at(-1)?.index ?? 0) > since || this.#ranges.length > 0;
    return isRare && this.#isBrokenAtLarge(keys, since);
  }

  #isBrokenAtLarge({unchanged, present, unpinned}: ConditionKeys, since: LogIndex): boolean {
    for (const commit of this.#large) {
      if (commit.index <= since) continue;
      const {operations} = commit;
      commit.writes ??= textsOf(operations, false);
      commit.deletes ??= textsOf(operations, true);
      if (meet(unchanged, commit.writes) || meet(present, commit.deletes)) return true;
    }
    for (const key of unpinned) if (this.#isEdgeEnd(key, since)) return true;
    for (const keys of [unchanged, present]) {
      for (const key of keys) if (this.#inRange(key, since)) return true;
    }
    return false;
  }

  #checkOne(precondition: Precondition): Verdict | undefined {
    const {since} = precondition;
    switch (precondition.kind) {
      case 'unchanged': {
        const key = precondition.text ?? keyText(precondition.key);
        const isUnique = precondition.unique !== undefined;
        if (!this.#isWritten(key, since, isUnique) && !this.#inRange(key, since)) return undefined;
        const reason = 'a record that this transaction read or wrote was changed by another one';
        if (precondition.unique === undefined) return {kind: 'conflict', reason};
        const {index, text} = precondition.unique;
        return {kind: 'conflict', reason, unique: {index, text}};
      }
      case 'present': {
        const key = precondition.text ?? keyText(precondition.key);
        if (!this.#isDeleted(key, since) && !this.#inRange(key, since)) return undefined;
        return {kind: 'conflict', reason: 'an end of an edge was deleted by another transaction'};
      }
      case 'unpinned': {
        const key = precondition.text ?? keyText(precondition.key);
        if (!this.#pins.isBehind(key, since) && !this.#isEdgeEnd(key, since)) return undefined;
        return {kind: 'conflict', reason: 'another transaction attached an edge to the vertex'};
      }
      default:
        return this.#checkRange(keyText(precondition.start), keyText(precondition.end), since);
    }
  }

  /** Put or deleted behind `since`. */
  #isWritten(key: string, since: LogIndex, isUniqueKey: boolean): boolean {
    for (const commit of this.#large) {
      if (commit.index <= since) continue;
      const {operations} = commit;
      if (isUniqueKey && operations instanceof PackedOperations) {
        // A bulk load keeps these texts at hand.
        if (operations.uniqueKeys.has(key)) return true;
        continue;
      }
      commit.writes ??= textsOf(commit.operations, false);
      if (commit.writes.has(key)) return true;
    }
    return this.#writes.isBehind(key, since);
  }

  #isDeleted(key: string, since: LogIndex): boolean {
    for (const commit of this.#large) {
      if (commit.index <= since) continue;
      commit.deletes ??= textsOf(commit.operations, true);
      if (commit.deletes.has(key)) return true;
    }
    return this.#deletes.isBehind(key, since);
  }

  /** Whether a bulk load behind `since` attached an edge to the vertex. */
  #isEdgeEnd(key: string, since: LogIndex): boolean {
    for (const commit of this.#large) {
      const {operations} = commit;
      if (commit.index <= since || !(operations instanceof PackedOperations)) continue;
      commit.ends ??= operations.edgeEnds();
      if (commit.ends.has(key)) return true;
    }
    return false;
  }

  #inRange(key: string, since: LogIndex): boolean {
    return this.#ranges.some(range => range.index > since && range.start <= key && key < range.end);
  }

  /** Walks everything remembered: only drops of whole types ask for it. */
  #checkRange(start: string, end: string, since: LogIndex): Verdict | undefined {
    const reason = 'another transaction wrote to what this one removes';
    for (const key of this.#writes.behind(since)) {
      if (start <= key && key < end) return {kind: 'conflict', reason};
    }
    for (const commit of this.#large) {
      if (commit.index <= since) continue;
      commit.writes ??= textsOf(commit.operations, false);
      for (const key of commit.writes.keys()) {
        if (start <= key && key < end) return {kind: 'conflict', reason};
      }
    }
    const overlaps = this.#ranges.some(
      range => range.index > since && range.start < end && start < range.end,
    );
    return overlaps ? {kind: 'conflict', reason} : undefined;
  }

  /** Remembers an appended entry; indexes only grow. */
  record(
    index: LogIndex,
    {operations: plain, packed, preconditions, keys}: RememberedRequest,
  ): void {
    this.#newest = index;
    const operations = packed ?? plain;
    const writes: string[] = [];
    let deletes = none as string[];
    let bytes = bytesPerKey;
    const isPacked = operations instanceof PackedOperations;
    const count = isPacked ? operations.count : operations.length;
    const isLarge = isPacked || count > largeCommitOperations;
    if (isLarge) {
      this.#large.push({index, operations, writes: keys, deletes: undefined});
      bytes += isPacked ? operations.bytes.length : count * (bytesPerKey + valueBytesGuess);
    }
    for (const operation of isPacked ? noOperations : operations) {
      if (isLarge && operation.kind !== 'delete-range') continue;
      if (operation.kind === 'delete-range') {
        const range = {index, start: keyText(operation.start), end: keyText(operation.end)};
        this.#ranges.push(range);
        bytes += bytesPerKey;
        continue;
      }
      const key = operation.text ?? keyText(operation.key);
      this.#writes.set(key, index);
      writes.push(key);
      bytes += bytesPerKey + key.length;
      if (operation.kind === 'delete') {
        this.#deletes.set(key, index);
        if (deletes.length === 0) deletes = [];
        deletes.push(key);
      }
    }
    let pins = none as string[];
    for (const precondition of preconditions) {
      if (precondition.kind !== 'present') continue;
      const key = precondition.text ?? keyText(precondition.key);
      this.#pins.set(key, index);
      if (pins.length === 0) pins = [];
      pins.push(key);
      bytes += bytesPerKey + key.length;
    }
    this.#queue.push({index, writes, deletes, pins, bytes});
    this.#bytes += bytes;
  }

  /** Forgets what no snapshot can ask for: entries up to the index of the oldest one. */
  prune(oldestSnapshot: LogIndex): void {
    for (;;) {
      const oldest = this.#queue[this.#queueHead];
      if (oldest === undefined) break;
      if (oldest.index > oldestSnapshot && this.#bytes <= this.#bytesMax) break;
      this.#floor = Math.max(this.#floor, oldest.index);
      this.#bytes -= oldest.bytes;
      this.#queue[this.#queueHead++] = undefined;
    }
    this.#writes.forgetThrough(this.#floor);
    this.#deletes.forgetThrough(this.#floor);
    this.#pins.forgetThrough(this.#floor);
    if (this.#queueHead > 1024 && this.#queueHead * 2 > this.#queue.length) {
      this.#queue = this.#queue.slice(this.#queueHead);
      this.#queueHead = 0;
    }
    if (this.#large.length > 0 && (this.#large[0]?.index ?? 0) <= this.#floor) {
      this.#large = this.#large.filter(commit => commit.index > this.#floor);
    }
    if (this.#ranges.length > 0 && (this.#ranges[0]?.index ?? 0) <= this.#floor) {
      this.#ranges = this.#ranges.filter(range => range.index > this.#floor);
    }
  }
}

function textsOf(
  operations: readonly Operation[] | PackedOperations,
  deletesOnly: boolean,
): ReadonlySet<string> {
  const texts = new Set<string>();
  if (operations instanceof PackedOperations) return deletesOnly ? texts : operations.keyTexts();
  for (const operation of operations) {
    if (operation.kind === 'delete-range') continue;
    if (deletesOnly && operation.kind !== 'delete') continue;
    texts.add(operation.text ?? keyText(operation.key));
  }
  return texts;
}

/** Whether two sets have a key in common. Cost: the smaller one. */
function meet(left: KeyTexts, right: KeyTexts): boolean {
  const [few, many] = left.size < right.size ? [left, right] : [right, left];
  for (const key of few.keys()) if (many.has(key)) return true;
  return false;
}
