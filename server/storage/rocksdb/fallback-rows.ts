/**
 * Scans over the package's iterators: rows of several ranges, one after another.
 *
 * A snapshot owns one pinned iterator in each direction, and its scanners and lookups share them:
 * each remembers the last row it fetched and seeks back when somebody else has used the iterator
 * since. A scanner of the store itself owns its iterator. Rows are fetched few at first, then many.
 */
import {assert} from '#server/base/assert.ts';
import type {RowSource} from '../packed-rows.ts';
import type {ScanRange} from '../store.ts';
import type {FallbackBinding, FallbackContext, FallbackIterator} from './fallback-binding.ts';

const rowsFirst = 16;
const rowsLater = 1000;
const keyBytesMax = 64 << 10;
const noBytes = Buffer.alloc(0);

/** A pinned iterator and who used it last. */
export class PinnedIterator {
  readonly binding: FallbackBinding;
  readonly reverse: boolean;
  readonly #iterator: FallbackIterator;
  /** Whose position the iterator is at. */
  user: object | undefined;
  #open = true;
  /** Stands behind the last row; the package's iterator must not be asked to go on from there. */
  #finished = false;

  constructor(
    binding: FallbackBinding,
    context: FallbackContext,
    options: {readonly reverse: boolean; readonly only?: ScanRange},
  ) {
    this.binding = binding;
    this.reverse = options.reverse;
    this.#iterator = binding.iterator_init(context, {
      reverse: options.reverse,
      fillCache: true,
      keyEncoding: 'buffer',
      valueEncoding: 'buffer',
      gte: options.only?.start,
      lt: options.only?.end,
    });
  }

  /** Forward: to the first key >= target; reverse: to the last key <= target. */
  seek(target: Uint8Array): void {
    this.binding.iterator_seek(this.#iterator, target);
    this.#finished = false;
  }

  /** Goes to the greatest key of all. Keys that start with 64 KiB of 0xff are not kept. */
  seekToLast(): void {
    this.seek(Buffer.alloc(keyBytesMax, 0xff));
  }

  fetch(rowsMax: number): readonly Buffer[] {
    if (this.#finished) return [];
    const {rows, finished} = this.binding.iterator_nextv_sync(this.#iterator, rowsMax);
    this.#finished = finished;
    return rows;
  }

  /** The value at exactly `key`. */
  lookup(key: Uint8Array): Buffer | undefined {
    this.user = undefined;
    this.seek(key);
    const [found, value] = this.fetch(1);
    return found !== undefined && found.equals(key) ? value : undefined;
  }

  close(): void {
    if (this.#open) this.binding.iterator_close(this.#iterator);
    this.#open = false;
  }
}

export interface IteratorScan {
  readonly iterator: PinnedIterator;
  readonly ranges: readonly ScanRange[];
  /** The iterator is this scan's alone: bounded to its one range and closed with it. */
  readonly owned: boolean;
}

export class IteratorRows implements RowSource {
  readonly #scan: IteratorScan;
  readonly #whole: boolean;
  #rows: readonly Buffer[] = [];
  #at = 0;
  #rowsNext = rowsFirst;
  #lastKey: Buffer | undefined;
  rangeIndex = 0;

  constructor(scan: IteratorScan) {
    this.#scan = scan;
    // An own iterator over one range starts at that range's first row.
    this.#whole = scan.owned && scan.ranges.length === 1;
    this.#startRange();
    this.#settle();
  }

  get key(): Buffer | undefined {
    return this.rangeIndex < this.#scan.ranges.length ? this.#rows[this.#at] : undefined;
  }

  get value(): Buffer {
    return this.#rows[this.#at + 1] ?? noBytes;
  }

  advance(): void {
    this.#next();
    this.#settle();
  }

  close(): void {
    this.rangeIndex = this.#scan.ranges.length;
    this.#rows = [];
    if (this.#scan.owned) this.#scan.iterator.close();
  }

  /** Fetches the first rows of the present range, which may turn out to be outside of it. */
  #startRange(): void {
    const {iterator, ranges} = this.#scan;
    const range = ranges[this.rangeIndex];
    if (range === undefined) return;
    this.#rowsNext = rowsFirst;
    if (!this.#whole) {
      if (!iterator.reverse) iterator.seek(range.start);
      else if (range.end === undefined) iterator.seekToLast();
      else iterator.seek(range.end);
    }
    this.#fetch();
    const [first] = this.#rows;
    // A reverse seek stops at the end itself, which is outside.
    if (iterator.reverse && range.end !== undefined && first?.equals(range.end) === true) {
      this.#next();
    }
  }

  /** Goes to the next range for as long as the present row is outside of its own. */
  #settle(): void {
    for (;;) {
      const range = this.#scan.ranges[this.rangeIndex];
      const {key} = this;
      if (range === undefined || (key !== undefined && isInside(key, range))) return;
      this.rangeIndex++;
      this.#rows = [];
      this.#startRange();
    }
  }

  #next(): void {
    this.#lastKey = this.#rows[this.#at];
    this.#at += 2;
    if (this.#at >= this.#rows.length) this.#fetchMore();
  }

  #fetchMore(): void {
    const {iterator} = this.#scan;
    if (iterator.user === this) return this.#fetch();
    assert(this.#lastKey !== undefined, 'a scan that goes on has had a row');
    iterator.seek(this.#lastKey);
    this.#fetch();
    if (this.#rows[0]?.equals(this.#lastKey) !== true) return;
    this.#at = 2;
    if (this.#at >= this.#rows.length) this.#fetch();
  }

  #fetch(): void {
    const {iterator} = this.#scan;
    iterator.user = this;
    this.#rows = iterator.fetch(this.#rowsNext);
    this.#at = 0;
    this.#rowsNext = rowsLater;
  }
}

function isInside(key: Buffer, range: ScanRange): boolean {
  if (key.compare(range.start) < 0) return false;
  return range.end === undefined || key.compare(range.end) < 0;
}
