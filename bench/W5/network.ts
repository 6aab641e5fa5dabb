/**
 * A seeded network whose degrees follow a power law: few vertices with most of the edges, as
 * people's acquaintances are. The same seed gives the same edges.
 */
export interface Network {
  readonly vertices: number;
  /** Pairs of vertices, no pair twice and none with itself. */
  readonly edges: readonly (readonly [from: number, to: number])[];
}

/** Preferential attachment: each vertex begins `perVertex` edges, to ends of earlier ones. */
export function powerLawNetwork(vertices: number, perVertex: number, seed: number): Network {
  const random = xorshift(seed);
  /** Every end of every edge: a draw among them favours whom many know. */
  const ends: number[] = [0];
  const edges: [number, number][] = [];
  for (let from = 1; from < vertices; from += 1) {
    const chosen = new Set<number>();
    const wanted = Math.min(perVertex, from);
    while (chosen.size < wanted) {
      // One draw in ten is for anybody, so that not all ways lead over the same few.
      const isAny = random() % 10 === 0;
      const to = isAny ? random() % from : (ends[random() % ends.length] ?? 0);
      if (to !== from) chosen.add(to);
    }
    for (const to of chosen) {
      edges.push([from, to]);
      ends.push(from, to);
    }
  }
  return {vertices, edges};
}

/** Whole numbers from 0 to 2^32 - 1. */
function xorshift(seed: number): () => number {
  let state = seed | 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
}
