/**
 * What the core knows of its log: the term and the length of each entry, and how much of it is
 * durable. The entries themselves are the driver's, so the core stays small however large they
 * are; an append names a range and the driver fills it in.
 *
 * Invariant: terms never fall along the log, and base <= persisted <= last.
 */
import {assert} from '#server/base/assert.ts';
import {Fifo} from '#server/base/fifo.ts';
import type {LogIndex, LogPosition, Term} from './message.ts';

interface PendingWrite {
  readonly number: number;
  last: LogIndex;
}

export class LogOutline {
  /** The entry before the first one that is held. */
  #base: LogPosition;
  /** The term and the bytes up to each entry's end, at index - base - 1. */
  #terms: Term[] = [];
  #ends: number[] = [];
  #baseEnd = 0;
  #persisted: LogIndex;
  readonly #writes = new Fifo<PendingWrite>();

  constructor(base: LogPosition) {
    this.#base = base;
    this.#persisted = base.index;
  }

  get base(): LogPosition {
    return this.#base;
  }

  get lastIndex(): LogIndex {
    return this.#base.index + this.#terms.length;
  }

  get last(): LogPosition {
    return {index: this.lastIndex, term: this.lastTerm};
  }

  get lastTerm(): Term {
    return this.#terms[this.#terms.length - 1] ?? this.#base.term;
  }

  /** Everything up to here is durable on this node. */
  get persistedIndex(): LogIndex {
    return this.#persisted;
  }

  /** Undefined before the base and behind the end. */
  termAt(index: LogIndex): Term | undefined {
    if (index === this.#base.index) return this.#base.term;
    return this.#terms[index - this.#base.index - 1];
  }

  holds(position: LogPosition): boolean {
    return this.termAt(position.index) === position.term;
  }

  /** Bytes of the entries behind `after` up to `through`. */
  bytesBetween(after: LogIndex, through: LogIndex): number {
    return this.#endOf(through) - this.#endOf(after);
  }

  /**
   * The greatest index up to `index` whose term is at most `term`: behind it the log cannot
   * agree with one whose entry at `index` has that term. Below the base nothing is known, and
   * the search ends there.
   */
  lastAtMost(index: LogIndex, term: Term): LogIndex {
    let at = Math.min(index, this.lastIndex);
    while (at >= this.#base.index && (this.termAt(at) ?? 0) > term) at--;
    return at;
  }

  append(term: Term, bytes: number): void {
    assert(term >= this.lastTerm, 'terms never fall along the log');
    this.#ends.push(this.#endOf(this.lastIndex) + bytes);
    this.#terms.push(term);
  }

  /** Cuts off what stands behind `index`. */
  truncate(index: LogIndex): void {
    assert(index >= this.#base.index, 'what is forgotten is never cut off');
    this.#terms.length = Math.min(this.#terms.length, index - this.#base.index);
    this.#ends.length = this.#terms.length;
    this.#persisted = Math.min(this.#persisted, index);
    for (const write of this.#writes) write.last = Math.min(write.last, index);
  }

  /** Forgets the entries up to `index`, of which the driver holds a durable outcome. */
  compact(index: LogIndex): void {
    const term = this.termAt(index);
    assert(term !== undefined, 'only what is held can be forgotten');
    const count = index - this.#base.index;
    this.#baseEnd = this.#endOf(index);
    this.#terms = this.#terms.slice(count);
    this.#ends = this.#ends.slice(count);
    this.#base = {index, term};
    this.#persisted = Math.max(this.#persisted, index);
  }

  /** Begins anew behind a checkpoint, whose driver made it durable. */
  restart(base: LogPosition): void {
    this.#base = base;
    this.#terms = [];
    this.#ends = [];
    this.#baseEnd = 0;
    this.#persisted = base.index;
    this.#writes.takeAll();
  }

  /** A write with everything up to the current end is on its way to the disk. */
  writing(number: number): void {
    this.#writes.push({number, last: this.lastIndex});
  }

  /** All writes up to `number` are durable. */
  persisted(number: number): void {
    for (let {first} = this.#writes; first !== undefined; {first} = this.#writes) {
      if (first.number > number) return;
      this.#writes.shift();
      this.#persisted = Math.max(this.#persisted, first.last);
    }
  }

  /** Called for a log that was read from the disk. */
  allPersisted(): void {
    this.#persisted = this.lastIndex;
  }

  #endOf(index: LogIndex): number {
    return this.#ends[index - this.#base.index - 1] ?? this.#baseEnd;
  }
}
