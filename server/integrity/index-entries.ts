/**
 * Entries of indexes, seen from both sides: each record has the entries that follow from it, and
 * each entry its record.
 *
 * First all that records demand is weighed against all that is there (balance.ts), one walk over
 * each. Only an index that does not come out even is looked at entry by entry.
 */
import {compareBytes, copyBytes} from '#server/base/utf8.ts';
import {Refusal} from '#server/base/errors.ts';
import type {CatalogType} from '#server/catalog/catalog-type.ts';
import type {IndexDefinition} from '#server/catalog/definition.ts';
import type {IndexKey} from '#server/indexes/index-parts.ts';
import {RowWalker} from '#server/indexes/row-walker.ts';
import {
  allIndexes,
  indexIdOf,
  indexPrefixBytes,
  indexRange,
  ridOfEntry,
} from '#server/layout/index-key.ts';
import {ridBytes} from '#server/layout/namespace.ts';
import {recordKey} from '#server/layout/record-key.ts';
import type {StoredRecord} from '#server/layout/stored-record.ts';
import {ridsEqual, ridText} from '#server/model/rid.ts';
import type {Rid} from '#server/model/value.ts';
import type {Reader, ScanRange} from '#server/storage/store.ts';
import type {RecordContext} from '#server/records/context.ts';
import {type CheckState, type Findings, getUnits, keyName, soundRecord} from './check-state.ts';
import type {Finding, Mend} from './finding.ts';
import {unknownKey} from './unknown-keys.ts';

const none: readonly Finding[] = [];

/** Notes the entries that a record demands, in every index of its type. */
export function demandEntries(
  state: CheckState,
  type: CatalogType,
  record: StoredRecord,
  findings: Finding[],
): void {
  for (const index of type.indexes) {
    const keys = keysUnder(state.context, index, record);
    if (keys instanceof Refusal) {
      findings.push({kind: 'rule-broken', place: ridText(record.rid), says: keys.message});
      continue;
    }
    for (const {key, value} of keys) {
      const balance = state.entries.get(index.id);
      balance
        ?.begin()
        .number(key.length)
        .bytes(key, 0, key.length)
        .bytes(value, 0, value.length)
        .due();
    }
  }
}

/** Looks for the entries that a record demands in the indexes that are to be looked at. */
export function entryFindings(
  state: CheckState,
  type: CatalogType,
  record: StoredRecord,
  findings: Finding[],
): void {
  for (const index of type.indexes) {
    if (!state.suspects.indexIds.has(index.id)) continue;
    const keys = keysUnder(state.context, index, record);
    if (keys instanceof Refusal) continue;
    for (const key of keys) {
      const stored = state.get(key.key);
      if (stored !== undefined && compareBytes(stored, key.value) === 0) continue;
      const found = entryFinding(state, index, key, {rid: record.rid, stored});
      if (found !== undefined) findings.push(found);
    }
  }
}

function entryFinding(
  state: CheckState,
  index: IndexDefinition,
  key: IndexKey,
  {rid, stored}: {readonly rid: Rid; readonly stored: Uint8Array | undefined},
): Finding | undefined {
  const place = ridText(rid);
  const named = {place, index: index.name};
  const mend = mendEntries(rid, index.id);
  if (stored === undefined) {
    // While an index is built it has the keys of some records only.
    if (index.state !== 'ready') return undefined;
    const says = `index '${index.name}' has no entry of it under ${key.text}`;
    return {kind: 'index-entry-missing', ...named, says, mend};
  }
  const holder = holderOf(state.reader, state.context, index, {key: key.key, value: stored});
  if (holder === undefined || ridsEqual(holder, rid)) {
    const says = `its entry under ${key.text} in index '${index.name}' says something else`;
    return {kind: 'index-entry-wrong', ...named, says, mend};
  }
  if (index.state !== 'ready') return undefined;
  return {
    kind: 'index-key-duplicate',
    ...named,
    says: `${key.text} in the unique index '${index.name}' belongs to ${ridText(holder)} already`,
  };
}

/** The entries that follow from a record, or why there are none. */
function keysUnder(
  {workspace}: RecordContext,
  index: IndexDefinition,
  record: StoredRecord,
): readonly IndexKey[] | Refusal {
  const {rid, from, to} = record;
  try {
    return workspace.indexes.keysOf(index, rid, {from, to, get: name => record.get(name)});
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
}

interface StoredEntry {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
}

/** The record that an entry names, if that has its key; or may have, since it is damaged. */
function holderOf(
  reader: Reader,
  context: RecordContext,
  index: IndexDefinition,
  {key, value}: StoredEntry,
): Rid | undefined {
  const rid = ridOf(index, {key, value});
  if (rid === undefined) return undefined;
  const record = soundRecord(reader, context, rid);
  if (record === undefined) return undefined;
  if (record === 'damaged') return rid;
  const type = context.catalog.typeById(index.typeId);
  if (type?.familyIds.has(record.typeId) !== true) return undefined;
  const keys = keysUnder(context, index, record);
  if (keys instanceof Refusal) return undefined;
  return keys.some(own => compareBytes(own.key, key) === 0) ? rid : undefined;
}

/** Puts the entries of a record where they are missing or wrong; another record's is left. */
function mendEntries(rid: Rid, indexId: number): Mend {
  return ({transaction, context}) => {
    const index = context.catalog.indexById(indexId);
    const record = soundRecord(transaction, context, rid);
    if (index === undefined || record === undefined || record === 'damaged') return;
    if (context.catalog.typeById(index.typeId)?.familyIds.has(record.typeId) !== true) return;
    const keys = keysUnder(context, index, record);
    if (keys instanceof Refusal) return;
    transaction.require({kind: 'unchanged', key: recordKey(rid)});
    for (const {key, value} of keys) {
      const stored = transaction.get(key);
      if (stored !== undefined && compareBytes(stored, value) === 0) continue;
      if (stored !== undefined) {
        const holder = holderOf(transaction, context, index, {key, value: stored});
        if (holder !== undefined && !ridsEqual(holder, rid)) continue;
      }
      transaction.require({kind: 'unchanged', key});
      transaction.put(key, value);
    }
  };
}

/** Walks all indexes once: what is in each must come out even with the records. */
export function* surveyIndexes(state: CheckState): Findings {
  for (const [id, balance] of state.entries) {
    yield* state.rows([indexRange(id)], ({bytes, keyStart, keyEnd, end}) => {
      balance
        .begin()
        .number(keyEnd - keyStart)
        .bytes(bytes, keyStart, end)
        .found();
      return none;
    });
    if (!balance.isEven) state.suspects.indexIds.add(id);
  }
  yield* checkUnknownIndexes(state);
}

/** Walks entry by entry the indexes that are to be looked at. */
export function* checkIndexes(state: CheckState): Findings {
  const {scope, context, suspects} = state;
  if (scope.rids !== undefined) return;
  for (const id of suspects.indexIds) {
    const index = context.catalog.indexById(id);
    const type = index === undefined ? undefined : context.catalog.typeById(index.typeId);
    if (index === undefined || type?.familyBucketIds.some(each => state.inScope(each)) !== true) {
      continue;
    }
    yield* state.rows([indexRange(id)], walker => strayFindings(state, index, walker));
  }
}

function strayFindings(
  state: CheckState,
  index: IndexDefinition,
  {bytes, keyStart, keyEnd, end}: RowWalker,
): readonly Finding[] {
  const entry = {key: copyBytes(bytes, keyStart, keyEnd), value: copyBytes(bytes, keyEnd, end)};
  const rid = ridOf(index, entry);
  if (rid !== undefined && !state.inScope(rid.bucket)) return none;
  state.budget.spend(getUnits);
  if (holderOf(state.reader, state.context, index, entry) !== undefined) return none;
  return [
    {
      kind: 'index-entry-stray',
      place: keyName(entry.key),
      index: index.name,
      says: `an entry of index '${index.name}' belongs to no record that has its key`,
      mend: dropEntry(index.id, entry.key),
    },
  ];
}

function dropEntry(indexId: number, key: Uint8Array): Mend {
  return ({transaction, context}) => {
    const index = context.catalog.indexById(indexId);
    const value = transaction.get(key);
    if (index === undefined || value === undefined) return;
    if (holderOf(transaction, context, index, {key, value}) !== undefined) return;
    // The record must not come to have the key meanwhile.
    const rid = ridOf(index, {key, value});
    if (rid !== undefined) transaction.require({kind: 'unchanged', key: recordKey(rid)});
    transaction.require({kind: 'unchanged', key});
    transaction.delete(key);
  };
}

/** The record that an entry names; undefined when it has no room for one. */
function ridOf({unique}: IndexDefinition, {key, value}: StoredEntry): Rid | undefined {
  if (unique) return value.length < ridBytes ? undefined : ridOfEntry(true, value, 0);
  if (key.length - indexPrefixBytes < ridBytes) return undefined;
  return ridOfEntry(false, key, key.length);
}

/** Steps from one unknown index to the next, however many entries each has. */
function* checkUnknownIndexes(state: CheckState): Findings {
  const known = state.context.catalog.data.indexes.map(index => index.id).sort((a, b) => a - b);
  let {start} = allIndexes;
  for (const id of [...known, undefined]) {
    const end = id === undefined ? allIndexes.end : indexRange(id).start;
    for (;;) {
      const key = firstKey(state.reader, {start, end});
      if (key === undefined) break;
      yield unknownIndex(key);
      start =
        key.length < indexPrefixBytes
          ? Uint8Array.from([...key, 0])
          : indexRange(indexIdOf(key)).end;
    }
    if (id !== undefined) start = indexRange(id).end;
  }
}

function firstKey(reader: Reader, range: ScanRange): Uint8Array | undefined {
  const walker = new RowWalker(reader, [range], {keysOnly: true, rowsMax: 1, bufferBytes: 1 << 10});
  try {
    return walker.next() ? copyBytes(walker.bytes, walker.keyStart, walker.keyEnd) : undefined;
  } finally {
    walker.close();
  }
}

function unknownIndex(key: Uint8Array): Finding {
  if (key.length < indexPrefixBytes) return unknownKey(key, 'no key of an index is that short');
  const id = indexIdOf(key);
  return {
    kind: 'index-unknown',
    place: `index ${id}`,
    says: `there are entries of an index with number ${id}, which the schema does not have`,
    mend: ({transaction, context}) => {
      if (context.catalog.indexById(id) !== undefined) return;
      const {start, end} = indexRange(id);
      transaction.require({kind: 'range-untouched', start, end});
      transaction.deleteRange(start, end);
    },
  };
}
