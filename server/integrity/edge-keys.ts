/**
 * The keys of edges at their ends, seen from both sides: each edge's record has its keys, and each
 * key its edge. The keys of light edges, which have no record, must agree with each other.
 *
 * Earlier releases gave an edge of a unidirectional type a key at its start only, and nobody could
 * follow it from its end: it demands both as every other, unless its end is gone.
 */
import type {CatalogType} from '#server/catalog/catalog-type.ts';
import type {RowWalker} from '#server/indexes/row-walker.ts';
import {
  adjacencyBucketRange,
  adjacencyKey,
  adjacencyKeyBytes,
  type AdjacencyParts,
  allAdjacency,
  betweenSame,
  directionOf,
  edgeFlags,
  edgeFlagsMax,
  edgeOf,
  edgeTypeIdOf,
  incoming,
  isLightEdge,
  isOneWayEdge,
  otherEndOf,
  otherRidAt,
  outgoing,
  readAdjacencyKey,
  vertexOf,
  vertexRange,
} from '#server/layout/adjacency-key.ts';
import {ridBytes} from '#server/layout/namespace.ts';
import {headerBytes} from '#server/layout/record.ts';
import {recordKey} from '#server/layout/record-key.ts';
import type {RecordSchema} from '#server/layout/record.ts';
import {LightEdge, type StoredRecord} from '#server/layout/stored-record.ts';
import {compareBytes, copyBytes} from '#server/base/utf8.ts';
import {ridsEqual, ridText} from '#server/model/rid.ts';
import type {Rid} from '#server/model/value.ts';
import type {Reader, ScanRange} from '#server/storage/store.ts';
import type {RecordContext} from '#server/records/context.ts';
import type {Balance} from './balance.ts';
import {type CheckState, type Findings, getUnits, soundRecord} from './check-state.ts';
import type {Finding, Mend} from './finding.ts';
import {unknownKey} from './unknown-keys.ts';

const none: readonly Finding[] = [];

/** Ends and keys of an edge's record. */
export function edgeFindings(
  state: CheckState,
  type: CatalogType,
  record: StoredRecord,
  findings: Finding[],
): void {
  const {rid} = record;
  const place = ridText(rid);
  const keys = keysOf(state, type, record);
  const ends = endsOf(record);
  const missingAt = ends.findIndex(end => !isVertex(state, end));
  const missing = ends[missingAt];
  if (missing !== undefined) {
    const says = `the edge of type '${type.name}' ends at ${ridText(missing)}, which is no vertex`;
    const isDeleted = missingAt === 1 && keys.length === 1;
    findings.push(
      isDeleted
        ? {kind: 'edge-end-deleted', place, says}
        : {kind: 'edge-end-missing', place, says, mend: deleteEdge(rid)},
    );
  }
  for (const {key, flags, isOut} of keys) {
    const stored = state.get(key);
    if (stored?.length === 1 && stored[0] === flags) continue;
    const what = stored === undefined ? 'has no key' : 'has a key with unknown flags';
    findings.push({
      kind: isOut ? 'edge-key-missing-out' : 'edge-key-missing-in',
      place,
      says: `the edge of type '${type.name}' ${what} at its ${isOut ? 'start' : 'end'}`,
      mend: mendKeys(rid),
    });
  }
}

interface EdgeKey {
  readonly key: Uint8Array;
  readonly flags: number;
  readonly isOut: boolean;
}

/** What tells of records and keys. */
interface Lookup {
  readonly reader: Reader;
  readonly context: RecordContext;
}

/** The keys that a record of an edge demands. */
function keysOf(lookup: Lookup, type: CatalogType, record: StoredRecord): readonly EdgeKey[] {
  const {from, to, rid: edge, typeId: edgeTypeId} = record;
  if (from === undefined || to === undefined) return [];
  const parts = {vertex: from, direction: outgoing, edgeTypeId, other: to, edge} as const;
  const outKey = adjacencyKey(parts);
  const inKey = adjacencyKey({...parts, vertex: to, direction: incoming, other: from});
  const stored = lookup.reader.get(outKey);
  const says = stored?.length === 1 && (stored[0] as number) <= edgeFlagsMax;
  const saysOneWay = says
    ? isOneWayEdge(stored, 0)
    : type.edge.unidirectional && lookup.reader.get(inKey) === undefined;
  const oneWay = saysOneWay && mayBeOneWay(lookup, type, to);
  const flags = edgeFlags(false, oneWay);
  const keys = [{key: outKey, flags, isOut: true}];
  if (!oneWay) keys.push({key: inKey, flags, isOut: false});
  return keys;
}

/** Whether an edge may have one key: its statement asked for that, or there is no other end. */
function mayBeOneWay({reader, context}: Lookup, type: CatalogType, to: Rid): boolean {
  return !type.edge.unidirectional || !isVertexIn(reader, context, to);
}

function mendKeys(rid: Rid): Mend {
  return ({transaction, context}) => {
    const record = soundRecord(transaction, context, rid);
    if (record === undefined || record === 'damaged') return;
    const type = context.catalog.typeById(record.typeId);
    if (type === undefined) return;
    transaction.require({kind: 'unchanged', key: recordKey(rid)});
    for (const {key, flags} of keysOf({reader: transaction, context}, type, record)) {
      transaction.put(key, Uint8Array.of(flags));
    }
  };
}

function deleteEdge(rid: Rid): Mend {
  return ({transaction, context, writer}) => {
    const record = soundRecord(transaction, context, rid);
    if (record === undefined || record === 'damaged') return;
    if (endsOf(record).every(end => isVertexIn(transaction, context, end))) return;
    writer.delete(rid);
  };
}

function endsOf({from, to}: StoredRecord): readonly Rid[] {
  return from === undefined || to === undefined ? [] : [from, to];
}

function isVertex(state: CheckState, rid: Rid): boolean {
  return isVertexIn(state.reader, state.context, rid);
}

/** A damaged record may be a vertex: nobody knows, so nothing is concluded from it. */
function isVertexIn(reader: Reader, context: RecordContext, rid: Rid): boolean {
  const record = soundRecord(reader, context, rid);
  return record === 'damaged' || record?.kind === 'vertex';
}

/** Notes that an edge's record demands a key at its start; that key tells of the other one. */
export function demandEdge(state: CheckState, {bytes, offset, rid, typeId}: StoredRecord): void {
  const from = offset + headerBytes;
  state.starts
    .begin()
    .bytes(bytes, from, from + 2 * ridBytes)
    .number(typeId)
    .number(rid.bucket)
    .number(rid.position % 0x1_0000_0000)
    .number(Math.floor(rid.position / 0x1_0000_0000))
    .due();
}

/** Walks all keys once: they must come out even with the records, and with each other. */
export function* surveyAdjacency(state: CheckState): Findings {
  const pairs = new UniquePairs(state);
  let before: Rid | undefined;
  yield* state.rows([allAdjacency], walker => {
    state.adjacencyRows += 1;
    const {bytes, keyStart, keyEnd} = walker;
    const isKnown = shapeFinding(walker) === undefined && weigh(state, walker);
    const vertex = isKnown ? vertexOf(bytes, keyStart) : undefined;
    const isNext = vertex !== undefined && (before === undefined || !ridsEqual(before, vertex));
    if (
      vertex === undefined ||
      (isNext && !isVertex(state, vertex)) ||
      pairs.repeated(bytes.subarray(keyStart, keyEnd)) !== undefined
    ) {
      state.suspects.edges = true;
    }
    before = vertex;
    return none;
  });
  if (!state.starts.isEven || !state.ends.isEven) state.suspects.edges = true;
}

/** Puts a key on the scales; false when it is none that can be read, or leads nowhere. */
function weigh(state: CheckState, {bytes, keyStart, keyEnd, end}: RowWalker): boolean {
  const flags = bytes[keyEnd] as number;
  const typeId = edgeTypeIdOf(bytes, keyStart);
  const type = state.context.catalog.typeById(typeId);
  if (end - keyEnd !== 1 || flags > edgeFlagsMax || type?.kind !== 'edge') return false;
  const isLight = isLightEdge(bytes, keyEnd);
  const [vertex, other] = [keyStart + 1, keyStart + otherRidAt];
  const edge = edgeOf(bytes, keyStart, isLight);
  const isOut = directionOf(bytes, keyStart) === outgoing;
  const [from, to] = isOut ? [vertex, other] : [other, vertex];
  const put = (balance: Balance): Balance =>
    balance
      .begin()
      .bytes(bytes, from, from + ridBytes)
      .bytes(bytes, to, to + ridBytes)
      .number(typeId)
      .number(edge.bucket)
      .number(edge.position % 0x1_0000_0000)
      .number(Math.floor(edge.position / 0x1_0000_0000));
  if (!isOut) {
    put(state.ends).number(flags).found();
    return true;
  }
  if (isLight) countLight(state, type, edge);
  else put(state.starts).found();
  if (isOneWayEdge(bytes, keyEnd)) {
    return !type.edge.unidirectional && isVertex(state, otherEndOf(bytes, keyStart));
  }
  put(state.ends).number(flags).due();
  return true;
}

function countLight(state: CheckState, type: CatalogType, edge: Rid): void {
  state.countLight(edge.bucket);
  // The one edge between two vertices takes no position.
  if (!type.edge.unique) state.notePosition(edge.bucket, -1 - edge.position);
}

/** Walks the keys one by one, light edges first. */
export function* checkAdjacency(state: CheckState): Findings {
  if (!state.suspects.edges) return;
  const ranges = rangesOf(state);
  const pairs = new UniquePairs(state);
  state.lightsOfBucket.clear();
  yield* state.rows(ranges, walker => {
    if (state.isNarrow) state.adjacencyRows += 1;
    const broken = shapeFinding(walker);
    if (broken !== undefined) return [broken];
    const key = keyAt(walker);
    const repeated = pairs.repeated(key);
    const findings = repeated === undefined ? none : [repeated];
    if (!isLightEdge(walker.bytes, walker.keyEnd)) return findings;
    return [...findings, ...lightFindings(state, key, walker.bytes[walker.keyEnd] as number)];
  });
  yield* state.rows(ranges, walker => danglingFindings(state, walker));
}

function rangesOf({scope, context}: CheckState): readonly ScanRange[] {
  if (scope.rids !== undefined) return scope.rids.map(vertexRange);
  const {bucketIds} = scope;
  if (bucketIds === undefined) return [allAdjacency];
  const ofEdges = [...bucketIds].some(id => context.catalog.typeOfBucket(id)?.kind === 'edge');
  // The keys of edges lie with their ends, wherever these are.
  return ofEdges ? [allAdjacency] : [...bucketIds].map(adjacencyBucketRange);
}

/** What no edge's key looks like. */
function shapeFinding({bytes, keyStart, keyEnd}: RowWalker): Finding | undefined {
  const key = bytes.subarray(keyStart, keyEnd);
  if (key.length !== adjacencyKeyBytes) return unknownKey(key, 'no key of an edge is that long');
  const direction = directionOf(bytes, keyStart);
  if (direction === outgoing || direction === incoming) return undefined;
  return unknownKey(key, 'the key of an edge has no direction');
}

function keyAt({bytes, keyStart, keyEnd}: RowWalker): Uint8Array {
  return copyBytes(bytes, keyStart, keyEnd);
}

/** Finds a second edge between two vertices where the type allows one. */
class UniquePairs {
  readonly #state: CheckState;
  readonly #before = new Uint8Array(adjacencyKeyBytes);

  constructor(state: CheckState) {
    this.#state = state;
  }

  repeated(key: Uint8Array): Finding | undefined {
    if (directionOf(key, 0) !== outgoing) return undefined;
    const type = this.#state.context.catalog.typeById(edgeTypeIdOf(key, 0));
    if (type?.edge.unique !== true) return undefined;
    const isSame = betweenSame(this.#before, key);
    this.#before.set(key);
    if (!isSame) return undefined;
    const vertex = ridText(vertexOf(key, 0));
    return {
      kind: 'edge-duplicate',
      place: vertex,
      says:
        `two edges of the unique type '${type.name}' lead from ${vertex} to ` +
        ridText(otherEndOf(key, 0)),
    };
  }
}

/** The key of the same edge at its other end. */
function twinOf(parts: AdjacencyParts): Uint8Array {
  const {vertex, other, direction} = parts;
  const turned = direction === outgoing ? incoming : outgoing;
  return adjacencyKey({...parts, vertex: other, other: vertex, direction: turned});
}

function lightFindings(state: CheckState, key: Uint8Array, flags: number): readonly Finding[] {
  const parts = readAdjacencyKey(key, 0, true);
  const {vertex, other, edge, edgeTypeId, direction} = parts;
  if (!state.inScope(vertex.bucket) && !state.inScope(edge.bucket)) return none;
  const type = state.context.catalog.typeById(edgeTypeId);
  if (type?.kind !== 'edge') {
    return [unknownKey(key, 'the key of a light edge is of no edge type of the schema')];
  }
  // The flags of an edge that has a record are judged with the record.
  if (!type.edge.lightweight && isKeyOfRecord(state.reader, state.context, key)) return none;
  const twin = state.get(twinOf(parts));
  const isOneWay = isOneWayEdge(Uint8Array.of(flags), 0) && mayBeOneWay(state, type, other);
  const isHalf =
    direction === outgoing
      ? !isOneWay && twin?.[0] !== edgeFlags(true, false)
      : twin === undefined || !isLightEdge(twin, 0);
  // An edge is counted once: where it starts, or where alone it is.
  if (direction === incoming && !isHalf) return none;
  countLight(state, type, edge);
  const [from, to] = direction === outgoing ? [vertex, other] : [other, vertex];
  const name = `the light edge of type '${type.name}' from ${ridText(from)} to ${ridText(to)}`;
  const findings: Finding[] = [];
  const place = ridText(vertex);
  if (isHalf) {
    const says = `${name} has no key at its ${direction === outgoing ? 'end' : 'start'}`;
    findings.push({kind: 'light-edge-half', place, says, mend: mendTwin(key)});
  }
  if (isVertex(state, vertex) && isVertex(state, other)) return findings;
  const says = `${name} has no vertex at one of its ends`;
  if (isOneWay && isVertex(state, from)) {
    findings.push({kind: 'edge-end-deleted', place, says});
    return findings;
  }
  const mend = deleteLight(new LightEdge({rid: edge, typeId: edgeTypeId, from, to}, noNames));
  findings.push({kind: 'light-edge-end-missing', place, says, mend});
  return findings;
}

/** A light edge that is deleted is asked for nothing but its ends. */
const noNames: RecordSchema = {
  typeName: String,
  propertyName: String,
  propertyId: () => undefined,
};

function mendTwin(key: Uint8Array): Mend {
  return ({transaction}) => {
    const own = transaction.get(key);
    if (own?.length !== 1 || !isLightEdge(own, 0)) return;
    const twin = twinOf(readAdjacencyKey(key, 0, true));
    for (const one of [key, twin]) {
      transaction.require({kind: 'unchanged', key: one});
      transaction.put(one, Uint8Array.of(edgeFlags(true, false)));
    }
  };
}

function deleteLight(edge: LightEdge): Mend {
  return ({transaction, context, writer}) => {
    if ([edge.from, edge.to].every(end => isVertexIn(transaction, context, end))) return;
    writer.deleteEdge(edge);
  };
}

function danglingFindings(state: CheckState, walker: RowWalker): readonly Finding[] {
  if (shapeFinding(walker) !== undefined) return none;
  if (isLightEdge(walker.bytes, walker.keyEnd)) return none;
  const key = keyAt(walker);
  const {vertex, other, edge, edgeTypeId, direction} = readAdjacencyKey(key, 0, false);
  if (!state.inScope(vertex.bucket) && !state.inScope(edge.bucket)) return none;
  const type = state.context.catalog.typeById(edgeTypeId);
  // Its other key tells that it is one.
  if (type?.edge.lightweight === true) return none;
  state.budget.spend(getUnits);
  if (isKeyOfRecord(state.reader, state.context, key)) return none;
  const [from, to] = direction === outgoing ? [vertex, other] : [other, vertex];
  return [
    {
      kind: 'edge-key-dangling',
      place: ridText(vertex),
      says:
        `a key of the edge ${ridText(edge)} of type '${type?.name ?? edgeTypeId}' from ` +
        `${ridText(from)} to ${ridText(to)}, which does not exist (any more)`,
      mend: dropKey(key),
    },
  ];
}

/** Whether the edge that the key names demands it; so may one whose record is damaged. */
function isKeyOfRecord(reader: Reader, context: RecordContext, key: Uint8Array): boolean {
  const record = soundRecord(reader, context, readAdjacencyKey(key, 0, false).edge);
  if (record === undefined) return false;
  if (record === 'damaged') return true;
  const type = context.catalog.typeById(record.typeId);
  if (type === undefined || record.kind !== 'edge') return false;
  return keysOf({reader, context}, type, record).some(
    demanded => compareBytes(demanded.key, key) === 0,
  );
}

function dropKey(key: Uint8Array): Mend {
  return ({transaction, context}) => {
    const stored = transaction.get(key);
    if (stored === undefined || isLightEdge(stored, 0)) return;
    if (isKeyOfRecord(transaction, context, key)) return;
    const {edge} = readAdjacencyKey(key, 0, false);
    transaction.require({kind: 'unchanged', key});
    transaction.require({kind: 'unchanged', key: recordKey(edge)});
    transaction.delete(key);
  };
}
