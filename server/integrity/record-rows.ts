/**
 * Every row of the records: it decodes, it is of a type that the schema has, it lies where its type
 * has it, and everything else that must be there because of it is there.
 */
import {Refusal} from '#server/base/errors.ts';
import type {CatalogType} from '#server/catalog/catalog-type.ts';
import {strayMemberKey} from '#server/layout/stray-member-key.ts';
import {propertyCount, propertyId, propertyTag, readSlot} from '#server/layout/record.ts';
import {
  allRecords,
  bucketRange,
  recordKey,
  recordKeyBytes,
  ridOfRecordKey,
} from '#server/layout/record-key.ts';
import type {StoredRecord} from '#server/layout/stored-record.ts';
import {valueTag} from '#server/layout/value-tag.ts';
import type {RowWalker} from '#server/indexes/row-walker.ts';
import {ridText} from '#server/model/rid.ts';
import {EmbeddedValue, PathValue, RecordValue, Rid, type Value} from '#server/model/value.ts';
import type {ScanRange} from '#server/storage/store.ts';
import {keyAfterPrefix} from '#server/layout/namespace.ts';
import {countedBucket} from '#server/records/members.ts';
import {checkComplete, checkRules} from '#server/records/rules.ts';
import {type CheckState, type Findings, soundRecord, typeOfRecord} from './check-state.ts';
import {verifyRecord, type RecordFault} from './verify-record.ts';
import {demandEdge, edgeFindings} from './edge-keys.ts';
import type {Finding, Mend} from './finding.ts';
import {demandEntries, entryFindings} from './index-entries.ts';
import {unknownKey} from './unknown-keys.ts';

/** Kinds of values that links can stand in; the others are passed over undecoded. */
const linkTags: ReadonlySet<number> = new Set([
  valueTag.rid,
  valueTag.list,
  valueTag.map,
  valueTag.embedded,
  valueTag.path,
]);
const linksShownMax = 5;
const none: readonly Finding[] = [];

export function* checkRecords(state: CheckState): Findings {
  const {rids} = state.scope;
  for (const rid of rids ?? []) {
    if (state.reader.get(recordKey(rid)) !== undefined) continue;
    yield {
      kind: 'link-dangling',
      place: ridText(rid),
      says: 'the record that is to be checked does not exist',
    };
  }
  yield* state.rows(rangesOf(state), walker => rowFindings(state, walker));
}

function rangesOf({scope}: CheckState): readonly ScanRange[] {
  if (scope.rids !== undefined) {
    const keys = scope.rids.map(recordKey);
    return keys.map(key => ({start: key, end: keyAfterPrefix(key)}));
  }
  if (scope.bucketIds !== undefined) return [...scope.bucketIds].map(bucketRange);
  return [allRecords];
}

function rowFindings(state: CheckState, walker: RowWalker): readonly Finding[] {
  const {bytes, keyStart, keyEnd, end} = walker;
  if (keyEnd - keyStart !== recordKeyBytes) {
    return [unknownKey(bytes.subarray(keyStart, keyEnd), 'no key of a record is that long')];
  }
  const rid = ridOfRecordKey(bytes, keyStart);
  const {catalog, schema} = state.context;
  state.notePosition(rid.bucket, rid.position);
  if (catalog.bucketById(rid.bucket) === undefined) return [withoutBucket(rid)];
  const {record, fault} = verifyRecord(state.reader, schema, rid, {
    bytes,
    offset: keyEnd,
    length: end - keyEnd,
  });
  const type = record === undefined ? undefined : typeOfRecord(state.context, record);
  if (record === undefined || type === undefined) {
    // It was counted where it lies.
    state.count(rid.bucket);
    return [damagedRecord(state, rid, fault, record)];
  }
  state.records[record.kind] += 1;
  state.count(countedBucket(type, rid));
  return findingsOf(state, type, record);
}

function withoutBucket(rid: Rid): Finding {
  const key = recordKey(rid);
  return {
    kind: 'record-without-bucket',
    place: ridText(rid),
    says: `the schema has no bucket ${rid.bucket}`,
    mend: ({transaction, context}) => {
      if (context.catalog.bucketById(rid.bucket) !== undefined) return;
      transaction.require({kind: 'unchanged', key});
      transaction.delete(key);
    },
  };
}

function damagedRecord(
  {context}: CheckState,
  rid: Rid,
  fault: RecordFault | undefined,
  record: StoredRecord | undefined,
): Finding {
  const place = ridText(rid);
  if (fault !== undefined || record === undefined) {
    return {kind: 'record-damaged', place, says: 'it cannot be read', ...fault};
  }
  const type = context.catalog.typeById(record.typeId);
  if (type === undefined) {
    const says = `it is of the type with number ${record.typeId}, which the schema does not have`;
    return {kind: 'record-type-unknown', place, says};
  }
  const says = `it is stored as a ${record.kind}, but '${type.name}' is a ${type.kind} type`;
  return {kind: 'record-kind-wrong', place, says};
}

function findingsOf(
  state: CheckState,
  type: CatalogType,
  record: StoredRecord,
): readonly Finding[] {
  const findings: Finding[] = [];
  nameAndLinkFindings(state, record, findings);
  if (type.ruledProperties.length > 0) ruleFindings(type, record, findings);
  if (!state.isNarrow) demand(state, type, record, findings);
  else dependentFindings(state, type, record, findings);
  return findings.length === 0 ? none : findings;
}

/** Notes what must be there because of the record. */
function demand(
  state: CheckState,
  type: CatalogType,
  record: StoredRecord,
  findings: Finding[],
): void {
  const {rid, kind} = record;
  if (!type.bucketIds.includes(rid.bucket)) {
    const key = strayMemberKey(type.id, rid);
    state.members.begin().bytes(key, 0, key.length).due();
  }
  if (kind === 'edge') demandEdge(state, record);
  if (type.indexes.length > 0) demandEntries(state, type, record, findings);
}

/** Walks the records again for what did not come out even. */
export function* checkDependents(state: CheckState): Findings {
  yield* state.rows([allRecords], walker => {
    const {bytes, keyStart, keyEnd, end} = walker;
    if (keyEnd - keyStart !== recordKeyBytes) return none;
    const place = {bytes, offset: keyEnd, length: end - keyEnd};
    const rid = ridOfRecordKey(bytes, keyStart);
    const {record} = verifyRecord(state.reader, state.context.schema, rid, place);
    if (record === undefined) return none;
    const type = typeOfRecord(state.context, record);
    const isKnown = state.context.catalog.bucketById(rid.bucket) !== undefined;
    if (type === undefined || !isKnown) return none;
    const findings: Finding[] = [];
    dependentFindings(state, type, record, findings);
    return findings;
  });
}

/** What must be there because of the record, looked for one by one. */
function dependentFindings(
  state: CheckState,
  type: CatalogType,
  record: StoredRecord,
  findings: Finding[],
): void {
  const {edges, members, indexIds} = state.suspects;
  if (members) memberFindings(state, type, record, findings);
  if (edges && record.kind === 'edge') edgeFindings(state, type, record, findings);
  if (indexIds.size > 0 && type.indexes.length > 0) entryFindings(state, type, record, findings);
}

function memberFindings(
  state: CheckState,
  type: CatalogType,
  {rid}: StoredRecord,
  findings: Finding[],
): void {
  if (type.bucketIds.includes(rid.bucket)) return;
  if (state.get(strayMemberKey(type.id, rid)) !== undefined) return;
  findings.push({
    kind: 'member-key-missing',
    place: ridText(rid),
    says: `it lies in no bucket of its type '${type.name}', which has no key of it`,
    mend: mendMemberKey(rid),
  });
}

function mendMemberKey(rid: Rid): Mend {
  return ({transaction, context}) => {
    const record = soundRecord(transaction, context, rid);
    if (record === undefined || record === 'damaged') return;
    const type = typeOfRecord(context, record);
    if (type === undefined || type.bucketIds.includes(rid.bucket)) return;
    transaction.require({kind: 'unchanged', key: recordKey(rid)});
    transaction.put(strayMemberKey(type.id, rid), new Uint8Array());
  };
}

function nameAndLinkFindings(state: CheckState, record: StoredRecord, findings: Finding[]): void {
  const {bytes, offset, length} = record;
  const count = propertyCount(bytes, offset);
  const place = ridText(record.rid);
  for (let slot = 0; slot < count; slot++) {
    const id = propertyId(bytes, offset, slot);
    if (!state.names.has(id)) {
      findings.push({kind: 'name-missing', place, says: `its property ${id} has no name`});
    }
    if (!linkTags.has(propertyTag(bytes, offset, slot))) continue;
    const missing: string[] = [];
    for (const rid of linksIn(readSlot(bytes, offset, length, slot))) {
      if (missing.length < linksShownMax && state.get(recordKey(rid)) === undefined) {
        missing.push(ridText(rid));
      }
    }
    if (missing.length === 0) continue;
    const name = record.schema.propertyName(id);
    const says = `'${name}' links to ${missing.join(', ')}, which does not exist`;
    findings.push({kind: 'link-dangling', place, says});
  }
}

/** Ids of records in a value; light edges have none to look up. */
function* linksIn(value: Value): Generator<Rid> {
  if (value instanceof Rid) {
    if (value.position >= 0) yield value;
  } else if (Array.isArray(value)) {
    for (const element of value) yield* linksIn(element as Value);
  } else if (value instanceof Map) {
    for (const entry of value.values()) yield* linksIn(entry as Value);
  } else if (value instanceof EmbeddedValue) yield* linksIn(value.properties);
  else if (value instanceof PathValue) {
    for (const element of value.elements) {
      yield* linksIn(element instanceof RecordValue ? element.rid : element);
    }
  }
}

function ruleFindings(type: CatalogType, record: StoredRecord, findings: Finding[]): void {
  try {
    checkRules(type, record.properties());
    checkComplete(type, record);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    findings.push({kind: 'rule-broken', place: ridText(record.rid), says: error.message});
  }
}
