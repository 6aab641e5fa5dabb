/**
 * Product quantization: a vector as one byte for each of its parts, the number of the nearest of
 * the part's centroids.
 *
 * The parts are runs of neighbouring dimensions, as even as they can be. Centroids come from
 * samples by Lloyd's algorithm, begun from samples that lie evenly among them, so the same samples
 * give the same book. Source: H. Jegou, M. Douze, C. Schmid, Product Quantization for Nearest
 * Neighbor Search, TPAMI 2011.
 */
import {assert} from '#server/base/assert.ts';

export interface CodebookShape {
  readonly dimensions: number;
  /** Parts of a vector, and bytes of its code; at most its dimensions. */
  readonly subspaces: number;
  /** Centroids of a part, 2 to 256. */
  readonly clusters: number;
}

export class Codebook {
  readonly shape: CodebookShape;
  /** Where each part begins, and behind the last one its end. */
  readonly starts: Uint32Array;
  /** A vector a cluster, each made of one centroid of every part. */
  readonly centroids: Float32Array;

  /** @param centroids - `clusters` vectors, each made of one centroid of every part. */
  constructor(shape: CodebookShape, centroids: Float32Array) {
    assert(centroids.length === shape.clusters * shape.dimensions, 'a book has all centroids');
    this.shape = shape;
    this.centroids = centroids;
    this.starts = Uint32Array.from({length: shape.subspaces + 1}, (_, part) =>
      Math.floor((part * shape.dimensions) / shape.subspaces),
    );
  }

  /** Writes a byte for each part from `at` on. Cost: `clusters` comparisons of the vector. */
  encode(vector: Float32Array, codes: Uint8Array, at: number): void {
    const {subspaces} = this.shape;
    for (let part = 0; part < subspaces; part++) codes[at + part] = this.#nearest(part, vector, 0);
  }

  /** The vector that a code stands for. */
  decode(codes: Uint8Array, at: number, vector: Float32Array): void {
    const {dimensions, subspaces} = this.shape;
    for (let part = 0; part < subspaces; part++) {
      const start = this.starts[part] ?? 0;
      const from = (codes[at + part] ?? 0) * dimensions;
      const end = this.starts[part + 1] ?? 0;
      for (let d = start; d < end; d++) vector[d] = this.centroids[from + d] ?? 0;
    }
  }

  /**
   * What each centroid of each part contributes to the distance from a vector, 256 numbers a part:
   * the products with their signs turned, or the squares of the differences.
   */
  contributions(vector: Float32Array, isEuclidean: boolean, table: Float32Array): void {
    const {dimensions, subspaces, clusters} = this.shape;
    const {centroids} = this;
    for (let part = 0; part < subspaces; part++) {
      const start = this.starts[part] ?? 0;
      const end = this.starts[part + 1] ?? 0;
      for (let cluster = 0; cluster < clusters; cluster++) {
        const from = cluster * dimensions;
        let sum = 0;
        if (isEuclidean) {
          for (let d = start; d < end; d++) {
            const apart = (vector[d] ?? 0) - (centroids[from + d] ?? 0);
            sum += apart * apart;
          }
        } else {
          for (let d = start; d < end; d++) sum -= (vector[d] ?? 0) * (centroids[from + d] ?? 0);
        }
        table[part * 256 + cluster] = sum;
      }
    }
  }

  #nearest(part: number, vectors: Float32Array, offset: number): number {
    const {dimensions, clusters} = this.shape;
    const {centroids} = this;
    const start = this.starts[part] ?? 0;
    const end = this.starts[part + 1] ?? 0;
    let [best, least] = [0, Number.POSITIVE_INFINITY];
    for (let cluster = 0; cluster < clusters; cluster++) {
      const from = cluster * dimensions;
      let sum = 0;
      for (let d = start; d < end; d++) {
        const apart = (vectors[offset + d] ?? 0) - (centroids[from + d] ?? 0);
        sum += apart * apart;
      }
      if (sum < least) [best, least] = [cluster, sum];
    }
    return best;
  }

  /** Moves the centroids of a part to the means of the samples that are nearest to them. */
  *improve(part: number, samples: Float32Array, sums: Float64Array): Generator<void> {
    const {dimensions, clusters} = this.shape;
    const start = this.starts[part] ?? 0;
    const end = this.starts[part + 1] ?? 0;
    const counts = new Uint32Array(clusters);
    sums.fill(0);
    for (let offset = 0, seen = 0; offset < samples.length; offset += dimensions) {
      const cluster = this.#nearest(part, samples, offset);
      counts[cluster] = (counts[cluster] ?? 0) + 1;
      const to = cluster * dimensions;
      for (let d = start; d < end; d++) {
        sums[to + d] = (sums[to + d] ?? 0) + (samples[offset + d] ?? 0);
      }
      if (++seen % samplesPerTurn === 0) yield;
    }
    for (let cluster = 0; cluster < clusters; cluster++) {
      const count = counts[cluster] ?? 0;
      // A centroid that is nobody's nearest stays where it is.
      if (count === 0) continue;
      const to = cluster * dimensions;
      for (let d = start; d < end; d++) this.centroids[to + d] = (sums[to + d] ?? 0) / count;
    }
  }
}

const samplesPerTurn = 128;
const rounds = 6;

/**
 * Learns a book from samples, one after the other in `samples`, at least as many as clusters.
 * A turn is short beside a slice of time; the whole is samples x clusters x dimensions x 6 steps.
 */
export function* trainCodebook(
  shape: CodebookShape,
  samples: Float32Array,
): Generator<void, Codebook> {
  const {dimensions, clusters, subspaces} = shape;
  const count = samples.length / dimensions;
  assert(count >= clusters, 'there are samples for all clusters');
  const centroids = new Float32Array(clusters * dimensions);
  for (let cluster = 0; cluster < clusters; cluster++) {
    const from = Math.floor((cluster * count) / clusters) * dimensions;
    centroids.set(samples.subarray(from, from + dimensions), cluster * dimensions);
  }
  const book = new Codebook(shape, centroids);
  const sums = new Float64Array(centroids.length);
  for (let round = 0; round < rounds; round++) {
    for (let part = 0; part < subspaces; part++) yield* book.improve(part, samples, sums);
  }
  return book;
}
