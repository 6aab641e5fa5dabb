/**
 * Walks the adjacency keys of vertices (layout/adjacency-key.ts).
 *
 * A range a vertex, direction and, while few types are asked, edge type; with many types the
 * whole direction is walked and filtered. Rows know from which vertex of the list they come.
 */
import {
  adjacencyKeyBytes,
  betweenRange,
  directionOf,
  directionRange,
  edgeOf,
  edgeTypeIdOf,
  edgeTypeRange,
  incoming,
  isLightEdge,
  otherBucketOf,
  otherEndOf,
  outgoing,
  type DirectionByte,
} from '#server/layout/adjacency-key.ts';
import type {Rid} from '#server/model/value.ts';
import type {Reader, ScanRange} from '#server/storage/store.ts';
import {RowWalker} from './row-walker.ts';

export type EdgeDirection = 'out' | 'in' | 'both';

/** One edge as seen from one of its ends. */
export interface AdjacencyRow {
  /** Place of the vertex in the list that was asked for. */
  readonly source: number;
  readonly edge: Rid;
  readonly other: Rid;
  readonly typeId: number;
  /** False when the edge was followed against its direction. */
  readonly outgoing: boolean;
  readonly light: boolean;
}

/** The most types that get a range each: with more the whole direction is walked. */
const typeRangesMax = 4;
/** A buffer begins with room for about ten edges a range and grows with the scan. */
const rangeBytes = 512;
const bufferBytesMin = 1 << 10;
const bufferBytesMax = 64 << 10;

interface EdgeRange extends ScanRange {
  readonly source: number;
}

export function edgeRanges(
  vertices: readonly Rid[],
  direction: EdgeDirection,
  edgeTypeIds: ReadonlySet<number> | undefined,
): readonly EdgeRange[] {
  const directions = waysOf(direction);
  const narrow = edgeTypeIds !== undefined && edgeTypeIds.size <= typeRangesMax;
  const typeIds = narrow ? [...edgeTypeIds].sort((a, b) => a - b) : [];
  const ranges: EdgeRange[] = [];
  for (const [source, vertex] of vertices.entries()) {
    for (const way of directions) {
      if (!narrow) ranges.push({source, ...directionRange(vertex, way)});
      for (const typeId of typeIds) ranges.push({source, ...edgeTypeRange(vertex, way, typeId)});
    }
  }
  return ranges;
}

/** Two vertices between which edges are wanted, seen from the first. */
export interface VertexPair {
  readonly vertex: Rid;
  readonly other: Rid;
}

/** One range for each pair, direction and type: the cost does not follow the vertices' degrees. */
export function betweenRanges(
  pairs: readonly VertexPair[],
  direction: EdgeDirection,
  edgeTypeIds: readonly number[],
): readonly EdgeRange[] {
  const typeIds = [...edgeTypeIds].sort((a, b) => a - b);
  const ranges: EdgeRange[] = [];
  for (const [source, {vertex, other}] of pairs.entries()) {
    for (const way of waysOf(direction)) {
      for (const edgeTypeId of typeIds) {
        const parts = {vertex, direction: way, edgeTypeId, other};
        ranges.push({source, ...betweenRange(parts)});
      }
    }
  }
  return ranges;
}

function waysOf(direction: EdgeDirection): readonly DirectionByte[] {
  if (direction === 'both') return [outgoing, incoming];
  return [direction === 'out' ? outgoing : incoming];
}

export interface EdgeCursorOptions {
  /** Types wanted, subtypes included; undefined: every type. */
  readonly types: ReadonlySet<number> | undefined;
  /** Passes only edges whose other ends lie in such buckets. */
  readonly ends?: ((bucket: number) => boolean) | undefined;
  readonly keysOnly?: boolean;
  /** `next` answers no rows, and goes on when asked again, amid many deleted edges. */
  readonly pauses?: boolean;
  /** No vertex (or pair) is named twice in the ranges. */
  readonly distinct?: boolean;
}

export class EdgeCursor {
  private readonly walker: RowWalker;
  private readonly ranges: readonly EdgeRange[];
  private readonly edgeTypeIds: ReadonlySet<number> | undefined;
  /** Range of the row before; rows come range by range, ascending in each. */
  private rangeAt = 0;
  /** Key of the row before; empty before the first. */
  private before = new Uint8Array(adjacencyKeyBytes);
  private started = false;
  /** No vertex (or pair) is asked for twice. */
  private readonly distinct: boolean;
  private readonly ends: ((bucket: number) => boolean) | undefined;

  constructor(reader: Reader, ranges: readonly EdgeRange[], options: EdgeCursorOptions) {
    const {keysOnly = false, pauses = false, distinct = false, types, ends} = options;
    this.ranges = ranges;
    this.distinct = distinct;
    this.edgeTypeIds = types;
    this.ends = ends;
    const bufferBytes = Math.min(bufferBytesMin + ranges.length * rangeBytes, bufferBytesMax);
    this.walker = new RowWalker(reader, ranges, {keysOnly, pauses, bufferBytes, bufferBytesMax});
  }

  /** The next 1 to `max` edges (or none yet, see `pauses`), or undefined at the end. */
  next(max: number): readonly AdjacencyRow[] | undefined {
    const {walker} = this;
    const rows: AdjacencyRow[] = [];
    while (rows.length < max && this.step()) {
      const {bytes, keyStart, keyEnd, end} = walker;
      const light = end > keyEnd && isLightEdge(bytes, keyEnd);
      rows.push({
        source: this.sourceOf(bytes, keyStart),
        edge: edgeOf(bytes, keyStart, light),
        other: otherEndOf(bytes, keyStart),
        typeId: edgeTypeIdOf(bytes, keyStart),
        outgoing: directionOf(bytes, keyStart) === outgoing,
        light,
      });
    }
    return rows.length === 0 && walker.ended ? undefined : rows;
  }

  /** Adds the next up to `max` edges to the counts of their sources; false at the end. */
  countInto(counts: number[], max: number): boolean {
    for (let rows = 0; rows < max; rows++) {
      if (!this.step()) return false;
      const source = this.sourceOf(this.walker.bytes, this.walker.keyStart);
      counts[source] = (counts[source] ?? 0) + 1;
    }
    return true;
  }

  close(): void {
    this.walker.close();
  }

  private step(): boolean {
    const {walker, edgeTypeIds, ends} = this;
    while (walker.next()) {
      const {bytes, keyStart} = walker;
      if (edgeTypeIds !== undefined && !edgeTypeIds.has(edgeTypeIdOf(bytes, keyStart))) continue;
      if (ends === undefined || ends(otherBucketOf(bytes, keyStart))) return true;
    }
    return false;
  }

  private sourceOf(bytes: Uint8Array, keyStart: number): number {
    if (!this.distinct) this.passRepetition(bytes, keyStart);
    let range = this.ranges[this.rangeAt] as EdgeRange;
    while (!startsWith(bytes, keyStart, range.start)) {
      range = this.ranges[++this.rangeAt] as EdgeRange;
    }
    return range.source;
  }

  /** A vertex may be asked for twice: its first row again is the row of another range. */
  private passRepetition(bytes: Uint8Array, keyStart: number): void {
    if (this.started && !this.ascends(bytes, keyStart)) this.rangeAt++;
    this.started = true;
    for (let at = 0; at < adjacencyKeyBytes; at++) {
      this.before[at] = bytes[keyStart + at] as number;
    }
  }

  private ascends(bytes: Uint8Array, keyStart: number): boolean {
    for (let at = 0; at < adjacencyKeyBytes; at++) {
      const difference = (bytes[keyStart + at] as number) - (this.before[at] as number);
      if (difference !== 0) return difference > 0;
    }
    return false;
  }
}

function startsWith(bytes: Uint8Array, offset: number, prefix: Uint8Array): boolean {
  // Prefixes of one scan differ most in their last bytes.
  for (let at = prefix.length - 1; at >= 0; at--) {
    if (bytes[offset + at] !== prefix[at]) return false;
  }
  return true;
}
