/**
 * A family of indexes that only tests have: the records whose number is nearest to a given one. A
 * search walks outwards from it, in what is kept of the index or in its entries. See
 * docs/design/0057-how-to-add-a-command-a-family-a-language.md.
 */
import {Refusal} from '#server/base/errors.ts';
import type {IndexCache, IndexCacheKind, CachedFamily} from '#server/caches/index-caches.ts';
import {FamilyTable} from '#server/catalog/index-families.ts';
import {indexFamilies} from '#server/caches/index-families.ts';
import type {EntriesOf, RankedFamily} from '#server/indexes/index-family.ts';
import {BestRecords} from '#server/indexes/ranked/best-records.ts';
import {RowWalker} from '#server/indexes/row-walker.ts';
import {WrittenEntry} from '#server/indexes/written-entry.ts';
import {indexRange} from '#server/layout/index-key.ts';
import {appendDouble} from '#server/layout/key-encoding.ts';
import {bucketOfEntry, entryKey, listPrefix, positionOfEntry} from '#server/layout/posting-key.ts';
import {isNumberValue, numberOf} from '#server/model/number.ts';
import type {Value} from '#server/model/value.ts';
import type {Reader} from '#server/storage/store.ts';

interface Entry {
  readonly number: number;
  readonly bucket: number;
  readonly position: number;
}

function numberIn(value: Value, what: string): number {
  if (isNumberValue(value)) return numberOf(value);
  throw new Refusal('value.validation', `${what} is a number`);
}

function prefixOf(indexId: number, number: number): Uint8Array {
  return listPrefix(out => {
    out.raw(indexRange(indexId).start);
    appendDouble(out, number);
  });
}

const entriesOf: EntriesOf = (index, _declared, rid, record, out) => {
  const name = index.properties[0]?.name ?? '';
  const value = record.get(name) ?? null;
  if (value === null) return [];
  const number = numberIn(value, `${name} of index '${index.name}'`);
  const start = out.length;
  out.raw(entryKey(prefixOf(index.id, number), rid.bucket, rid.position));
  const keyEnd = out.length;
  const double = Buffer.alloc(8);
  double.writeDoubleBE(number);
  out.raw(double);
  return [new WrittenEntry(index, name, out, {start, keyEnd})];
};

/** The entries from `number` on, or those below it, beginning with the nearest. */
function* stored(reader: Reader, indexId: number, number: number, up: boolean): Iterable<Entry> {
  const {start, end} = indexRange(indexId);
  const at = prefixOf(indexId, number);
  const range = up ? {start: at, end} : {start, end: at};
  const walker = new RowWalker(reader, [range], {reverse: !up});
  try {
    while (walker.next()) {
      const {bytes, keyEnd} = walker;
      const bucket = bucketOfEntry(bytes, keyEnd);
      const position = positionOfEntry(bytes, keyEnd);
      yield {number: bytes.readDoubleBE(keyEnd), bucket, position};
    }
  } finally {
    walker.close();
  }
}

function* kept(entries: readonly Entry[], number: number, up: boolean): Iterable<Entry> {
  const from = entries.findIndex(entry => entry.number >= number);
  const middle = from < 0 ? entries.length : from;
  if (up) yield* entries.slice(middle);
  else yield* entries.slice(0, middle).reverse();
}

const ranked: RankedFamily<number, readonly Entry[]> = {
  queryOf: value => numberIn(value, 'the query of a NEAREST index'),
  search({reader, index, effort, kept: entries}, {query, k, accept}) {
    const unit = (index.options?.get('unit') as number | undefined) ?? 1;
    const best = new BestRecords(k);
    for (const up of [true, false]) {
      const found = entries ? kept(entries, query, up) : stored(reader, index.id, query, up);
      for (const {number, bucket, position} of found) {
        effort.spend(1);
        const score = -Math.abs(number - query) / unit;
        if (best.isFull && score < best.threshold) break;
        if (!best.takes(score, bucket, position)) continue;
        if (accept?.(bucket, position) !== false) best.offer(score, bucket, position);
      }
    }
    return best.sorted();
  },
};

/** All entries as of one snapshot, until one of them changes. */
const cache: IndexCacheKind = {
  share: {bytesMax: settings => settings.get('svc.searchMemoryMax')},
  make({id}, {memory, lastIndex}): IndexCache {
    let held: {readonly entries: readonly Entry[]; readonly base: number} | undefined;
    let told = lastIndex;
    const run = memory.beginRun();
    const droppable = {drop: () => void (held = undefined)};
    const changed = (index: number): void => {
      told = index;
      memory.forget(droppable);
      droppable.drop();
    };
    return {
      open(reader) {
        if (held === undefined && reader.snapshotIndex >= told) {
          const entries = [...stored(reader, id, Number.NEGATIVE_INFINITY, true)];
          if (!memory.makeRoom(24 * entries.length, run)) return undefined;
          memory.hold(droppable, 24 * entries.length, run);
          held = {entries, base: reader.snapshotIndex};
        }
        return held !== undefined && reader.snapshotIndex >= held.base ? held.entries : undefined;
      },
      entryChanged: (_bytes, _at, _end, index) => changed(index),
      emptied: changed,
      get figures() {
        return {lists: held === undefined ? 0 : 1, bytes: 24 * (held?.entries.length ?? 0)};
      },
      close: () => changed(told),
    };
  },
};

const nearest: CachedFamily = {
  kind: 'nearest',
  typeName: 'NEAREST',
  word: 'NEAREST',
  cypher: {word: 'NEAREST', types: ['DOUBLE']},
  shownType: 'NEAREST',
  isKeyed: false,
  isOrdered: false,
  isRanked: true,
  options: () => new Map([['unit', {kind: 'number', default: 1, min: 0.001, max: 1000}]]),
  checkProperties(_type, {length}) {
    if (length !== 1) throw new Refusal('schema.conflict', 'a NEAREST index is on one property');
  },
  entriesOf,
  ranked,
  cache,
};

/** The server's own families and this one. */
export const withNearest = new FamilyTable<CachedFamily>([...indexFamilies.all, nearest]);
