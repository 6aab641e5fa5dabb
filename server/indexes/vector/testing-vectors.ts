/** Vectors for tests: seeded, in clusters, and the answers of comparing them all. */
import {exactDistance, type Similarity} from '../dense-vectors.ts';

export interface RandomNumbers {
  /** A number from 0 to 1. */
  readonly share: () => number;
  /** The next number of the normal distribution. */
  readonly gauss: () => number;
}

/** Source: the generator of Numerical Recipes, and the transform of Box and Muller. */
export function randomNumbers(seed: number): RandomNumbers {
  let state = seed;
  const share = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  const gauss = (): number =>
    Math.sqrt(-2 * Math.log(1 - share())) * Math.cos(2 * Math.PI * share());
  return {share, gauss};
}

export interface ClusteredVectors {
  /** The next vector, of some cluster. */
  readonly next: () => Float32Array;
}

/** Clusters with a spread of their own size about centers that lie apart. */
export function clusteredVectors(
  seed: number,
  {
    dimensions,
    clusters = 100,
    spread = 0.7,
  }: {
    readonly dimensions: number;
    readonly clusters?: number;
    readonly spread?: number;
  },
): ClusteredVectors {
  const {share, gauss} = randomNumbers(seed);
  const centers = Array.from({length: clusters}, () =>
    Float32Array.from({length: dimensions}, gauss),
  );
  return {
    next: () => {
      const center = centers[Math.floor(share() * clusters)] as Float32Array;
      return center.map(element => element + spread * gauss());
    },
  };
}

/**
 * Vectors that lie near a plane of few dimensions, as those of models do: harder to search than
 * clusters, as the graph has no islands.
 */
export function latentVectors(
  seed: number,
  {dimensions, latent = 24}: {readonly dimensions: number; readonly latent?: number},
): ClusteredVectors {
  const {gauss} = randomNumbers(seed);
  const axes = Array.from({length: latent}, () => Float32Array.from({length: dimensions}, gauss));
  return {
    next: () => {
      const vector = Float32Array.from({length: dimensions}, () => 0.1 * gauss());
      for (const axis of axes) {
        const factor = gauss();
        for (let at = 0; at < dimensions; at++) {
          vector[at] = (vector[at] ?? 0) + factor * (axis[at] ?? 0);
        }
      }
      return vector;
    },
  };
}

/** Positions of the nearest, by comparing every vector. */
export function nearestOf(
  query: Float32Array,
  vectors: ReadonlyMap<number, Float32Array>,
  k: number,
  similarity: Similarity,
): readonly number[] {
  const nearest: {readonly position: number; readonly distance: number}[] = [];
  for (const [position, vector] of vectors) {
    const distance = exactDistance(query, vector, similarity);
    if (nearest.length === k && distance > (nearest[k - 1]?.distance ?? 0)) continue;
    nearest.push({position, distance});
    nearest.sort((one, other) => one.distance - other.distance || one.position - other.position);
    nearest.length = Math.min(nearest.length, k);
  }
  return nearest.map(({position}) => position);
}
