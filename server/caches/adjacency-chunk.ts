/**
 * The edges of 65,536 vertices of a bucket, seen from them, packed: what a scan of their adjacency
 * keys would give, in the order of the keys, at nine bytes a key and without a seek a vertex.
 *
 * Compressed sparse rows: the entries of vertex v are [offsets[v], offsets[v + 1]). What is common
 * to many edges (direction, type, both buckets, whether it is light) is a *shape*, and an entry is
 * the number of its shape and the positions of the other end and of the edge.
 * Invariant: never changed once it is made. What it cannot hold (a position beyond 32 bits, more
 * shapes than 65,536) makes no chunk at all, and the keys are read instead.
 */
import type {EdgeDirection} from '#server/indexes/edge-cursor.ts';
import {
  AdjacencyFields,
  adjacencyPositionsRange,
  type DirectionByte,
  incoming,
  isLightEdge,
  outgoing,
} from '#server/layout/adjacency-key.ts';
import {Rid} from '#server/model/value.ts';
import type {ScanRange} from '#server/storage/store.ts';

export const chunkBits = 16;
export const chunkVertices = 1 << chunkBits;

/** What the edges of a kind have in common, seen from one of their ends. */
export interface EdgeShape {
  readonly direction: DirectionByte;
  readonly typeId: number;
  readonly otherBucket: number;
  readonly edgeBucket: number;
  readonly light: boolean;
}

/** Which edges are wanted: those of a direction (or both), of some types (or all). */
export interface EdgeChoice {
  readonly direction: EdgeDirection;
  /** Subtypes are named too; undefined stands for every type. */
  readonly types: ReadonlySet<number> | undefined;
  /** Passes only edges whose far ends lie in such buckets. */
  readonly ends?: ((bucket: number) => boolean) | undefined;
}

const shapesMax = 1 << 16;
const positionMax = 2 ** 32 - 1;
/** Up to this many entries a linear look is cheaper than a binary search. */
const fewEntries = 16;

/** What a chunk is made of. Its arrays lie in memory that threads can share. */
export interface ChunkParts {
  readonly shapes: readonly EdgeShape[];
  readonly offsets: Uint32Array;
  readonly codes: Uint8Array | Uint16Array;
  readonly others: Uint32Array;
  readonly edges: Uint32Array;
}

export class AdjacencyChunk implements ChunkParts {
  readonly shapes: readonly EdgeShape[];
  readonly offsets: Uint32Array;
  readonly codes: Uint8Array | Uint16Array;
  readonly others: Uint32Array;
  readonly edges: Uint32Array;
  /** Shapes in the order of the keys: by direction and type. */
  readonly #ranks: readonly number[];

  constructor(parts: ChunkParts) {
    this.shapes = parts.shapes;
    this.offsets = parts.offsets;
    this.codes = parts.codes;
    this.others = parts.others;
    this.edges = parts.edges;
    this.#ranks = parts.shapes.map(rankOf);
  }

  get entries(): number {
    return this.others.length;
  }

  get bytes(): number {
    const {offsets, codes, others, edges} = this;
    return offsets.byteLength + codes.byteLength + others.byteLength + edges.byteLength;
  }

  select(choice: EdgeChoice): ChunkSelection {
    return new ChunkSelection(this, choice, this.#ranks);
  }

  /** The id of the other end of an entry. */
  otherOf(entry: number): Rid {
    const {otherBucket} = this.shapeOf(entry);
    return new Rid(otherBucket, this.others[entry] as number);
  }

  edgeOf(entry: number): Rid {
    const {edgeBucket, light} = this.shapeOf(entry);
    const number = this.edges[entry] as number;
    return new Rid(edgeBucket, light ? -1 - number : number);
  }

  shapeOf(entry: number): EdgeShape {
    return this.shapes[this.codes[entry] as number] as EdgeShape;
  }
}

/**
 * The wanted entries of a chunk. After `move(vertex)` they are those of [start, end) whose shape is
 * wanted; `isWhole` says that all of them are.
 */
export class ChunkSelection {
  readonly chunk: AdjacencyChunk;
  start = 0;
  end = 0;
  /** 1 when the shape of this number is wanted. */
  readonly wanted: Uint8Array;
  /** Whether every entry of every range is wanted: the wanted shapes lie side by side. */
  readonly isWhole: boolean;
  readonly #ranks: readonly number[];
  /** The wanted shapes, by rank. */
  readonly #inOrder: readonly number[];
  readonly #low: number;
  readonly #high: number;

  constructor(chunk: AdjacencyChunk, choice: EdgeChoice, ranks: readonly number[]) {
    this.chunk = chunk;
    this.#ranks = ranks;
    this.wanted = Uint8Array.from(chunk.shapes, shape => (isChosen(shape, choice) ? 1 : 0));
    const rank = (code: number): number => ranks[code] as number;
    const chosen = [...ranks.keys()].filter(code => this.wanted[code] === 1);
    this.#inOrder = chosen.sort((one, other) => rank(one) - rank(other));
    const [first] = chosen;
    const last = chosen.at(-1);
    this.#low = first === undefined ? Number.POSITIVE_INFINITY : rank(first);
    this.#high = last === undefined ? Number.NEGATIVE_INFINITY : rank(last);
    const inside = ranks.filter(one => one >= this.#low && one <= this.#high);
    this.isWhole = inside.length === chosen.length;
  }

  /** @param vertex - Position of the vertex in the chunk. */
  move(vertex: number): void {
    const {offsets, codes} = this.chunk;
    if (vertex + 1 >= offsets.length) {
      this.start = this.end = 0;
      return;
    }
    let start = offsets[vertex] as number;
    let end = offsets[vertex + 1] as number;
    const ranks = this.#ranks;
    if (end - start <= fewEntries) {
      while (start < end && (ranks[codes[start] as number] as number) < this.#low) start++;
      while (start < end && (ranks[codes[end - 1] as number] as number) > this.#high) end--;
    } else {
      start = this.#bound(start, end, this.#low);
      end = this.#bound(start, end, this.#high + 0.5);
    }
    this.start = start;
    this.end = end;
  }

  /** How many wanted edges the vertex has. Cost: a search, or an entry each among mixed ones. */
  count(vertex: number): number {
    this.move(vertex);
    if (this.isWhole) return this.end - this.start;
    let count = 0;
    for (let at = this.start; at < this.end; at++) {
      count += this.wanted[this.chunk.codes[at] as number] as number;
    }
    return count;
  }

  /**
   * The wanted entries of the vertex that lead to `other`, in their order. Cost: a search for each
   * direction and type.
   */
  *between(vertex: number, other: Rid): Generator<number, void, undefined> {
    this.move(vertex);
    const {shapes, codes, others} = this.chunk;
    let rankBefore = -1;
    for (const code of this.#inOrder) {
      const rank = this.#ranks[code] as number;
      const {otherBucket} = shapes[code] as EdgeShape;
      if (otherBucket !== other.bucket || rank === rankBefore) continue;
      rankBefore = rank;
      for (let at = this.#placeOf(code, other.position); at < this.end; at++) {
        const here = codes[at] as number;
        const isSame = others[at] === other.position && this.#ranks[here] === rank;
        if (!isSame || (shapes[here] as EdgeShape).otherBucket !== otherBucket) break;
        yield at;
      }
    }
  }

  /** The first entry whose rank, other bucket and other position are not below. */
  #placeOf(code: number, position: number): number {
    const {shapes, codes, others} = this.chunk;
    const rank = this.#ranks[code] as number;
    const {otherBucket} = shapes[code] as EdgeShape;
    let low = this.start;
    let high = this.end;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const at = codes[middle] as number;
      const difference =
        (this.#ranks[at] as number) - rank ||
        (shapes[at] as EdgeShape).otherBucket - otherBucket ||
        (others[middle] as number) - position;
      if (difference < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The first entry of [start, end) whose rank is not below. */
  #bound(start: number, end: number, rank: number): number {
    const {codes} = this.chunk;
    let low = start;
    let high = end;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#ranks[codes[middle] as number] as number) < rank) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function isChosen(shape: EdgeShape, {direction, types, ends}: EdgeChoice): boolean {
  const way = shape.direction === outgoing ? 'out' : 'in';
  return (
    (direction === 'both' || direction === way) &&
    (types === undefined || types.has(shape.typeId)) &&
    (ends === undefined || ends(shape.otherBucket))
  );
}

function rankOf({direction, typeId}: EdgeShape): number {
  return (direction === incoming ? 2 ** 32 : 0) + typeId;
}

/** The adjacency keys of a chunk. */
export function chunkRange(bucket: number, number: number): ScanRange {
  return adjacencyPositionsRange(bucket, number * chunkVertices, (number + 1) * chunkVertices);
}

/** Takes the keys of a chunk in their order and makes it. */
export class ChunkBuilder {
  readonly #fields = new AdjacencyFields();
  readonly #shapes: EdgeShape[] = [];
  readonly #codeOf = new Map<string, number>();
  readonly #firstPosition: number;
  #offsets = new Uint32Array(1_024);
  #codes = new Uint16Array(1_024);
  #others = new Uint32Array(1_024);
  #edges = new Uint32Array(1_024);
  #entries = 0;
  /** Vertices below have their offsets. */
  #vertices = 0;
  #lastCode = -1;
  #fits = true;

  constructor(number: number) {
    this.#firstPosition = number * chunkVertices;
  }

  /** Whether a chunk can hold what was added. */
  get fits(): boolean {
    return this.#fits;
  }

  /** Bytes that are held now. */
  get bytes(): number {
    return this.#offsets.byteLength + this.#others.length * 10;
  }

  /** Adds the key that begins at `keyStart`; its value begins at `keyEnd`. */
  add(bytes: Uint8Array, keyStart: number, keyEnd: number): void {
    const fields = this.#fields;
    fields.read(bytes, keyStart);
    const code = this.#code(fields, isLightEdge(bytes, keyEnd));
    if (fields.otherPosition > positionMax || fields.edgePosition > positionMax) this.#fits = false;
    if (code >= shapesMax) this.#fits = false;
    this.#passTo(fields.vertexPosition - this.#firstPosition + 1);
    if (this.#entries === this.#others.length) this.#grow();
    const at = this.#entries++;
    this.#codes[at] = code;
    this.#others[at] = fields.otherPosition;
    this.#edges[at] = fields.edgePosition;
  }

  finish(): AdjacencyChunk {
    const entries = this.#entries;
    this.#passTo(this.#vertices + 1);
    const codes = this.#codes.subarray(0, entries);
    return new AdjacencyChunk({
      shapes: this.#shapes,
      offsets: sharedCopy(this.#offsets.subarray(0, this.#vertices)),
      codes: sharedCodes(codes, this.#shapes.length),
      others: sharedCopy(this.#others.subarray(0, entries)),
      edges: sharedCopy(this.#edges.subarray(0, entries)),
    });
  }

  /** Gives every vertex up to before `count` the place where its entries begin. */
  #passTo(count: number): void {
    if (count > this.#offsets.length) {
      const larger = new Uint32Array(Math.max(count, 2 * this.#offsets.length));
      larger.set(this.#offsets);
      this.#offsets = larger;
    }
    while (this.#vertices < count) this.#offsets[this.#vertices++] = this.#entries;
  }

  #code(fields: AdjacencyFields, light: boolean): number {
    const last = this.#shapes[this.#lastCode];
    if (last !== undefined && isOfShape(fields, light, last)) return this.#lastCode;
    const {direction, edgeTypeId, otherBucket, edgeBucket} = fields;
    const key = `${direction} ${edgeTypeId} ${otherBucket} ${edgeBucket} ${light}`;
    let code = this.#codeOf.get(key);
    if (code === undefined) {
      code = this.#shapes.length;
      this.#shapes.push({direction, typeId: edgeTypeId, otherBucket, edgeBucket, light});
      this.#codeOf.set(key, code);
    }
    this.#lastCode = code;
    return code;
  }

  #grow(): void {
    const length = 2 * this.#others.length;
    const codes = new Uint16Array(length);
    const others = new Uint32Array(length);
    const edges = new Uint32Array(length);
    codes.set(this.#codes);
    others.set(this.#others);
    edges.set(this.#edges);
    this.#codes = codes;
    this.#others = others;
    this.#edges = edges;
  }
}

function sharedCopy(numbers: Uint32Array): Uint32Array {
  const copy = new Uint32Array(new SharedArrayBuffer(numbers.byteLength));
  copy.set(numbers);
  return copy;
}

function sharedCodes(codes: Uint16Array, shapes: number): Uint8Array | Uint16Array {
  const copy =
    shapes <= 256
      ? new Uint8Array(new SharedArrayBuffer(codes.length))
      : new Uint16Array(new SharedArrayBuffer(codes.byteLength));
  copy.set(codes);
  return copy;
}

function isOfShape(fields: AdjacencyFields, light: boolean, shape: EdgeShape): boolean {
  return (
    fields.direction === shape.direction &&
    fields.edgeTypeId === shape.typeId &&
    fields.otherBucket === shape.otherBucket &&
    fields.edgeBucket === shape.edgeBucket &&
    light === shape.light
  );
}
