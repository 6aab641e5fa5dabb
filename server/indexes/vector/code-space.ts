/**
 * Rows of vectors as codes of a book (codebook.ts), and distances from a query to many of them.
 *
 * A query that many distances are asked of is prepared as a table, from which a distance is one
 * look-up a part. Between rows distances are those of the vectors that the codes stand for: some
 * hundred of these are kept as floats, since the rows that are compared are few and the same. Codes
 * lie outside of the heap in a memory that grows in place.
 */
import {assert} from '#server/base/assert.ts';
import type {Codebook} from './codebook.ts';
import {GrowingMemory} from './growing-memory.ts';
import {
  batchRows,
  evenedDistance,
  type KernelMaker,
  type RowSpace,
  type Similarity,
  type SpaceShape,
  VectorSpace,
} from './vector-space.ts';

/** Rows that are kept as floats. */
const placesMax = 1024;
/** The place of a query that is no row. */
const given = -1;

export class CodeSpace implements RowSpace {
  readonly shape: SpaceShape;
  readonly book: Codebook;
  readonly ids = new Uint32Array(batchRows);
  readonly out = new Float32Array(batchRows);
  readonly #memory = new GrowingMemory(0);
  #codes: Uint8Array;
  readonly #table: Float32Array;
  /** The query that the table is of. */
  #prepared: number | undefined;
  /** The square of the length of what each row stands for, with DOT_PRODUCT, and the greatest. */
  #squares = new Float64Array(0);
  #most = 0;
  readonly #vector: Float32Array;
  /** Rows as floats, each in the place of its number modulo `placesMax`. */
  readonly #decoded: VectorSpace;
  /** Which row is in each place, one more than its number; 0: none. */
  readonly #held = new Uint32Array(placesMax);
  /** The last call that each place was needed by. */
  readonly #needed = new Uint32Array(placesMax);
  #call = 0;

  constructor(shape: Omit<SpaceShape, 'encoding'>, book: Codebook, makeKernels: KernelMaker) {
    assert(shape.dimensions === book.shape.dimensions, 'a book has the dimensions of its space');
    this.shape = {...shape, encoding: 'CODES'};
    this.book = book;
    this.#codes = new Uint8Array(this.#memory.buffer);
    this.#table = new Float32Array(256 * book.shape.subspaces);
    this.#vector = new Float32Array(shape.dimensions);
    // Codes of COSINE stand for vectors of length 1: products alone tell them apart.
    const similarity = shape.similarity === 'EUCLIDEAN' ? 'EUCLIDEAN' : 'DOT_PRODUCT';
    this.#decoded = new VectorSpace({...shape, similarity, encoding: 'FLOAT32'}, makeKernels);
    assert(this.#decoded.reserve(placesMax), 'a memory has room for the floats');
    this.#refresh();
  }

  get byteLength(): number {
    const floats = this.#table.length + this.book.centroids.length;
    const more = 4 * floats + this.#squares.byteLength;
    return this.#memory.buffer.byteLength + this.#decoded.byteLength + more;
  }

  reserve(count: number): boolean {
    const wanted = this.book.shape.subspaces * count;
    if (wanted <= this.#codes.length) return true;
    if (!this.#memory.reserve(wanted * 1.125)) return false;
    this.#refresh();
    return true;
  }

  write(row: number, vector: Float32Array): void {
    const at = row * this.book.shape.subspaces;
    assert(at + this.book.shape.subspaces <= this.#codes.length, 'the row has room');
    if (this.#prepared === row) this.#prepared = undefined;
    const place = row % placesMax;
    if (this.#held[place] === row + 1) this.#held[place] = 0;
    this.book.encode(scaledFor(this.shape.similarity, vector), this.#codes, at);
    if (this.shape.similarity === 'DOT_PRODUCT') this.#squares[row] = this.#squareOf(at);
  }

  #squareOf(at: number): number {
    this.book.decode(this.#codes, at, this.#vector);
    const square = this.#vector.reduce((sum, element) => sum + element * element, 0);
    this.#most = Math.max(this.#most, square);
    return square;
  }

  setQuery(vector: Float32Array): number {
    this.#fillTable(scaledFor(this.shape.similarity, vector));
    this.#prepared = given;
    return given;
  }

  queryOf(row: number): number {
    return row;
  }

  prepare(query: number): void {
    if (query === given || this.#prepared === query) return;
    this.book.decode(this.#codes, query * this.book.shape.subspaces, this.#vector);
    this.#fillTable(this.#vector);
    this.#prepared = query;
  }

  measure(query: number, count: number): void {
    if (query === this.#prepared) this.#lookUp(count);
    else this.#compare(query, count);
    if (this.shape.similarity !== 'DOT_PRODUCT' || query === given) return;
    const square = this.#squares[query] ?? 0;
    for (let index = 0; index < count; index++) {
      const other = this.#squares[this.ids[index] ?? 0] ?? 0;
      const product = -(this.out[index] ?? 0);
      this.out[index] = evenedDistance(product, {square, other, most: this.#most});
    }
  }

  vectorOf(): undefined {}

  #refresh(): void {
    this.#codes = new Uint8Array(this.#memory.buffer);
    if (this.shape.similarity !== 'DOT_PRODUCT') return;
    const squares = this.#squares;
    this.#squares = new Float64Array(Math.floor(this.#codes.length / this.book.shape.subspaces));
    this.#squares.set(squares);
  }

  #lookUp(count: number): void {
    const {subspaces} = this.book.shape;
    const codes = this.#codes;
    const table = this.#table;
    for (let index = 0; index < count; index++) {
      const at = (this.ids[index] ?? 0) * subspaces;
      let sum = 0;
      for (let part = 0; part < subspaces; part++) {
        sum += table[(part << 8) | (codes[at + part] ?? 0)] ?? 0;
      }
      this.out[index] = sum;
    }
  }

  #compare(query: number, count: number): void {
    assert(query !== given, 'the last query that was set is prepared');
    const decoded = this.#decoded;
    this.book.decode(this.#codes, query * this.book.shape.subspaces, this.#vector);
    const place = decoded.setQuery(this.#vector);
    let from = 0;
    this.#call++;
    for (let index = 0; index < count; index++) {
      const row = this.ids[index] ?? 0;
      const at = row % placesMax;
      if (this.#held[at] !== row + 1) {
        // A place that this call needs already is read before another row takes it.
        if (this.#needed[at] === this.#call) from = this.#flush(place, from, index);
        this.book.decode(this.#codes, row * this.book.shape.subspaces, this.#vector);
        decoded.write(at, this.#vector);
        this.#held[at] = row + 1;
      }
      this.#needed[at] = this.#call;
      decoded.ids[index - from] = at;
    }
    this.#flush(place, from, count);
  }

  #flush(query: number, from: number, to: number): number {
    const decoded = this.#decoded;
    if (to > from) decoded.measure(query, to - from);
    for (let index = from; index < to; index++) this.out[index] = decoded.out[index - from] ?? 0;
    this.#call = (this.#call + 1) >>> 0;
    return to;
  }

  #fillTable(vector: Float32Array): void {
    this.book.contributions(vector, this.shape.similarity === 'EUCLIDEAN', this.#table);
  }
}

/** The vector, for COSINE made one of length 1. */
export function scaledFor(similarity: Similarity, vector: Float32Array): Float32Array {
  if (similarity !== 'COSINE') return vector;
  let squares = 0;
  for (const element of vector) squares += element * element;
  return squares > 0 ? vector.map(element => element / Math.sqrt(squares)) : vector;
}
