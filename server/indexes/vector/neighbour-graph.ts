/**
 * Approximate nearest neighbours by a graph on several levels (HNSW); vectors come and go.
 *
 * A vector is found from the moment it is added: what is not linked yet is compared one by one.
 * `linkNext` links it later, in turns that the owner chooses. A removed node is passed
 * through until a sweep has led its neighbours past it, so that neither updates nor deletes wear
 * the graph out. Levels follow from record ids, so the same history gives the same graph.
 *
 * Sources: Y. Malkov, D. Yashunin, HNSW, TPAMI 2018 (levels, choice of neighbours); S. Jayaram
 * Subramanya et al., DiskANN, NeurIPS 2019 (relaxed choice); A. Singh et al., FreshDiskANN, 2021
 * (deletion by consolidation).
 */
import {assert} from '#server/base/assert.ts';
import {CandidatePool} from './candidate-pool.ts';
import type {MemoryAdvice} from './growing-memory.ts';
import {mixedRecord} from './node-finder.ts';
import {nodeState, NodeTable} from './node-table.ts';
import {levelsMax, UpperLinks} from './upper-links.ts';
import {batchRows, type RowSpace} from './vector-space.ts';

export interface GraphShape {
  /** Neighbours of a node on the lowest level; half as many above. */
  readonly maxConnections: number;
  /** Candidates that are looked at for a new node's neighbours. */
  readonly beamWidth: number;
  /** Lists may outgrow their maximum by this factor before they are cut. */
  readonly neighborOverflowFactor: number;
  /** 1 keeps a neighbour only where no kept one is nearer to it; more keeps longer ways as well. */
  readonly alphaDiversityRelaxation: number;
  /** Whether there are levels above the lowest. */
  readonly addHierarchy: boolean;
}

export interface GraphSearch {
  readonly k: number;
  /** Candidates that are kept; `k` or more. */
  readonly ef: number;
  /** Ends when so many nodes in a row were expanded without a better answer. */
  readonly patience?: number | undefined;
  /** Which nodes may be answered. */
  readonly accept?: ((node: number) => boolean) | undefined;
}

/** What a walk finds beside its candidates. */
interface Answering {
  readonly takes: (node: number) => boolean;
  readonly patience: number | undefined;
}

/** Nearest first; read before the next call. */
export interface GraphAnswer {
  readonly count: number;
  readonly nodes: Uint32Array;
  readonly distances: Float32Array;
}

export class NeighbourGraph {
  readonly nodes: NodeTable;
  #space: RowSpace;
  readonly #shape: GraphShape;
  /** Neighbours above the lowest level, of the nodes that are there. */
  readonly upper: UpperLinks;
  #entry = -1;
  #top = 0;
  /** Nodes that wait to be linked, oldest first; some have gone meanwhile. */
  #waiting: number[] = [];
  #linkedUpTo = 0;
  #live = 0;
  #dead = 0;
  #sweep: {at: number; readonly dead: readonly number[]} | undefined;
  /** The visit that met a node last; 16 bits, as each neighbour of a node is looked up. */
  #visited = new Uint16Array(0);
  #visit = 0;
  readonly #pool = new CandidatePool();
  readonly #answers = new CandidatePool();
  readonly #chosen: Uint32Array;
  readonly #sorter = new CandidatePool();

  constructor(space: RowSpace, shape: GraphShape, advise?: MemoryAdvice) {
    this.#space = space;
    this.#shape = shape;
    const overflow = Math.max(1, shape.neighborOverflowFactor);
    const linksMax = Math.ceil(shape.maxConnections * overflow);
    this.nodes = new NodeTable(linksMax, advise);
    this.upper = new UpperLinks(Math.ceil(this.#newLinks(1) * overflow));
    this.#chosen = new Uint32Array(linksMax + 1);
  }

  get space(): RowSpace {
    return this.#space;
  }

  /** Takes other rows in the place of its own: the same vectors in the same rows. */
  moveTo(space: RowSpace): void {
    this.#space = space;
  }

  /** Records that are found. */
  get live(): number {
    return this.#live;
  }

  /** Nodes that wait to be linked. */
  get waiting(): number {
    return this.#waiting.length - this.#linkedUpTo;
  }

  /** Whether so many nodes are dead that sweeping pays, or a sweep is under way. */
  get wantsSweep(): boolean {
    return this.#sweep !== undefined || this.#dead > 64 + this.#live / 10;
  }

  get byteLength(): number {
    const links = this.nodes.byteLength + this.upper.byteLength;
    return this.space.byteLength + links + this.#visited.byteLength;
  }

  /** False where there is no room for another vector. */
  add(bucket: number, position: number, fingerprint: number, vector: Float32Array): boolean {
    const {next} = this.nodes;
    if (!this.space.reserve(next + 1) || !this.nodes.reserve(next + 1)) return false;
    const node = this.nodes.add(bucket, position, fingerprint);
    this.space.write(node, vector);
    this.#waiting.push(node);
    this.#live++;
    return true;
  }

  /** The record is found no more; false when it was not found before. */
  remove(bucket: number, position: number): boolean {
    const node = this.nodes.nodeOf(bucket, position);
    if (node === undefined) return false;
    this.#live--;
    if (this.nodes.stateOf(node) === nodeState.linked) {
      this.nodes.forget(node, nodeState.dead);
      this.#dead++;
    } else {
      // Nobody names it; it is taken out of the queue when its turn comes.
      this.nodes.forget(node, nodeState.gone);
    }
    return true;
  }

  /** Links the oldest node that waits; false when none does. Cost: one search. */
  linkNext(): boolean {
    while (this.#linkedUpTo < this.#waiting.length) {
      const node = this.#waiting[this.#linkedUpTo++] ?? 0;
      if (this.#linkedUpTo > 4096 && 2 * this.#linkedUpTo > this.#waiting.length) {
        this.#waiting = this.#waiting.slice(this.#linkedUpTo);
        this.#linkedUpTo = 0;
      }
      if (this.nodes.stateOf(node) === nodeState.waiting) {
        this.#link(node);
        return true;
      }
      if (this.nodes.stateOf(node) === nodeState.gone) this.nodes.free(node);
    }
    return false;
  }

  /**
   * Leads the neighbours of dead nodes past them, for so many nodes; behind the last one what was
   * dead at the beginning is free. False when nothing is to be swept.
   */
  sweepNext(count: number): boolean {
    if (!this.wantsSweep) return false;
    this.#sweep ??= {at: 0, dead: this.#deadNodes()};
    const sweep = this.#sweep;
    const end = Math.min(sweep.at + count, this.nodes.count);
    for (; sweep.at < end; sweep.at++) this.#mend(sweep.at);
    if (sweep.at < this.nodes.count) return true;
    this.#finishSweep(sweep.dead);
    return true;
  }

  /**
   * Begins with what was loaded into `nodes` and `upper`. Every node is without its vector until
   * `restore` gives it.
   */
  loaded(): void {
    for (let node = 0; node < this.nodes.count; node++) {
      const state = this.nodes.stateOf(node);
      if (state === nodeState.linked || state === nodeState.waiting) this.#live++;
      if (state === nodeState.waiting) this.#waiting.push(node);
      if (state === nodeState.gone) this.nodes.free(node);
      if (state === nodeState.dead) this.#dead++;
    }
    this.#newEntry();
  }

  /** Writes the vector of a node that was loaded. */
  restore(node: number, vector: Float32Array): void {
    this.space.write(node, vector);
  }

  /** The `k` nearest of the accepted nodes. Cost: about `ef` times the neighbours of a node. */
  search(vector: Float32Array, {k, ef, patience, accept}: GraphSearch): GraphAnswer {
    const query = this.space.setQuery(vector);
    const answers = this.#answers;
    answers.begin(Math.max(k, 1));
    if (this.#entry >= 0) {
      this.#descend(query, 1);
      const takes = (node: number): boolean => {
        if (this.nodes.stateOf(node) !== nodeState.linked) return false;
        return accept === undefined || accept(node);
      };
      this.#beam(query, 0, Math.max(ef, k), {takes, patience});
    }
    if (this.waiting > 0) this.#compareWaiting(query, accept);
    return {count: Math.min(k, answers.count), nodes: answers.nodes, distances: answers.distances};
  }

  /** The `k` nearest of the given nodes, each compared. */
  searchAmong(vector: Float32Array, k: number, nodes: Iterable<number>): GraphAnswer {
    const query = this.space.setQuery(vector);
    this.#answers.begin(Math.max(k, 1));
    this.#compare(query, nodes);
    const {count, nodes: found, distances} = this.#answers;
    return {count: Math.min(k, count), nodes: found, distances};
  }

  #compareWaiting(query: number, accept: ((node: number) => boolean) | undefined): void {
    const {nodes} = this;
    const isWaiting = (node: number): boolean =>
      nodes.stateOf(node) === nodeState.waiting && (accept === undefined || accept(node));
    const queue = this.#waiting;
    const from = this.#linkedUpTo;
    this.#compare(query, {
      *[Symbol.iterator]() {
        for (let at = from; at < queue.length; at++) {
          const node = queue[at] ?? 0;
          if (isWaiting(node)) yield node;
        }
      },
    });
  }

  #compare(query: number, nodes: Iterable<number>): void {
    const {space} = this;
    let count = 0;
    const flush = (): void => {
      space.measure(query, count);
      for (let at = 0; at < count; at++) {
        this.#answers.offer(space.ids[at] ?? 0, space.out[at] ?? 0);
      }
      count = 0;
    };
    for (const node of nodes) {
      space.ids[count++] = node;
      if (count === batchRows) flush();
    }
    if (count > 0) flush();
  }

  /** Leaves the nearest node of level `down` in the pool, as the entry to what is below. */
  #descend(query: number, down: number): void {
    this.#pool.begin(1);
    this.#enter(query, [this.#entry]);
    for (let level = this.#top; level >= down; level--) {
      this.#walk(query, level, undefined);
      this.#restart(1);
    }
  }

  /** Begins a new visit from what the pool holds. */
  #restart(size: number): void {
    const held = Array.from({length: this.#pool.count}, (_, at) => ({
      node: this.#pool.nodes[at] ?? 0,
      distance: this.#pool.distances[at] ?? 0,
    }));
    this.#beginVisit();
    this.#pool.begin(size);
    for (const {node, distance} of held) {
      this.#visited[node] = this.#visit;
      this.#pool.offer(node, distance);
    }
  }

  #enter(query: number, entries: readonly number[]): void {
    this.#beginVisit();
    for (const [at, node] of entries.entries()) {
      this.#visited[node] = this.#visit;
      this.space.ids[at] = node;
    }
    this.space.measure(query, entries.length);
    for (const [at, node] of entries.entries()) this.#pool.offer(node, this.space.out[at] ?? 0);
  }

  /** Widens the pool to `ef` and walks a level from what it holds. */
  #beam(query: number, level: number, ef: number, answering?: Answering): void {
    this.#restart(ef);
    if (answering !== undefined) {
      for (let at = 0; at < this.#pool.count; at++) {
        const node = this.#pool.nodes[at] ?? 0;
        if (answering.takes(node)) this.#answers.offer(node, this.#pool.distances[at] ?? 0);
      }
    }
    this.#walk(query, level, answering);
  }

  #walk(query: number, level: number, answering: Answering | undefined): void {
    const pool = this.#pool;
    const answers = this.#answers;
    const {space} = this;
    const patience = answering?.patience ?? Number.POSITIVE_INFINITY;
    let inVain = 0;
    while (inVain++ < patience) {
      const node = pool.expandNext();
      if (node === undefined) return;
      const count = this.#unvisitedNeighbours(node, level);
      if (count === 0) continue;
      space.measure(query, count);
      const {ids, out} = space;
      for (let at = 0; at < count; at++) {
        const distance = out[at] ?? 0;
        const neighbour = ids[at] ?? 0;
        if (distance < pool.bound) pool.offer(neighbour, distance);
        if (distance < answers.bound && answering?.takes(neighbour) === true) {
          answers.offer(neighbour, distance);
          inVain = 0;
        }
      }
    }
  }

  /** Puts them into the ids of the space. */
  #unvisitedNeighbours(node: number, level: number): number {
    const {ids} = this.space;
    const visited = this.#visited;
    const visit = this.#visit;
    let count = 0;
    if (level > 0) {
      const {words} = this.upper;
      const place = this.upper.placeOf(node, level);
      if (place === undefined) return 0;
      const end = place + (words[place] ?? 0);
      for (let at = place + 1; at <= end; at++) {
        const neighbour = words[at] ?? 0;
        if (visited[neighbour] === visit) continue;
        visited[neighbour] = visit;
        ids[count++] = neighbour;
      }
      return count;
    }
    const {nodes} = this;
    const length = nodes.linkCount(node);
    for (let at = 0; at < length; at++) {
      const neighbour = nodes.link(node, at);
      if (visited[neighbour] === visit) continue;
      visited[neighbour] = visit;
      ids[count++] = neighbour;
    }
    return count;
  }

  #beginVisit(): void {
    if (this.#visited.length < this.nodes.count) {
      this.#visited = new Uint16Array(Math.ceil(this.nodes.count * 1.25) + 1024);
      this.#visit = 0;
    }
    this.#visit++;
    if (this.#visit < 2 ** 16) return;
    this.#visited.fill(0);
    this.#visit = 1;
  }

  #link(node: number): void {
    const level = this.#levelOf(node);
    this.nodes.setState(node, nodeState.linked);
    if (level > 0) this.upper.add(node, level);
    if (this.#entry < 0) {
      [this.#entry, this.#top] = [node, level];
      return;
    }
    const query = this.space.queryOf(node);
    this.space.prepare(query);
    this.#descend(query, level + 1);
    for (let at = Math.min(level, this.#top); at >= 0; at--) {
      this.#beam(query, at, this.#shape.beamWidth);
      const count = this.#chooseFromPool(node, this.#newLinks(at));
      this.#setLinks(node, at, count);
      // Choosing for a neighbour uses the same scratch memory.
      const chosen = this.#chosen.slice(0, count);
      for (const neighbour of chosen) this.#linkBack(neighbour, node, at);
    }
    if (level > this.#top) [this.#entry, this.#top] = [node, level];
  }

  #newLinks(level: number): number {
    const {maxConnections} = this.#shape;
    return level === 0 ? maxConnections : Math.max(2, maxConnections >> 1);
  }

  #linkBack(node: number, neighbour: number, level: number): void {
    if (level === 0) {
      if (this.nodes.append(node, neighbour)) return;
    } else {
      const place = this.upper.placeOf(node, level);
      if (place === undefined || this.upper.append(place, neighbour)) return;
    }
    const candidates = [...this.#neighboursOf(node, level), neighbour];
    this.#rechoose(node, level, candidates);
  }

  #neighboursOf(node: number, level: number): readonly number[] {
    if (level === 0) {
      return Array.from({length: this.nodes.linkCount(node)}, (_, at) => this.nodes.link(node, at));
    }
    const {words} = this.upper;
    const place = this.upper.placeOf(node, level);
    if (place === undefined) return [];
    return [...words.subarray(place + 1, place + 1 + (words[place] ?? 0))];
  }

  /** The node's neighbours are chosen from these. */
  #rechoose(node: number, level: number, candidates: readonly number[]): void {
    const {space} = this;
    const query = space.queryOf(node);
    this.#sorter.begin(Math.max(1, candidates.length));
    for (let from = 0; from < candidates.length; from += batchRows) {
      const batch = candidates.slice(from, from + batchRows);
      space.ids.set(batch);
      space.measure(query, batch.length);
      for (const [at, candidate] of batch.entries()) {
        this.#sorter.offer(candidate, space.out[at] ?? 0);
      }
    }
    this.#setLinks(node, level, this.#choose(node, this.#sorter, this.#newLinks(level)));
  }

  #chooseFromPool(node: number, max: number): number {
    return this.#choose(node, this.#pool, max);
  }

  /**
   * Nearest first, each candidate is a neighbour unless a chosen one is so much nearer to it. Into
   * `#chosen`; answers how many.
   */
  #choose(node: number, {nodes, distances, count}: CandidatePool, max: number): number {
    const {space} = this;
    const chosen = this.#chosen;
    let length = 0;
    for (let at = 0; at < count && length < max; at++) {
      const candidate = nodes[at] ?? 0;
      if (candidate === node || this.nodes.stateOf(candidate) !== nodeState.linked) continue;
      if (length > 0 && this.#isCovered(candidate, this.#cost(distances[at] ?? 0), length))
        continue;
      chosen[length++] = candidate;
    }
    assert(space.ids.length > length, 'a list of neighbours is one batch');
    return length;
  }

  /** Whether a chosen node is nearer to the candidate than the node that chooses. */
  #isCovered(candidate: number, distance: number, length: number): boolean {
    const {space} = this;
    const query = space.queryOf(candidate);
    const bound = distance / this.#shape.alphaDiversityRelaxation;
    // Most that are covered are so by one of the nearest.
    for (let from = 0; from < length; from += 8) {
      const count = Math.min(8, length - from);
      for (let at = 0; at < count; at++) space.ids[at] = this.#chosen[from + at] ?? 0;
      space.measure(query, count);
      for (let at = 0; at < count; at++) {
        if (this.#cost(space.out[at] ?? 0) < bound) return true;
      }
    }
    return false;
  }

  /** A distance between rows, 0 for equal ones. */
  #cost(distance: number): number {
    const {similarity, encoding} = this.space.shape;
    return similarity === 'COSINE' && encoding !== 'BITS' ? 1 + distance : distance;
  }

  #setLinks(node: number, level: number, count: number): void {
    if (level === 0) {
      this.nodes.setLinks(node, this.#chosen, count);
      return;
    }
    const place = this.upper.placeOf(node, level);
    if (place !== undefined) this.upper.set(place, this.#chosen, count);
  }

  /**
   * The level follows from the record id alone; one in `maxConnections / 2` is on the next level.
   */
  #levelOf(node: number): number {
    if (!this.#shape.addHierarchy) return 0;
    const {bucket, position} = this.nodes.ridOf(node);
    const share = Math.log(Math.max(2, this.#shape.maxConnections >> 1));
    const chance = (mixedRecord(bucket, position) + 1) / 2 ** 32;
    return Math.min(levelsMax, Math.floor(-Math.log(chance) / share));
  }

  #deadNodes(): readonly number[] {
    const dead: number[] = [];
    for (let node = 0; node < this.nodes.count; node++) {
      if (this.nodes.stateOf(node) === nodeState.dead) dead.push(node);
    }
    return dead;
  }

  /** Neighbours that are dead give way to theirs. */
  #mend(node: number): void {
    if (this.nodes.stateOf(node) !== nodeState.linked) return;
    const levels = this.upper.levelsOf(node);
    for (let level = 0; level <= levels; level++) {
      const neighbours = this.#neighboursOf(node, level);
      const isDead = (neighbour: number): boolean =>
        this.nodes.stateOf(neighbour) !== nodeState.linked;
      const dead = neighbours.filter(isDead);
      if (dead.length === 0) continue;
      const candidates = new Set(neighbours);
      for (const gone of dead) {
        candidates.delete(gone);
        for (const next of this.#neighboursOf(gone, level)) if (!isDead(next)) candidates.add(next);
      }
      candidates.delete(node);
      this.#rechoose(node, level, [...candidates]);
    }
  }

  #finishSweep(dead: readonly number[]): void {
    this.#sweep = undefined;
    for (const node of dead) {
      this.upper.remove(node);
      this.nodes.free(node);
    }
    this.#dead -= dead.length;
    if (this.#entry >= 0 && this.nodes.stateOf(this.#entry) !== nodeState.linked) this.#newEntry();
  }

  /** The highest linked node. */
  #newEntry(): void {
    [this.#entry, this.#top] = [-1, 0];
    for (const node of this.upper.nodes()) {
      const levels = this.upper.levelsOf(node);
      if (levels <= this.#top || this.nodes.stateOf(node) !== nodeState.linked) continue;
      [this.#entry, this.#top] = [node, levels];
    }
    for (let node = 0; this.#entry < 0 && node < this.nodes.count; node++) {
      if (this.nodes.stateOf(node) === nodeState.linked) this.#entry = node;
    }
  }
}
