/**
 * Looks whether everything in a database agrees with everything else, as of one view.
 *
 * What the store should hold besides records follows from the records: both keys of each edge,
 * each index entry, each count, the keys of records in other types' buckets. It is computed by
 * walking records and compared with what is there, so what is missing shows as well as what is
 * too much. Light edges have no records: their
 * two keys must agree with each other. Entries of an index under construction may be missing.
 */
import assert from 'node:assert/strict';
import type {CatalogType} from '#server/catalog/catalog-type.ts';
import type {IndexDefinition} from '#server/catalog/definition.ts';
import {declaredParts, keysOfRecord} from '#server/indexes/index-parts.ts';
import {RowWalker} from '#server/indexes/row-walker.ts';
import {
  adjacencyBucketRange,
  adjacencyKey,
  incoming,
  isLightEdge,
  outgoing,
  readAdjacencyKey,
} from '#server/layout/adjacency-key.ts';
import {foreignMemberKey, foreignMembers} from '#server/layout/foreign-member-key.ts';
import {indexRange} from '#server/layout/index-key.ts';
import type {StoredRecord} from '#server/layout/stored-record.ts';
import {ridText} from '#server/model/rid.ts';
import type {Rid} from '#server/model/value.ts';
import type {RecordContext} from '#server/transactions/records-context.ts';
import {countedBucket} from '#server/transactions/records-members.ts';
import {BucketScan} from '#server/transactions/records-read.ts';
import type {ReadContext} from '#server/transactions/transaction-contract.ts';

const rowsMax = 1_000_000;

/** @throws AssertionError naming what disagrees. `context` is the schema of the reader's view. */
export function assertIntegrity(reader: ReadContext, context: RecordContext): void {
  const records = new Map<string, StoredRecord>();
  for (const {id} of context.catalog.buckets) {
    const found = new BucketScan(reader, context.schema, [id]).next(rowsMax) ?? [];
    for (const record of found) records.set(ridText(record.rid), record);
  }
  const lights = assertEdges(reader, context, records);
  assertCounts(reader, context, records, lights);
  for (const index of context.catalog.indexes) assertIndex(reader, context, index, records);
}

type Records = ReadonlyMap<string, StoredRecord>;

/** Compares adjacency keys with edges; answers light edges by bucket. */
function assertEdges(
  reader: ReadContext,
  {catalog}: RecordContext,
  records: Records,
): Map<number, number> {
  const expected = new Set<string>();
  const pairs = new Set<string>();
  for (const {kind, rid: edge, typeId, from, to} of records.values()) {
    if (kind !== 'edge' || from === undefined || to === undefined) continue;
    assertOnce(pairs, catalog.typeById(typeId), from, to);
    const out = {vertex: from, direction: outgoing, edgeTypeId: typeId, other: to, edge} as const;
    expected.add(hex(adjacencyKey(out)));
    if (catalog.typeById(typeId)?.edge.unidirectional === true) continue;
    expected.add(hex(adjacencyKey({...out, vertex: to, direction: incoming, other: from})));
  }
  const lights = new Map<number, number>();
  const lightKeys = new Set<string>();
  const walker = new RowWalker(
    reader,
    catalog.buckets.map(({id}) => adjacencyBucketRange(id)),
  );
  while (walker.next()) {
    const {bytes, keyStart, keyEnd} = walker;
    const key = hex(bytes.subarray(keyStart, keyEnd));
    const isLight = isLightEdge(bytes, keyEnd);
    const parts = readAdjacencyKey(bytes, keyStart, isLight);
    for (const end of [parts.vertex, parts.other]) assertVertex(records, end);
    if (!isLight) {
      assert.ok(expected.delete(key), `an edge key without an edge at ${ridText(parts.vertex)}`);
      continue;
    }
    const {vertex, other, direction} = parts;
    if (direction === outgoing) {
      assertOnce(pairs, catalog.typeById(parts.edgeTypeId), vertex, other);
      lights.set(parts.edge.bucket, (lights.get(parts.edge.bucket) ?? 0) + 1);
    }
    const twin = hex(
      adjacencyKey({
        ...parts,
        vertex: other,
        other: vertex,
        direction: direction === outgoing ? incoming : outgoing,
      }),
    );
    if (!lightKeys.delete(twin)) lightKeys.add(key);
  }
  walker.close();
  assert.deepEqual([...expected], [], 'an edge without one of its keys');
  assert.deepEqual([...lightKeys], [], 'a light edge with one key');
  return lights;
}

/** Of a UNIQUE edge type there is one edge from one vertex to another. */
function assertOnce(pairs: Set<string>, type: CatalogType | undefined, from: Rid, to: Rid): void {
  if (type?.edge.unique !== true) return;
  const pair = `${type.name} ${ridText(from)} ${ridText(to)}`;
  assert.ok(!pairs.has(pair), `two edges ${pair}`);
  pairs.add(pair);
}

function assertVertex(records: Records, rid: Rid): void {
  const kind = records.get(ridText(rid))?.kind;
  assert.equal(kind, 'vertex', `an edge ends at ${ridText(rid)}`);
}

function assertCounts(
  reader: ReadContext,
  {catalog}: RecordContext,
  records: Records,
  lights: ReadonlyMap<number, number>,
): void {
  const counts = new Map(lights);
  const members = new Set<string>();
  for (const {rid, typeId} of records.values()) {
    const type = catalog.typeById(typeId);
    const bucket = type === undefined ? rid.bucket : countedBucket(type, rid);
    counts.set(bucket, (counts.get(bucket) ?? 0) + 1);
    const isForeign = type !== undefined && !type.bucketIds.includes(rid.bucket);
    if (isForeign) members.add(hex(foreignMemberKey(typeId, rid)));
  }
  const walker = new RowWalker(reader, [foreignMembers]);
  while (walker.next()) {
    const key = hex(walker.bytes.subarray(walker.keyStart, walker.keyEnd));
    assert.ok(members.delete(key), `the key of a foreign member without its record: ${key}`);
  }
  walker.close();
  assert.deepEqual([...members], [], 'records in buckets of other types without their key');
  for (const {id, name} of catalog.buckets) {
    assert.equal(reader.recordCount(id), counts.get(id) ?? 0, `records of bucket ${name}`);
  }
}

function assertIndex(
  reader: ReadContext,
  {catalog}: RecordContext,
  index: IndexDefinition,
  records: Records,
): void {
  const type = catalog.typeById(index.typeId);
  assert.ok(type !== undefined, `the index ${index.name} has no type`);
  const expected = expectedEntries(index, type, records);
  const walker = new RowWalker(reader, [indexRange(index.id)]);
  while (walker.next()) {
    const {bytes, keyStart, keyEnd, end} = walker;
    const entry = `${hex(bytes.subarray(keyStart, keyEnd))}=${hex(bytes.subarray(keyEnd, end))}`;
    assert.ok(expected.delete(entry), `an entry of ${index.name} without its record: ${entry}`);
  }
  walker.close();
  if (index.state !== 'ready') return;
  assert.deepEqual([...expected], [], `records without their entries in ${index.name}`);
}

function expectedEntries(
  index: IndexDefinition,
  type: CatalogType,
  records: Records,
): Map<string, string> {
  const declared = declaredParts(index, type);
  const entries = new Map<string, string>();
  const holders = new Map<string, string>();
  for (const record of records.values()) {
    if (!type.familyIds.has(record.typeId)) continue;
    const {rid, from, to} = record;
    const indexed = {from, to, get: (name: string) => record.get(name)};
    for (const {key, value} of keysOfRecord(index, declared, rid, indexed)) {
      const text = hex(key);
      const holder = holders.get(text);
      assert.ok(
        !index.unique || index.state !== 'ready' || holder === undefined,
        `${ridText(rid)} and ${holder} have one key of ${index.name}`,
      );
      holders.set(text, ridText(rid));
      entries.set(`${text}=${hex(value)}`, ridText(rid));
    }
  }
  return entries;
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
