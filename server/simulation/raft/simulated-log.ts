/**
 * The log of a simulated node, as its disk holds it: writes become durable in order and in groups;
 * a crash loses those under way, but for some that reached the disk unasked.
 */
import {assert} from '#server/base/assert.ts';
import type {HardState, Persist} from '#server/raft/effect.ts';
import type {Checkpoint, Membership} from '#server/raft/membership.ts';
import type {Entry, LogIndex, LogPosition} from '#server/raft/message.ts';
import type {Recovered} from '#server/raft/state.ts';
import type {SeededRandom} from '../seeded-random.ts';

/** A log as an array of entries behind a base. */
export class EntryArray {
  base: LogPosition;
  entries: Entry[] = [];

  constructor(base: LogPosition, entries: Entry[] = []) {
    this.base = base;
    this.entries = entries;
  }

  get lastIndex(): LogIndex {
    return this.base.index + this.entries.length;
  }

  at(index: LogIndex): Entry | undefined {
    return this.entries[index - this.base.index - 1];
  }

  termAt(index: LogIndex): number | undefined {
    return index === this.base.index ? this.base.term : this.at(index)?.term;
  }

  slice(after: LogIndex, through: LogIndex): Entry[] {
    assert(after >= this.base.index && through <= this.lastIndex, 'a range of the log is held');
    return this.entries.slice(after - this.base.index, through - this.base.index);
  }

  write({restart, keepThrough, entries}: Persist): void {
    if (restart !== undefined) {
      this.base = restart.last;
      this.entries = [];
    }
    assert(keepThrough >= this.base.index && keepThrough <= this.lastIndex, 'no holes in the log');
    this.entries.length = keepThrough - this.base.index;
    this.entries.push(...entries);
  }

  compact(index: LogIndex): void {
    const term = this.termAt(index);
    assert(term !== undefined, 'what is forgotten was held');
    this.entries = this.entries.slice(index - this.base.index);
    this.base = {index, term};
  }
}

export class SimulatedLog {
  /** What is durable. */
  hardState: HardState = {term: 0, vote: undefined};
  readonly durable: EntryArray;
  #baseMembership: Membership;
  #checkpoint: Checkpoint | undefined;
  #writing: Persist[] = [];
  #waiting: Persist[] = [];

  constructor(membership: Membership) {
    this.durable = new EntryArray({index: 0, term: 0});
    this.#baseMembership = membership;
  }

  get idle(): boolean {
    return this.#writing.length === 0;
  }

  get hasWork(): boolean {
    return this.#waiting.length > 0;
  }

  add(write: Persist): void {
    this.#waiting.push(write);
  }

  /** Everything that waits goes to the disk as one group. */
  beginGroup(): void {
    this.#writing = this.#waiting;
    this.#waiting = [];
  }

  /** The group is durable; gives the number of its last write. */
  endGroup(): number {
    for (const write of this.#writing) this.#apply(write);
    const last = this.#writing.at(-1)?.number ?? 0;
    this.#writing = [];
    return last;
  }

  /** The applied state is durable in this place; the log learns of it later, or after a crash. */
  putCheckpoint(checkpoint: Checkpoint): void {
    this.#checkpoint = checkpoint;
  }

  compact(index: LogIndex, membership: Membership): void {
    if (this.durable.termAt(index) === undefined) return;
    this.durable.compact(index);
    this.#baseMembership = membership;
  }

  /** The process ends: some of the writes under way, in order, reached the disk. */
  crash(random: SeededRandom): void {
    const underWay = [...this.#writing, ...this.#waiting];
    const survivors = random.chance(50) ? 0 : random.below(underWay.length + 1);
    for (const write of underWay.slice(0, survivors)) this.#apply(write);
    this.#writing = [];
    this.#waiting = [];
  }

  /** What a start finds. A checkpoint that the log does not reach replaces the log. */
  recover(): Recovered & {readonly entries: readonly Entry[]} {
    const checkpoint = this.#checkpoint;
    const {durable} = this;
    if (checkpoint !== undefined && checkpoint.last.index > durable.base.index) {
      const {last, membership} = checkpoint;
      if (durable.termAt(last.index) === last.term) this.compact(last.index, membership);
      else this.#restart(checkpoint);
    }
    return {
      ...this.hardState,
      base: durable.base,
      membership: this.#baseMembership,
      entries: durable.entries,
      applied: durable.base.index,
      committed: durable.base.index,
    };
  }

  /** Up to here the applied state is durable, whatever the log holds. */
  get checkpointIndex(): LogIndex {
    return this.#checkpoint?.last.index ?? 0;
  }

  #restart({last, membership}: Checkpoint): void {
    this.durable.base = last;
    this.durable.entries = [];
    this.#baseMembership = membership;
    // The term of the checkpoint may not have reached the disk; nobody has its vote from here.
    if (last.term > this.hardState.term) this.hardState = {term: last.term, vote: undefined};
  }

  #apply(write: Persist): void {
    this.hardState = write.hardState;
    if (write.restart !== undefined) this.#baseMembership = write.restart.membership;
    this.durable.write(write);
  }
}
