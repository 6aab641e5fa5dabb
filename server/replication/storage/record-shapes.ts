/**
 * What a start remembers of the entries that it reads: a term and a length for each, and the
 * memberships. The rest stays on the disk.
 */
import {assert} from '#server/base/assert.ts';
import type {EntryShape, LogIndex, Term} from '#server/raft/message.ts';
import {decodeRecord, recordPrefixBytes} from './stored-record.ts';

/** The length of an entry without data. */
const noData = -1;

export class RecordShapes implements Iterable<EntryShape> {
  readonly #base: LogIndex;
  #terms: Term[] = [];
  #lengths: number[] = [];
  /** Entries without data, by place. */
  readonly #others = new Map<number, EntryShape>();
  #termAtBase: Term | undefined;

  /** Entries up to `base` are not kept. */
  constructor(base: LogIndex) {
    this.#base = base;
  }

  /** Undefined when that entry was not among those that were read. */
  get termAtBase(): Term | undefined {
    return this.#termAtBase;
  }

  /** The term of the newest entry that was read; 0 without one. */
  get lastTerm(): Term {
    return this.#terms.at(-1) ?? this.#termAtBase ?? 0;
  }

  add(index: LogIndex, record: Buffer): void {
    if (index < this.#base) return;
    const entry = decodeRecord(record);
    if (index === this.#base) {
      this.#termAtBase = entry.term;
      return;
    }
    const place = this.#terms.length;
    assert(index === this.#base + place + 1 || place === 0, 'a log is read in order');
    this.#terms.push(entry.term);
    this.#lengths.push(entry.kind === 'data' ? record.length - recordPrefixBytes : noData);
    if (entry.kind !== 'data') this.#others.set(place, entry);
  }

  clear(): void {
    this.#terms = [];
    this.#lengths = [];
    this.#others.clear();
  }

  *[Symbol.iterator](): Generator<EntryShape> {
    for (let place = 0; place < this.#terms.length; place++) {
      const other = this.#others.get(place);
      const length = this.#lengths[place] ?? 0;
      yield other ?? {kind: 'data', term: this.#terms[place] ?? 0, data: {length}};
    }
  }
}
