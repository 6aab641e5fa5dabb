/**
 * What a node keeps in memory of one index of dense vectors, and how it is searched.
 *
 * The entries of the index (layout/posting-key.ts) are the truth; this is derived from them and may
 * be dropped. It answers candidates: who asks reads their entries and measures exactly.
 * A record is a candidate as soon as `put` has returned, whether its node is linked or not.
 * See docs/design/0043-dense-vectors.md.
 */
import {assert} from '#server/base/assert.ts';
import type {Rid} from '#server/model/value.ts';
import {CodeSpace} from './vector/code-space.ts';
import {Codebook} from './vector/codebook.ts';
import {decodeGraph, encodeGraph} from './vector/graph-file.ts';
import type {MemoryAdvice} from './vector/growing-memory.ts';
import {Learning} from './vector/learning.ts';
import {type GraphAnswer, type GraphShape, NeighbourGraph} from './vector/neighbour-graph.ts';
import {nodeState} from './vector/node-table.ts';
import {
  chooseKernels,
  type KernelMaker,
  type RowEncoding,
  type Similarity,
  VectorSpace,
} from './vector/vector-space.ts';

export type {MemoryAdvice} from './vector/growing-memory.ts';
export type {Similarity} from './vector/vector-space.ts';

export type Quantization = 'NONE' | 'INT8' | 'BINARY' | 'PRODUCT';

export interface DenseOptions extends GraphShape {
  readonly dimensions: number;
  readonly similarity: Similarity;
  readonly quantization: Quantization;
  readonly product: ProductOptions;
}

export interface ProductOptions {
  /** Bytes of a vector. */
  readonly subspaces: number;
  readonly clusters: number;
  /** Vectors that are kept as floats, and then learnt from. */
  readonly trainingLimit: number;
}

const encodings: Readonly<Record<Quantization, RowEncoding>> = {
  NONE: 'FLOAT32',
  INT8: 'INT8',
  BINARY: 'BITS',
  // Until there are vectors enough to learn codes from.
  PRODUCT: 'FLOAT32',
};

/** How many candidates are measured exactly for one answer, as rows keep less than the entries. */
const overfetch: Readonly<Record<Quantization, number>> = {
  NONE: 1,
  INT8: 3,
  BINARY: 16,
  PRODUCT: 10,
};

/** Candidates that are kept while up to 25,000 vectors are searched. */
const breadthUsual: Readonly<Record<Quantization, number>> = {
  NONE: 100,
  INT8: 140,
  BINARY: 200,
  PRODUCT: 200,
};

export interface CandidateRequest {
  readonly k: number;
  /** Undefined: by the number of vectors, and of answers. */
  readonly efSearch?: number | undefined;
  /** Records that may be answered. */
  readonly among?: readonly Rid[] | undefined;
  /** Buckets whose records may be answered. */
  readonly buckets?: ReadonlySet<number> | undefined;
  /** Which records are not to be answered, as the caller measures them itself. */
  readonly leaveOut?: ((bucket: number, position: number) => boolean) | undefined;
}

/** A record near a vector. */
export interface Candidate {
  readonly rid: Rid;
  /** The exact one; undefined where rows keep less than the entry does. */
  readonly distance: number | undefined;
}

/** Vectors of different lengths are harder to find: far ones have few that name them. */
const euclideanMore = 1.4;

let kernels: KernelMaker | undefined;

export class DenseVectors {
  readonly options: DenseOptions;
  readonly #graph: NeighbourGraph;
  /** Nodes that were loaded and whose vectors are still to come. */
  #missing: Set<number> | undefined;
  #book: Codebook | undefined;
  /** The way from floats to codes. */
  #learning: Learning | undefined;

  constructor(options: DenseOptions, advise?: MemoryAdvice) {
    this.options = options;
    kernels ??= chooseKernels();
    const {dimensions, similarity, quantization} = options;
    const encoding = encodings[quantization];
    const space = new VectorSpace({dimensions, similarity, encoding}, kernels, advise);
    this.#graph = new NeighbourGraph(space, options, advise);
    if (quantization === 'PRODUCT') this.#learning = new Learning(space, options.product, kernels);
  }

  get live(): number {
    return this.#graph.live;
  }

  get waiting(): number {
    return this.#graph.waiting;
  }

  get byteLength(): number {
    return this.#graph.byteLength + (this.#learning?.byteLength ?? 0);
  }

  /**
   * The record's vector is this one now. False where a memory has no room for it: then nothing is
   * known of the record, and the whole is to be dropped. Cost: linear in the dimensions.
   */
  put(rid: Rid, vector: Float32Array): boolean {
    const fingerprint = fingerprintOf(vector);
    const {nodes} = this.#graph;
    const node = nodes.nodeOf(rid.bucket, rid.position);
    if (node !== undefined) {
      const isSame = nodes.fingerprintOf(node) === fingerprint;
      if (this.#missing?.delete(node) === true && isSame) {
        this.#graph.restore(node, vector);
        this.#learning?.written(node, vector);
      }
      if (isSame) return true;
      this.#graph.remove(rid.bucket, rid.position);
    }
    const row = nodes.next;
    if (!this.#graph.add(rid.bucket, rid.position, fingerprint, vector)) return false;
    this.#learning?.written(row, vector);
    return true;
  }

  remove(rid: Rid): void {
    this.#graph.remove(rid.bucket, rid.position);
  }

  /** A turn of upkeep: a node linked, or some swept. False when there is nothing to do. */
  work(): boolean {
    if (this.#learning !== undefined && this.#learn(this.#learning)) return true;
    // Dead nodes take the places of candidates: new ones are linked behind the sweep.
    return this.#graph.sweepNext(16) || this.#graph.linkNext();
  }

  /** A turn on the way to codes. False while there is too little to learn from. */
  #learn(learning: Learning): boolean {
    const {nodes} = this.#graph;
    // What was loaded has no vectors yet.
    if (this.#missing !== undefined) return false;
    const space = learning.step(nodes.count);
    if (space === undefined) return learning.isUnderWay;
    this.#graph.moveTo(space);
    this.#book = space.book;
    this.#learning = undefined;
    return true;
  }

  /**
   * Records near the vector, nearest first as far as the rows tell: `k` with their exact
   * distances, or some more where rows are quantized. Where few may be answered each is compared.
   */
  candidates(vector: Float32Array, wish: CandidateRequest): readonly Candidate[] {
    const {k, among, buckets, leaveOut} = wish;
    const graph = this.#graph;
    const {nodes} = graph;
    const count = k * overfetch[this.options.quantization];
    const accepted = this.#acceptedCount(wish);
    if (accepted === 0) return [];
    const breadth = this.#breadth(wish, count);
    const takes = (node: number): boolean => {
      if (buckets !== undefined && !buckets.has(nodes.bucketOf(node))) return false;
      if (leaveOut === undefined) return true;
      const {bucket, position} = nodes.ridOf(node);
      return !leaveOut(bucket, position);
    };
    const isWhole = among === undefined && buckets === undefined && leaveOut === undefined;
    const comparesAll = accepted <= this.#comparedAtMost(breadth, accepted);
    if (comparesAll) {
      const chosen = among === undefined ? this.#liveNodes() : this.#nodesOf(among);
      return this.#measured(vector, graph.searchAmong(vector, count, filtered(chosen, takes)));
    }
    const marked = among && new Set(this.#nodesOf(among));
    const accept = isWhole
      ? undefined
      : (node: number): boolean => (marked?.has(node) ?? true) && takes(node);
    // Of those that are met only some may be answered: more must be met.
    const wider = Math.ceil((breadth * graph.live) / accepted);
    const ef = Math.max(count, wider);
    // Whoever says how many candidates are kept means it.
    const patience = isWhole && wish.efSearch === undefined ? patienceFor(count) : undefined;
    return this.#measured(vector, graph.search(vector, {k: count, ef, patience, accept}));
  }

  /** The graph as bytes, without the vectors. */
  encode(): Uint8Array {
    return encodeGraph(this.#graph, this.#book?.centroids);
  }

  /**
   * Takes what `encode` gave, into an empty whole; false where it is damaged or of another
   * shape. Of its records those whose vectors are `put` unchanged keep their place in the graph;
   * until `settle` nothing may be asked.
   */
  load(bytes: Uint8Array): boolean {
    if (!decodeGraph(this.#graph, bytes, centroids => this.#takeBook(centroids))) return false;
    this.#missing = new Set(this.#liveNodes());
    return true;
  }

  #takeBook(centroids: Float32Array): boolean {
    const {dimensions, quantization, product, similarity} = this.options;
    if (quantization !== 'PRODUCT' || centroids.length !== dimensions * product.clusters) {
      return false;
    }
    kernels ??= chooseKernels();
    this.#book = new Codebook({dimensions, ...product}, centroids);
    this.#graph.moveTo(new CodeSpace({dimensions, similarity}, this.#book, kernels));
    this.#learning = undefined;
    return true;
  }

  /** Every record was put: what was loaded beside them is gone. */
  settle(): void {
    for (const node of this.#missing ?? []) this.remove(this.#graph.nodes.ridOf(node));
    this.#missing = undefined;
  }

  #measured(vector: Float32Array, {count, nodes}: GraphAnswer): readonly Candidate[] {
    const {nodes: table, space} = this.#graph;
    return Array.from(nodes.subarray(0, count), node => {
      const row = space.vectorOf(node);
      const distance = row && exactDistance(vector, row, this.options.similarity);
      return {rid: table.ridOf(node), distance};
    });
  }

  #acceptedCount({among, buckets}: CandidateRequest): number {
    const {nodes} = this.#graph;
    const inBuckets =
      buckets === undefined
        ? this.#graph.live
        : [...buckets].reduce((sum, bucket) => sum + nodes.countIn(bucket), 0);
    return among === undefined ? inBuckets : Math.min(inBuckets, among.length);
  }

  /** Candidates that are kept while searching. It grows with the logarithm of what is searched. */
  #breadth({efSearch}: CandidateRequest, count: number): number {
    if (efSearch !== undefined) return Math.max(efSearch, count);
    const doublings = Math.max(0, Math.log2(Math.max(1, this.#graph.live) / 25_000));
    const {quantization, similarity} = this.options;
    const usual = breadthUsual[quantization] * (similarity === 'EUCLIDEAN' ? euclideanMore : 1);
    return Math.max(Math.round(usual * (1 + 0.6 * doublings)), Math.ceil(1.5 * count));
  }

  /** Comparing that many costs no more than meeting them in the graph. */
  #comparedAtMost(ef: number, accepted: number): number {
    const met = (ef * this.#graph.live) / Math.max(1, accepted);
    // Rows that lie side by side are compared several times as fast as those that are met.
    return Math.max(comparedMin, met * comparedPerMet);
  }

  *#liveNodes(): Iterable<number> {
    const {nodes} = this.#graph;
    for (let node = 0; node < nodes.count; node++) {
      const state = nodes.stateOf(node);
      if (state === nodeState.linked || state === nodeState.waiting) yield node;
    }
  }

  *#nodesOf(rids: readonly Rid[]): Iterable<number> {
    for (const {bucket, position} of rids) {
      const node = this.#graph.nodes.nodeOf(bucket, position);
      if (node !== undefined) yield node;
    }
  }
}

/**
 * A search is over when so many nodes in a row have named nothing nearer than what is found: most
 * have it early. Source: T. Teofili, J. Lin, Patience in Proximity, ECIR 2025.
 */
const patienceFor = (count: number): number => 20 + 2 * count;

const comparedMin = 1000;
const comparedPerMet = 12;

function* filtered(nodes: Iterable<number>, takes: (node: number) => boolean): Iterable<number> {
  for (const node of nodes) if (takes(node)) yield node;
}

/** 32 bits of all bits of a vector. Source: FNV-1a, over words. */
export function fingerprintOf(vector: Float32Array): number {
  const words = new Uint32Array(vector.buffer, vector.byteOffset, vector.length);
  let bits = 0x811c9dc5;
  for (const word of words) {
    bits = Math.imul(bits ^ word, 0x01000193);
    bits ^= bits >>> 15;
  }
  return bits >>> 0;
}

/**
 * The distance that a search answers: of COSINE 1 less the cosine, of EUCLIDEAN the square of the
 * straight distance, of DOT_PRODUCT the product with its sign turned; rounded to 32 bits.
 */
export function exactDistance(
  left: Float32Array,
  right: Float32Array,
  similarity: Similarity,
): number {
  assert(left.length === right.length, 'vectors that are compared have one dimension');
  let product = 0;
  let [squares, others, apart] = [0, 0, 0];
  for (let at = 0; at < left.length; at++) {
    const [a, b] = [left[at] ?? 0, right[at] ?? 0];
    product += a * b;
    squares += a * a;
    others += b * b;
    apart += (a - b) * (a - b);
  }
  if (similarity === 'EUCLIDEAN') return Math.fround(apart);
  if (similarity === 'DOT_PRODUCT') return Math.fround(-product);
  const lengths = Math.sqrt(squares * others);
  const cosine = lengths === 0 ? 0 : Math.max(-1, Math.min(1, product / lengths));
  return Math.fround(2 * (1 - Math.fround((1 + cosine) / 2)));
}
