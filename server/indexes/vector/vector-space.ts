/**
 * Rows of vectors in one growing memory, and distances from a query to many of them at once.
 *
 * Row `n` begins at `rowsAt + n * rowBytes`. A query is written to
 * the front, or is a row itself. Distances are for comparisons among themselves: smaller is
 * nearer. Invariant: what a row holds is only read while it has been written.
 */
import {assert} from '#server/base/assert.ts';
import {GrowingMemory, type MemoryAdvice} from './growing-memory.ts';
import {kernelModule} from './kernel-code.ts';

export type Similarity = 'COSINE' | 'DOT_PRODUCT' | 'EUCLIDEAN';
/** How the elements of a row are kept. */
export type RowEncoding = 'FLOAT32' | 'INT8' | 'BITS' | 'CODES';

/** What a graph of neighbours asks of rows of vectors. */
export interface RowSpace {
  readonly shape: SpaceShape;
  /** Bytes that the rows have taken. */
  readonly byteLength: number;
  /** Row numbers of the next call. */
  readonly ids: Uint32Array;
  /** Results of the last one, in the order of `ids`. */
  readonly out: Float32Array;
  /** Room for rows below `count`; false where a memory cannot be that large. */
  reserve(count: number): boolean;
  /** Writes a vector of the space's dimensions into a row that has room. */
  write(row: number, vector: Float32Array): void;
  /** The next distances are from this vector. */
  setQuery(vector: Float32Array): number;
  /** A row as a query. */
  queryOf(row: number): number;
  /** Many distances are going to be asked of the query, and of no other in between. */
  prepare(query: number): void;
  /** Distances from the query to the first `count` (1 or more) of `ids`, into `out`. */
  measure(query: number, count: number): void;
  /**
   * The vector of a row as it was written, for COSINE times a power of two, from which distances
   * are the same to the last bit; undefined where rows keep less. Borrowed.
   */
  vectorOf(row: number): Float32Array | undefined;
}

/**
 * The square of the straight distance between two vectors that have one more dimension, which makes
 * them as long as the longest: the greater their product the less it is, and a vector is nearest to
 * itself, which is not so of products. Source: B. Neyshabur, N. Srebro, On Symmetric and Asymmetric
 * LSHs for Inner Product Search, ICML 2015.
 *
 * @param square - Of the length of one, and `other` of the other; `most` is no less than either.
 */
export function evenedDistance(
  product: number,
  {square, other, most}: {readonly square: number; readonly other: number; readonly most: number},
): number {
  return 2 * (most - product - Math.sqrt((most - square) * (most - other)));
}

type Kernel = (
  query: number,
  rows: number,
  rowBytes: number,
  vectorBytes: number,
  ids: number,
  count: number,
  out: number,
) => void;

export interface Kernels {
  readonly dot: Kernel;
  readonly squares: Kernel;
  readonly bytes: Kernel;
  readonly bits: Kernel;
}

/** Makes kernels over a memory. */
export type KernelMaker = (memory: WebAssembly.Memory) => Kernels;

let compiled: WebAssembly.Module | undefined;

export const simdKernels: KernelMaker = memory => {
  compiled ??= new WebAssembly.Module(kernelModule());
  const {exports} = new WebAssembly.Instance(compiled, {e: {m: memory}});
  return exports as unknown as Kernels;
};

/** Kernels for machines without SIMD, and the twin of the others in tests. */
export const plainKernels: KernelMaker = memory => {
  const kernel =
    (sumOf: (row: number, query: number, bytes: number) => number): Kernel =>
    (query, rows, rowBytes, vectorBytes, ids, count, out) => {
      const places = new Uint32Array(memory.buffer, ids, count);
      const results = new Float32Array(memory.buffer, out, count);
      for (let at = 0; at < count; at++) {
        results[at] = sumOf(rows + (places[at] ?? 0) * rowBytes, query, vectorBytes);
      }
    };
  const floats = (at: number, bytes: number): Float32Array =>
    new Float32Array(memory.buffer, at, bytes / 4);
  return {
    dot: kernel((row, query, bytes) => {
      const [left, right] = [floats(row, bytes), floats(query, bytes)];
      let sum = 0;
      for (let at = 0; at < left.length; at++) sum += (left[at] ?? 0) * (right[at] ?? 0);
      return sum;
    }),
    squares: kernel((row, query, bytes) => {
      const [left, right] = [floats(row, bytes), floats(query, bytes)];
      let sum = 0;
      for (let at = 0; at < left.length; at++) sum += ((left[at] ?? 0) - (right[at] ?? 0)) ** 2;
      return sum;
    }),
    bytes: kernel((row, query, bytes) => {
      const left = new Int8Array(memory.buffer, row, bytes);
      const right = new Int8Array(memory.buffer, query, bytes);
      let sum = 0;
      for (let at = 0; at < bytes; at++) sum += (left[at] ?? 0) * (right[at] ?? 0);
      return sum * (new Float32Array(memory.buffer, row + bytes, 1)[0] ?? 0);
    }),
    bits: kernel((row, query, bytes) => {
      const left = new Uint32Array(memory.buffer, row, bytes / 4);
      const right = new Uint32Array(memory.buffer, query, bytes / 4);
      let sum = 0;
      for (let at = 0; at < left.length; at++) sum += bitCount((left[at] ?? 0) ^ (right[at] ?? 0));
      return sum;
    }),
  };
};

function bitCount(word: number): number {
  const pairs = word - ((word >>> 1) & 0x55555555);
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333);
  return (((fours + (fours >>> 4)) & 0x0f0f0f0f) * 0x01010101) >>> 24;
}

/** The quickest that works here. */
export function chooseKernels(): KernelMaker {
  return WebAssembly.validate(kernelModule()) ? simdKernels : plainKernels;
}

/** The greatest number of 32 bits. */
const floatMax = (2 - 2 ** -23) * 2 ** 127;
/** Most rows of one call. */
export const batchRows = 1024;

export interface SpaceShape {
  readonly dimensions: number;
  readonly similarity: Similarity;
  readonly encoding: RowEncoding;
}

export class VectorSpace implements RowSpace {
  readonly shape: SpaceShape;
  readonly rowBytes: number;
  readonly #vectorBytes: number;
  readonly #memory: GrowingMemory;
  readonly #kernels: Kernels;
  readonly #rowsAt: number;
  readonly #idsAt: number;
  readonly #outAt: number;
  #capacity = 0;
  #floats: Float32Array;
  #bytes: Int8Array;
  /**
   * What a row of floats has beside it: with COSINE 1 by its length, else the square of that. In
   * 32 bits, as it is met with every row.
   */
  #marks = new Float32Array(0);
  #markOfGiven = 0;
  /** The greatest square of the length of a row. */
  #most = 0;
  /** Row numbers of the next call. */
  ids: Uint32Array;
  /** Results of the last one, in the order of `ids`. */
  out: Float32Array;

  constructor(shape: SpaceShape, makeKernels: KernelMaker, advise?: MemoryAdvice) {
    this.shape = shape;
    this.#vectorBytes = vectorBytesOf(shape);
    // Behind bytes: their scale, and the sum of the squares of what they stand for.
    this.rowBytes = this.#vectorBytes + (shape.encoding === 'INT8' ? 16 : 0);
    this.#idsAt = roundUp(this.rowBytes, 64);
    this.#outAt = this.#idsAt + 4 * batchRows;
    this.#rowsAt = this.#outAt + 4 * batchRows;
    this.#memory = new GrowingMemory(this.#rowsAt + this.rowBytes, advise);
    this.#kernels = makeKernels(this.#memory.memory);
    const {buffer} = this.#memory;
    this.#floats = new Float32Array(buffer);
    this.#bytes = new Int8Array(buffer);
    this.ids = new Uint32Array(buffer, this.#idsAt, batchRows);
    this.out = new Float32Array(buffer, this.#outAt, batchRows);
    this.#refresh();
  }

  /** Bytes that the memory has taken. */
  get byteLength(): number {
    return this.#bytes.length + this.#marks.byteLength;
  }

  /** Room for rows below `count`; false where a memory cannot be that large. */
  reserve(count: number): boolean {
    if (count <= this.#capacity) return true;
    // Rows are added one by one: grow by an eighth, so that it happens seldom.
    const wanted = this.#rowsAt + this.rowBytes * Math.ceil(count * 1.125);
    if (!this.#memory.reserve(wanted)) return false;
    this.#refresh();
    return true;
  }

  /** Writes a vector of the space's dimensions into a row that has room. */
  write(row: number, vector: Float32Array): void {
    assert(row < this.#capacity, 'the row has room');
    this.#marks[row] = this.#put(this.#placeOf(row), vector);
  }

  /** The next distances are from this vector. */
  setQuery(vector: Float32Array): number {
    const most = this.#most;
    this.#markOfGiven = this.#put(0, vector);
    this.#most = most;
    return 0;
  }

  /** Where a row's vector is, as a query. */
  queryOf(row: number): number {
    return this.#placeOf(row);
  }

  /** A row is as good a query as any. */
  prepare(_query: number): void {}

  vectorOf(row: number): Float32Array | undefined {
    if (this.shape.encoding !== 'FLOAT32') return undefined;
    const first = this.#placeOf(row) >> 2;
    return this.#floats.subarray(first, first + this.shape.dimensions);
  }

  /**
   * Distances from the query to the first `count` (1 or more) of `ids`, into `out`. Of DOT_PRODUCT
   * those between rows are straight ones (`evenedDistance`), as a graph needs them.
   * Cost: about a cache line a 16 elements; nothing is allocated.
   */
  measure(query: number, count: number): void {
    const {similarity, encoding} = this.shape;
    if (encoding === 'BITS') return this.#call(this.#kernels.bits, query, count);
    if (encoding === 'INT8') return this.#measureBytes(query, count);
    if (similarity === 'EUCLIDEAN') return this.#call(this.#kernels.squares, query, count);
    this.#call(this.#kernels.dot, query, count);
    this.#fromProducts(query, count);
  }

  #fromProducts(query: number, count: number): void {
    const {ids, out} = this;
    const marks = this.#marks;
    const mark = query === 0 ? this.#markOfGiven : (marks[this.#rowAt(query)] ?? 0);
    if (this.shape.similarity === 'COSINE') {
      for (let at = 0; at < count; at++) {
        out[at] = -(out[at] ?? 0) * mark * (marks[ids[at] ?? 0] ?? 0);
      }
    } else if (query === 0) {
      for (let at = 0; at < count; at++) out[at] = -(out[at] ?? 0);
    } else {
      const most = this.#most;
      for (let at = 0; at < count; at++) {
        const other = marks[ids[at] ?? 0] ?? 0;
        out[at] = evenedDistance(out[at] ?? 0, {square: mark, other, most});
      }
    }
  }

  #measureBytes(query: number, count: number): void {
    const {ids, out} = this;
    const {similarity} = this.shape;
    this.#call(this.#kernels.bytes, query, count);
    const tail = (query + this.#vectorBytes) >> 2;
    const scale = this.#floats[tail] ?? 0;
    if (similarity === 'COSINE' || (similarity === 'DOT_PRODUCT' && query === 0)) {
      for (let at = 0; at < count; at++) out[at] = -scale * (out[at] ?? 0);
      return;
    }
    const square = this.#floats[tail + 1] ?? 0;
    const most = this.#most;
    for (let at = 0; at < count; at++) {
      const place = (this.#placeOf(ids[at] ?? 0) + this.#vectorBytes) >> 2;
      const other = this.#floats[place + 1] ?? 0;
      const product = scale * (out[at] ?? 0);
      out[at] =
        similarity === 'EUCLIDEAN'
          ? square + other - 2 * product
          : evenedDistance(product, {square, other, most});
    }
  }

  #call(kernel: Kernel, query: number, count: number): void {
    const vectorBytes = this.#vectorBytes;
    kernel(query, this.#rowsAt, this.rowBytes, vectorBytes, this.#idsAt, count, this.#outAt);
  }

  #placeOf(row: number): number {
    return this.#rowsAt + row * this.rowBytes;
  }

  #rowAt(place: number): number {
    return (place - this.#rowsAt) / this.rowBytes;
  }

  /** Answers the mark of the row. */
  #put(place: number, vector: Float32Array): number {
    const {dimensions, similarity, encoding} = this.shape;
    assert(vector.length === dimensions, 'a vector has the dimensions of its space');
    let squares = 0;
    for (const element of vector) squares += element * element;
    const isCosine = similarity === 'COSINE';
    const factor = isCosine && squares > 0 ? 1 / Math.sqrt(squares) : 1;
    if (encoding === 'BITS') {
      this.#putBits(place, vector);
      return 0;
    }
    if (encoding === 'INT8') squares = this.#putBytes(place, vector, factor);
    else if (isCosine) return this.#putFloats(place, vector, factor);
    else this.#floats.set(vector, place >> 2);
    // As it is kept: no row is longer than the longest.
    squares = Math.fround(Math.min(squares, floatMax));
    this.#most = Math.max(this.#most, squares);
    return squares;
  }

  /** A length of about 1 keeps products within 32 bits, and a power of two keeps all digits. */
  #putFloats(place: number, vector: Float32Array, factor: number): number {
    const floats = this.#floats;
    const first = place >> 2;
    const power = 2 ** Math.floor(Math.log2(factor));
    for (let at = 0; at < vector.length; at++) floats[first + at] = (vector[at] ?? 0) * power;
    return factor / power;
  }

  /** Answers the square of the length of what the bytes stand for. */
  #putBytes(place: number, vector: Float32Array, factor: number): number {
    let most = 0;
    for (const element of vector) most = Math.max(most, Math.abs(element));
    const scale = most === 0 ? 1 : most / 127;
    let squares = 0;
    for (let at = 0; at < vector.length; at++) {
      const byte = Math.round((vector[at] ?? 0) / scale);
      this.#bytes[place + at] = byte;
      squares += byte * byte;
    }
    const tail = (place + this.#vectorBytes) >> 2;
    squares *= scale * scale * factor * factor;
    this.#floats[tail] = scale * factor;
    this.#floats[tail + 1] = squares;
    return squares;
  }

  /** One bit an element: whether it is above the vector's mean. */
  #putBits(place: number, vector: Float32Array): void {
    let sum = 0;
    for (const element of vector) sum += element;
    const mean = sum / vector.length;
    this.#bytes.fill(0, place, place + this.#vectorBytes);
    for (let at = 0; at < vector.length; at++) {
      if ((vector[at] ?? 0) < mean) continue;
      const byte = place + (at >> 3);
      this.#bytes[byte] = (this.#bytes[byte] ?? 0) | (1 << (at & 7));
    }
  }

  #refresh(): void {
    const {buffer} = this.#memory;
    this.#floats = new Float32Array(buffer);
    this.#bytes = new Int8Array(buffer);
    this.ids = new Uint32Array(buffer, this.#idsAt, batchRows);
    this.out = new Float32Array(buffer, this.#outAt, batchRows);
    this.#capacity = Math.floor((buffer.byteLength - this.#rowsAt) / this.rowBytes);
    if (this.shape.encoding !== 'FLOAT32' || this.shape.similarity === 'EUCLIDEAN') return;
    const marks = this.#marks;
    this.#marks = new Float32Array(this.#capacity);
    this.#marks.set(marks);
  }
}

function vectorBytesOf({dimensions, encoding}: SpaceShape): number {
  if (encoding === 'FLOAT32') return roundUp(4 * dimensions, 64);
  return encoding === 'INT8' ? roundUp(dimensions, 16) : roundUp(Math.ceil(dimensions / 8), 16);
}

function roundUp(value: number, unit: number): number {
  return Math.ceil(value / unit) * unit;
}
