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

/** Edge number i leads from `from[i]` to `to[i]`. */
export interface EdgeList {
  readonly vertices: number;
  readonly from: Uint32Array;
  readonly to: Uint32Array;
}

/**
 * RMAT with the shares of graph500 (0.57, 0.19, 0.19, 0.05): hubs that lead to hubs. Numbers of
 * vertices are shuffled, so that a low number says nothing of the degree; parallel edges and loops
 * stay. Two seconds for ten million edges.
 */
export function rmatEdges(vertices: number, edges: number, seed: number): EdgeList {
  const random = xorshift(seed);
  const levels = Math.ceil(Math.log2(vertices));
  const names = shuffled(vertices, random);
  const list = {vertices, from: new Uint32Array(edges), to: new Uint32Array(edges)};
  for (let at = 0; at < edges; ) {
    let from = 0;
    let to = 0;
    for (let level = 0; level < levels; level += 1) {
      const share = random() / 2 ** 32;
      from = 2 * from + (share < 0.76 ? 0 : 1);
      to = 2 * to + (share < 0.57 || (share >= 0.76 && share < 0.95) ? 0 : 1);
    }
    if (from >= vertices || to >= vertices) continue;
    list.from[at] = names[from] ?? 0;
    list.to[at] = names[to] ?? 0;
    at += 1;
  }
  return list;
}

function shuffled(count: number, random: () => number): Uint32Array {
  const names = Uint32Array.from({length: count}, (_, number) => number);
  for (let at = count - 1; at > 0; at -= 1) {
    const other = random() % (at + 1);
    const name = names[at] ?? 0;
    names[at] = names[other] ?? 0;
    names[other] = name;
  }
  return names;
}

/** Whole numbers from 0 to 2^32 - 1. */
export function xorshift(seed: number): () => number {
  let state = seed | 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
}
