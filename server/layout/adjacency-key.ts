/**
 * Edges as seen from their ends: 0x30, vertex, direction, edge type (u32), other end, edge.
 *
 * One key at each end (an edge that was made unidirectional: at its start only). All edges of a
 * vertex are one run of keys, those of one direction and type as well, and all edges between two
 * vertices. The value is one byte of flags: whether the edge has a record or is light, and whether
 * it has a key at its start only. A light edge's id holds the serial number that tells it from
 * others between the same ends (rid.ts).
 * Invariant K1: a record edge's two keys exist exactly as long as its record.
 */
import {Rid} from '#server/model/value.ts';
import {
  keyAfterPrefix,
  lightRidAt,
  namespace,
  positionAt,
  putRid,
  putUint32,
  ridAt,
  ridBytes,
  uint32At,
} from './namespace.ts';

export const outgoing = 0;
export const incoming = 1;
export type DirectionByte = typeof outgoing | typeof incoming;

const lightFlag = 1;
const oneWayFlag = 2;

/** No flags are greater. */
export const edgeFlagsMax = lightFlag | oneWayFlag;

/** The value of an edge's keys. */
export function edgeFlags(light: boolean, oneWay: boolean): number {
  return (light ? lightFlag : 0) | (oneWay ? oneWayFlag : 0);
}

/** Whether the edge whose key ends, and whose value begins, at `valueAt` is light. */
export function isLightEdge(bytes: Uint8Array, valueAt: number): boolean {
  return ((bytes[valueAt] as number) & lightFlag) !== 0;
}

/** Whether it has a key at its start only. */
export function isOneWayEdge(bytes: Uint8Array, valueAt: number): boolean {
  return ((bytes[valueAt] as number) & oneWayFlag) !== 0;
}

const directionAt = 1 + ridBytes;
const typeAt = directionAt + 1;
/** Where the other end lies in a key. */
export const otherRidAt = typeAt + 4;
const edgeAt = otherRidAt + ridBytes;
export const adjacencyKeyBytes = edgeAt + ridBytes;

export interface AdjacencyParts {
  readonly vertex: Rid;
  readonly direction: DirectionByte;
  readonly edgeTypeId: number;
  readonly other: Rid;
  readonly edge: Rid;
}

export function adjacencyKey(parts: AdjacencyParts): Uint8Array {
  const key = new Uint8Array(adjacencyKeyBytes);
  putAdjacencyKey(key, 0, parts);
  return key;
}

/** Writes the key's `adjacencyKeyBytes` bytes at `offset`. */
export function putAdjacencyKey(bytes: Uint8Array, offset: number, parts: AdjacencyParts): void {
  bytes[offset] = namespace.adjacency;
  putRid(bytes, offset + 1, parts.vertex);
  bytes[offset + directionAt] = parts.direction;
  putUint32(bytes, offset + typeAt, parts.edgeTypeId);
  putRid(bytes, offset + otherRidAt, parts.other);
  putRid(bytes, offset + edgeAt, parts.edge);
}

/** Reads a key that starts at `offset`; `light` comes from the entry's value. */
export function readAdjacencyKey(
  bytes: Uint8Array,
  offset: number,
  light: boolean,
): AdjacencyParts {
  return {
    vertex: ridAt(bytes, offset + 1),
    direction: bytes[offset + directionAt] === incoming ? incoming : outgoing,
    edgeTypeId: edgeTypeIdOf(bytes, offset),
    other: otherEndOf(bytes, offset),
    edge: light ? lightRidAt(bytes, offset + edgeAt) : ridAt(bytes, offset + edgeAt),
  };
}

/** Whether the key at `offset` is one of these. */
export function isAdjacencyKey(bytes: Uint8Array, offset: number): boolean {
  return bytes[offset] === namespace.adjacency;
}

/** The fields one by one, for loops over packed rows. */
export function vertexOf(bytes: Uint8Array, offset: number): Rid {
  return ridAt(bytes, offset + 1);
}

export function directionOf(bytes: Uint8Array, offset: number): number {
  return bytes[offset + directionAt] as number;
}

export function edgeTypeIdOf(bytes: Uint8Array, offset: number): number {
  return uint32At(bytes, offset + typeAt);
}

export function otherBucketOf(bytes: Uint8Array, offset: number): number {
  return uint32At(bytes, offset + otherRidAt);
}

export function otherEndOf(bytes: Uint8Array, offset: number): Rid {
  return ridAt(bytes, offset + otherRidAt);
}

export function edgeOf(bytes: Uint8Array, offset: number, light: boolean): Rid {
  return light ? lightRidAt(bytes, offset + edgeAt) : ridAt(bytes, offset + edgeAt);
}

/** A key's fields as numbers, read anew for each of millions of keys: no ids are made of them. */
export class AdjacencyFields {
  vertexPosition = 0;
  direction: DirectionByte = outgoing;
  edgeTypeId = 0;
  otherBucket = 0;
  otherPosition = 0;
  edgeBucket = 0;
  /** A light edge's is its serial number. */
  edgePosition = 0;

  /** Reads the parts of the key that starts at `offset`. */
  read(bytes: Uint8Array, offset: number): void {
    this.vertexPosition = positionAt(bytes, offset + 5);
    this.direction = bytes[offset + directionAt] === incoming ? incoming : outgoing;
    this.edgeTypeId = uint32At(bytes, offset + typeAt);
    this.otherBucket = uint32At(bytes, offset + otherRidAt);
    this.otherPosition = positionAt(bytes, offset + otherRidAt + 4);
    this.edgeBucket = uint32At(bytes, offset + edgeAt);
    this.edgePosition = positionAt(bytes, offset + edgeAt + 4);
  }
}

/** Bucket and position of the vertex at whose end the key is. */
export function vertexBucketOf(bytes: Uint8Array, offset: number): number {
  return uint32At(bytes, offset + 1);
}

export function vertexPositionOf(bytes: Uint8Array, offset: number): number {
  return positionAt(bytes, offset + 5);
}

interface Range {
  readonly start: Uint8Array;
  readonly end: Uint8Array;
}

/** Every edge of every vertex. */
export const allAdjacency: Range = {
  start: Uint8Array.of(namespace.adjacency),
  end: Uint8Array.of(namespace.adjacency + 1),
};

/** Every edge of a vertex. */
export function vertexRange(vertex: Rid): Range {
  const start = new Uint8Array(directionAt);
  start[0] = namespace.adjacency;
  putRid(start, 1, vertex);
  return {start, end: keyAfterPrefix(start)};
}

/** Whether two keys are of edges of one type between the same two vertices, seen alike. */
export function betweenSame(left: Uint8Array, right: Uint8Array): boolean {
  for (let at = 0; at < edgeAt; at++) if (left[at] !== right[at]) return false;
  return true;
}

/** Every edge of every vertex in a bucket. */
export function adjacencyBucketRange(bucketId: number): Range {
  const start = new Uint8Array(5);
  start[0] = namespace.adjacency;
  putUint32(start, 1, bucketId);
  return {start, end: keyAfterPrefix(start)};
}

/** Every edge of the vertices of a bucket at positions from `first` up to before `end`. */
export function adjacencyPositionsRange(bucketId: number, first: number, end: number): Range {
  return {
    start: vertexRange(new Rid(bucketId, first)).start,
    end: vertexRange(new Rid(bucketId, end)).start,
  };
}

/** Every edge of a vertex in one direction. */
export function directionRange(vertex: Rid, direction: DirectionByte): Range {
  const start = new Uint8Array(typeAt);
  fillEnds(start, vertex, direction);
  return {start, end: keyAfterPrefix(start)};
}

/** The edges of one type of a vertex in one direction. */
export function edgeTypeRange(vertex: Rid, direction: DirectionByte, edgeTypeId: number): Range {
  const start = new Uint8Array(otherRidAt);
  fillEnds(start, vertex, direction);
  putUint32(start, typeAt, edgeTypeId);
  return {start, end: keyAfterPrefix(start)};
}

/** The edges of one type between two vertices. */
export function betweenRange(parts: Omit<AdjacencyParts, 'edge'>): Range {
  const start = new Uint8Array(edgeAt);
  fillEnds(start, parts.vertex, parts.direction);
  putUint32(start, typeAt, parts.edgeTypeId);
  putRid(start, otherRidAt, parts.other);
  return {start, end: keyAfterPrefix(start)};
}

function fillEnds(key: Uint8Array, vertex: Rid, direction: DirectionByte): void {
  key[0] = namespace.adjacency;
  putRid(key, 1, vertex);
  key[directionAt] = direction;
}
