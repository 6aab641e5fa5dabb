/**
 * The nearest nodes that a search has met, in order of distance, and which of them it has still to
 * expand. A sorted array: the best of a hundred are moved by a copy of some cache lines, which is
 * cheaper than a heap that must be read in order at the end.
 */
export class CandidatePool {
  distances = new Float32Array(128);
  nodes = new Uint32Array(128);
  #expanded = new Uint8Array(128);
  #size = 0;
  count = 0;
  #next = 0;

  /** Empties it; at most `size` are kept. */
  begin(size: number): void {
    if (size > this.nodes.length) {
      const length = 2 ** Math.ceil(Math.log2(size));
      this.distances = new Float32Array(length);
      this.nodes = new Uint32Array(length);
      this.#expanded = new Uint8Array(length);
    }
    this.#size = size;
    this.count = 0;
    this.#next = 0;
  }

  /** What is not nearer is not taken. */
  get bound(): number {
    return this.count < this.#size ? Infinity : (this.distances[this.count - 1] ?? Infinity);
  }

  get isFull(): boolean {
    return this.count === this.#size;
  }

  /** Takes a node; where distances are equal the one met first is before the other. */
  offer(node: number, distance: number): void {
    if (distance >= this.bound) return;
    let low = 0;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.distances[middle] ?? 0) <= distance) low = middle + 1;
      else high = middle;
    }
    const moved = Math.min(this.count, this.#size - 1);
    this.distances.copyWithin(low + 1, low, moved);
    this.nodes.copyWithin(low + 1, low, moved);
    this.#expanded.copyWithin(low + 1, low, moved);
    this.distances[low] = distance;
    this.nodes[low] = node;
    this.#expanded[low] = 0;
    if (this.count < this.#size) this.count++;
    if (low < this.#next) this.#next = low;
  }

  /** The nearest that is not expanded, which it is from now on; undefined without one. */
  expandNext(): number | undefined {
    while (this.#next < this.count && this.#expanded[this.#next] === 1) this.#next++;
    if (this.#next >= this.count) return undefined;
    this.#expanded[this.#next] = 1;
    return this.nodes[this.#next];
  }
}
