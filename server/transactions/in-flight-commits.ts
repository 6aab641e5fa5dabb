/**
 * The commits of one database that are appended and not applied yet, for transactions that build
 * on them.
 *
 * Where many write the same few records, whoever reads only what is applied meets the commits
 * under way and has to start over, so that a record changes once in a sync of the log. A
 * transaction that reads on top of those commits goes on at once. That is safe because the log
 * keeps its order: what is appended behind a commit happens only if that commit does. Whatever
 * leaves the server without being appended (a refusal, a result that wrote nothing) must not rest
 * on them, and whoever asked sees to that (session/statements/transact.ts).
 *
 * Nothing is kept until somebody asks, and no longer than some commits after the last one did, so
 * that writers that never meet pay nothing.
 */
import {Fifo} from '#server/base/fifo.ts';
import type {CommitLog, CommitRequest, LogIndex, Operation} from './commit.ts';
import {keyText} from './key-text.ts';
import type {Counter} from './entry.ts';
import {DeleteWrite, PutWrite} from './own-writes/point-write.ts';
import {WriteSet} from './own-writes/write-set.ts';

/** What the commits under way leave behind, on top of any state that has those before them. */
export interface InFlightState {
  /** The index of the newest of them: the state is the one that it leaves. */
  readonly index: LogIndex;
  readonly writes: WriteSet;
  /** Record counts of the buckets in which they changed. */
  readonly counts: ReadonlyMap<number, number>;
}

interface Undecided {
  readonly index: LogIndex;
  readonly operations: readonly Operation[];
  readonly counters: readonly Counter[];
}

type LogPlace = Pick<CommitLog, 'appliedIndex' | 'lastIndex'>;

/** Commits kept after somebody asked. */
const commitsKept = 4_096;
/** More operations under way are not laid over each other: it would cost more than it saves. */
const operationsMax = 1_024;

export class InFlightCommits {
  readonly #commits = new Fifo<Undecided>();
  #operations = 0;
  /** Commits to keep from now on; 0: nobody asked for long. */
  #wanted = 0;
  /** Every commit behind this entry is kept. */
  #keptBehind: LogIndex = 0;

  /** A commit was appended; indexes only grow. */
  appended(
    {operations, packed, newSchemaVersion}: CommitRequest,
    {
      index,
      counters,
      appliedIndex,
    }: Omit<Undecided, 'operations'> & {
      readonly appliedIndex: LogIndex;
    },
  ): void {
    if (this.#wanted === 0) return;
    this.#wanted -= 1;
    this.#forget(appliedIndex);
    this.#operations += operations.length;
    const isPlain = packed === undefined && newSchemaVersion === undefined;
    if (isPlain && this.#wanted > 0 && this.#operations <= operationsMax) {
      this.#commits.push({index, operations, counters});
    } else this.clear(index);
  }

  /** Whether all commits under way are kept. Those that follow are, as somebody asks. */
  knowsAll({appliedIndex, lastIndex}: LogPlace): boolean {
    if (this.#wanted === 0) this.#keptBehind = lastIndex;
    this.#wanted = commitsKept;
    return appliedIndex >= this.#keptBehind;
  }

  /**
   * What is under way; undefined when nothing is, and when not all of it is kept. Cost: its
   * operations.
   */
  state(log: LogPlace): InFlightState | undefined {
    const {appliedIndex} = log;
    if (!this.knowsAll(log)) return undefined;
    this.#forget(appliedIndex);
    if (this.#commits.length === 0) return undefined;
    let last = appliedIndex;
    const writes = new WriteSet();
    const counts = new Map<number, number>();
    for (const {index, operations, counters} of this.#commits) {
      last = index;
      for (const operation of operations) layOver(writes, operation);
      for (const {kind, bucketId, value} of counters) {
        if (kind === 'count') counts.set(bucketId, value);
      }
    }
    return {index: last, writes, counts};
  }

  /** Forgets everything: what counts from now on is appended behind the entry at `index`. */
  clear(index: LogIndex): void {
    this.#commits.takeAll();
    this.#operations = 0;
    this.#keptBehind = index;
  }

  #forget(appliedIndex: LogIndex): void {
    for (;;) {
      const oldest = this.#commits.first;
      if (oldest === undefined || oldest.index > appliedIndex) return;
      this.#operations -= oldest.operations.length;
      this.#commits.shift();
    }
  }
}

function layOver(writes: WriteSet, operation: Operation): void {
  if (operation instanceof PutWrite || operation instanceof DeleteWrite) writes.adopt(operation);
  else if (operation.kind === 'delete-range') {
    writes.deleteRange(keyText(operation.start), keyText(operation.end));
  } else {
    const value = operation.kind === 'put' ? operation.value : undefined;
    writes.put(operation.text ?? keyText(operation.key), value);
  }
}
