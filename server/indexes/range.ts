/**
 * Search in ordered (and, for whole keys, hash) indexes: by key, by prefix, by range, forward
 * and backward, over any reader (a snapshot, or a transaction with its own writes on top).
 *
 * A range is a number of equal first parts and bounds on the part behind them. Comparisons
 * hold inside one class of values only: below 5 are numbers and neither null nor texts, so an
 * open side ends where the other bound's class ends; without any bound the prefix is the range.
 * Order: the index's (or its reverse); entries of one key by record id.
 */
import {assert} from '#server/base/assert.ts';
import {Refusal} from '#server/base/errors.ts';
import type {CatalogType} from '#server/catalog/catalog-type.ts';
import type {IndexDefinition, IndexProperty} from '#server/catalog/definition.ts';
import type {DeclaredFamily} from '#server/catalog/index-families.ts';
import {
  indexKeyPrefix,
  ridOfEntry,
  valuesOfEntry,
  wholeNumbersOfEntry,
} from '#server/layout/index-key.ts';
import {keyAfterPrefix} from '#server/layout/namespace.ts';
import {classify, equalValues, valueClass} from '#server/model/compare.ts';
import type {DataType} from '#server/model/data-type.ts';
import type {Rid, Value} from '#server/model/value.ts';
import type {Reader, ScanRange} from '#server/storage/store.ts';
import {declaredParts, keyWriter, searchForm} from './index-parts.ts';
import {RowWalker} from './row-walker.ts';

/** Values of the first parts; the last of them is the bound, those before are equal. */
export interface SearchBound {
  readonly values: readonly Value[];
  readonly inclusive: boolean;
}

export interface SearchRange {
  readonly from: SearchBound | undefined;
  readonly to: SearchBound | undefined;
}

export interface FoundEntry {
  readonly key: readonly Value[];
  readonly rid: Rid;
}

const pointBufferBytes = 4 << 10;

export class IndexSearch {
  readonly index: IndexDefinition;
  readonly family: DeclaredFamily;
  private readonly reader: Reader;
  private readonly type: CatalogType;
  private knownParts: readonly (DataType | undefined)[] | undefined;

  /** `type` is the one that the index is declared on. */
  constructor(reader: Reader, index: IndexDefinition, type: CatalogType, family: DeclaredFamily) {
    this.reader = reader;
    this.index = index;
    this.family = family;
    this.type = type;
  }

  /** Data types of the parts. */
  get declared(): readonly (DataType | undefined)[] {
    this.knownParts ??= declaredParts(this.index, this.type);
    return this.knownParts;
  }

  /** Records under one whole key, in order of their ids. */
  point(key: readonly Value[]): readonly Rid[] {
    assert(key.length === this.index.properties.length, 'a point names every part of the key');
    const prefix = this.prefix(key);
    const rids: Rid[] = [];
    if (this.index.unique && !key.includes(null)) {
      const value = this.reader.get(prefix);
      if (value !== undefined) rids.push(ridOfEntry(true, value, 0));
      return rids;
    }
    const options = {bufferBytes: pointBufferBytes};
    const walker = new RowWalker(
      this.reader,
      [{start: prefix, end: keyAfterPrefix(prefix)}],
      options,
    );
    try {
      while (walker.next()) rids.push(ridOfEntry(this.index.unique, walker.bytes, walker.keyEnd));
    } finally {
      walker.close();
    }
    return rids;
  }

  /** Entries in a range. A hash index has no order, so only equal whole keys are in its ranges. */
  range(range: SearchRange, options: {readonly descending?: boolean} = {}): EntryCursor {
    if (!this.family.isOrdered) {
      throw new Refusal(
        'query.execution',
        `index '${this.index.name}' is a ${this.family.typeName} index: it knows no order`,
        {detail: {index: this.index.name}},
      );
    }
    const reverse = options.descending ?? false;
    const walker = new RowWalker(this.reader, [this.bytesOf(range)], {reverse});
    return new EntryCursor(walker, this);
  }

  /** The entries under one whole key, in order of record ids; of every kind of index. */
  under(key: readonly Value[]): EntryCursor {
    this.requireKeyed();
    assert(key.length === this.index.properties.length, 'a whole key names every part');
    const prefix = this.prefix(key);
    const options = {bufferBytes: pointBufferBytes};
    const range = {start: prefix, end: keyAfterPrefix(prefix)};
    return new EntryCursor(new RowWalker(this.reader, [range], options), this);
  }

  /** Every entry, in order. */
  all(options: {readonly descending?: boolean} = {}): EntryCursor {
    return this.range({from: undefined, to: undefined}, options);
  }

  private requireKeyed(): void {
    if (this.family.isKeyed) return;
    throw new Refusal(
      'query.execution',
      `index '${this.index.name}' is a ${this.family.typeName} index: it has no keys`,
      {detail: {index: this.index.name}},
    );
  }

  /** The keys of a range: start inclusive, end exclusive. */
  bytesOf({from, to}: SearchRange): Required<ScanRange> {
    // `a = 1 and b < 5` comes as from [1], to [1, 5]: the side that only repeats the equal
    // parts is open.
    const low = from === undefined || repeatsStart(from, to) ? undefined : from;
    const high = to === undefined || repeatsStart(to, from) ? undefined : to;
    const start = low === undefined ? undefined : this.prefix(low.values);
    const end = high === undefined ? undefined : this.prefix(high.values);
    return {
      start:
        start === undefined
          ? this.openSide(high?.values, 'low')
          : low?.inclusive === true
            ? start
            : keyAfterPrefix(start),
      end:
        end === undefined
          ? this.openSide(low?.values, 'high')
          : high?.inclusive === true
            ? keyAfterPrefix(end)
            : end,
    };
  }

  /** Where the class of the other side's bound begins or ends, behind the equal parts. */
  private openSide(other: readonly Value[] | undefined, side: 'low' | 'high'): Uint8Array {
    const last = other?.at(-1);
    const prefix = this.prefix(other?.slice(0, -1) ?? []);
    if (last === undefined) return side === 'low' ? prefix : keyAfterPrefix(prefix);
    const property = this.index.properties[(other?.length ?? 1) - 1] as IndexProperty;
    const searched = searchForm(property, this.declared[(other?.length ?? 1) - 1], last);
    const classByte = valueClass[classify(searched).of];
    return Uint8Array.from([...prefix, side === 'low' ? classByte : classByte + 1]);
  }

  private prefix(values: readonly Value[]): Uint8Array {
    assert(values.length <= this.index.properties.length, "a bound has at most the index's parts");
    const searched = values.map((value, at) =>
      searchForm(this.index.properties[at] as IndexProperty, this.declared[at], value),
    );
    return indexKeyPrefix(this.index.id, searched, keyWriter());
  }
}

/** Whether `bound` is a shorter start of `other`. */
function repeatsStart(bound: SearchBound, other: SearchBound | undefined): boolean {
  return (
    other !== undefined &&
    bound.values.length < other.values.length &&
    bound.values.every((value, at) => equalValues(value, other.values[at] ?? null))
  );
}

/** Steps through entries; close it when it is left before its end. */
export class EntryCursor {
  private readonly walker: RowWalker;
  private readonly search: IndexSearch;
  /** Ids given so far, where a record may have several keys (BY ITEM, KEY, VALUE). */
  private readonly seen: Set<string> | undefined;
  /** The walker's entry was looked at and not given. */
  private isHeld = false;

  constructor(walker: RowWalker, search: IndexSearch) {
    this.walker = walker;
    this.search = search;
    const several = search.index.properties.some(property => property.by !== undefined);
    this.seen = several ? new Set() : undefined;
  }

  /** The next 1 to `max` record ids, each once, or undefined at the end. */
  nextRids(max: number): readonly Rid[] | undefined {
    const {walker} = this;
    const {unique} = this.search.index;
    const rids: Rid[] = [];
    while (rids.length < max && this.step()) {
      const rid = ridOfEntry(unique, walker.bytes, walker.keyEnd);
      if (this.isNew(rid)) rids.push(rid);
    }
    return rids.length === 0 ? undefined : rids;
  }

  private isNew(rid: Rid): boolean {
    if (this.seen === undefined) return true;
    const {size} = this.seen;
    return this.seen.add(`${rid.bucket}:${rid.position}`).size > size;
  }

  /**
   * The next entries, a record under each of its keys, with the indexed values, which need no
   * look at the records.
   */
  nextEntries(max: number): readonly FoundEntry[] | undefined {
    const {walker} = this;
    const {index, declared} = this.search;
    const entries: FoundEntry[] = [];
    while (entries.length < max && this.step()) {
      const {bytes, keyStart, keyEnd, end} = walker;
      const key = valuesOfEntry({unique: index.unique, declared}, {bytes, keyStart, keyEnd, end});
      entries.push({key, rid: ridOfEntry(index.unique, bytes, keyEnd)});
    }
    return entries.length === 0 ? undefined : entries;
  }

  /**
   * Puts the values of the next entries into arrays of their parts, as `wholeNumbersOfEntry` does;
   * how many, at most the arrays' length: fewer when the entry that comes next has others values,
   * which `nextEntries` gives. Undefined at the end.
   */
  nextNumbers(into: readonly (Float64Array | undefined)[], max: number): number | undefined {
    const {walker} = this;
    const {unique} = this.search.index;
    let row = 0;
    while (row < max) {
      if (!this.step()) return row === 0 ? undefined : row;
      this.isHeld = !wholeNumbersOfEntry(unique, walker, row, into);
      if (this.isHeld) return row;
      row++;
    }
    return row;
  }

  /** Goes to the next entry that was not given. */
  private step(): boolean {
    if (!this.isHeld) return this.walker.next();
    this.isHeld = false;
    return true;
  }

  close(): void {
    this.walker.close();
  }
}
