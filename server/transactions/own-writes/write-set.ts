/**
 * The uncommitted writes of one transaction: what a key was set to, and which ranges were emptied.
 *
 * A point write is always newer than a range deletion that covers it (the range drops the points
 * it finds), so commit emits the ranges first. Keys are kept as text, one character a byte; the
 * sorted order is made when the first scan asks for it and kept up by insertion. Savepoints
 * record how to undo from the first one on. Invariant T4: `rollbackTo` restores exactly what a
 * reader saw at the savepoint.
 */
import {assert} from '#server/base/assert.ts';
import type {Operation} from '../commit.ts';
import type {KeyTexts} from '../key-text.ts';
import {KeyMap} from './key-map.ts';
import {DeleteWrite, type PointWrite, type PutWrite, ValueChunks} from './point-write.ts';

export interface EmptiedRange {
  readonly start: string;
  readonly end: string;
}

type Undo =
  | {readonly kind: 'point'; readonly text: string; readonly before: PointWrite | undefined}
  | {readonly kind: 'ranges'; readonly before: readonly EmptiedRange[]}
  | {readonly kind: 'other'; readonly undo: () => void};

const insertOneByOneMax = 64;

export class WriteSet {
  readonly #points = new KeyMap<PointWrite>();
  readonly #values = new ValueChunks();
  #ranges: readonly EmptiedRange[] = [];
  /** Sorted texts of all points, or undefined while nobody has scanned. */
  #sorted: string[] | undefined;
  #unsorted: string[] = [];
  #undo: Undo[] | undefined;
  #bytes = 0;

  get isEmpty(): boolean {
    return this.#points.size === 0 && this.#ranges.length === 0;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Sets a key (the value is copied) or, without a value, deletes it. */
  put(text: string, value: Uint8Array | undefined): void {
    this.adopt(value === undefined ? new DeleteWrite(text) : this.#values.copy(text, value));
  }

  /** Sets a key to a value of so many bytes, which the caller writes to its place at once. */
  room(text: string, length: number): PutWrite {
    const write = this.#values.room(text, length);
    this.adopt(write);
    return write;
  }

  /** The keys that were put or deleted by themselves. */
  get keys(): KeyTexts {
    return this.#points;
  }

  /** Sets or deletes a key as another write set did; nothing is copied. */
  adopt(write: PointWrite): void {
    const before = this.#points.get(write.text);
    this.#undo?.push({kind: 'point', text: write.text, before});
    this.#set(write.text, write, before);
  }

  deleteRange(start: string, end: string): void {
    if (start >= end) return;
    for (const text of this.#textsInside(start, end)) {
      const before = this.#points.get(text);
      this.#undo?.push({kind: 'point', text, before});
      this.#set(text, undefined, before);
    }
    this.#undo?.push({kind: 'ranges', before: this.#ranges});
    this.#ranges = mergeRange(this.#ranges, {start, end});
    this.#bytes += start.length + end.length;
  }

  /** The own write of a key: a value, `deleted`, or undefined when the snapshot decides. */
  lookup(text: string): Buffer | 'deleted' | undefined {
    const point = this.#points.get(text);
    if (point !== undefined) return point.kind === 'put' ? point.value : 'deleted';
    return this.#ranges.length > 0 && this.isEmptied(text) ? 'deleted' : undefined;
  }

  isEmptied(text: string): boolean {
    return this.#ranges.some(range => range.start <= text && text < range.end);
  }

  /** Whether anything here concerns keys in [start, end); `end` undefined: no end. */
  touches(start: string, end: string | undefined): boolean {
    const sorted = this.#order();
    const at = lowerBound(sorted, start);
    const first = sorted[at];
    if (first !== undefined && (end === undefined || first < end)) return true;
    return this.#ranges.some(
      range => (end === undefined || range.start < end) && start < range.end,
    );
  }

  /** Own point writes in [start, end) in key order, and the emptied ranges, as of now. */
  slice(
    start: string,
    end: string | undefined,
  ): {readonly points: PointWrite[]; readonly ranges: readonly EmptiedRange[]} {
    const sorted = this.#order();
    const points: PointWrite[] = [];
    const to = end === undefined ? sorted.length : lowerBound(sorted, end);
    for (let at = lowerBound(sorted, start); at < to; at++) {
      const point = this.#points.get(sorted[at] as string);
      if (point !== undefined) points.push(point);
    }
    return {points, ranges: this.#ranges};
  }

  /** What commit sends: emptied ranges first, then points. */
  operations(): readonly Operation[] {
    const points: readonly Operation[] = [...this.#points.values()];
    if (this.#ranges.length === 0) return points;
    const ranges = this.#ranges.map(
      (range): Operation => ({
        kind: 'delete-range',
        start: Buffer.from(range.start, 'latin1'),
        end: Buffer.from(range.end, 'latin1'),
      }),
    );
    return [...ranges, ...points];
  }

  savepoint(): number {
    this.#undo ??= [];
    return this.#undo.length;
  }

  /** Whether anything may be asked to be undone. */
  get hasSavepoint(): boolean {
    return this.#undo !== undefined;
  }

  /** Lets the owner of the transaction undo what it keeps beside the write set. */
  onUndo(undo: () => void): void {
    this.#undo?.push({kind: 'other', undo});
  }

  rollbackTo(savepoint: number): void {
    const undo = this.#undo;
    assert(undo !== undefined && savepoint <= undo.length, 'no such savepoint');
    while (undo.length > savepoint) {
      const step = undo.pop();
      if (step === undefined) break;
      if (step.kind === 'ranges') this.#ranges = step.before;
      else if (step.kind === 'other') step.undo();
      else this.#set(step.text, step.before, this.#points.get(step.text));
    }
  }

  #set(text: string, write: PointWrite | undefined, before: PointWrite | undefined): void {
    if (before !== undefined) this.#bytes -= text.length + before.to - before.from;
    if (write === undefined) {
      // The sorted order keeps the text; `slice` passes over it, `touches` may be too careful.
      this.#points.delete(text);
      return;
    }
    this.#points.set(text, write);
    this.#bytes += text.length + write.to - write.from;
    if (before === undefined && this.#sorted !== undefined) this.#unsorted.push(text);
  }

  #textsInside(start: string, end: string): string[] {
    const sorted = this.#order();
    return sorted
      .slice(lowerBound(sorted, start), lowerBound(sorted, end))
      .filter(text => this.#points.has(text));
  }

  #order(): string[] {
    if (this.#sorted === undefined) {
      this.#sorted = [...this.#points.keys()].sort(compareTexts);
    } else if (this.#unsorted.length > 0) {
      this.#sorted = mergeTexts(this.#sorted, this.#unsorted);
      this.#unsorted = [];
    }
    return this.#sorted;
  }
}

function compareTexts(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

/** Index of the first text that is not below `text`. */
function lowerBound(sorted: readonly string[], text: string): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] as string) < text) low = middle + 1;
    else high = middle;
  }
  return low;
}

function mergeTexts(sorted: string[], added: string[]): string[] {
  if (added.length <= insertOneByOneMax) {
    for (const text of added) {
      const at = lowerBound(sorted, text);
      if (sorted[at] !== text) sorted.splice(at, 0, text);
    }
    return sorted;
  }
  return [...new Set([...sorted, ...added])].sort(compareTexts);
}

/** Adds a range to disjoint sorted ranges. */
function mergeRange(ranges: readonly EmptiedRange[], added: EmptiedRange): EmptiedRange[] {
  let {start, end} = added;
  const apart: EmptiedRange[] = [];
  for (const range of ranges) {
    if (range.end < start || end < range.start) {
      apart.push(range);
      continue;
    }
    if (range.start < start) start = range.start;
    if (range.end > end) end = range.end;
  }
  apart.push({start, end});
  return apart.sort((left, right) => compareTexts(left.start, right.start));
}
